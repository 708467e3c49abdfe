"""Figures and verdict of a sweep: best, fastest, best within a latency limit, indistinguishable, Pareto front.

The difficulty of queries is predicted without labels: score gap of the top result, score spread, agreement of rankings.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from assay.core.golden import GoldenSet, Response
from assay.evaluate.judging import Floats, Judged
from assay.evaluate.metrics import Measure, mean, parse
from assay.evaluate.runs import RunInfo, RunStore
from assay.evaluate.statistics import Paired, holm, paired
from assay.evaluate.statistics.intervals import BLOCK, two_sided_p
from assay.evaluate.sweep.execution import TaskResult
from assay.evaluate.sweep.grid import Configuration

LEVELS = ("hard", "medium", "easy")
_DEPTH = 10  # results per ranking that are considered


@dataclass(frozen=True, slots=True)
class Answer:
    """Scores and document names, best first, returned by one configuration for one query."""

    scores: Sequence[float | None]
    names: Sequence[str]


@dataclass(frozen=True, slots=True)
class Difficulty:
    """A query's difficulty class and its predictors, each 0 to 1 and higher when easier; NaN where unavailable."""

    level: str
    ease: float
    gap: float
    spread: float
    agreement: float


@dataclass(frozen=True, slots=True)
class Correlation:
    """Spearman's rank correlation over n pairs with its two-sided p; NaN where one side is constant."""

    rho: float
    p: float
    n: int


def classify(answers: Sequence[Sequence[Answer]]) -> list[Difficulty]:
    """Predict the difficulty of each query from `answers[configuration][query]`."""
    queries = len(answers[0]) if answers else 0
    gaps = np.array([[gap(answer.scores) for answer in row] for row in answers]).reshape(len(answers), queries)
    spreads = np.array([[spread(answer.scores) for answer in row] for row in answers]).reshape(len(answers), queries)
    agreements = np.array([agreement([row[query].names for row in answers]) for query in range(queries)])
    ease = _nan_mean(
        [_nan_mean(_percentiles_by_row(gaps)), _nan_mean(_percentiles_by_row(spreads)), percentile_ranks(agreements)]
    )
    levels = _classify_by_ease(ease)
    rows = zip(levels, ease, _nan_mean(gaps), _nan_mean(spreads), agreements, strict=True)
    return [Difficulty(level, *map(float, predictors)) for level, *predictors in rows]


def gap(scores: Sequence[float | None]) -> float:
    """Return the score gap between the first and second result, relative to the whole range; 0 for an empty list.

    Invariant to the unit and zero of the scores; NaN without scores.
    """
    finite = _finite_scores(scores)
    if finite is None:
        return math.nan
    if len(finite) < 2:
        return float(len(finite))
    first, second, last = finite[0], finite[1], finite[-1]
    return float(np.clip((first - second) / (first - last), 0.0, 1.0)) if first > last else 0.0


def spread(scores: Sequence[float | None]) -> float:
    """Return the standard deviation over the mean magnitude of the scores, at most 1; 0 for an empty list."""
    finite = _finite_scores(scores)
    if finite is None:
        return math.nan
    magnitude = float(np.abs(finite).mean()) if len(finite) else 0.0
    return min(1.0, float(finite.std()) / magnitude) if magnitude > 0 else 0.0


def agreement(rankings: Sequence[Sequence[str]]) -> float:
    """Return the average overlap of the rankings over all pairs and depths: 1 when all are identical."""
    pairs = len(rankings) * (len(rankings) - 1) / 2
    if not pairs:
        return math.nan
    lists = [list(dict.fromkeys(ranking))[:_DEPTH] for ranking in rankings]
    deepest = max(map(len, lists))
    counts: Counter[str] = Counter()
    shared = total = 0.0
    for depth in range(deepest):
        for ranking in lists:
            if depth < len(ranking):
                shared += counts[ranking[depth]]  # pairs with each ranking that has the item already
                counts[ranking[depth]] += 1
        total += shared / (depth + 1)
    return total / deepest / pairs if deepest else 0.0


