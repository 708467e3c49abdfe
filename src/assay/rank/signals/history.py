"""What history says about a task: commits whose messages speak of it touched some files and symbols more than others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from assay.rank.ranking import highest
from assay.rank.signals.lexical import bm25

if TYPE_CHECKING:
    from assay.store.history import History
    from assay.store.multi_repo import Histories

_SATURATION, _LENGTH = 1.2, 0.5  # BM25 over messages; they vary less in length than code, so length counts half
_COMMITS = 60  # the best so many speak


class Commits:
    """The commits nearest to a task, and what they touched."""

    def __init__(self, history: History | Histories, query: Mapping[str, float]) -> None:
        self._history = history
        scores = bm25(history.commits, history.lengths, query, _SATURATION, _LENGTH)
        self.best = [(int(commit), float(scores[commit])) for commit in highest(scores, _COMMITS)]

    def files(self) -> dict[int, float]:
        """The files they touched, each with its share of the most touched one; a file counts by one over the root of how many the commit touched."""
        return self._shares(self._history.touched, lambda commit: int(self._history.sizes[commit]))

    def symbols(self) -> dict[int, float]:
        """The symbols they touched, likewise."""
        touched = {commit: self._history.symbols(commit) for commit, _ in self.best}
        return self._shares(touched.__getitem__, lambda commit: len(touched[commit]))

    def _shares(self, touched: Callable[[int], Iterable[int]], size: Callable[[int], int]) -> dict[int, float]:
        """Each commit gives the square of its score, divided by the root of its size."""
        shares: dict[int, float] = {}
        for commit, score in self.best:
            worth = score**2 / float(np.sqrt(max(size(commit), 1)))
            for number in touched(commit):
                shares[int(number)] = shares.get(int(number), 0.0) + worth
        most = max(shares.values(), default=1.0)
        return {number: share / most for number, share in shares.items()}
