"""Plots of a run report as inline SVG: histograms, intervals, forest plot, slope chart, difference bars.

All are 360 px wide, a phone's width and a third of a desktop page, so text keeps its size on both.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from assay.html.elements import Markup, decimal, element, join, signed
from assay.html.plots import (
    CHARACTER,
    WIDTH,
    Scale,
    bar,
    dot,
    horizontal,
    label,
    power_ticks,
    round_ticks,
    svg,
    tick_text,
    vertical,
    whisker,
    x_axis,
    y_axis,
)
from assay.html.report.data import verdict
from assay.text.display import clipped, counted

_RANK_GROUPS = (1, 2, 3, 4, 6, 11, 31, 101)  # first rank of each group, for lists too long for single ranks
_MOST_RANKS = 10
_SKEWED = 20  # slowest/median ratio above which the latency axis is logarithmic
_FASTEST = 0.001  # ms; lower bound of the logarithmic axis
_LOG_BINS = 16


@dataclass(frozen=True, slots=True)
class Bin:
    """Number of values from low to high; `missing` marks the bin of queries without a value."""

    label: str
    count: int
    low: float = 0.0
    high: float = 0.0
    missing: bool = False


def even_bins(values: Sequence[float], low: float, high: float, number: int = 10) -> list[Bin]:
    """Count values in bins of equal width; a bin includes its lower edge, the last one both edges."""
    edges = [round(low + (high - low) * i / number, 12) for i in range(number + 1)]
    return _count_into_bins(values, edges)


def unit_bins(values: Sequence[float]) -> list[Bin]:
    """Count values in ten bins from 0 to 1, or up to round numbers if a value is outside that range."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    if low >= 0 and high <= 1:
        return even_bins(values, 0.0, 1.0)
    ticks = round_ticks(min(0.0, low), high)
    return even_bins(values, ticks[0], ticks[-1])


