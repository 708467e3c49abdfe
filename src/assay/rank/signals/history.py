"""History signal: files and symbols touched by commits whose messages match a task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from assay.rank.arrays import Ints, highest, share_of_best, sum_by_index
from assay.rank.recency import scores
from assay.rank.signals.lexical import PARSING, bm25
from assay.rank.signals.signal import Signal, Stage

if TYPE_CHECKING:
    from assay.rank.context import QueryContext
    from assay.store.history import History

_SATURATION, _LENGTH = 1.2, 0.5  # BM25 over messages; b = 0.5, as they vary less in length than code
_CANDIDATES = 30  # symbols that become candidates
_COMMITS = 60  # matching commits that count


class Commits:
    """The commits that match a task best, and what they touched."""

    def __init__(self, history: History, query: Mapping[str, float]) -> None:
        self._history = history
        scores = bm25(history.commits, history.lengths, query, _SATURATION, _LENGTH)
        self.best = [(int(commit), float(scores[commit])) for commit in highest(scores, _COMMITS)]

    def files(self) -> dict[int, float]:
        """Return the touched files, relative to the most touched one."""
        touched = [self._history.touched(commit) for commit, _ in self.best]
        return self._shares(touched, [int(self._history.sizes[commit]) for commit, _ in self.best])

    def symbols(self) -> dict[int, float]:
        """Return the touched symbols, relative to the most touched one."""
        touched = [self._history.symbols(commit) for commit, _ in self.best]
        return self._shares(touched, [*map(len, touched)])

    def _shares(self, touched: Sequence[Ints], sizes: Sequence[int]) -> dict[int, float]:
        """Sum the squared commit scores, each divided by the square root of the commit's size."""
        numbers = np.concatenate([np.zeros(0, np.int64), *touched])
        amounts = np.array([score for _, score in self.best]) ** 2 / np.sqrt(np.maximum(np.array(sizes, np.int64), 1))
        lengths = np.array([*map(len, touched)], np.int64)
        sums = share_of_best(sum_by_index(numbers, np.repeat(amounts, lengths), 0))
        places = np.flatnonzero(sums)
        return dict(zip(places.tolist(), sums[places].tolist(), strict=True))


def _commits(query: QueryContext) -> Commits:
    return query.cached("commits", lambda: Commits(query.resources.history, query.task.terms))


HISTORY = Signal(
    "history",
    Stage.FACTOR,
    "history",
    "commits with matching messages changed its file",
    weights={"history": (0.0, 0.7, 1.5, 3.0)},
    reads=PARSING,
    generate=lambda query: query.items.by_file(_commits(query).files()),
    is_feature=True,
)


def _touched(query: QueryContext) -> dict[int, float]:
    return query.cached("touched", _commits(query).symbols)


CANDIDATES = Signal(
    "history",
    Stage.CHANNEL,
    "history",
    "commits with matching messages changed it, often",
    weights={"channels.history": ()},
    reads=PARSING,
    generate=lambda query: query.items.highest(
        query.items.by_item(_touched(query)) * query.items.is_symbol, _CANDIDATES
    ).tolist(),
)
TOUCHED = Signal(
    "touched",
    Stage.FACTOR,
    "history",
    "commits with matching messages changed it",
    weights={"touched": (0.0, 0.3, 1.0, 2.0)},
    reads=PARSING,
    generate=lambda query: query.items.by_item(_touched(query)),
    is_feature=True,
)
RECENCY = Signal(
    "recency",
    Stage.FACTOR,
    "history",
    "its file changed lately",
    weights={"recency": (0.15, 0.3)},  # off: nothing measured says that a task is about what changed last
    generate=lambda query: scores(query.resources.history.ages)[query.items.files],
)
