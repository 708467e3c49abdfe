"""How hard a query is, told from the answers alone: how clearly the first result stands out, and whether rankings agree. No labels are read.

Two signs of clarity: the *gap* between the first two scores, and the *spread* of the scores; one of *agreement*: what rankings of several
configurations have in common, the top counting most. Scores of different systems cannot be compared, so a query's sign is its place among the
queries of the same configuration; the mean of its three places is its *ease*, and thirds of that are the classes. On 225 questions of Cranfield the
spread tells most, on 30 about Flask the gap: with equal weights ease correlates with the measured nDCG by 0.45 and 0.50 (docs/guides/sweep.md).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.evaluate.statistics import student

LEVELS = ("hard", "medium", "easy")
_TOP = 10  # results whose scores and documents are looked at

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Answer:
    """What one configuration answered to one query: scores, and names that other configurations use, too (documents), best first."""

    scores: Sequence[float | None]
    names: Sequence[str]


@dataclass(frozen=True, slots=True)
class Difficulty:
    """A query's class with the signs it was told from, each 0 to 1 and higher when easier; NaN where there is no such sign."""

    level: str
    ease: float
    gap: float
    spread: float
    agreement: float


@dataclass(frozen=True, slots=True)
class Correlation:
    """Spearman's rank correlation over n pairs, and the two-sided p of its t; NaN where one side does not vary."""

    rho: float
    p: float
    n: int


def classify(answers: Sequence[Sequence[Answer]]) -> list[Difficulty]:
    """The difficulty of each query from `answers[configuration][query]`."""
    queries = len(answers[0]) if answers else 0
    gaps = np.array([[gap(one.scores) for one in row] for row in answers]).reshape(len(answers), queries)
    spreads = np.array([[spread(one.scores) for one in row] for row in answers]).reshape(len(answers), queries)
    agreements = np.array([agreement([row[query].names for row in answers]) for query in range(queries)])
    ease = _mean([_mean(_places(gaps)), _mean(_places(spreads)), places(agreements)])
    levels = _levels(ease)
    told = zip(levels, ease, _mean(gaps), _mean(spreads), agreements, strict=True)
    return [Difficulty(level, *map(float, signs)) for level, *signs in told]


def gap(scores: Sequence[float | None]) -> float:
    """How far the first score lies above the second, as a share of the way to the last. Whatever their unit and zero; of nothing found, 0."""
    known = _known(scores)
    if known is None:
        return math.nan
    if len(known) < 2:
        return float(len(known))
    first, second, last = known[0], known[1], known[-1]
    return float(np.clip((first - second) / (first - last), 0.0, 1.0)) if first > last else 0.0


def spread(scores: Sequence[float | None]) -> float:
    """The deviation of the scores over their mean size, at most 1, whatever their unit; of nothing found, 0."""
    known = _known(scores)
    if known is None:
        return math.nan
    size = float(np.abs(known).mean()) if len(known) else 0.0
    return min(1.0, float(known.std()) / size) if size > 0 else 0.0


def agreement(rankings: Sequence[Sequence[str]]) -> float:
    """What two of the rankings have in common, on average over all pairs and over all depths (average overlap): 1 when all are alike."""
    pairs = len(rankings) * (len(rankings) - 1) / 2
    if not pairs:
        return math.nan
    lists = [list(dict.fromkeys(ranking))[:_TOP] for ranking in rankings]
    deepest = max(map(len, lists))
    counts: Counter[str] = Counter()
    shared = total = 0.0
    for depth in range(deepest):
        for ranking in lists:
            if depth < len(ranking):
                shared += counts[ranking[depth]]  # one more pair with each ranking that has it already
                counts[ranking[depth]] += 1
        total += shared / (depth + 1)
    return total / deepest / pairs if deepest else 0.0


def places(values: Floats) -> Floats:
    """The share of the values that lie below each, ties counting half; NaN stays NaN and does not count."""
    known = values[~np.isnan(values)]
    if not len(known):
        return np.full(len(values), math.nan)
    ordered = np.sort(known)
    middle = (np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right")) / 2
    return np.where(np.isnan(values), math.nan, middle / len(known))


def correlation(a: Floats, b: Floats) -> Correlation:
    """Spearman's correlation of two figures per query; queries without one of them are left out."""
    kept = ~(np.isnan(a) | np.isnan(b))
    first, second = places(a[kept]), places(b[kept])
    n = int(kept.sum())
    if n < 3 or not first.std() or not second.std():
        return Correlation(math.nan, math.nan, n)
    rho = float(np.clip(np.corrcoef(first, second)[0, 1], -1.0, 1.0))
    t = math.inf if 1 - rho * rho < 1e-12 else rho * math.sqrt((n - 2) / (1 - rho * rho))
    return Correlation(rho, student.two_sided_p(t, n - 2), n)


def _levels(ease: Floats) -> list[str]:
    """Thirds of the queries by ease; equal ones are in the same, and what cannot be told is medium."""
    return [LEVELS[1] if math.isnan(place) else LEVELS[min(int(place * 3), 2)] for place in places(np.round(ease, 9))]


def _known(scores: Sequence[float | None]) -> Floats | None:
    """The first scores as numbers; None when a system gives none."""
    if any(score is None or not math.isfinite(score) for score in scores):
        return None
    return np.array(scores[:_TOP], dtype=np.float64)


def _places(rows: Floats) -> Floats:
    return np.array([places(row) for row in rows]).reshape(rows.shape)


def _mean(rows: Floats | Sequence[Floats]) -> Floats:
    """The mean over configurations (or signs) of what is known of each query."""
    table = np.asarray(rows, dtype=np.float64)
    known = ~np.isnan(table)
    count = known.sum(axis=0)
    return np.where(count > 0, np.where(known, table, 0.0).sum(axis=0) / np.maximum(count, 1), math.nan)
