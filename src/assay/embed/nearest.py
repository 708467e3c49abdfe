"""The rows nearest to a vector: exactly by comparing with all, in large collections through one bit per dimension first."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.embed.vectors import Vectors

EXACT_UP_TO = 200_000  # rows; comparing with all of them takes some 20 ms
RESCORED = 20  # times as many rows as asked for are compared exactly after the bits
LEAST_RESCORED = 1_000

_SEED = 0
_PORTION = 50_000  # rows turned at a time


class Found(NamedTuple):
    """Rows, the nearest first, and their cosines."""

    rows: NDArray[np.integer[Any]]
    scores: Vectors


class Nearest:
    """Searches rows of unit length. Ties go by row number."""

    def __init__(self, vectors: Vectors, exact_up_to: int = EXACT_UP_TO) -> None:
        self.vectors = vectors
        self.exact = len(vectors) <= exact_up_to

    def search(self, query: Vectors, k: int, among: NDArray[np.integer[Any]] | None = None) -> Found:
        """The `k` rows nearest to one vector, all of them or `among` some (row numbers in rising order)."""
        if among is not None:
            return self._best(query, k, among)
        return self._best(query, k, None if self.exact else self._candidates(query, max(RESCORED * k, LEAST_RESCORED)))

    def recall(self, k: int = 10, sample: int = 100) -> float:
        """The share of the true nearest `k` that a search finds, over rows spread evenly as queries; 1 when it is exact."""
        if self.exact or not len(self.vectors):
            return 1.0
        asked = np.linspace(0, len(self.vectors) - 1, sample).astype(int)
        shares = [
            len(np.intersect1d(self.search(one, k).rows, self._best(one, k, None).rows)) / min(k, len(self.vectors))
            for one in self.vectors[asked]
        ]
        return float(np.mean(shares))

    def _best(self, query: Vectors, k: int, among: NDArray[np.integer[Any]] | None) -> Found:
        scores = (self.vectors if among is None else self.vectors[among]) @ query
        places = np.arange(len(scores))
        if 0 < k < len(scores):
            least = np.partition(scores, len(scores) - k)[len(scores) - k]
            places = np.flatnonzero(scores >= least)  # with every tie, so that the lowest numbers can win
        places = places[np.argsort(-scores[places], kind="stable")][: max(k, 0)]
        return Found(places if among is None else among[places], scores[places])

    def _candidates(self, query: Vectors, count: int) -> NDArray[np.integer[Any]]:
        """The rows whose bits differ least from the query's, with every tie, in rising order."""
        differing = np.zeros(len(self.vectors), np.uint16)
        for known, asked in zip(self._codes, self._code(query[None]), strict=True):
            differing += np.bitwise_count(known ^ asked)
        if count >= len(differing):
            return np.arange(len(differing))
        return np.flatnonzero(differing <= np.partition(differing, count)[count])

    @cached_property
    def _codes(self) -> NDArray[np.uint64]:
        """The bits of all rows: 64 dimensions in a line, so that each line is compared in one go."""
        parts = np.array_split(self.vectors, len(self.vectors) // _PORTION + 1)
        return np.concatenate([self._code(part) for part in parts], axis=1)

    def _code(self, vectors: Vectors) -> NDArray[np.uint64]:
        """A bit per dimension: on which side of the mean a vector lies, after a turn that spreads what the first dimensions know."""
        bits = np.packbits((vectors - self._mean) @ self._turn > 0, axis=1)
        padded = np.zeros((len(bits), -(-bits.shape[1] // 8) * 8), np.uint8)
        padded[:, : bits.shape[1]] = bits
        return np.ascontiguousarray(padded.view(np.uint64).T)

    @cached_property
    def _mean(self) -> Vectors:
        return np.asarray(self.vectors.mean(axis=0), np.float32)

    @cached_property
    def _turn(self) -> Vectors:
        """A random orthogonal matrix, always the same."""
        size = self.vectors.shape[1]
        return np.linalg.qr(np.random.default_rng(_SEED).standard_normal((size, size)))[0].astype(np.float32)
