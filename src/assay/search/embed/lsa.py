"""Embedder `lsa`: latent semantic analysis trained on the user's own corpus. No download, no model, any language.

Terms that occur in the same texts get similar vectors: a low-rank approximation of the tf-idf matrix (texts × terms,
rows of unit length), by randomized singular value decomposition. The vector of a text is the weighted sum of its terms'
vectors.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from assay.search.embed.embedders import Role, Vectors, unit
from assay.store.arrays import members_in, strings, strings_of
from assay.store.layout import content_hash
from assay.text.terms import terms


@dataclass(frozen=True, slots=True)
class Sparse:
    """Sparse matrix in CSR format: row i is `columns` and `values` from `starts[i]` to `starts[i + 1]`."""

    starts: NDArray[np.int64]
    columns: NDArray[np.int32]
    values: Vectors
    width: int

    def __matmul__(self, dense: NDArray[np.floating]) -> Vectors:
        """Multiply with a dense matrix, row by row: faster than in blocks, and rows stay independent."""
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


def count_matrix(texts: Iterable[Mapping[str, int]], places: Mapping[str, int]) -> Sparse:
    """Build the matrix of term counts for the terms in `places`; damped as log(1 + count)."""
    starts, columns, counts = [0], [], []
    for text in texts:
        entries = sorted((places[term], count) for term, count in text.items() if term in places)
        columns += [place for place, _ in entries]
        counts += [count for _, count in entries]
        starts.append(len(columns))
    values = np.log1p(np.array(counts, np.float32))
    return Sparse(np.array(starts, np.int64), np.array(columns, np.int32), values, len(places))


def frequencies(texts: Iterable[Mapping[str, int]]) -> Counter[str]:
    """Return the document frequency of each term."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(text.keys())
    return counts


# Training

DIMENSIONS = 200  # Cranfield: 150 to 250 rank alike, 100 and 400 worse
# dimensions of a small corpus: with one for each text, only texts with the same words would be near
FEWEST, TEXTS_EACH = 32, 4
MOST_TEXTS = 10_000  # bounds training time: larger corpora are sampled evenly
MOST_TERMS = 30_000  # the most frequent ones
KEPT = 0.8  # a table is reused while this share of its texts remains and the corpus has not outgrown it

_VERSION = 3
_MIN_RELATIVE_STRENGTH = 1e-12  # relative to the largest; weaker directions are noise
_OVERSAMPLING = 20  # extra columns that sharpen the random projection
_POWER_ITERATIONS = 6  # Cranfield: 4 loses 0.003, 8 gains nothing
_SEED = 0
_BATCH = 2_000


@dataclass(frozen=True)
class Lsa:
    """A trained table: an idf-weighted vector for each term. `texts` are short hashes of the training texts."""

    vocabulary: tuple[str, ...]
    table: NDArray[np.float16]
    texts: NDArray[np.uint64]

    @cached_property
    def name(self) -> str:
        return f"lsa:{_VERSION}:{self.dimensions}:{blake2b(self.texts.tobytes(), digest_size=8).hexdigest()}"

    @property
    def dimensions(self) -> int:
        return int(self.table.shape[1])

    @cached_property
    def _places(self) -> Mapping[str, int]:
        return {term: place for place, term in enumerate(self.vocabulary)}

    def embed(self, texts: Sequence[str], role: Role = "passage") -> Vectors:
        """Sum the vectors of known terms; unknown terms are ignored."""
        rows = np.zeros((len(texts), self.dimensions), np.float32)
        for first in range(0, len(texts), _BATCH):
            counts = (Counter(terms(text)) for text in texts[first : first + _BATCH])
            rows[first : first + _BATCH] = count_matrix(counts, self._places) @ self.table
        return unit(rows)

    def fits(self, texts: Sequence[str]) -> bool:
        """Return whether these texts are still mostly the training texts."""
        trained, current = set(self.texts.tolist()), set(_hashes(texts).tolist())
        return len(trained & current) >= KEPT * max(len(trained), min(len(current), MOST_TEXTS), 1)

    def stored(self) -> bytes:
        """Serialize the table for `restored`."""
        file = io.BytesIO()
        np.savez(file, allow_pickle=False, table=self.table, texts=self.texts, **strings("term", self.vocabulary))
        return file.getvalue()