def percentile_ranks(values: Floats) -> Floats:
    """Return percentile ranks: the share of values below each, ties counting half; NaN is ignored."""
    measured = values[~np.isnan(values)]
    if not len(measured):
        return np.full(len(values), math.nan)
    ordered = np.sort(measured)
    midrank = (np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right")) / 2
    return np.where(np.isnan(values), math.nan, midrank / len(measured))


def correlation(a: Floats, b: Floats) -> Correlation:
    """Return Spearman's correlation of two figures per query, over the queries that have both."""
    both = ~(np.isnan(a) | np.isnan(b))
    first, second = percentile_ranks(a[both]), percentile_ranks(b[both])
    n = int(both.sum())
    if n < 3 or not first.std() or not second.std():
        return Correlation(math.nan, math.nan, n)
    rho = float(np.clip(np.corrcoef(first, second)[0, 1], -1.0, 1.0))
    t = math.inf if 1 - rho * rho < 1e-12 else rho * math.sqrt((n - 2) / (1 - rho * rho))
    return Correlation(rho, two_sided_p(t, n - 2), n)


def _classify_by_ease(ease: Floats) -> list[str]:
    """Split the queries into thirds by ease; equal values share a class, unknown ones are medium."""
    return [
        LEVELS[1] if math.isnan(percentile) else LEVELS[min(int(percentile * 3), 2)]
        for percentile in percentile_ranks(np.round(ease, 9))
    ]


def _finite_scores(scores: Sequence[float | None]) -> Floats | None:
    """Return the first scores as an array; None when any is missing."""
    if any(score is None or not math.isfinite(score) for score in scores):
        return None
    return np.array(scores[:_DEPTH], dtype=np.float64)


def _percentiles_by_row(rows: Floats) -> Floats:
    return np.array([percentile_ranks(row) for row in rows]).reshape(rows.shape)


def _nan_mean(rows: Floats | Sequence[Floats]) -> Floats:
    """Return the mean over configurations (or predictors) of each query's known values."""
    table = np.asarray(rows, dtype=np.float64)
    measured = ~np.isnan(table)
    count = measured.sum(axis=0)
    return np.where(count > 0, np.where(measured, table, 0.0).sum(axis=0) / np.maximum(count, 1), math.nan)


_SHORT = 5  # the smaller cut-off of seed 004


@dataclass(frozen=True, slots=True)
class Figure:
    """A column of the table: its title, the name of its measure; its JSON key of seed 004; its measure."""

    title: str
    key: str
    measure: Measure


def figures(k: int) -> list[Figure]:
    """Return the figures of a sweep: those of seed 004 (at k = 10) and precision."""
    short = min(_SHORT, k)
    rows = [("mrr", f"RR@{k}"), (f"recall_at_{short}", f"R@{short}")]
    if k != short:
        rows.append((f"recall_at_{k}", f"R@{k}"))
    rows += [(f"ndcg_at_{k}", f"nDCG@{k}"), (f"precision_at_{k}", f"P@{k}")]
    return [Figure(name, key, parse(name)) for key, name in rows]


@dataclass(frozen=True)
class Measured:
    """A configuration with its run."""

    name: str
    configuration: Configuration
    info: RunInfo
    judged: Judged
    responses: Sequence[Response]
    sent: int
    resumed: bool

    @cached_property
    def figures(self) -> list[Figure]:
        """Figures at the run's k."""
        return figures(self.info.k)

    @cached_property
    def values(self) -> Mapping[str, Floats]:
        """Per-query values by figure key."""
        return {figure.key: figure.measure.values(self.judged) for figure in self.figures}

    @cached_property
    def means(self) -> Mapping[str, float | None]:
        return {key: mean(values) for key, values in self.values.items()}

    @property
    def quality(self) -> Floats:
        """nDCG@k per query, by which configurations are compared."""
        return self.values[f"ndcg_at_{self.info.k}"]

    @cached_property
    def score(self) -> float:
        """Mean quality, unrounded; 0 if no query could be judged."""
        judged = self.quality[~np.isnan(self.quality)]
        return float(judged.mean()) if len(judged) else 0.0

    @property
    def mrr(self) -> float:
        return self.means["mrr"] or 0.0

    @cached_property
    def latency(self) -> float:
        """Mean query latency in ms; infinite if not measured."""
        times = self.judged.fact("latency_ms")
        measured = times[~np.isnan(times)]
        return float(measured.mean()) if len(measured) else float("inf")

    @property
    def disturbed(self) -> bool:
        """True if other configurations ran at the same time."""
        return int(self.info.environment.get("runs_at_once", 1)) > 1

    @property
    def failed(self) -> int:
        return int(np.nansum(self.judged.fact("failure_rate")))


def read(
    store: RunStore, golden: GoldenSet, named: Mapping[str, Configuration], results: Sequence[TaskResult]
) -> list[Measured]:
    """Load the measured configurations from the run store."""
    measured = []
    for result in results:
        info = store.info(result.run_id)
        responses = store.responses(result.run_id, len(golden.queries))
        judged = store.judged(info)
        measured.append(Measured(result.name, named[result.name], info, judged, responses, result.sent, result.resumed))
    return measured


def difficulties(measured: Sequence[Measured]) -> list[Difficulty]:
    """Predict query difficulties from all answers, by document, as chunk ids differ between chunkers."""
    return classify(
        [
            [
                Answer([hit.score for hit in response.hits], [hit.document for hit in response.hits])
                for response in entry.responses
            ]
            for entry in measured
        ]
    )


# Verdict

ALPHA = 0.05
_RESAMPLES = 2_000  # bootstrap samples; shares are accurate to about 0.01

# lower bounds of the quality bands of seed 004
_BANDS: Mapping[str, Sequence[tuple[float, str]]] = {
    "mrr": ((0.8, "Excellent"), (0.6, "Good"), (0.4, "Fair"), (0.0, "Poor")),
    "recall_at_5": ((0.9, "Excellent"), (0.7, "Good"), (0.5, "Fair"), (0.0, "Poor")),
    "ndcg_at_10": ((0.9, "Excellent"), (0.8, "Good"), (0.6, "Fair"), (0.0, "Poor")),
}


def band(key: str, value: float | None) -> str:
    """Return the quality band of a figure, or an empty string if seed 004 defines none."""
    if value is None or key not in _BANDS:
        return ""
    return next(word for least, word in _BANDS[key] if value >= least)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Recommended configurations by name. `versus_best` compares each with the best; `adjusted` is Holm-corrected p."""

    best: str
    fastest: str
    limit: float  # milliseconds
    best_within_limit: str  # empty if none is
    versus_best: Mapping[str, Paired]
    adjusted: Mapping[str, float]
    front: Sequence[str]  # Pareto front, best first
    fastest_indistinguishable: str  # without a significant difference from the best
    best_shares: Mapping[str, float]  # share of resampled query sets on which each is the best

    def is_indistinguishable(self, name: str) -> bool:
        """Return True if a configuration does not differ significantly from the best."""
        return _is_indistinguishable(self.adjusted.get(name, 1.0))

    @property
    def indistinguishable(self) -> list[str]:
        """Names of the configurations without a significant difference from the best."""
        return [name for name in self.versus_best if self.is_indistinguishable(name)]


def _is_indistinguishable(p: float) -> bool:
    return math.isnan(p) or p >= ALPHA


def judge(measured: Sequence[Measured], limit: float, clusters: Sequence[str] | None = None) -> Verdict:
    """Judge a sweep by nDCG; ties by higher RR, then lower latency."""
    ranked = sorted(measured, key=lambda entry: (-round(entry.score, 12), -entry.mrr, entry.latency))
    best, *others = ranked
    versus_best = {entry.name: paired(best.quality, entry.quality, clusters=clusters) for entry in others}
    adjusted = holm({name: pair.p for name, pair in versus_best.items()})
    indistinguishable = [best, *(entry for entry in others if _is_indistinguishable(adjusted[entry.name]))]
    shares = best_shares([entry.quality for entry in ranked], clusters)
    return Verdict(
        best=best.name,
        fastest=_fastest(ranked),
        limit=limit,
        best_within_limit=next((entry.name for entry in ranked if entry.latency <= limit), ""),
        versus_best=versus_best,
        adjusted=adjusted,
        front=[entry.name for entry in pareto_front(ranked)],
        fastest_indistinguishable=_fastest(indistinguishable),
        best_shares={entry.name: share for entry, share in zip(ranked, shares, strict=True)},
    )


def _fastest(measured: Sequence[Measured]) -> str:
    return min(measured, key=lambda entry: entry.latency).name


def best_shares(quality: Sequence[Floats], clusters: Sequence[str] | None = None) -> list[float]:
    """Return the share of resampled query sets on which each configuration is best; ties split it.

    Whole clusters are resampled if given. The best of many on one set is partly luck: the share tells how much.
    """
    values = np.array(quality)
    judged = ~np.isnan(values).any(axis=0)
    labels = np.arange(values.shape[1]) if clusters is None else np.unique(np.array(clusters), return_inverse=True)[1]
    _, units = np.unique(labels[judged], return_inverse=True)
    if not len(units):
        return [1 / len(values)] * len(values)
    totals = np.array([np.bincount(units, weights=row) for row in values[:, judged]])
    return _resampled_shares(totals, np.random.default_rng(0))


def _resampled_shares(totals: Floats, generator: np.random.Generator) -> list[float]:
    """Return the shares over resamples of the columns, drawn in blocks to bound memory."""
    units, remaining = totals.shape[1], _RESAMPLES
    shares = np.zeros(len(totals))
    while remaining:
        rows = min(remaining, max(1, BLOCK // units))
        counts = generator.multinomial(units, np.full(units, 1 / units), rows)
        sums = np.round(counts @ totals.T, 9)  # equal numbers of queries, so sums compare like means
        best = sums == sums.max(axis=1, keepdims=True)
        shares += (best / best.sum(axis=1, keepdims=True)).sum(axis=0)
        remaining -= rows
    return [float(share) for share in shares / _RESAMPLES]


def pareto_front(measured: Sequence[Measured]) -> list[Measured]:
    """Return the Pareto front of quality and latency."""

    def is_dominated(entry: Measured) -> bool:
        return any(
            other.score >= entry.score
            and other.latency <= entry.latency
            and (other.score > entry.score or other.latency < entry.latency)
            for other in measured
        )

    return [entry for entry in measured if not is_dominated(entry)]
