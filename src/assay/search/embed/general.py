"""Embedder `words`: the general word vectors that ship with assay (`store/word_vectors.py`)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from assay.search.embed.embedders import Role, Vectors
from assay.store.word_vectors import TextVectors, WordTable


class WordEmbedder:
    """Embeds a text as the sum of its words' vectors."""

    def __init__(self, table: WordTable) -> None:
        self._vectors = TextVectors(table)

    @property
    def name(self) -> str:
        return f"words:{self._vectors.table.digest}"

    @property
    def dimensions(self) -> int:
        return self._vectors.table.dimensions

    def embed(self, texts: Sequence[str], role: Role = "passage") -> Vectors:
        return self._vectors.embed(texts)

    def rows(self, text: str) -> NDArray[np.int64]:
        """Return the table rows of a text's known words, in order."""
        return np.array(self._vectors.rows(text), np.int64)

    def similarities(self, words: Sequence[str]) -> Vectors:
        """Return the cosine of each word and every row of the table, from 0 to 1; zeros for an unknown word."""
        return self._vectors.similarities(words)
