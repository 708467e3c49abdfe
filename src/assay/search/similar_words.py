"""Soft matching of a query's words: each counts by the most similar word of a text, so that `seriousness` finds `severity`.

Similarities are cosines of the word vectors that ship with assay (`store/word_vectors.py`). A word that the table does not
know matches nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assay.rank.arrays import Floats, Ints
from assay.rank.similarity import SoftMatches
from assay.store.word_vectors import TextVectors

_BLOCK = 24  # words; two neighbouring blocks are a window


@dataclass(frozen=True)
class SimilarWords:
    """The words of one query, to be matched with texts."""

    table: TextVectors
    similar: SoftMatches
    weights: Floats  # share of each word in the rarity of the query

    @classmethod
    def of(cls, table: TextVectors, idf: Mapping[tuple[str, ...], float]) -> SimilarWords:
        """Return the words of a query, each given by its forms, with their rarity."""
        weights = np.array([*idf.values()], np.float64)
        return cls(table, SoftMatches(table, table.first_words([word[0] for word in idf])), weights / max(weights.sum(), 1e-9))

    def rows(self, texts: Sequence[str]) -> list[Ints]:
        """Return the table rows of the words of each text."""
        return [np.array(self.table.rows(text), np.int64) for text in texts]

    def coverage(self, texts: Sequence[Ints]) -> Floats:
        """Return the similarity of the query's words to the most similar word of each text, weighted by rarity."""
        return self._best(texts, windows=False)

    def window_coverage(self, texts: Sequence[Ints]) -> Floats:
        """Return the coverage of the best window of each text."""
        return self._best(texts, windows=True)

    def _best(self, texts: Sequence[Ints], windows: bool) -> Floats:
        out = np.zeros(len(texts))
        places = [place for place, rows in enumerate(texts) if len(rows)]
        if not places or not len(self.weights):
            return out
        sizes = np.array([len(texts[place]) for place in places])
        blocks = -(-sizes // _BLOCK) if windows else np.ones(len(sizes), np.int64)
        owners = np.repeat(np.arange(len(sizes)), blocks)
        within = np.arange(len(owners)) - np.repeat(np.cumsum(blocks) - blocks, blocks)
        starts = np.repeat(np.cumsum(sizes) - sizes, blocks) + _BLOCK * within
        by_place = np.maximum(self.similar[np.concatenate([texts[place] for place in places])], 0.0)
        best = np.maximum.reduceat(by_place, starts, axis=1)
        if len(owners) > 1:
            same = owners[1:] == owners[:-1]
            best[:, :-1] = np.where(same, np.maximum(best[:, :-1], best[:, 1:]), best[:, :-1])
        covered = self.weights @ best
        np.maximum.at(out, np.array(places)[owners], covered)
        return out
