"""Line plots of a metric over runs: a line for each system, a dot for each run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.evaluate.report.drawing import svg, x_axis, y_axis
from assay.evaluate.report.markup import Markup, element
from assay.evaluate.report.scales import Scale, round_ticks
from assay.evaluate.report.wording import decimal, shortened
from assay.text.counting import counted

_WIDTH = 520  # half of a desktop page
_LEFT, _RIGHT, _TOP, _BASE = 44, _WIDTH - 10, 28, 190
_ROOM = 0.08  # of the values' range, above and below
_LEAST = 0.05  # of the range that is shown: tiny differences must not look like cliffs


@dataclass(frozen=True, slots=True)
class Reading:
    """One run: its number from the oldest, its value, what it is called and where its page is."""

    number: int
    value: float
    name: str
    address: str


@dataclass(frozen=True, slots=True)
class Line:
    """The runs of one system, oldest first, in a colour by number; without one they are dots beside the others."""

    name: str
    tone: int | None
    readings: Sequence[Reading]


def trend(lines: Sequence[Line], name: str, x_label: str, y_label: str) -> Markup:
    """The plot; both axes are labelled and every dot leads to its run."""
    every = [reading for line in lines for reading in line.readings]
    last = max(reading.number for reading in every)
    x = Scale(1, max(2, last), _LEFT + 8, _RIGHT - 8)
    y_ticks = round_ticks(*_reach([reading.value for reading in every]), 4)
    y = Scale(y_ticks[0], y_ticks[-1], _BASE, _TOP)
    x_ticks = [tick for tick in round_ticks(1, max(2, last), 6, whole=True) if 1 <= tick <= last]
    axes = [y_axis(y, y_ticks, _LEFT, _RIGHT, y_label), x_axis(x, x_ticks or [1.0], _BASE, x_label, _WIDTH)]
    return svg(_BASE + 36, name, axes, [_line(line, x, y) for line in lines], width=_WIDTH)


def _reach(values: Sequence[float]) -> tuple[float, float]:
    """From where to where the y axis goes: around the values, but never so near that noise fills it."""
    low, high = min(values), max(values)
    room = max((high - low) * _ROOM, (_LEAST - (high - low)) / 2, 0.0)
    return max(0.0, low - room) if low >= 0 else low - room, high + room


def _line(line: Line, x: Scale, y: Scale) -> Markup:
    points = " ".join(f"{x(one.number):g},{y(one.value):g}" for one in line.readings)
    dots = [
        element(
            "a",
            element(
                "circle",
                element("title", f"{one.name}: {decimal(one.value)}\n{line.name}"),
                cx=x(one.number),
                cy=y(one.value),
                r=4,
                class_="trend-dot",
            ),
            href=one.address,
            aria_label=f"{one.name}: {decimal(one.value)}",
        )
        for one in line.readings
    ]
    if line.tone is None:
        return element("g", dots, class_="tone-other")
    return element("g", element("polyline", points=points, class_="trend"), dots, class_=f"tone-{line.tone}")


def key(names: Sequence[str], others: int) -> Markup:
    """Which colour is which system, and how many share the one of the others."""
    items = [
        element("li", element("span", class_=f"swatch tone-{tone}"), element("bdi", shortened(name, 80)))
        for tone, name in enumerate(names)
    ]
    if others:
        items.append(
            element("li", element("span", class_="swatch tone-other"), counted(others, "other system", "other systems"))
        )
    return element("ul", items, class_="components key", aria_label="Systems")
