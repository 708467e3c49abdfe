"""Query difficulty predicted without labels: score gap of the top result, score spread, agreement of rankings."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.evaluate.judging import Floats
from assay.evaluate.statistics.intervals import two_sided_p

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
