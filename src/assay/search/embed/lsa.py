"""Embedder `lsa`: latent semantic analysis trained on the user's own corpus. No download, no model, any language.

Terms that occur in the same texts get similar vectors: a low-rank approximation of the tf-idf matrix (texts × terms,
rows of unit length), by randomized singular value decomposition. The vector of a text is the weighted sum of its terms'
vectors.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from itertools import chain, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.search.embed.embedders import Role, Vectors
from assay.store.arrays import members_in, strings, strings_of
from assay.store.layout import content_hash
from assay.store.passages import PassageTexts, TermCounts
from assay.store.word_vectors import unit
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

    def rows(self, numbers: NDArray[np.integer[Any]]) -> Sparse:
        """Return some rows, by ascending numbers."""
        starts, inside = _rows_of(self.starts, numbers)
        return Sparse(starts, self.columns[inside], self.values[inside], self.width)

    def select_columns(self, numbers: NDArray[np.integer[Any]]) -> Sparse:
        """Return some columns, by ascending numbers."""
        places = np.full(self.width, -1, np.int32)
        places[numbers] = np.arange(len(numbers))
        columns = places[self.columns]
        kept = np.flatnonzero(columns >= 0)
        return Sparse(np.searchsorted(kept, self.starts), columns[kept], self.values[kept], len(numbers))

    def transposed(self) -> Sparse:
        order = np.argsort(self.columns, kind="stable")
        rows = np.repeat(np.arange(len(self.starts) - 1, dtype=np.int32), np.diff(self.starts))
        starts = np.searchsorted(self.columns[order], np.arange(self.width + 1))
        return Sparse(starts, rows[order], self.values[order], len(self.starts) - 1)


def count_terms(texts: Sequence[str]) -> TermCounts:
    """Return the term counts of texts; those of passages come from their postings."""
    if isinstance(texts, PassageTexts):
        return texts.term_counts()
    bags = [Counter(terms(text)) for text in texts]
    vocabulary = sorted(set(chain.from_iterable(bags)))
    places = {term: place for place, term in enumerate(vocabulary)}
    entries = [sorted((places[term], count) for term, count in bag.items()) for bag in bags]
    flat = np.array([*chain.from_iterable(entries)], np.int32).reshape(-1, 2)
    return TermCounts(vocabulary, np.cumsum([0, *map(len, entries)]), flat[:, 0], flat[:, 1])


def damped(counted: TermCounts) -> Sparse:
    """Return the matrix texts × terms of damped counts, log(1 + count)."""
    values = np.log1p(counted.counts.astype(np.float32))
    return Sparse(counted.starts, counted.terms, values, len(counted.vocabulary))


def _rows_of(
    starts: NDArray[np.int64], numbers: NDArray[np.integer[Any]]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the row offsets of a matrix with some rows only, and the mask of its entries."""
    sizes = np.diff(starts)
    chosen = np.zeros(len(sizes), bool)
    chosen[numbers] = True
    return np.append(0, np.cumsum(sizes[chosen])), np.repeat(chosen, sizes)


# Training

DIMENSIONS = 200  # Cranfield: 150 to 250 rank alike, 100 and 400 worse
# dimensions of a small corpus: with one for each text, only texts with the same words would be near
FEWEST, TEXTS_EACH = 32, 4
MOST_TEXTS = 10_000  # bounds training time: larger corpora are sampled evenly
MOST_TERMS = 30_000  # the most frequent ones

_VERSION = 5
_MIN_RELATIVE_STRENGTH = 1e-12  # relative to the largest; weaker directions are noise
_OVERSAMPLING = 20  # extra columns that sharpen the random projection
_POWER_ITERATIONS = 3  # on the sample, then one on all texts; EXPERIMENTS.md compares 2 to 6
_SAMPLE = 3_000  # texts of the first iterations: they only have to point the basis in the right direction
_SEED = 0
_BATCH = 2_000


@dataclass(frozen=True)
class Lsa:
    """A trained table: an idf-weighted vector for each term. `corpus` is the name of the training texts."""

    vocabulary: tuple[str, ...]
    table: NDArray[np.float16]
    corpus: str

    @property
    def name(self) -> str:
        return f"{self.corpus}{self.dimensions}"

    @property
    def dimensions(self) -> int:
        return int(self.table.shape[1])

    @cached_property
    def _places(self) -> Mapping[str, int]:
        return {term: place for place, term in enumerate(self.vocabulary)}

    def embed(self, texts: Sequence[str], role: Role = "passage") -> Vectors:
        """Sum the vectors of known terms; unknown terms are ignored."""
        if isinstance(texts, PassageTexts):
            return self._embed_counts(texts.term_counts())
        rows = np.zeros((len(texts), self.dimensions), np.float32)
        for first in range(0, len(texts), _BATCH):
            rows[first : first + _BATCH] = self._embed_counts(count_terms(texts[first : first + _BATCH]))
        return rows

    def _embed_counts(self, counted: TermCounts) -> Vectors:
        rows = np.array([self._places.get(term, -1) for term in counted.vocabulary], np.int64)
        columns = np.flatnonzero(rows >= 0)
        return unit(damped(counted).select_columns(columns) @ self.table[rows[columns]].astype(np.float32))

    def stored(self) -> bytes:
        """Serialize the table for `deserialize`."""
        file = io.BytesIO()
        names = strings("term", self.vocabulary) | strings("corpus", [self.corpus])
        np.savez(file, allow_pickle=False, table=self.table, **names)
        return file.getvalue()


