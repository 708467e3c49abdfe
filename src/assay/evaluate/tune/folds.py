"""Folds: parts of a golden set, each of which is measured with what was tuned on the others.

What belongs together is never on both sides: a repository where there are several, a stretch of time where queries have dates (commits of one
week are about one thing), a text that is there twice.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from assay.core.golden import GoldenQuery

FOLDS = 5  # each tuning sees four fifths of the set, and all of it is measured

Rows = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Folds:
    """The number of each query's fold, and what they were made by: repository, time or text."""

    by: str
    of: tuple[int, ...]

    @property
    def count(self) -> int:
        return max(self.of, default=-1) + 1

    def held_out(self, fold: int) -> Rows:
        """Which queries are in a fold."""
        return np.array([one == fold for one in self.of], np.bool_)


def split(queries: Sequence[GoldenQuery]) -> Folds:
    """The folds of a golden set; the same whatever the order of its queries."""
    if len({query.repository for query in queries}) > 1:
        return Folds("repository", _packed([query.repository for query in queries]))
    if queries and all(_when(query) for query in queries):
        return Folds("time", _stretches(queries, lambda query: (_when(query), query.id)))
    return Folds("text", _stretches(queries, lambda query: hashlib.sha256(query.text.encode()).hexdigest()))


def _when(query: GoldenQuery) -> float:
    """When a mined query was committed, in seconds; 0 when it does not say."""
    try:
        return datetime.fromisoformat(query.notes).timestamp()
    except (ValueError, OverflowError, OSError):
        return 0.0


def _stretches(queries: Sequence[GoldenQuery], key: Callable[[GoldenQuery], Hashable]) -> tuple[int, ...]:
    """Neighbours by a key in one fold, the folds of nearly one size; queries with the same key stay together."""
    keys = [key(query) for query in queries]
    ordered = sorted(set(keys))  # type: ignore[type-var]
    fold = {one: place * FOLDS // len(ordered) for place, one in enumerate(ordered)}
    return _numbered([fold[one] for one in keys])


def _packed(labels: Sequence[str]) -> tuple[int, ...]:
    """Whole groups, the largest first, each into the fold that has least."""
    filled = [0] * FOLDS
    fold: dict[str, int] = {}
    for label, size in sorted(Counter(labels).items(), key=lambda pair: (-pair[1], pair[0])):
        fold[label] = filled.index(min(filled))
        filled[fold[label]] += size
    return _numbered([fold[label] for label in labels])


def _numbered(folds: Sequence[int]) -> tuple[int, ...]:
    """Without gaps: a set of three repositories has three folds."""
    places = {fold: place for place, fold in enumerate(sorted(set(folds)))}
    return tuple(places[fold] for fold in folds)