def deserialize(data: bytes) -> Lsa:
    """Deserialize a table from `stored`; raises ValueError and the like for anything else."""
    arrays = members_in(data)
    names, table, texts = strings_of(arrays, "term"), arrays["table"], arrays["texts"]
    if (table.dtype.str, table.ndim, texts.dtype.str, texts.ndim) != ("<f2", 2, "<u8", 1) or len(table) != len(names):
        raise ValueError("not an lsa table")
    return Lsa(tuple(names[place] for place in range(len(names))), table, texts)


def train(texts: Sequence[str], dimensions: int = DIMENSIONS) -> Lsa:
    """Train the table of a corpus; deterministic for the same texts in the same order."""
    texts = _sample(texts)
    bags = [Counter(terms(text)) for text in texts]
    frequent = sorted(frequencies(bags).items(), key=lambda pair: (-pair[1], pair[0]))[:MOST_TERMS]
    vocabulary = sorted(term for term, _ in frequent)
    counts = count_matrix(bags, {term: place for place, term in enumerate(vocabulary)})
    idf = np.log(max(len(texts), 1) / np.maximum(np.bincount(counts.columns, minlength=counts.width), 1))
    matrix = _unit_rows(counts, idf.astype(np.float32))
    rank = min(dimensions, max(FEWEST, len(texts) // TEXTS_EACH))
    directions = _directions(matrix, min(rank, *_shape(matrix)))
    return Lsa(tuple(vocabulary), (directions * idf[:, None]).astype(np.float16), _hashes(texts))


def _directions(matrix: Sparse, rank: int) -> Vectors:
    """Return the first right singular vectors as columns, by randomized subspace iteration."""
    if rank == 0:
        return np.zeros((matrix.width, 1), np.float32)
    transposed = matrix.transposed()
    width = min(rank + _OVERSAMPLING, *_shape(matrix))
    basis = np.random.default_rng(_SEED).standard_normal((matrix.width, width)).astype(np.float32)
    for _ in range(_POWER_ITERATIONS):
        basis = _orthonormal(transposed @ _orthonormal(matrix @ basis))
    _, rotation = _principal(matrix @ basis)
    return np.asarray(basis @ rotation[:, :rank], np.float32)


def _orthonormal(rows: Vectors) -> Vectors:
    """Orthonormalize columns through the small Gram matrix: ten times as fast as a QR decomposition."""
    strengths, rotation = _principal(rows)
    floor = max(float(strengths[0]) * _MIN_RELATIVE_STRENGTH, float(np.finfo(np.float32).tiny))
    return np.asarray(rows @ (rotation / np.sqrt(np.maximum(strengths, floor))), np.float32)


def _principal(rows: Vectors) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the squared singular values of a tall matrix, largest first, and its right singular vectors as columns."""
    gram = rows.T.astype(np.float64) @ rows.astype(np.float64)
    strengths, rotation = np.linalg.eigh(gram)
    return strengths[::-1], rotation[:, ::-1]


def _unit_rows(counts: Sparse, idf: Vectors) -> Sparse:
    values = counts.values * idf[counts.columns]
    rows = np.repeat(np.arange(len(counts.starts) - 1), np.diff(counts.starts))
    lengths = np.sqrt(np.bincount(rows, weights=values * values, minlength=len(counts.starts) - 1))
    scaled = values / np.where(lengths > 0, lengths, 1)[rows]
    return Sparse(counts.starts, counts.columns, scaled.astype(np.float32), counts.width)


def _shape(matrix: Sparse) -> tuple[int, int]:
    return len(matrix.starts) - 1, matrix.width


def _sample(texts: Sequence[str]) -> Sequence[str]:
    """Return all texts, or an even sample of MOST_TEXTS."""
    if len(texts) <= MOST_TEXTS:
        return texts
    return [texts[place * len(texts) // MOST_TEXTS] for place in range(MOST_TEXTS)]


def _hashes(texts: Sequence[str]) -> NDArray[np.uint64]:
    return np.frombuffer(b"".join(content_hash(text.encode("utf-8", "replace"))[:8] for text in texts), np.uint64)