def deserialize(data: bytes) -> Lsa:
    """Deserialize a table from `stored`; raises ValueError and the like for anything else."""
    arrays = members_in(data)
    names, table = strings_of(arrays, "term"), arrays["table"]
    if (table.dtype.str, table.ndim) != ("<f2", 2) or len(table) != len(names):
        raise ValueError("not an lsa table")
    return Lsa(tuple(names[place] for place in range(len(names))), table, strings_of(arrays, "corpus")[0])


def corpus_name(texts: Sequence[str]) -> str:
    """Return a name of a corpus, with which the name of its table begins: the same content gives the same table."""
    digest = blake2b(digest_size=16)
    for text in texts:
        digest.update(content_hash(text.encode("utf-8", "replace")))
    return f"lsa:{_VERSION}:{digest.hexdigest()}:"


def train(texts: Sequence[str], dimensions: int = DIMENSIONS) -> Lsa:
    """Train the table of a corpus; deterministic for the same texts in the same order."""
    chosen = [texts[place] for place in _even_sample(len(texts), MOST_TEXTS)]
    counted = count_terms(texts if isinstance(texts, PassageTexts) else chosen)
    frequent = _most_frequent(counted)
    counts = damped(counted).select_columns(frequent).rows(_even_sample(len(counted.starts) - 1, MOST_TEXTS))
    idf = np.log(max(len(chosen), 1) / np.maximum(np.bincount(counts.columns, minlength=counts.width), 1))
    matrix = _unit_rows(counts, idf.astype(np.float32))
    rank = min(dimensions, max(FEWEST, len(chosen) // TEXTS_EACH))
    directions = _directions(matrix, min(rank, *_shape(matrix)))
    vocabulary = tuple(counted.vocabulary[term] for term in frequent.tolist())
    return Lsa(vocabulary, (directions * idf[:, None]).astype(np.float16), corpus_name(texts))


def _most_frequent(counted: TermCounts) -> NDArray[np.int64]:
    """Return the MOST_TERMS terms of most texts, as ascending positions in the vocabulary."""
    frequencies = np.bincount(counted.terms, minlength=len(counted.vocabulary))
    most = min(MOST_TERMS, np.count_nonzero(frequencies))
    return np.sort(np.argsort(-frequencies, kind="stable")[:most])


def _directions(matrix: Sparse, rank: int) -> Vectors:
    """Return an orthonormal basis of the first right singular vectors, by randomized subspace iteration.

    The first iterations see a sample of the texts and the terms that two of them share, the last one everything. Cosines
    do not depend on the rotation of the basis.
    """
    if rank == 0:
        return np.zeros((matrix.width, 1), np.float32)
    width = min(rank + _OVERSAMPLING, *_shape(matrix))
    texts = _shape(matrix)[0]
    sample = matrix.rows(_even_sample(texts, _SAMPLE)) if texts > _SAMPLE else matrix
    shared = np.flatnonzero(np.bincount(sample.columns, minlength=matrix.width) > 1)
    if len(shared) < width:  # a small corpus
        shared = np.arange(matrix.width)
    narrow = sample.select_columns(shared)
    transposed = narrow.transposed()
    directions = np.random.default_rng(_SEED).standard_normal((len(shared), width)).astype(np.float32)
    for _ in range(_POWER_ITERATIONS):
        directions = _orthonormal(transposed @ (narrow @ directions))
    basis = np.zeros((matrix.width, width), np.float32)
    basis[shared] = directions
    basis = _orthonormal(matrix.transposed() @ (matrix @ basis))
    if sample is matrix:  # exact for a small corpus; of a large one the order is good enough
        basis = np.asarray(basis @ _principal(matrix @ basis)[1], np.float32)
    return basis[:, :rank]


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


def _even_sample(count: int, most: int) -> NDArray[np.int64]:
    """Return the places of all of `count` texts, or of `most` of them."""
    return np.arange(count) if count <= most else np.arange(most) * count // most
