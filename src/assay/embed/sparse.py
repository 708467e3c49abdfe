"""Counts of terms as a sparse matrix, and its products with dense ones, in numpy alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.embed.vectors import Vectors

_GATHERED = 1 << 24  # numbers gathered at a time: 64 MB


@dataclass(frozen=True, slots=True)
class Sparse:
    """A matrix by rows: `columns` and `values` of row i stand from `starts[i]` to `starts[i + 1]`."""

    starts: NDArray[np.int64]
    columns: NDArray[np.int32]
    values: Vectors
    width: int

    def __matmul__(self, dense: NDArray[np.floating]) -> Vectors:
        """The product with a dense matrix, block by block. A row's sum never depends on the rows beside it."""
        out = np.zeros((len(self.starts) - 1, dense.shape[1]), np.float32)
        filled = np.flatnonzero(np.diff(self.starts))
        starts = self.starts[:-1][filled]
        limit = max(1, _GATHERED // dense.shape[1])
        first = 0
        while first < len(filled):
            last = max(first + 1, int(np.searchsorted(starts, starts[first] + limit)))
            stop = starts[last] if last < len(filled) else self.starts[-1]
            part = slice(starts[first], stop)
            rows = dense[self.columns[part]].astype(np.float32) * self.values[part, None]
            out[filled[first:last]] = np.add.reduceat(rows, starts[first:last] - starts[first], axis=0)
            first = last
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
