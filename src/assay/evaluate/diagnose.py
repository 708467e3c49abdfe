"""Diagnosis: the stage that lost each missed expectation, and predicted query difficulty."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.core.golden import Expected, GoldenQuery, Hit, Response
from assay.evaluate.judging import mark
from assay.evaluate.matching import Matcher
from assay.evaluate.statistics import intervals as student

Exists = Callable[[Expected, str], bool | None]  # does the corpus of this repository have it? None: nobody knows


@dataclass(frozen=True, slots=True)
class Lost:
    """One expectation that did not make it into the first k, and where it went."""

    query: str
    expected: str
    stage: str
    detail: str


def diagnose(
    queries: Sequence[GoldenQuery],
    responses: Sequence[Response],
    matcher: Matcher,
    level: str,
    k: int,
    exists: Exists = lambda expected, repository: None,
) -> list[Lost]:
    """Every missed expectation with the stage that lost it."""
    lost = []
    for query, response in zip(queries, responses, strict=True):
        expected = query.at(level)
        places = mark(response.hits, expected, matcher).places
        for at, one in enumerate(expected):
            rank = places.get(at)
            if rank is None or rank > k:
                stage, detail = _where(one, rank, response, matcher, k, exists(one, query.repository))
                lost.append(Lost(query.id, one.name, stage, detail))
    return lost


def _where(
    one: Expected, rank: int | None, response: Response, matcher: Matcher, k: int, exists: bool | None
) -> tuple[str, str]:
    if exists is False:
        return "absent from the corpus", "no item of this name is indexed; `assay eval verify` offers the nearest"
    if response.error:
        return "system failed", response.error
    if rank is not None:
        return "ranked low", f"rank {rank}, beyond the first {k}"
    if response.stages:
        return _in_trace(one, response, matcher)
    if not response.hits:
        return "empty result", "the system returned nothing"
    return "not returned", f"not among the {len(response.hits)} results; a system with a trace could say more"


def _in_trace(one: Expected, response: Response, matcher: Matcher) -> tuple[str, str]:
    """The first stage after the last one that still had it. A trace has ids only; of what was returned more is known."""
    stages, returned = response.stages, {hit.id: hit for hit in response.hits}

    def is_it(item: str) -> bool:
        return matcher.matches(returned.get(item) or Hit(item), one)

    last, place = -1, 0
    for number, stage in enumerate(stages):
        rank = next((at for at, item in enumerate(stage.items, 1) if is_it(item)), 0)
        if rank:
            last, place = number, rank
    for stage in stages[last + 1 :]:
        for item, reason in stage.dropped.items():
            if is_it(item):
                return stage.name, reason
    if last < 0:
        return "no channel", f"none of {', '.join(stage.name for stage in stages)} brought it up"
    after = stages[last + 1].name if last + 1 < len(stages) else "result"
    return after, f"rank {place} after {stages[last].name}"


def diagnosis_json(lost: Sequence[Lost], queries: int) -> dict[str, Any]:
    counts = Counter(one.stage for one in lost)
    return {
        "queries": queries,
        "missed": len(lost),
        "stages": dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))),
        "lost": [{"query": o.query, "expected": o.expected, "stage": o.stage, "detail": o.detail} for o in lost],
    }


# How hard a query is, told from the answers alone: how clearly the first result stands out, and whether rankings
# agree. No labels are read.

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
