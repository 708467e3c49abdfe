"""Judging plain dictionaries, as pytrec_eval takes them: qrels {query: {doc: grade}} and a run {query: {doc: score}}.

Only judged documents need a rank, and a rank is a count of greater scores: so the scores of a block of queries are sorted row
by row and each judged document is looked up in its row. Nothing is sorted by document.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.errors import AssayError
from assay.evaluate.metrics.judged import Floats, Judged, Level, Marks
from assay.evaluate.metrics.measures import parse

Qrels = Mapping[str, Mapping[str, int]]
Run = Mapping[str, Mapping[str, float]]

_BLOCK = 1 << 21  # scores sorted at a time: what stays in the cache


def evaluate(qrels: Qrels, run: Run, measures: Sequence[str], ties: str = "order") -> dict[str, dict[str, float]]:
    """Each measure's value for each judged query, as trec_eval counts: a query without a relevant document scores 0."""
    judged = judge(qrels, run, ties)
    return {
        name: dict(zip(judged.queries, np.nan_to_num(parse(name).values(judged)).tolist(), strict=True))
        for name in measures
    }


def judge(qrels: Qrels, run: Run, ties: str = "order") -> Judged:
    """Judges a run at document level. Ties in score keep the order of the dictionary, or with `trec` go by id, descending."""
    if ties not in ("order", "trec"):
        raise AssayError(f"ties='{ties}': it is 'order' (as the system returned them) or 'trec' (by id, descending)")
    queries = tuple(qrels)
    lists = [run.get(query, {}) for query in queries]
    lengths = np.fromiter(map(len, lists), dtype=np.int64, count=len(lists))
    scores = np.fromiter(chain.from_iterable(hits.values() for hits in lists), dtype=np.float64, count=lengths.sum())
    if np.isnan(scores).any():
        raise AssayError(f"query '{queries[_owner_of(lengths, np.isnan(scores).argmax())]}': a score is not a number")

    documents: list[str] = []
    found: list[int] = []
    grades: list[int] = []
    values: list[float] = []
    for judgements, hits in zip(qrels.values(), lists, strict=True):
        common = judgements.keys() & hits.keys()
        documents += common
        found.append(len(common))
        grades += map(judgements.__getitem__, common)
        values += map(hits.__getitem__, common)
    owner = np.repeat(np.arange(len(queries)), found)
    grade = np.array(grades, dtype=np.int64)

    rank, tied = _ranks(scores, lengths, owner, np.array(values, dtype=np.float64))
    for query in np.unique(owner[tied]).tolist():
        first, last = np.searchsorted(owner, (query, query + 1)).tolist()
        places = {document: place for place, document in enumerate(_ranked(lists[query], ties), 1)}
        rank[first:last] = [places[document] for document in documents[first:last]]
    order = np.argsort(owner * (int(lengths.max(initial=0)) + 1) + rank)
    marks = Marks(owner[order].astype(np.int32), rank[order].astype(np.int32), grade[order].astype(np.int32))
    level = Level(marks, marks, marks, _ideal(list(qrels.values())))
    return Judged(queries, lengths.astype(np.int32), level, documents=level)


def _ranks(
    scores: Floats, lengths: NDArray[np.int64], owner: NDArray[np.int64], wanted: Floats
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The rank of each wanted score in its query's list as if it stood first among equals, and whether it has equals."""
    rank, tied = np.empty(len(owner), np.int64), np.empty(len(owner), np.bool_)
    starts = np.concatenate(([0], np.cumsum(lengths)))
    first = 0
    while first < len(lengths):
        width = 1
        last = first
        while last < len(lengths) and max(width, lengths[last]) * (last - first + 1) <= max(_BLOCK, lengths[last]):
            width = max(width, int(lengths[last]))
            last += 1
        rows = np.full((last - first, width), -np.inf)
        filled = np.arange(width) < lengths[first:last, None]
        rows[filled] = scores[starts[first] : starts[last]]
        rows.sort(axis=1)
        here = slice(*np.searchsorted(owner, (first, last)))
        row = owner[here] - first
        not_above = _not_above(rows, row, wanted[here])
        rank[here] = width - not_above + 1
        tied[here] = (not_above > 1) & (rows[row, not_above - 2] == wanted[here])
        first = last
    return rank, tied


def _not_above(rows: Floats, row: NDArray[np.int64], value: Floats) -> NDArray[np.int64]:
    """How many entries of each value's sorted row are not greater: a binary search for all values at once."""
    low, high = np.zeros(len(row), np.int64), np.full(len(row), rows.shape[1], np.int64)
    while (open_ := low < high).any():
        middle = (low + high) // 2
        below = (rows[row, np.minimum(middle, rows.shape[1] - 1)] <= value) & open_
        low, high = np.where(below, middle + 1, low), np.where(open_ & ~below, middle, high)
    return low


def _ranked(hits: Mapping[str, float], ties: str) -> list[str]:
    """The documents, best first."""
    if ties == "trec":
        return sorted(hits, key=lambda document: (hits[document], document), reverse=True)
    return sorted(hits, key=hits.__getitem__, reverse=True)  # stable: equals stay in the order of the dictionary


def _ideal(graded: list[Mapping[str, int]]) -> Marks:
    """Every relevant judgement of each query, best grade first."""
    counts = np.fromiter(map(len, graded), dtype=np.int64, count=len(graded))
    grades = np.array(list(chain.from_iterable(judgements.values() for judgements in graded)), dtype=np.int64)
    owner = np.repeat(np.arange(len(graded)), counts)
    owner, grades = owner[grades > 0], grades[grades > 0]
    top = int(grades.max(initial=0)) + 1
    packed = np.sort(owner * top + (top - 1 - grades))  # by query, then grade descending, in one sort of integers
    owner, grades = packed // top, top - 1 - packed % top
    place = np.arange(1, len(owner) + 1) - np.searchsorted(owner, owner)
    return Marks(owner.astype(np.int32), place.astype(np.int32), grades.astype(np.int32))


def _owner_of(lengths: NDArray[np.int64], position: Any) -> int:
    return int(np.searchsorted(np.cumsum(lengths), position, side="right"))
