"""Plots as inline SVG: one width, labelled axes, a tooltip on every mark. Colours come from the page's style sheet.

All are drawn 360 wide, which is a phone's width and a third of a desktop page, so text keeps its size on both.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from assay.html.elements import Markup, decimal, element, join, shortened, signed
from assay.html.plots import CHARACTER, WIDTH, Scale, label, power_ticks, round_ticks, svg, tick_text, x_axis, y_axis
from assay.text.display import counted

_RANK_GROUPS = (1, 2, 3, 4, 6, 11, 31, 101)  # first rank of each group, where single ranks are too many to draw
_MOST_RANKS = 10
_SKEWED = 20  # largest over median from which a latency is drawn by powers of ten
_FASTEST = 0.001  # milliseconds; what is said to be faster is drawn there
_LOG_BINS = 16


@dataclass(frozen=True, slots=True)
class Bin:
    """The values from low to high and how many there are; `missing` for those without a value."""

    label: str
    count: int
    low: float = 0.0
    high: float = 0.0
    missing: bool = False


def even_bins(values: Sequence[float], low: float, high: float, number: int = 10) -> list[Bin]:
    """Bins of one width; a bin holds its lower edge, the last one both."""
    edges = [round(low + (high - low) * i / number, 12) for i in range(number + 1)]
    return _binned(values, edges)


def unit_bins(values: Sequence[float]) -> list[Bin]:
    """Ten bins from 0 to 1, or to the next round numbers for a metric that leaves this range."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    if low >= 0 and high <= 1:
        return even_bins(values, 0.0, 1.0)
    ticks = round_ticks(min(0.0, low), high)
    return even_bins(values, ticks[0], ticks[-1])


