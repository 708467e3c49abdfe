"""Plots as inline SVG: scales, axes, one width, a tooltip on every mark."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from assay.html.elements import Child, Markup, element, join

_SAME = 1e-9  # values nearer than this are one value


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps low…high to start…end (in pixels), evenly or by powers of ten; values outside land on the ends."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False

    def __call__(self, value: float) -> float:
        low, high, at = self.low, self.high, min(max(value, self.low), self.high)
        if self.logarithmic:
            low, high, at = math.log(low), math.log(high), math.log(at)
        share = (at - low) / (high - low) if high > low else 0.5
        return round(self.start + share * (self.end - self.start), 1)


def round_ticks(low: float, high: float, wanted: int = 5, whole: bool = False) -> list[float]:
    """About `wanted` round numbers from at or below `low` to at or above `high`; `whole` for counts."""
    if high - low < _SAME:
        high = low + 1.0
    step = _round_step((high - low) / max(1, wanted))
    if whole:
        step = max(1.0, step)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(number * step, 12) for number in range(first, last + 1)]


def power_ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 times the powers of ten from at or below `low` to at or above `high`; both above 0."""
    powers = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 2)
    every = [float(f"{digit}e{power}") for power in powers for digit in (1, 2, 5)]
    below = max(tick for tick in every if tick <= low)
    above = min(tick for tick in every if tick >= high and tick > below)
    return [tick for tick in every if below <= tick <= above]


def tick_text(value: float) -> str:
    """A tick without needless zeros: `0.2`, `1`, `1,500`, `−0.05`."""
    return f"{value:,.10f}".rstrip("0").rstrip(".").replace("-", "−")


def _round_step(rough: float) -> float:
    power = 10.0 ** math.floor(math.log10(rough))
    return next(power * digit for digit in (1, 2, 5, 10) if power * digit >= rough * (1 - 1e-9))


# What every plot is drawn with: the picture itself, labels, axes. Colours come from the page's style sheet.

WIDTH = 360  # a phone's width and a third of a desktop page, so text keeps its size on both
CHARACTER = 6.2  # mean width of a character at the 11 px of labels


def svg(height: float, name: str, *marks: Child, width: float = WIDTH) -> Markup:
    return element("svg", *marks, viewBox=f"0 0 {width:g} {height:g}", role="img", aria_label=name)


def label(words: str, x: float, y: float, anchor: str = "start", class_: str = "label") -> Markup:
    return element("text", words, x=round(x, 1), y=round(y, 1), text_anchor=anchor, class_=class_)


def x_axis(scale: Scale, ticks: Sequence[float], base: float, title: str, width: float = WIDTH) -> Markup:
    """The base line, the ticks that have room for their numbers, and what the axis is."""
    out = [element("line", x1=scale.start, x2=scale.end, y1=base, y2=base, class_="axis")]
    taken = float("-inf")
    for tick in ticks:
        at, half = scale(tick), len(tick_text(tick)) * CHARACTER / 2
        middle = min(at, width - half)
        if middle - half >= taken + 4:
            taken = middle + half
            out.append(element("line", x1=at, x2=at, y1=base, y2=base + 4, class_="axis"))
            out.append(label(tick_text(tick), middle, base + 15, "middle"))
    return join([*out, label(title, (scale.start + scale.end) / 2, base + 31, "middle")])


def y_axis(scale: Scale, ticks: Sequence[float], left: float, right: float, title: str) -> Markup:
    """A thin line and a number per tick; what the axis is stands above it."""
    lines = [element("line", x1=left, x2=right, y1=scale(tick), y2=scale(tick), class_="grid") for tick in ticks]
    numbers = [label(tick_text(tick), left - 6, scale(tick) + 4, "end") for tick in ticks]
    return join([*lines, *numbers, label(title, 4, 12)])
