"""Standalone SVG plots for the documentation, readable on light and dark pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from assay.html.elements import Child, Markup, element
from assay.html.plots import Scale, label, round_ticks, x_axis, y_axis

WIDTH, TOP, BASE, LEFT, RIGHT = 360, 30, 290, 44, 346
COLOURS = {"a": ("#0969da", "#4493f8"), "b": ("#bc4c00", "#f0883e"), "c": ("#1a7f37", "#3fb950")}  # on white, on black
PLAIN = {
    ".label": ("fill", "#57606a", "#9198a1"),
    ".axis, .grid": ("stroke", "#d0d7de", "#3d444d"),
    ".dot": ("fill", "#ffffff", "#0d1117"),
}
STYLE = """.label { font: 11px system-ui, sans-serif } .strong { font-weight: 600 } .series { fill: none; stroke-width: 2 }
.even { stroke: #8c959f; stroke-dasharray: 4 3 }"""
BAR, GAP, NAMED = 12, 6, 150  # heights of a bar and between two; room for names


class Point(NamedTuple):
    x: float
    y: float
    told: str  # when it is pointed at


class Line(NamedTuple):
    name: str
    points: Sequence[Point]


def picture(told: str, *marks: Child, height: float = BASE + 40) -> Markup:
    """A picture with the colours of both kinds of pages."""
    return element(
        "svg", element("style", Markup(style())), *marks, xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {WIDTH} {height:g}", width=WIDTH * 1.5, role="img", aria_label=told,
    )  # fmt: skip


def style() -> str:
    """The colours for a light page, and for a dark one."""
    shades = [
        " ".join(
            [
                *(f"{marks} {{ {what}: {colours[shade]} }}" for marks, (what, *colours) in PLAIN.items()),
                *(f".series.{name} {{ stroke: {of[shade]} }} text.{name} {{ fill: {of[shade]} }} rect.{name} {{ fill: {of[shade]} }}"
                  for name, of in COLOURS.items()),
            ]
        )
        for shade in (0, 1)
    ]  # fmt: skip
    return f"{STYLE} {shades[0]} @media (prefers-color-scheme: dark) {{ {shades[1]} }}"


def series(line: Line, colour: str, x: Scale, y: Scale) -> list[Markup]:
    """A line and its dots."""
    places = [(x(point.x), y(point.y), point) for point in line.points]
    drawn = element(
        "polyline", points=" ".join(f"{left:g},{top:g}" for left, top, _ in places), class_=f"series {colour}"
    )
    dots = [
        element("circle", element("title", point.told), cx=left, cy=top, r=3.5, class_=f"series dot {colour}")
        for left, top, point in places
    ]
    return [drawn, *dots]


def lines(drawn: Sequence[Line], named: Mapping[float, str], x_title: str, y_title: str) -> Markup:
    """Lines over places on the horizontal axis that have names of their own."""
    values = [point.y for line in drawn for point in line.points]
    steps = round_ticks(min(values), max(values))
    x, y = Scale(min(named), max(named), LEFT + 8, RIGHT - 8), Scale(steps[0], steps[-1], BASE, TOP)
    marks = [y_axis(y, steps, LEFT, RIGHT, y_title), x_axis(x, [], BASE, x_title)]
    marks += [label(name, x(at), BASE + 15, "middle") for at, name in named.items()]
    for line, colour in zip(drawn, COLOURS, strict=False):
        marks += series(line, colour, x, y)
    return picture(f"{y_title} by {x_title}", *marks)


def bars(values: Mapping[str, float], title: str) -> Markup:
    """A bar for each value, from 0, with its figure."""
    x = Scale(0, max(values.values()), NAMED, RIGHT - 40)
    base = TOP + len(values) * (BAR + GAP)
    marks: list[Markup] = [label(title, 4, 12)]
    for number, (name, value) in enumerate(values.items()):
        top = TOP + number * (BAR + GAP)
        marks.append(label(name, NAMED - 8, top + BAR - 2, "end"))
        marks.append(element("rect", x=NAMED, y=top, width=round(x(value) - NAMED, 1), height=BAR, class_="a"))
        marks.append(label(f"{value:.3f}", x(value) + 6, top + BAR - 2, "start", "label strong"))
    return picture(title, *marks, height=base + 8)