def latency_bins(values: Sequence[float]) -> tuple[list[Bin], bool]:
    """Bins of latencies, and whether their edges grow by a factor: a few slow queries must not squeeze the others."""
    ordered = sorted(max(value, _FASTEST) for value in values) or [1.0]
    fastest, median, slowest = ordered[0], ordered[len(ordered) // 2], ordered[-1]
    if slowest > _SKEWED * median:
        ticks = power_ticks(fastest, slowest)
        growth = ticks[-1] / ticks[0]
        edges = [ticks[0] * growth ** (i / _LOG_BINS) for i in range(_LOG_BINS)] + [ticks[-1]]
        return _binned(values, edges), True
    return even_bins(values, 0.0, round_ticks(0.0, slowest)[-1], 20), False


def rank_bins(ranks: Sequence[int | None], k: int | None) -> list[Bin]:
    """One bin per rank, or per group of ranks for long lists, and one for the queries where nothing was found."""
    deepest = max([k or 0, *(rank for rank in ranks if rank is not None), 1])
    firsts = list(range(1, deepest + 1)) if deepest <= _MOST_RANKS else [r for r in _RANK_GROUPS if r <= deepest]
    lasts = [first - 1 for first in firsts[1:]] + [deepest]
    found = [rank for rank in ranks if rank is not None]
    bins = [
        Bin(_ranks(first, last), sum(first <= rank <= last for rank in found))
        for first, last in zip(firsts, lasts, strict=True)
    ]
    return [*bins, Bin("not\nfound", len(ranks) - len(found), missing=True)]


def _ranks(first: int, last: int) -> str:
    if first == _RANK_GROUPS[-1]:
        return f"> {first - 1}"
    return str(first) if first == last else f"{first}–{last}"


def _binned(values: Sequence[float], edges: Sequence[float]) -> list[Bin]:
    counts = [0] * (len(edges) - 1)
    for value in values:
        # the tolerance puts 0.3 (0.30000000000000004) with 0.3
        counts[min(max(bisect_right(edges, value + 1e-9 * max(1.0, math.fabs(value))) - 1, 0), len(counts) - 1)] += 1
    return [
        Bin(f"{_edge(low)}–{_edge(high)}", count, low, high)
        for (low, high), count in zip(pairwise(edges), counts, strict=True)
    ]


def _edge(value: float) -> str:
    return tick_text(float(f"{value:.3g}"))


# Plots as inline SVG: one width, labelled axes, a tooltip on every mark. Colours come from the page's style sheet.

_LEFT, _RIGHT = 38, 346  # the plot area of a plot with a numeric y axis
_LINE = 14
_TALL = 260  # of a plot of a comparison; a forest of many metrics grows
_ROWS = (24, 42)  # the least and the most height of a row of a forest
_MOST_SLOPES = 120  # distinct lines; beyond, values are rounded further and lines merge
_ROUNDINGS = (1000, 20, 10)  # steps per unit
_MOST_BARS = 140


@dataclass(frozen=True, slots=True)
class Mark:
    """A value worth a vertical line, such as a mean or p95."""

    value: float
    label: str


@dataclass(frozen=True, slots=True)
class Change:
    """One value before and after: of a query."""

    label: str
    before: float
    after: float

    @property
    def delta(self) -> float:
        return round(self.after - self.before, 9)


@dataclass(frozen=True, slots=True)
class Effect:
    """A difference with its interval; `verdict` is gain, loss or even."""

    label: str
    delta: float
    low: float
    high: float
    verdict: str


def verdict(delta: float) -> str:
    """The colour class of a difference."""
    return "gain" if delta > 0 else "loss" if delta < 0 else "even"


def histogram(
    bins: Sequence[Bin], name: str, x_label: str, marks: Sequence[Mark] = (), logarithmic: bool = False
) -> Markup:
    """How many queries fall in each bin of a number, with vertical marks."""
    low, high = bins[0].low, bins[-1].high
    x = Scale(low, high, _LEFT, _RIGHT, logarithmic)
    ticks = power_ticks(low, high) if logarithmic else round_ticks(low, high)
    spans = [(x(one.low), x(one.high)) for one in bins]
    top = 24 + _LINE * len(marks)
    axis = x_axis(x, ticks, top + 120, x_label)
    lines = [_mark(x, mark, 24 + _LINE * row, top + 120) for row, mark in enumerate(marks)]
    return svg(top + 156, name, _columns(bins, spans, top, top + 120), axis, lines)


def categories(bins: Sequence[Bin], name: str, x_label: str) -> Markup:
    """How many queries fall in each named bin; the missing ones stand apart in their own colour."""
    band = (_RIGHT - _LEFT) / len(bins)
    spans = [(round(_LEFT + band * i, 1), round(_LEFT + band * (i + 1), 1)) for i in range(len(bins))]
    base = 158
    crowded = any(len(one.label) * CHARACTER > band for one in bins if not one.missing)
    labels = [
        label(line, (left + right) / 2, base + 15 + 12 * row, "middle")
        for i, (one, (left, right)) in enumerate(zip(bins, spans, strict=True))
        for row, line in enumerate(one.label.split("\n"), start=int(crowded and not one.missing and i % 2))
    ]
    axis = element("line", x1=_LEFT, x2=_RIGHT, y1=base, y2=base, class_="axis")
    middle = (_LEFT + spans[-1][0]) / 2
    return svg(206, name, _columns(bins, spans, 24, base), axis, labels, label(x_label, middle, 201, "middle"))


def interval(value: float, low: float | None, high: float | None, top: float, name: str) -> Markup:
    """A value from 0 to `top` as a bar, with its interval as a whisker."""
    x = Scale(0.0, top, 1, 239)
    whisker = None
    if low is not None and high is not None:
        whisker = [
            element("line", x1=x(low), x2=x(high), y1=8, y2=8, class_="whisker"),
            *(element("line", x1=x(end), x2=x(end), y1=4, y2=12, class_="whisker") for end in (low, high)),
        ]
    return element(
        "svg",
        element("rect", x=1, y=5, width=238, height=6, rx=3, class_="track"),
        element("rect", x=1, y=5, width=round(x(value) - 1, 1), height=6, rx=3, class_="bar"),
        whisker,
        element("circle", cx=x(value), cy=8, r=3.5, class_="dot"),
        viewBox="0 0 240 16",
        role="img",
        aria_label=name,
    )


def forest(effects: Sequence[Effect], name: str, x_label: str) -> Markup:
    """Differences with their intervals around a zero line, one row each."""
    left = min(140, round(max(len(one.label) for one in effects) * CHARACTER) + 16)
    reach = max(max(abs(one.low), abs(one.high), abs(one.delta)) for one in effects) or 0.01
    ticks = round_ticks(-reach, reach, 4)
    x = Scale(ticks[0], ticks[-1], left, WIDTH - 58)
    row = min(max((_TALL - 50) // len(effects), _ROWS[0]), _ROWS[1])
    base = 14 + row * len(effects)
    zero = element("line", x1=x(0), x2=x(0), y1=6, y2=base, class_="zero")
    rows = [_effect(one, x, 10 + row * i + row / 2) for i, one in enumerate(effects)]
    return svg(base + 36, name, zero, x_axis(x, ticks, base, x_label), rows)


def slopes(changes: Sequence[Change], name: str, sides: tuple[str, str], y_label: str) -> Markup:
    """A line from each query's value before to the one after; equal lines are drawn once, as thick as they are many."""
    y = _value_scale([value for one in changes for value in (one.before, one.after)], 44, _TALL - 14)
    left, right = 70, 330
    lines = sorted(_merged(changes), key=lambda line: (abs(line[0].delta) > 0, line[0].delta < 0, -line[1]))
    most = max((number for _, number in lines), default=1)
    ends = [element("line", x1=at, x2=at, y1=y.end, y2=y.start, class_="axis") for at in (left, right)]
    return svg(
        _TALL,
        name,
        y_axis(y, round_ticks(y.low, y.high), left - 12, right, y_label),
        ends,
        [label(side, at, 32, "middle", "label strong") for side, at in zip(sides, (left, right), strict=True)],
        [_slope(one, number, most, y, left, right) for one, number in lines],
    )


def difference_bars(changes: Sequence[Change], name: str, y_label: str) -> Markup:
    """The queries that changed, from the largest loss to the largest gain; many are drawn as means of neighbours."""
    changed = sorted((one for one in changes if one.delta), key=lambda one: one.delta)
    per_bar = -(-len(changed) // _MOST_BARS) or 1
    bars = [_averaged(changed[i : i + per_bar]) for i in range(0, len(changed), per_bar)]
    each = f", {per_bar} a bar" if per_bar > 1 else ""
    reach = max((abs(delta) for delta, _ in bars), default=1.0)
    ticks = round_ticks(-reach, reach, 4)
    y = Scale(ticks[0], ticks[-1], _TALL - 34, 28)
    band = min(28.0, (_RIGHT - _LEFT - 6) / max(1, len(bars)))
    return svg(
        _TALL,
        name,
        y_axis(y, ticks, _LEFT, _RIGHT, y_label),
        [_difference(bar, y, _LEFT + 6 + band * i, band) for i, bar in enumerate(bars)],
        element("line", x1=_LEFT, x2=_RIGHT, y1=y(0), y2=y(0), class_="zero"),
        label(
            f"{counted(len(changed), 'changed query', 'changed queries')}, largest loss first{each}",
            WIDTH / 2,
            _TALL - 10,
            "middle",
        ),
    )


def _columns(bins: Sequence[Bin], spans: Sequence[tuple[float, float]], top: float, base: float) -> Markup:
    """The y axis of counts and one bar per bin."""
    ticks = round_ticks(0, max(one.count for one in bins), 4, whole=True)
    y = Scale(0, ticks[-1], base, top)
    bars = [
        element(
            "rect",
            element("title", f"{one.label}: {counted(one.count, 'query', 'queries')}".replace("\n", " ")),
            x=left + 1,
            y=y(one.count),
            width=round(max(1.0, right - left - 2), 1),
            height=round(base - y(one.count), 1),
            class_="missing" if one.missing else "bar",
        )
        for one, (left, right) in zip(bins, spans, strict=True)
        if one.count
    ]
    return join([y_axis(y, ticks, _LEFT, _RIGHT, "queries"), *bars])


def _mark(x: Scale, mark: Mark, top: float, base: float) -> Markup:
    """A vertical line with its label on the side that has room."""
    at = x(mark.value)
    before = at > (_LEFT + _RIGHT) / 2
    line = element("line", x1=at, x2=at, y1=top - 4, y2=base, class_="mark")
    return join(
        [line, label(mark.label, at - 5 if before else at + 5, top + 5, "end" if before else "start", "label strong")]
    )


def _effect(one: Effect, x: Scale, y: float) -> Markup:
    said = f"{one.label}: {signed(one.delta)}, 95 % interval {signed(one.low)} to {signed(one.high)}"
    return element(
        "g",
        element("title", said),
        label(shortened(one.label, 20), 4, y + 4),
        element("line", x1=x(one.low), x2=x(one.high), y1=y, y2=y, class_="whisker"),
        [element("line", x1=x(end), x2=x(end), y1=y - 4, y2=y + 4, class_="whisker") for end in (one.low, one.high)],
        element("circle", cx=x(one.delta), cy=y, r=4.5, class_="dot"),
        label(signed(one.delta), WIDTH - 4, y + 4, "end", "label strong"),
        class_=one.verdict,
    )


def _value_scale(values: Sequence[float], top: float, base: float) -> Scale:
    low, high = min(values, default=0.0), max(values, default=1.0)
    ticks = round_ticks(min(0.0, low), max(1.0, high))
    return Scale(ticks[0], ticks[-1], base, top)


def _merged(changes: Sequence[Change]) -> list[tuple[Change, int]]:
    """Equal changes once, with how many they are; values are rounded as far as needed to leave few enough lines."""
    for steps in _ROUNDINGS:
        groups: dict[tuple[float, float], list[Change]] = {}
        for one in changes:
            groups.setdefault((round(one.before * steps) / steps, round(one.after * steps) / steps), []).append(one)
        if len(groups) <= _MOST_SLOPES:
            break
    return [
        (Change(same[0].label if len(same) == 1 else f"{len(same):,} queries", *pair), len(same))
        for pair, same in groups.items()
    ]


def _slope(one: Change, number: int, most: int, y: Scale, left: float, right: float) -> Markup:
    share = (number / most) ** 0.5
    width = round(1 + 5 * share, 1) if most > 1 else 1.6
    opacity = round(0.25 + 0.5 * share, 2) if most > 1 else 0.7
    return element(
        "g",
        element("title", f"{one.label}: {decimal(one.before)} → {decimal(one.after)}"),
        element(
            "line",
            x1=left,
            x2=right,
            y1=y(one.before),
            y2=y(one.after),
            stroke_width=width,
            stroke_opacity=opacity,
            class_="slope",
        ),
        [element("circle", cx=at, cy=y(value), r=2.5) for at, value in ((left, one.before), (right, one.after))],
        class_=verdict(one.delta),
    )


def _averaged(changes: Sequence[Change]) -> tuple[float, str]:
    """The mean difference of neighbours and what to call them."""
    delta = sum(one.delta for one in changes) / len(changes)
    return delta, changes[0].label if len(changes) == 1 else f"mean of {len(changes)} queries"


def _difference(bar: tuple[float, str], y: Scale, left: float, band: float) -> Markup:
    delta, label = bar
    return element(
        "rect",
        element("title", f"{label}: {signed(delta)}"),
        x=round(left, 1),
        y=min(y(0), y(delta)),
        width=round(max(0.8, band * 0.8), 1),
        height=round(abs(y(delta) - y(0)), 1),
        class_=verdict(delta),
    )
