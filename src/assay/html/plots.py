"""SVG plot primitives: scales, ticks, labels, axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from assay.html.elements import Child, Markup, element, join

_SAME = 1e-9  # values closer than this are equal


@dataclass(frozen=True, slots=True)
class Scale:
    """Linear or logarithmic map from low…high to start…end (pixels); values outside are clamped."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False

    def __call__(self, value: float) -> float:
        low, high, clamped = self.low, self.high, min(max(value, self.low), self.high)
        if self.logarithmic:
            low, high, clamped = math.log(low), math.log(high), math.log(clamped)
        share = (clamped - low) / (high - low) if high > low else 0.5
        return round(self.start + share * (self.end - self.start), 1)


def round_ticks(low: float, high: float, count: int = 5, whole: bool = False) -> list[float]:
    """Return about `count` round numbers that span low…high; `whole` for counts."""
    if high - low < _SAME:
        high = low + 1.0
    step = _round_step((high - low) / max(1, count))
    if whole:
        step = max(1.0, step)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(number * step, 12) for number in range(first, last + 1)]


def power_ticks(low: float, high: float) -> list[float]:
    """Return 1, 2 and 5 times powers of ten that span low…high, both above 0."""
    powers = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 2)
    ticks = [float(f"{digit}e{power}") for power in powers for digit in (1, 2, 5)]
    below = max(tick for tick in ticks if tick <= low)
    above = min(tick for tick in ticks if tick >= high and tick > below)
    return [tick for tick in ticks if below <= tick <= above]


def tick_text(value: float) -> str:
    """Format a tick without trailing zeros: `0.2`, `1`, `1,500`, `−0.05`."""
    return f"{value:,.10f}".rstrip("0").rstrip(".").replace("-", "−")


def _round_step(rough: float) -> float:
    power = 10.0 ** math.floor(math.log10(rough))
    return next(power * digit for digit in (1, 2, 5, 10) if power * digit >= rough * (1 - 1e-9))


# Drawing primitives; colours come from the page's style sheet

WIDTH = 360  # a phone's width and a third of a desktop page, so text keeps its size on both
CHARACTER = 6.2  # px, mean character width at the labels' 11 px


def svg(height: float, name: str, *marks: Child, width: float = WIDTH) -> Markup:
    """Build an SVG image with an accessible name."""
    return element("svg", *marks, viewBox=f"0 0 {width:g} {height:g}", role="img", aria_label=name)


def label(words: str, x: float, y: float, anchor: str = "start", class_: str = "label") -> Markup:
    """Build a text label at (x, y)."""
    return element("text", words, x=round(x, 1), y=round(y, 1), text_anchor=anchor, class_=class_)


def horizontal(x1: float, x2: float, y: float, class_: str) -> Markup:
    """Draw a horizontal line."""
    return element("line", x1=x1, x2=x2, y1=y, y2=y, class_=class_)


def vertical(x: float, y1: float, y2: float, class_: str) -> Markup:
    """Draw a vertical line."""
    return element("line", x1=x, x2=x, y1=y1, y2=y2, class_=class_)


def dot(x: float, y: float, radius: float, class_: str | None = None, tooltip: str = "") -> Markup:
    """Draw a filled circle."""
    return element("circle", _tooltip(tooltip), cx=x, cy=y, r=radius, class_=class_)


def bar(
    x: float, y: float, width: float, height: float, class_: str, tooltip: str = "", radius: float | None = None
) -> Markup:
    """Draw a filled rectangle."""
    return element("rect", _tooltip(tooltip), x=x, y=y, width=width, height=height, rx=radius, class_=class_)


def whisker(low: float, high: float, y: float) -> Markup:
    """Draw an interval: a line with an upright end on either side."""
    return join([horizontal(low, high, y, "whisker"), *(vertical(x, y - 4, y + 4, "whisker") for x in (low, high))])


def _tooltip(words: str) -> Markup | None:
    return element("title", words) if words else None


def x_axis(scale: Scale, ticks: Sequence[float], base: float, title: str, width: float = WIDTH) -> Markup:
    """Draw the base line, the ticks that have room for their numbers, and the title."""
    marks = [horizontal(scale.start, scale.end, base, "axis")]
    occupied_until = float("-inf")
    for tick in ticks:
        position, half_width = scale(tick), len(tick_text(tick)) * CHARACTER / 2
        middle = min(position, width - half_width)
        if middle - half_width >= occupied_until + 4:
            occupied_until = middle + half_width
            marks.append(vertical(position, base, base + 4, "axis"))
            marks.append(label(tick_text(tick), middle, base + 15, "middle"))
    return join([*marks, label(title, (scale.start + scale.end) / 2, base + 31, "middle")])


def y_axis(scale: Scale, ticks: Sequence[float], left: float, right: float, title: str) -> Markup:
    """Draw a grid line and a number per tick, with the title above."""
    lines = [horizontal(left, right, scale(tick), "grid") for tick in ticks]
    numbers = [label(tick_text(tick), left - 6, scale(tick) + 4, "end") for tick in ticks]
    return join([*lines, *numbers, label(title, 4, 12)])
