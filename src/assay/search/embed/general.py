"""Embedder `words`: the general word vectors that ship with assay (`store/word_vectors.py`)."""

from __future__ import annotations

from collections.abc import Sequence

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
