"""Plots of a sweep: quality against latency, heat maps of two settings, groups of queries, predicted against measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from assay.html.elements import Markup, decimal, element, known, shortened
from assay.html.plots import CHARACTER, WIDTH, Scale, label, power_ticks, round_ticks, svg, x_axis, y_axis

WIDE = 860  # of the plot that is looked at first
_LEFT = 44
_SKEWED = 8  # slowest over fastest from which latencies are drawn by powers of ten
_MOST_NAME = 34
_LINE = 13  # between two labels
_ROW = 30  # of a heat map
_GROUP = 26  # of a group of queries


@dataclass(frozen=True, slots=True)
class Point:
    """A configuration: how long it takes, how good it is, and what it is: best, front or other."""

    name: str
    latency: float
    quality: float
    role: str


def pareto(points: Sequence[Point], quality: str) -> Markup:
    """Quality against latency; the front is joined by a line, and its points are named."""
    tall, base = 350, 304
    slowest, fastest = max(one.latency for one in points), max(min(one.latency for one in points), 0.001)
    logarithmic = slowest > _SKEWED * fastest
    ticks = power_ticks(fastest, slowest) if logarithmic else round_ticks(0.0, slowest)
    x = Scale(ticks[0], ticks[-1], _LEFT, WIDE - 16, logarithmic)
    levels = round_ticks(min(one.quality for one in points), max(one.quality for one in points))
    y = Scale(levels[0], levels[-1], base, 30)
    front = sorted((one for one in points if one.role != "other"), key=lambda one: one.latency)
    steps = [(x(b.latency), y(a.quality)) for a, b in pairwise(front)]  # what is reached stays reached until more is
    corners = [(x(one.latency), y(one.quality)) for one in front]
    line = " ".join(f"{across:g},{up:g}" for across, up in sorted([*corners, *steps], key=lambda at: (at[0], -at[1])))
    unit = "mean latency of a query, ms" + (" (logarithmic)" if logarithmic else "")
    return svg(
        tall,
        f"{quality} against latency of {len(points)} configurations",
        y_axis(y, levels, _LEFT, WIDE - 16, quality),
        x_axis(x, ticks, base, unit, WIDE),
        element("polyline", points=line, class_="front"),
        [_point(one, x, y) for one in sorted(points, key=lambda one: ("other", "front", "best").index(one.role))],
        _names(front, x, y, base),
        width=WIDE,
    )


def _point(one: Point, x: Scale, y: Scale) -> Markup:
    said = f"{one.name}: {decimal(one.quality, 4)} in {decimal(one.latency, 2)} ms"
    size = 4 if one.role == "other" else 6
    return element(
        "circle", element("title", said), cx=x(one.latency), cy=y(one.quality), r=size, class_=f"point {one.role}"
    )


def _names(points: Sequence[Point], x: Scale, y: Scale, base: float) -> list[Markup]:
    """The names beside their points, on the side that has room, none over another."""
    out: list[Markup] = []
    taken: list[tuple[float, float, float]] = []  # left, right, height of a label
    for one in sorted(points, key=lambda one: -one.quality):
        words = shortened(one.name, _MOST_NAME)
        width, at = len(words) * CHARACTER + 10, x(one.latency)
        before = at + width > WIDE - 10
        left, right = (at - width, at) if before else (at, at + width)
        height = y(one.quality) - 10
        while any(low < right and left < high and abs(height - other) < _LINE for low, high, other in taken):
            height += _LINE + 20 if height < y(one.quality) else _LINE
        if height < base:
            taken.append((left, right, height))
            class_ = "label strong" if one.role == "best" else "label"
            out.append(label(words, at - 10 if before else at + 10, height, "end" if before else "start", class_))
    return out


def heat_map(
    rows: Sequence[str],
    columns: Sequence[str],
    values: Mapping[tuple[str, str], float],
    name: str,
    bounds: tuple[float, float],
) -> Markup:
    """A value for each pair of settings, darker where it is higher. Bounds are shared by maps side by side; cells nobody measured stay empty."""
    left = min(150.0, max(len(row) for row in rows) * CHARACTER + 14)
    wide = (WIDTH - left - 4) / len(columns)
    room = max(3, int(wide / CHARACTER))
    heads = [
        label(shortened(column, room), left + wide * (at + 0.5), 14, "middle") for at, column in enumerate(columns)
    ]
    cells = [
        _cell(values[row, column], f"{row}, {column}", left + wide * across, 22 + _ROW * down, wide, bounds)
        for down, row in enumerate(rows)
        for across, column in enumerate(columns)
        if (row, column) in values
    ]
    names = [label(shortened(row, 22), left - 8, 22 + _ROW * (at + 0.5) + 4, "end") for at, row in enumerate(rows)]
    return svg(26 + _ROW * len(rows), name, heads, names, cells)


def _cell(value: float, said: str, x: float, y: float, wide: float, bounds: tuple[float, float]) -> Markup:
    low, high = bounds
    share = (value - low) / (high - low) if high > low else 0.5
    return element(
        "g",
        element("title", f"{said}: {decimal(value, 4)}"),
        element(
            "rect", x=round(x + 1, 1), y=y + 1, width=round(wide - 2, 1), height=_ROW - 2, rx=4, class_="cell",
            fill_opacity=round(0.08 + 0.84 * share, 3),
        ),
        label(decimal(value), x + wide / 2, y + _ROW / 2 + 4, "middle", "label onto" if share > 0.55 else "label strong"),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Group:
    """Queries that belong together: what the best configuration reached on them, and what the others did."""

    name: str
    count: int
    best: float
    others: Sequence[tuple[str, float]]


def groups(found: Sequence[Group], name: str, x_label: str) -> Markup:
    """A bar for the best configuration in each group, and a dot for every other one."""
    left = min(130.0, max(len(one.name) for one in found) * CHARACTER + 44)
    x = Scale(0.0, 1.0, left, WIDTH - 12)
    base = 8 + _GROUP * len(found)
    rows = []
    for at, one in enumerate(found):
        y = 8 + _GROUP * at
        rows.append(label(f"{shortened(one.name, 16)} ({one.count})", left - 8, y + 14, "end"))
        rows.append(
            element(
                "rect", element("title", f"{one.name}, the best: {decimal(one.best)}"), x=left, y=y + 4,
                width=round(max(x(one.best) - left, 0.5), 1), height=_GROUP - 12, rx=2, class_="bar soft",
            )
        )  # fmt: skip
        rows += [
            element(
                "circle", element("title", f"{other}: {decimal(value)}"), cx=x(value), cy=y + 11, r=2.5, class_="dot"
            )
            for other, value in one.others
        ]
    return svg(base + 36, name, x_axis(x, round_ticks(0.0, 1.0), base, x_label), rows)


def scatter(points: Sequence[tuple[str, str, float, float]], name: str, x_label: str, y_label: str) -> Markup:
    """A dot for each query: its name, its class, and two figures from 0 to 1."""
    base = 214
    x, y = Scale(0.0, 1.0, _LEFT - 6, WIDTH - 14), Scale(0.0, 1.0, base, 28)
    dots = [
        element(
            "circle",
            element("title", f"{query}: {decimal(a)}, {decimal(b)}"),
            cx=x(a),
            cy=y(b),
            r=4,
            class_=f"dot level-{level}",
        )
        for query, level, a, b in points
        if known(a) is not None and known(b) is not None
    ]
    ticks = round_ticks(0.0, 1.0)
    return svg(base + 36, name, y_axis(y, ticks, _LEFT - 6, WIDTH - 14, y_label), x_axis(x, ticks, base, x_label), dots)
