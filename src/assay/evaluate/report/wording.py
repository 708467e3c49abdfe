"""Numbers, times and long texts as people read them; a number carries its exact value beside it."""

from __future__ import annotations

import math
from datetime import UTC, datetime

from assay.evaluate.report.markup import Markup, element

NOTHING = "–"  # a metric that is null: nothing to measure it by
_MINUS = "−"


def known(value: float | int | None) -> float | None:
    """The value if it is a finite number."""
    return float(value) if value is not None and math.isfinite(value) else None


def decimal(value: float | None, places: int = 3) -> str:
    """`0.412`, `1,204`; a dash for nothing. From 100 on decimals say nothing."""
    number = known(value)
    if number is None:
        return NOTHING
    places = 0 if abs(number) >= 100 else places
    return f"{number:,.{places}f}".replace("-", _MINUS)


def whole(value: float | None) -> str:
    """A count or a rank: `1,204`."""
    return decimal(value, 0)


def signed(value: float | None, places: int = 3) -> str:
    """A difference with its sign: `+0.030`, `−0.010`, `0.000`."""
    number = known(value)
    written = decimal(number, places)
    return f"+{written}" if number is not None and number > 0 and written.strip("0.,") else written


def probability(value: float | None) -> str:
    """A p value: never zero, as no test can say that."""
    number = known(value)
    if number is None:
        return NOTHING
    return "< 0.001" if number < 0.001 else decimal(number)


def milliseconds(value: float | None) -> str:
    """`3.1 ms`, `240 ms`, `1.20 s`."""
    number = known(value)
    if number is None:
        return NOTHING
    if number >= 1000:
        return f"{decimal(number / 1000, 2)} s"
    return f"{decimal(number, 1 if number < 100 else 0)} ms"


def exact(value: float | int | None, shown: str) -> Markup:
    """The shown text carrying the exact value, for scripts and for sorting."""
    number = known(value)
    return element("data", shown, value="" if number is None else repr(value))


def moment(created: str) -> Markup:
    """A time stamp as people write it, in UTC; as given when it is not ISO 8601."""
    try:
        when = datetime.fromisoformat(created)
    except ValueError:
        return element("span", created)
    if when.tzinfo is not None:
        when = when.astimezone(UTC)
    shown = f"{when.day} {when:%B %Y, %H:%M}{' UTC' if when.tzinfo else ''}"
    return element("time", shown, datetime=created)


def shortened(words: str, most: int) -> str:
    """Long text without its end."""
    return words if len(words) <= most else words[: most - 1].rstrip() + "…"
