"""Counts of terms as a sparse matrix, and its products with dense ones, in numpy alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from assay.embed.vectors import Vectors


@dataclass(frozen=True, slots=True)
class Sparse:
    """A matrix by rows: `columns` and `values` of row i stand from `starts[i]` to `starts[i + 1]`."""

    starts: NDArray[np.int64]
    columns: NDArray[np.int32]
    values: Vectors
    width: int

    def __matmul__(self, dense: NDArray[np.floating]) -> Vectors:
        """The product with a dense matrix. Row by row, which beats gathering in blocks, and no row depends on those beside it."""
        out = np.zeros((len(self.starts) - 1, dense.shape[1]), np.float32)
        for row, (first, last) in enumerate(pairwise(self.starts.tolist())):
            if last > first:
                out[row] = self.values[first:last] @ dense[self.columns[first:last]]
        return out

    def transposed(self) -> Sparse:
        order = np.argsort(self.columns, kind="stable")
        rows = np.repeat(np.arange(len(self.starts) - 1, dtype=np.int32), np.diff(self.starts))
        starts = np.searchsorted(self.columns[order], np.arange(self.width + 1))
        return Sparse(starts, rows[order], self.values[order], len(self.starts) - 1)


def counted(texts: Iterable[Mapping[str, int]], places: Mapping[str, int]) -> Sparse:
    """How often each text has each term that has a place; 1 + log of the count, as a word's tenth use says little."""
    starts, columns, counts = [0], [], []
    for text in texts:
        known = sorted((places[term], count) for term, count in text.items() if term in places)
        columns += [place for place, _ in known]
        counts += [count for _, count in known]
        starts.append(len(columns))
    values = np.log1p(np.array(counts, np.float32))
    return Sparse(np.array(starts, np.int64), np.array(columns, np.int32), values, len(places))


def frequencies(texts: Iterable[Mapping[str, int]]) -> Counter[str]:
    """In how many texts each term stands."""
    found: Counter[str] = Counter()
    for text in texts:
        found.update(text.keys())
    return found
