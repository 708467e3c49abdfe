"""What history says about a task: commits whose messages speak of it touched some files more than others."""

from __future__ import annotations

import numpy as np

from assay.retrieve.graph import Floats
from assay.retrieve.lexical import rarity_of
from assay.store.history import History

_SATURATION, _LENGTH = 1.2, 0.5  # BM25 over messages; they vary less in length than code, so length counts half
_COMMITS = 60  # the best so many speak


def file_shares(history: History, query: dict[str, int]) -> dict[int, float]:
    """The files that the commits nearest to a task touched, each with its share of the most touched one.

    A commit counts by the square of its score, and each of its files by one over the root of how many it touched.
    """
    scores = _scores(history, query)
    shares: dict[int, float] = {}
    for commit in np.argsort(-scores, kind="stable")[:_COMMITS].tolist():
        if scores[commit] <= 0:
            break
        worth = float(scores[commit]) ** 2 / float(np.sqrt(max(int(history.sizes[commit]), 1)))
        for file in history.touched(commit).tolist():
            shares[file] = shares.get(file, 0.0) + worth
    most = max(shares.values(), default=1.0)
    return {file: share / most for file, share in shares.items()}


def _scores(history: History, query: dict[str, int]) -> Floats:
    total = len(history)
    scores = np.zeros(total)
    average = float(history.lengths.mean()) if total else 1.0
    for term, times in query.items():
        commits, counts = history.commits(term)
        if not len(commits):
            continue
        norm = _SATURATION * (1 - _LENGTH + _LENGTH * history.lengths[commits] / average)
        found = counts.astype(np.float64)
        scores[commits] += times * rarity_of(total, len(commits)) * found * (_SATURATION + 1) / (found + norm)
    return scores
