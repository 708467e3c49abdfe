"""Figures and verdict of a sweep: best, fastest, best within a latency, indistinguishable, Pareto."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from assay.core.golden import GoldenSet, Response
from assay.evaluate.diagnose import Answer, Difficulty, classify
from assay.evaluate.metrics.judged import Floats, Judged
from assay.evaluate.metrics.measures import Measure, mean, parse
from assay.evaluate.runs import RunInfo, RunStore
from assay.evaluate.statistics import Paired, holm, paired
from assay.evaluate.statistics.intervals import BLOCK
from assay.evaluate.sweep.asking import Asked
from assay.evaluate.sweep.grid import Configuration

_SHORT = 5  # the smaller cut-off of seed 004


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of the table: its title, its key in the seed's JSON, its measure."""

    title: str
    key: str
    measure: Measure


def figures(k: int) -> list[Figure]:
    """What a sweep measures: at k = 10 the figures of seed 004, and precision."""
    short = min(_SHORT, k)
    rows = [("MRR", "mrr", f"RR@{k}"), (f"Recall@{short}", f"recall_at_{short}", f"R@{short}")]
    if k != short:
        rows.append((f"Recall@{k}", f"recall_at_{k}", f"R@{k}"))
    rows += [(f"NDCG@{k}", f"ndcg_at_{k}", f"nDCG@{k}"), (f"P@{k}", f"precision_at_{k}", f"P@{k}")]
    return [Figure(title, key, parse(name)) for title, key, name in rows]


@dataclass(frozen=True)
class Measured:
    """A configuration and its run."""

    name: str
    configuration: Configuration
    info: RunInfo
    judged: Judged
    responses: Sequence[Response]
    asked: int
    resumed: bool

    @cached_property
    def figures(self) -> list[Figure]:
        return figures(self.info.k)

    @cached_property
    def values(self) -> Mapping[str, Floats]:
        """Each figure of each query, by its key."""
        return {one.key: one.measure.values(self.judged) for one in self.figures}

    @cached_property
    def means(self) -> Mapping[str, float | None]:
        return {key: mean(values) for key, values in self.values.items()}

    @property
    def quality(self) -> Floats:
        """What configurations are compared by, of each query."""
        return self.values[f"ndcg_at_{self.info.k}"]

    @cached_property
    def score(self) -> float:
        """The mean of that, unrounded; 0 where nothing could be judged."""
        known = self.quality[~np.isnan(self.quality)]
        return float(known.mean()) if len(known) else 0.0

    @property
    def mrr(self) -> float:
        return self.means["mrr"] or 0.0

    @cached_property
    def latency(self) -> float:
        """Milliseconds a query took on average; infinite when nobody measured it."""
        times = self.judged.fact("latency_ms")
        known = times[~np.isnan(times)]
        return float(known.mean()) if len(known) else float("inf")

    @property
    def disturbed(self) -> bool:
        """Whether others were measured at the same time."""
        return int(self.info.environment.get("runs_at_once", 1)) > 1

    @property
    def failed(self) -> int:
        return int(np.nansum(self.judged.fact("failure_rate")))


def read(
    store: RunStore, golden: GoldenSet, named: Mapping[str, Configuration], asked: Sequence[Asked]
) -> list[Measured]:
    """What was measured, from the run file."""
    out = []
    for one in asked:
        info = store.info(one.run_id)
        responses = store.responses(one.run_id, len(golden.queries))
        judged = store.judged(info)
        out.append(Measured(one.name, named[one.name], info, judged, responses, one.asked, one.resumed))
    return out


def difficulties(measured: Sequence[Measured]) -> list[Difficulty]:
    """How hard each query is, from what all configurations answered. Documents are compared: chunks of two chunkers have nothing in common."""
    return classify(
        [
            [Answer([hit.score for hit in r.hits], [hit.document for hit in r.hits]) for r in one.responses]
            for one in measured
        ]
    )


# What a sweep says: the best, the fastest, the best in time, what cannot be told from the best, and what nothing
# beats in both.

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
