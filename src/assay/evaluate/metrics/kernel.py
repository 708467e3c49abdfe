"""The formulas. Each takes a judged run and returns one figure per query; NaN where a query has nothing to be measured by.

Conventions: precision divides by k however few results came; recall counts each expected thing once; gain is the grade, the
discount log2(rank + 1); a query without relevant expectations has no ranked figures (it is for refusal metrics to judge).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from assay.evaluate.metrics.judged import Floats, Ints, Judged, Level, Marks


def precision(run: Judged, k: int, rel: int) -> Floats:
    return _where_wanted(run, rel, run.main.hits.chosen(rel, k).count(len(run)) / k)


def precision_of_returned(run: Judged, k: int, rel: int) -> Floats:
    """Seed 000's P@k: over min(k, returned), so a short list can score high. 0 when nothing was returned."""
    shown = np.minimum(run.returned, k)
    return _where_wanted(run, rel, run.main.hits.chosen(rel, k).count(len(run)) / np.maximum(shown, 1))


def recall(run: Judged, k: int | None, rel: int) -> Floats:
    return _share(run.main.found.chosen(rel, k).count(len(run)), _wanted(run.main, rel, len(run)))


def recall_of_matches(run: Judged, k: int, rel: int) -> Floats:
    """Seed 000's R@k: counts matching results, not expected things, so it can exceed 1."""
    return _share(run.main.hits.chosen(rel, k).count(len(run)), _wanted(run.main, rel, len(run)))


def document_recall(run: Judged, k: int | None, rel: int) -> Floats:
    if run.documents is None:
        return np.full(len(run), np.nan)
    return _share(run.documents.found.chosen(rel, k).count(len(run)), _wanted(run.documents, rel, len(run)))


def reciprocal_rank(run: Judged, k: int | None, rel: int) -> Floats:
    with np.errstate(divide="ignore"):
        return _where_wanted(run, rel, np.where((first := first_rank(run, k, rel)) > 0, 1 / first, 0.0))


def success(run: Judged, k: int | None, rel: int) -> Floats:
    return _where_wanted(run, rel, (first_rank(run, k, rel) > 0).astype(np.float64))


def average_precision(run: Judged, k: int | None, rel: int) -> Floats:
    pairs = run.main.pairs.chosen(rel, k)
    return _share(_sum(pairs, _ordinal(pairs) / pairs.rank, len(run)), _wanted(run.main, rel, len(run)))


def ndcg(run: Judged, k: int | None, rel: int) -> Floats:
    return _discounted(run, k, rel, lambda grade: grade.astype(np.float64))


def ndcg_exponential(run: Judged, k: int | None, rel: int) -> Floats:
    return _discounted(run, k, rel, lambda grade: np.exp2(grade.astype(np.float64)) - 1)


def f1(run: Judged, k: int, rel: int) -> Floats:
    p, r = precision(run, k, rel), recall(run, k, rel)
    return np.where(p + r > 0, 2 * p * r / np.where(p + r > 0, p + r, 1), p)


def judged_share(run: Judged, k: int, rel: int) -> Floats:
    """The share of the results shown that anybody judged, relevant or not."""
    marks = run.main.hits
    count = np.bincount(marks.owner[marks.rank <= k], minlength=len(run)).astype(np.float64)
    return _share(count, np.minimum(run.returned, k).astype(np.float64))


def first_rank(run: Judged, k: int | None, rel: int) -> Floats:
    """The rank of the first relevant result of each query; 0 where there is none."""
    marks = run.main.hits.chosen(rel, k)
    first = np.zeros(len(run))
    starts = _ordinal(marks) == 1
    first[marks.owner[starts]] = marks.rank[starts]
    return first


def _discounted(run: Judged, k: int | None, rel: int, gain: Callable[[Ints], Floats]) -> Floats:
    def dcg(marks: Marks) -> Floats:
        return _sum(marks, gain(marks.grade) / np.log2(marks.rank + 1.0), len(run))

    return _share(dcg(run.main.pairs.chosen(rel, k)), dcg(run.main.wanted.chosen(rel, k)))


def _sum(marks: Marks, values: Floats, queries: int) -> Floats:
    """The values of each query's marks, added up."""
    return np.asarray(np.bincount(marks.owner, weights=values, minlength=queries), dtype=np.float64)


def _ordinal(marks: Marks) -> Floats:
    """1, 2, 3… within each query."""
    starts = np.searchsorted(marks.owner, marks.owner)
    return np.asarray(np.arange(1, len(marks) + 1) - starts, dtype=np.float64)


def _wanted(level: Level, rel: int, queries: int) -> Floats:
    return level.wanted.chosen(rel, None).count(queries)


def _where_wanted(run: Judged, rel: int, values: Floats) -> Floats:
    return np.where(_wanted(run.main, rel, len(run)) > 0, values, np.nan)


def _share(part: Floats, whole: Floats) -> Floats:
    return np.where(whole > 0, part / np.where(whole > 0, whole, 1), np.nan)