def latency_bins(values: Sequence[float]) -> tuple[list[Bin], bool]:
    """Return latency bins and True if they are logarithmic, so that a few slow queries do not squeeze the others."""
    ordered = sorted(max(value, _FASTEST) for value in values) or [1.0]
    fastest, median, slowest = ordered[0], ordered[len(ordered) // 2], ordered[-1]
    if slowest > _SKEWED * median:
        ticks = power_ticks(fastest, slowest)
        growth = ticks[-1] / ticks[0]
        edges = [ticks[0] * growth ** (i / _LOG_BINS) for i in range(_LOG_BINS)] + [ticks[-1]]
        return _count_into_bins(values, edges), True
    return even_bins(values, 0.0, round_ticks(0.0, slowest)[-1], 20), False


def rank_bins(ranks: Sequence[int | None], k: int | None) -> list[Bin]:
    """Count ranks per rank, or per rank range for long lists; None (no hit) has its own bin."""
    deepest = max([k or 0, *(rank for rank in ranks if rank is not None), 1])
    firsts = (
        list(range(1, deepest + 1)) if deepest <= _MOST_RANKS else [first for first in _RANK_GROUPS if first <= deepest]
    )
    lasts = [first - 1 for first in firsts[1:]] + [deepest]
    hit_ranks = [rank for rank in ranks if rank is not None]
    bins = [
        Bin(_rank_label(first, last), sum(first <= rank <= last for rank in hit_ranks))
        for first, last in zip(firsts, lasts, strict=True)
    ]
    return [*bins, Bin("not\nfound", len(ranks) - len(hit_ranks), missing=True)]


def _rank_label(first: int, last: int) -> str:
    if first == _RANK_GROUPS[-1]:
        return f"> {first - 1}"
    return str(first) if first == last else f"{first}–{last}"


def _count_into_bins(values: Sequence[float], edges: Sequence[float]) -> list[Bin]:
    counts = [0] * (len(edges) - 1)
    for value in values:
        # tolerance: 0.30000000000000004 belongs to the bin that starts at 0.3
        counts[min(max(bisect_right(edges, value + 1e-9 * max(1.0, math.fabs(value))) - 1, 0), len(counts) - 1)] += 1
    return [
        Bin(f"{_edge_text(low)}–{_edge_text(high)}", count, low, high)
        for (low, high), count in zip(pairwise(edges), counts, strict=True)
    ]


def _edge_text(value: float) -> str:
    return tick_text(float(f"{value:.3g}"))


# Plots; colours come from the page's style sheet

_LEFT, _RIGHT = 38, 346  # the plot area of a plot with a numeric y axis
_LINE = 14
_TALL = 260  # height of a comparison plot; a forest plot of many metrics grows
_ROWS = (24, 42)  # minimum and maximum row height of a forest plot
_MOST_SLOPES = 120  # distinct lines; above, values are rounded further so that lines merge
_ROUNDINGS = (1000, 20, 10)  # steps per unit
_MOST_BARS = 140


@dataclass(frozen=True, slots=True)
class Mark:
    """A labelled vertical line in a histogram, such as a mean or p95."""

    value: float
    label: str


@dataclass(frozen=True, slots=True)
class Change:
    """A query's value in run A (before) and run B (after)."""

    label: str
    before: float
    after: float

    @property
    def delta(self) -> float:
        return round(self.after - self.before, 9)


@dataclass(frozen=True, slots=True)
class Effect:
    """A metric's difference with its interval; `verdict` is gain, loss or even."""

    label: str
    delta: float
    low: float
    high: float
    verdict: str


def histogram(
    bins: Sequence[Bin], name: str, x_label: str, marks: Sequence[Mark] = (), logarithmic: bool = False
) -> Markup:
    """Plot the number of queries per bin, with labelled marks."""
    low, high = bins[0].low, bins[-1].high
    x = Scale(low, high, _LEFT, _RIGHT, logarithmic)
    ticks = power_ticks(low, high) if logarithmic else round_ticks(low, high)
    spans = [(x(bin_.low), x(bin_.high)) for bin_ in bins]
    top = 24 + _LINE * len(marks)
    axis = x_axis(x, ticks, top + 120, x_label)
    lines = [_mark(x, mark, 24 + _LINE * row, top + 120) for row, mark in enumerate(marks)]
    return svg(top + 156, name, _count_bars(bins, spans, top, top + 120), axis, lines)


def categories(bins: Sequence[Bin], name: str, x_label: str) -> Markup:
    """Plot the number of queries per named bin; missing ones have their own colour."""
    band = (_RIGHT - _LEFT) / len(bins)
    spans = [(round(_LEFT + band * i, 1), round(_LEFT + band * (i + 1), 1)) for i in range(len(bins))]
    base = 158
    crowded = any(len(bin_.label) * CHARACTER > band for bin_ in bins if not bin_.missing)
    labels = [
        label(line, (left + right) / 2, base + 15 + 12 * row, "middle")
        for i, (bin_, (left, right)) in enumerate(zip(bins, spans, strict=True))
        for row, line in enumerate(bin_.label.split("\n"), start=int(crowded and not bin_.missing and i % 2))
    ]
    axis = horizontal(_LEFT, _RIGHT, base, "axis")
    middle = (_LEFT + spans[-1][0]) / 2
    return svg(206, name, _count_bars(bins, spans, 24, base), axis, labels, label(x_label, middle, 201, "middle"))


def interval(value: float, low: float | None, high: float | None, top: float, name: str) -> Markup:
    """Draw a value from 0 to `top` as a bar with its interval as a whisker."""
    x = Scale(0.0, top, 1, 239)
    return element(
        "svg",
        bar(1, 5, 238, 6, "track", radius=3),
        bar(1, 5, round(x(value) - 1, 1), 6, "bar", radius=3),
        whisker(x(low), x(high), 8) if low is not None and high is not None else None,
        dot(x(value), 8, 3.5, "dot"),
        viewBox="0 0 240 16",
        role="img",
        aria_label=name,
    )


def forest(effects: Sequence[Effect], name: str, x_label: str) -> Markup:
    """Draw a forest plot: differences with their intervals around a zero line, one row each."""
    left = min(140, round(max(len(effect.label) for effect in effects) * CHARACTER) + 16)
    reach = max(max(abs(effect.low), abs(effect.high), abs(effect.delta)) for effect in effects) or 0.01
    ticks = round_ticks(-reach, reach, 4)
    x = Scale(ticks[0], ticks[-1], left, WIDTH - 58)
    row = min(max((_TALL - 50) // len(effects), _ROWS[0]), _ROWS[1])
    base = 14 + row * len(effects)
    zero = vertical(x(0), 6, base, "zero")
    rows = [_effect_row(effect, x, 10 + row * i + row / 2) for i, effect in enumerate(effects)]
    return svg(base + 36, name, zero, x_axis(x, ticks, base, x_label), rows)


def slopes(changes: Sequence[Change], name: str, sides: tuple[str, str], y_label: str) -> Markup:
    """Draw a line per query from its value before to the one after; equal lines merge into a thicker one."""
    y = _value_scale([value for change in changes for value in (change.before, change.after)], 44, _TALL - 14)
    left, right = 70, 330
    lines = sorted(_merge_equal(changes), key=lambda line: (abs(line[0].delta) > 0, line[0].delta < 0, -line[1]))
    most = max((number for _, number in lines), default=1)
    ends = [vertical(x, y.end, y.start, "axis") for x in (left, right)]
    return svg(
        _TALL,
        name,
        y_axis(y, round_ticks(y.low, y.high), left - 12, right, y_label),
        ends,
        [label(side, x, 32, "middle", "label strong") for side, x in zip(sides, (left, right), strict=True)],
        [_slope_line(change, number, most, y, left, right) for change, number in lines],
    )


def difference_bars(changes: Sequence[Change], name: str, y_label: str) -> Markup:
    """Draw the changed queries from largest loss to largest gain; neighbours are averaged if there are many."""
    changed = sorted((change for change in changes if change.delta), key=lambda change: change.delta)
    per_bar = -(-len(changed) // _MOST_BARS) or 1
    bars = [_average(changed[i : i + per_bar]) for i in range(0, len(changed), per_bar)]
    averaging = f", {per_bar} a bar" if per_bar > 1 else ""
    caption = f"{counted(len(changed), 'changed query', 'changed queries')}, largest loss first{averaging}"
    reach = max((abs(delta) for delta, _ in bars), default=1.0)
    ticks = round_ticks(-reach, reach, 4)
    y = Scale(ticks[0], ticks[-1], _TALL - 34, 28)
    band = min(28.0, (_RIGHT - _LEFT - 6) / max(1, len(bars)))
    return svg(
        _TALL,
        name,
        y_axis(y, ticks, _LEFT, _RIGHT, y_label),
        [_difference_bar(*values, y, _LEFT + 6 + band * i, band) for i, values in enumerate(bars)],
        horizontal(_LEFT, _RIGHT, y(0), "zero"),
        label(caption, WIDTH / 2, _TALL - 10, "middle"),
    )


def _count_bars(bins: Sequence[Bin], spans: Sequence[tuple[float, float]], top: float, base: float) -> Markup:
    """Draw the count axis and one bar per bin."""
    ticks = round_ticks(0, max(bin_.count for bin_ in bins), 4, whole=True)
    y = Scale(0, ticks[-1], base, top)
    bars = [
        bar(
            left + 1,
            y(bin_.count),
            round(max(1.0, right - left - 2), 1),
            round(base - y(bin_.count), 1),
            "missing" if bin_.missing else "bar",
            f"{bin_.label}: {counted(bin_.count, 'query', 'queries')}".replace("\n", " "),
        )
        for bin_, (left, right) in zip(bins, spans, strict=True)
        if bin_.count
    ]
    return join([y_axis(y, ticks, _LEFT, _RIGHT, "queries"), *bars])


def _mark(x: Scale, mark: Mark, top: float, base: float) -> Markup:
    """Draw a vertical line with its label on the side that has room."""
    position = x(mark.value)
    leftwards = position > (_LEFT + _RIGHT) / 2
    x_text, anchor = (position - 5, "end") if leftwards else (position + 5, "start")
    words = label(mark.label, x_text, top + 5, anchor, "label strong")
    return join([vertical(position, top - 4, base, "mark"), words])


def _effect_row(effect: Effect, x: Scale, y: float) -> Markup:
    tooltip = f"{effect.label}: {signed(effect.delta)}, 95 % interval {signed(effect.low)} to {signed(effect.high)}"
    return element(
        "g",
        element("title", tooltip),
        label(clipped(effect.label, 20), 4, y + 4),
        whisker(x(effect.low), x(effect.high), y),
        dot(x(effect.delta), y, 4.5, "dot"),
        label(signed(effect.delta), WIDTH - 4, y + 4, "end", "label strong"),
        class_=effect.verdict,
    )


def _value_scale(values: Sequence[float], top: float, base: float) -> Scale:
    low, high = min(values, default=0.0), max(values, default=1.0)
    ticks = round_ticks(min(0.0, low), max(1.0, high))
    return Scale(ticks[0], ticks[-1], base, top)


def _merge_equal(changes: Sequence[Change]) -> list[tuple[Change, int]]:
    """Merge equal changes and count them; values are rounded until few enough lines remain."""
    for steps in _ROUNDINGS:
        groups: dict[tuple[float, float], list[Change]] = {}
        for change in changes:
            groups.setdefault((round(change.before * steps) / steps, round(change.after * steps) / steps), []).append(
                change
            )
        if len(groups) <= _MOST_SLOPES:
            break
    return [
        (Change(group[0].label if len(group) == 1 else f"{len(group):,} queries", *pair), len(group))
        for pair, group in groups.items()
    ]


def _slope_line(change: Change, number: int, most: int, y: Scale, left: float, right: float) -> Markup:
    share = (number / most) ** 0.5
    width = round(1 + 5 * share, 1) if most > 1 else 1.6
    opacity = round(0.25 + 0.5 * share, 2) if most > 1 else 0.7
    return element(
        "g",
        element("title", f"{change.label}: {decimal(change.before)} → {decimal(change.after)}"),
        element(
            "line",
            x1=left,
            x2=right,
            y1=y(change.before),
            y2=y(change.after),
            stroke_width=width,
            stroke_opacity=opacity,
            class_="slope",
        ),
        [dot(x, y(value), 2.5) for x, value in ((left, change.before), (right, change.after))],
        class_=verdict(change.delta),
    )


def _average(changes: Sequence[Change]) -> tuple[float, str]:
    """Return the mean difference of neighbouring changes and its label."""
    delta = sum(change.delta for change in changes) / len(changes)
    return delta, changes[0].label if len(changes) == 1 else f"mean of {len(changes)} queries"


def _difference_bar(delta: float, name: str, y: Scale, left: float, band: float) -> Markup:
    width, height = round(max(0.8, band * 0.8), 1), round(abs(y(delta) - y(0)), 1)
    return bar(round(left, 1), min(y(0), y(delta)), width, height, verdict(delta), f"{name}: {signed(delta)}")
