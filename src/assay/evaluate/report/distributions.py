"""From the values of single queries to the bins of a histogram."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from assay.evaluate.report.scales import power_ticks, round_ticks, tick_text

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
