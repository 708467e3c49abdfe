"""HTML and SVG built from elements, so that nothing reaches a page unescaped; tables and number formats."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Generic, TypeVar

_VOID = frozenset({"meta", "link", "input", "br", "wbr"})
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")  # not allowed in HTML, or not in UTF-8


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


Child = str | int | Iterable[str] | None


def text(value: str) -> Markup:
    """Any text, escaped for content and for quoted attributes alike."""
    return value if isinstance(value, Markup) else Markup(html.escape(_UNPRINTABLE.sub("\ufffd", value)))


def join(children: Iterable[Child]) -> Markup:
    """Children one after the other: strings are escaped, markup is kept, None is nothing."""
    return Markup("".join(_content(child) for child in children))


def element(tag: str, *children: Child, **attributes: str | float | bool | None) -> Markup:
    """One element. `class_` and `aria_label` become `class` and `aria-label`; None and False leave an attribute out."""
    opening = "".join([tag, *(_attribute(name, value) for name, value in attributes.items())])
    if tag in _VOID:
        return Markup(f"<{opening}>")
    return Markup(f"<{opening}>{join(children)}</{tag}>")


def _content(child: Child) -> str:
    if child is None:
        return ""
    if isinstance(child, str):
        return text(child)
    return str(child) if isinstance(child, int) else join(child)


def _attribute(name: str, value: str | float | bool | None) -> str:
    if value is None or value is False:
        return ""
    name = name.rstrip("_").replace("_", "-")
    if value is True:
        return f" {name}"
    return f' {name}="{text(value) if isinstance(value, str) else f"{value:g}"}"'


# Numbers, times and long texts as people read them; a number carries its exact value beside it.

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


# Tables whose columns are data, and the filter that goes with a long one.

Row = TypeVar("Row")

_MOST_ROWS = 1000
_MOST_BYTES = 1_500_000  # of the rows of one table: the page stays under 5 MB whatever the texts are


@dataclass(frozen=True)
class Column(Generic[Row]):
    """A heading and what a row shows under it; `class_` is number, wide or minor (left out on a phone)."""

    title: str
    cell: Callable[[Row], Child]
    class_: str = ""
    about: str = ""  # a word of explanation on the heading


def number_column(
    title: str,
    value: Callable[[Row], float | None],
    about: str = "",
    written: Callable[[float | None], str] = decimal,
    minor: bool = False,
) -> Column[Row]:
    """A column of numbers."""
    return Column(
        title, lambda row: exact(value(row), written(value(row))), "number minor" if minor else "number", about
    )


def table(name: str, columns: Sequence[Column[Row]], rows: Iterable[Row], note: Child = None) -> Markup:
    """A table in a frame of its own that scrolls sideways when it must; the first column heads each row."""
    body = [table_row(columns, row) for row in rows]
    return framed_table(name, columns, body, note)


def framed_table(name: str, columns: Sequence[Column[Row]], body: Sequence[Markup], note: Child = None) -> Markup:
    """The table around rows that are markup already."""
    heads = [element("th", c.title, scope="col", class_=c.class_ or None, title=c.about or None) for c in columns]
    content = element("table", element("caption", name), element("thead", element("tr", heads)), element("tbody", body))
    under = element("p", note, class_="note") if note else None
    return join([element("div", content, class_="frame", role="region", aria_label=name, tabindex="0"), under])


def table_row(columns: Sequence[Column[Row]], row: Row, **attributes: str | None) -> Markup:
    """One row; the attributes are what a filter looks at."""
    head, *rest = columns
    return element(
        "tr",
        element("th", head.cell(row), scope="row", class_=head.class_ or None),
        [element("td", column.cell(row), class_=column.class_ or None) for column in rest],
        **attributes,
    )


def bounded_rows(
    columns: Sequence[Column[Row]], rows: Sequence[Row], attributes: Callable[[Row], dict[str, str | None]]
) -> tuple[list[Markup], str | None]:
    """As many rows as a page can hold, and the note that says how many were left out."""
    out: list[Markup] = []
    size = 0
    for row in rows[:_MOST_ROWS]:
        written = table_row(columns, row, **attributes(row))
        size += len(written.encode())
        if size > _MOST_BYTES:
            break
        out.append(written)
    if len(out) == len(rows):
        return out, None
    return (
        out,
        f"The first {len(out):,} of {len(rows):,} are shown, in this order of attention; the JSON of the run has all.",
    )


def meter(value: float | None, top: float = 1.0) -> Markup:
    """A number over a small bar of its size; without the bar where it does not fit the scale."""
    number = known(value)
    drawn = number is not None and 0 <= number <= top
    bar = element("span", class_="meter", style=f"--share:{(number or 0) / top:.1%}") if drawn else None
    return join([exact(value, decimal(value)), bar])


def within(values: Iterable[float | None]) -> float:
    """The end of the scale for values that are drawn side by side: 1, or the largest if it is more."""
    return max([1.0, *(abs(number) for value in values if (number := known(value)) is not None)])


def filters(choices: dict[str, list[str]], only: dict[str, str], total: int) -> Markup:
    """The controls over a table: a search, a choice per attribute, a box per attribute that says yes. Shown by the script."""
    return element(
        "form",
        element("label", "Search ", element("input", type="search", autocomplete="off")),
        [_choice(name, values) for name, values in choices.items() if len(values) > 1],
        [
            element("label", element("input", type="checkbox", name=name, value="yes"), " ", label)
            for name, label in only.items()
        ],
        element("button", "Open all", type="button", class_="open"),
        element("output", f"{total:,} of {total:,}", aria_live="polite"),
        class_="filter",
        role="search",
        hidden=True,
    )


def _choice(name: str, values: Sequence[str]) -> Markup:
    options = [element("option", value, value=value) for value in values]
    return element(
        "label", f"{name.capitalize()} ", element("select", element("option", "all", value=""), options, name=name)
    )
