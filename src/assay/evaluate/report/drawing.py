"""What every plot is drawn with: the picture itself, labels, axes. Colours come from the page's style sheet."""

from __future__ import annotations

from collections.abc import Sequence

from assay.evaluate.report.markup import Child, Markup, element, join
from assay.evaluate.report.scales import Scale, tick_text

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
