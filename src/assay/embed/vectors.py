"""What an embedder is: texts in, rows of unit length out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

Role = Literal["passage", "query"]
Vectors = NDArray[np.float32]


class Embedder(Protocol):
    """Makes vectors of texts. Two embedders of the same name make the same vectors of the same texts."""

    @property
    def name(self) -> str:
        """Goes into the keys of caches, so it changes with anything that changes a vector."""

    @property
    def dimensions(self) -> int: ...

    def embed(self, texts: Sequence[str], role: Role = "passage") -> Vectors:
        """A row for each text, of length one; of a text that says nothing to this embedder, zeros."""


def unit(rows: Vectors) -> Vectors:
    """Rows of length one; those of length zero stay."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.where(lengths > 0, lengths, 1)).astype(np.float32)
