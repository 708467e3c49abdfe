"""`lsa`: vectors trained on the user's own corpus by latent semantic analysis. No download, no model, the corpus's own language.

Words that stand in the same texts get similar vectors: the best low-rank picture of the matrix of texts × terms (tf-idf, rows of
length one), found by a randomised singular value decomposition. A text is the weighted sum of its words.
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


# `lsa`: vectors trained on the user's own corpus by latent semantic analysis. No download, no model, the corpus's
# own language.

DIMENSIONS = 200  # from 150 to 250 Cranfield ranks alike, with 100 and 400 worse
FEWEST, TEXTS_EACH = (
    32,
    4,
)  # dimensions of a small corpus: with one for each text nothing but the words themselves would be near
MOST_TEXTS = 10_000  # trained on an even sample of so many, so that training has a bound
MOST_TERMS = 30_000  # the most frequent
KEPT = 0.8  # a trained table is used on while this share of its texts is still there, and the corpus did not outgrow it

_VERSION = 3
_TINY = 1e-12  # of the largest: weaker directions are noise
_SPARE = 20  # columns beyond the wanted that make the random projection sharp
_PASSES = 6  # power iterations: with 4 Cranfield loses 0.003, with 8 it gains nothing
_SEED = 0
_BATCH = 2_000


@dataclass(frozen=True)
class Lsa:
    """A trained table: a row for each term, already weighted by its rarity. `texts` are short hashes of what it was trained on."""

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
        """Sums of the vectors of known words; unknown ones are passed over."""
        rows = np.zeros((len(texts), self.dimensions), np.float32)
        for first in range(0, len(texts), _BATCH):
            counts = (Counter(terms(text)) for text in texts[first : first + _BATCH])
            rows[first : first + _BATCH] = counted(counts, self._places) @ self.table
        return unit(rows)

    def fits(self, texts: Sequence[str]) -> bool:
        """Whether these are still about the texts it was trained on."""
        known, found = set(self.texts.tolist()), set(_hashes(texts).tolist())
        return len(known & found) >= KEPT * max(len(known), min(len(found), MOST_TEXTS), 1)

    def stored(self) -> bytes:
        """The table as bytes that `restored` reads."""
        file = io.BytesIO()
        np.savez(file, allow_pickle=False, table=self.table, texts=self.texts, **strings("term", self.vocabulary))
        return file.getvalue()


def restored(data: bytes) -> Lsa:
    """The table that `stored` wrote; ValueError and its like for anything else."""
    arrays = members_in(data)
    names, table, texts = strings_of(arrays, "term"), arrays["table"], arrays["texts"]
    if (table.dtype.str, table.ndim, texts.dtype.str, texts.ndim) != ("<f2", 2, "<u8", 1) or len(table) != len(names):
        raise ValueError("not a table of words")
    return Lsa(tuple(names[place] for place in range(len(names))), table, texts)


def train(texts: Sequence[str], dimensions: int = DIMENSIONS) -> Lsa:
    """The table of a corpus; the same for the same texts in the same order."""
    texts = _sampled(texts)
    bags = [Counter(terms(text)) for text in texts]
    found = sorted(frequencies(bags).items(), key=lambda pair: (-pair[1], pair[0]))[:MOST_TERMS]
    vocabulary = sorted(term for term, _ in found)
    counts = counted(bags, {term: place for place, term in enumerate(vocabulary)})
    rarity = np.log(max(len(texts), 1) / np.maximum(np.bincount(counts.columns, minlength=counts.width), 1))
    matrix = _unit_rows(counts, rarity.astype(np.float32))
    rank = min(dimensions, max(FEWEST, len(texts) // TEXTS_EACH))
    directions = _directions(matrix, min(rank, *_shape(matrix)))
    return Lsa(tuple(vocabulary), (directions * rarity[:, None]).astype(np.float16), _hashes(texts))


def _directions(matrix: Sparse, rank: int) -> Vectors:
    """The first right singular vectors as columns, by randomised subspace iteration."""
    if rank == 0:
        return np.zeros((matrix.width, 1), np.float32)
    turned = matrix.transposed()
    width = min(rank + _SPARE, *_shape(matrix))
    basis = np.random.default_rng(_SEED).standard_normal((matrix.width, width)).astype(np.float32)
    for _ in range(_PASSES):
        basis = _orthonormal(turned @ _orthonormal(matrix @ basis))
    _, turn = _principal(matrix @ basis)
    return np.asarray(basis @ turn[:, :rank], np.float32)


def _orthonormal(rows: Vectors) -> Vectors:
    """Columns of length one at right angles that span the same. Through the small square matrix: ten times as fast as a QR decomposition."""
    strengths, turn = _principal(rows)
    least = max(float(strengths[0]) * _TINY, float(np.finfo(np.float32).tiny))
    return np.asarray(rows @ (turn / np.sqrt(np.maximum(strengths, least))), np.float32)


def _principal(rows: Vectors) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The squared singular values of a tall matrix, largest first, and its right singular vectors as columns."""
    square = rows.T.astype(np.float64) @ rows.astype(np.float64)
    strengths, turn = np.linalg.eigh(square)
    return strengths[::-1], turn[:, ::-1]


def _unit_rows(counts: Sparse, rarity: Vectors) -> Sparse:
    values = counts.values * rarity[counts.columns]
    rows = np.repeat(np.arange(len(counts.starts) - 1), np.diff(counts.starts))
    lengths = np.sqrt(np.bincount(rows, weights=values * values, minlength=len(counts.starts) - 1))
    scaled = values / np.where(lengths > 0, lengths, 1)[rows]
    return Sparse(counts.starts, counts.columns, scaled.astype(np.float32), counts.width)


def _shape(matrix: Sparse) -> tuple[int, int]:
    return len(matrix.starts) - 1, matrix.width


def _sampled(texts: Sequence[str]) -> Sequence[str]:
    """All of them, or as many as are trained on, evenly spread."""
    if len(texts) <= MOST_TEXTS:
        return texts
    return [texts[place * len(texts) // MOST_TEXTS] for place in range(MOST_TEXTS)]


def _hashes(texts: Sequence[str]) -> NDArray[np.uint64]:
    return np.frombuffer(b"".join(content_hash(text.encode("utf-8", "replace"))[:8] for text in texts), np.uint64)
