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
        return cls(
            table, SoftMatches(table, table.first_words([word[0] for word in idf])), weights / max(weights.sum(), 1e-9)
        )

    def rows(self, texts: Sequence[str]) -> list[Ints]:
        """Return the table rows of the words of each text."""
        return [self.table.cached_rows(text) for text in texts]

    def coverage(self, texts: Sequence[Ints]) -> Floats:
        """Return the similarity of the query's words to the most similar word of each text, weighted by rarity."""
        return self.coverages(texts)[0]

    def coverages(self, texts: Sequence[Ints]) -> tuple[Floats, Floats]:
        """Return the coverage of each text, and that of its best window."""
        whole, window = np.zeros(len(texts)), np.zeros(len(texts))
        places = np.array([place for place, rows in enumerate(texts) if len(rows)], np.int64)
        if not len(places) or not len(self.weights):
            return whole, window
        sizes = np.array([len(texts[place]) for place in places.tolist()])
        blocks = -(-sizes // _BLOCK)
        firsts = np.cumsum(blocks) - blocks
        owners = np.repeat(np.arange(len(sizes)), blocks)
        starts = np.repeat(np.cumsum(sizes) - sizes, blocks) + _BLOCK * (np.arange(len(owners)) - firsts[owners])
        similar = self.similar[np.concatenate([texts[place] for place in places.tolist()])]
        best = np.maximum(np.maximum.reduceat(similar, starts, axis=1), 0.0)
        whole[places] = self.weights @ np.maximum.reduceat(best, firsts, axis=1)
        if len(owners) > 1:
            same = owners[1:] == owners[:-1]
            best[:, :-1] = np.where(same, np.maximum(best[:, :-1], best[:, 1:]), best[:, :-1])
        window[places] = np.maximum.reduceat(self.weights @ best, firsts)
        return whole, window
