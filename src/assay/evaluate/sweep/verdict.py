"""What a sweep says: the best, the fastest, the best in time, what cannot be told from the best, and what nothing beats in both."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assay.evaluate.metrics.judged import Floats
from assay.evaluate.statistics import Paired, holm, paired
from assay.evaluate.statistics.bootstrap import BLOCK
from assay.evaluate.sweep.measured import Measured

ALPHA = 0.05
_RESAMPLES = 2_000  # of the queries; shares are good to a hundredth

# from which value on a figure is called so; seed 004
_BANDS: Mapping[str, Sequence[tuple[float, str]]] = {
    "mrr": ((0.8, "Excellent"), (0.6, "Good"), (0.4, "Fair"), (0.0, "Poor")),
    "recall_at_5": ((0.9, "Excellent"), (0.7, "Good"), (0.5, "Fair"), (0.0, "Poor")),
    "ndcg_at_10": ((0.9, "Excellent"), (0.8, "Good"), (0.6, "Fair"), (0.0, "Poor")),
}


def band(key: str, value: float | None) -> str:
    """What a figure is called, where seed 004 has a word for it."""
    if value is None or key not in _BANDS:
        return ""
    return next(word for least, word in _BANDS[key] if value >= least)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Names of configurations, by what they are. `against` compares each other one with the best; p is Holm's over all of them."""

    best: str
    fastest: str
    limit: float  # milliseconds
    in_time: str  # the best under the limit; empty when none is
    against: Mapping[str, Paired]
    adjusted: Mapping[str, float]
    front: Sequence[str]  # nothing is both better and faster; the best first
    thrifty: str  # the fastest that cannot be told from the best
    chosen: Mapping[str, float]  # how often each would be the best on other queries of the same kind

    def alike(self, name: str) -> bool:
        """Whether a configuration cannot be told from the best."""
        return _alike(self.adjusted.get(name, 1.0))

    @property
    def not_told_apart(self) -> list[str]:
        return [name for name in self.against if self.alike(name)]


def _alike(p: float) -> bool:
    return math.isnan(p) or p >= ALPHA


def judge(measured: Sequence[Measured], limit: float, clusters: Sequence[str] | None = None) -> Verdict:
    """The verdict on a sweep. Quality is NDCG; of equally good ones the better MRR, then the faster counts."""
    ranked = sorted(measured, key=lambda one: (-round(one.score, 12), -one.mrr, one.latency))
    best, *others = ranked
    in_time = [one for one in ranked if one.latency <= limit]
    against = {one.name: paired(best.quality, one.quality, clusters=clusters) for one in others}
    adjusted = holm({name: pair.p for name, pair in against.items()})
    alike = [best, *(one for one in others if _alike(adjusted[one.name]))]
    return Verdict(
        best=best.name,
        fastest=min(ranked, key=lambda one: one.latency).name,
        limit=limit,
        in_time=in_time[0].name if in_time else "",
        against=against,
        adjusted=adjusted,
        front=[one.name for one in front(ranked)],
        thrifty=min(alike, key=lambda one: one.latency).name,
        chosen=dict(
            zip((one.name for one in ranked), best_shares([one.quality for one in ranked], clusters), strict=True)
        ),
    )


def best_shares(quality: Sequence[Floats], clusters: Sequence[str] | None = None) -> list[float]:
    """The share of resampled query sets on which each configuration is the best; those that tie share. Whole clusters are drawn where there are any.

    The best of many on one set is partly luck: this says how much of its lead is.
    """
    values = np.array(quality)
    judged = ~np.isnan(values).any(axis=0)
    labels = np.arange(values.shape[1]) if clusters is None else np.unique(np.array(clusters), return_inverse=True)[1]
    _, units = np.unique(labels[judged], return_inverse=True)
    if not len(units):
        return [1 / len(values)] * len(values)
    totals = np.array([np.bincount(units, weights=row) for row in values[:, judged]])
    return _drawn_shares(totals, np.random.default_rng(0))


def _drawn_shares(totals: Floats, generator: np.random.Generator) -> list[float]:
    """The shares over resamples of the columns, drawn in blocks so that memory stays small."""
    units, left = totals.shape[1], _RESAMPLES
    shares = np.zeros(len(totals))
    while left:
        rows = min(left, max(1, BLOCK // units))
        drawn = generator.multinomial(units, np.full(units, 1 / units), rows)
        sums = np.round(drawn @ totals.T, 9)  # as many queries for all, so sums compare as means do
        best = sums == sums.max(axis=1, keepdims=True)
        shares += (best / best.sum(axis=1, keepdims=True)).sum(axis=0)
        left -= rows
    return [float(share) for share in shares / _RESAMPLES]


def front(measured: Sequence[Measured]) -> list[Measured]:
    """The Pareto front: those that no other beats in one of quality and latency and matches in the other."""

    def beaten(one: Measured) -> bool:
        return any(
            other.score >= one.score
            and other.latency <= one.latency
            and (other.score > one.score or other.latency < one.latency)
            for other in measured
        )

    return [one for one in measured if not beaten(one)]
