"""Vector index of passages: the vectors of one embedder for all passages of one chunker, in one memory-mapped file.

`prepare` builds the file on first use and again when the passages change; vectors of unchanged texts come from the
vector store. A query in a new process therefore reads neither texts nor store.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.search.embed.embedders import Embedder, EmbedderInfo, Vectors, embed_all, embedder
from assay.store import arrays, passages, vectors
from assay.store.index import UnusableIndex
from assay.store.layout import Home
from assay.store.passages import Passages
from assay.store.vectors import VectorStore

if TYPE_CHECKING:
    from assay.core.progress import Progress

EXACT_UP_TO = 200_000  # rows; exact search takes about 20 ms
RESCORED = 20  # times k candidates of the bit search are rescored exactly
LEAST_RESCORED = 1_000

_SEED = 0
_BATCH = 50_000  # rows rotated at a time


class Neighbours(NamedTuple):
    """Row numbers, nearest first, and their cosines."""

    rows: NDArray[np.integer[Any]]
    scores: Vectors


class Nearest:
    """Nearest-neighbour search over rows of unit length. Ties are broken by row number."""

    def __init__(self, vectors: Vectors, exact_up_to: int = EXACT_UP_TO) -> None:
        self.vectors = vectors
        self.exact = len(vectors) <= exact_up_to

    def search(self, query: Vectors, k: int, among: NDArray[np.integer[Any]] | None = None) -> Neighbours:
        """Return the `k` nearest rows, of all or `among` some (ascending row numbers)."""
        if among is not None:
            return self._best(query, k, among)
        return self._best(query, k, None if self.exact else self._candidates(query, max(RESCORED * k, LEAST_RESCORED)))

    def recall(self, k: int = 10, sample: int = 100) -> float:
        """Estimate recall@k against exact search, with evenly spread rows as queries; 1 if the search is exact."""
        if self.exact or not len(self.vectors):
            return 1.0
        sample_rows = np.linspace(0, len(self.vectors) - 1, sample).astype(int)
        shares = [
            len(np.intersect1d(self.search(query, k).rows, self._best(query, k, None).rows)) / min(k, len(self.vectors))
            for query in self.vectors[sample_rows]
        ]
        return float(np.mean(shares))

    def _best(self, query: Vectors, k: int, among: NDArray[np.integer[Any]] | None) -> Neighbours:
        scores = (self.vectors if among is None else self.vectors[among]) @ query
        places = np.arange(len(scores))
        if 0 < k < len(scores):
            cutoff = np.partition(scores, len(scores) - k)[len(scores) - k]
            places = np.flatnonzero(scores >= cutoff)  # with all ties, so that the lowest row numbers win
        places = places[np.argsort(-scores[places], kind="stable")][: max(k, 0)]
        return Neighbours(places if among is None else among[places], scores[places])

    def _candidates(self, query: Vectors, count: int) -> NDArray[np.integer[Any]]:
        """Return the rows with the smallest Hamming distance to the query, ties included, ascending."""
        distances = np.zeros(len(self.vectors), np.uint16)
        for row_codes, query_code in zip(self._codes, self._code(query[None]), strict=True):
            distances += np.bitwise_count(row_codes ^ query_code)
        if count >= len(distances):
            return np.arange(len(distances))
        return np.flatnonzero(distances <= np.partition(distances, count)[count])

    @cached_property
    def _codes(self) -> NDArray[np.uint64]:
        """Bit codes of all rows, 64 dimensions per array row, so that each is compared in one operation."""
        parts = np.array_split(self.vectors, len(self.vectors) // _BATCH + 1)
        return np.concatenate([self._code(part) for part in parts], axis=1)

    def _code(self, vectors: Vectors) -> NDArray[np.uint64]:
        """Return one bit per dimension: the side of the mean, after a random rotation that spreads the variance."""
        bits = np.packbits((vectors - self._mean) @ self._rotation > 0, axis=1)
        padded = np.zeros((len(bits), -(-bits.shape[1] // 8) * 8), np.uint8)
        padded[:, : bits.shape[1]] = bits
        return np.ascontiguousarray(padded.view(np.uint64).T)

    @cached_property
    def _mean(self) -> Vectors:
        return np.asarray(self.vectors.mean(axis=0), np.float32)

    @cached_property
    def _rotation(self) -> Vectors:
        """Random orthogonal matrix with a fixed seed."""
        size = self.vectors.shape[1]
        return np.linalg.qr(np.random.default_rng(_SEED).standard_normal((size, size)))[0].astype(np.float32)


# Stored vectors

FORMAT = 1  # file format version
_UNCACHED = ("lsa:", "words:")  # name prefixes of embedders that are faster than a cache lookup

Rows = NDArray[np.integer[Any]]


@dataclass(frozen=True)
class VectorPart:
    """The vectors of one repository's passages, and the embedder of their space."""

    embedder: Embedder
    nearest: Nearest
    store: VectorStore | None  # caches the vectors of queries

    def near(self, query: str, count: int, besides: Rows, among: Rows | None) -> tuple[Rows, NDArray[np.float64]]:
        vector = embed_all(self.embedder, [query], self.store, role="query")[0]
        if not vector.any():
            return np.zeros(0, np.int64), np.zeros(0)
        nearest = self.nearest.search(vector, count, among)
        additional = np.setdiff1d(besides, nearest.rows)
        cosines = np.concatenate([nearest.scores, self.nearest.vectors[additional] @ vector])
        return np.concatenate([nearest.rows, additional]), cosines.astype(np.float64)


class VectorIndex:
    """Vector index of the passages of one or several repositories; reusable.

    Spaces differ, so cosines across repositories are 0.
    """

    def __init__(self, parts: Sequence[VectorPart]) -> None:
        self._parts = parts
        self._bounds = np.cumsum([0, *(len(part.nearest.vectors) for part in parts)])

    @classmethod
    def of(cls, embedder: Embedder, rows: Vectors, store: VectorStore | None) -> VectorIndex:
        """Return the index of one repository's vectors."""
        return cls([VectorPart(embedder, Nearest(rows), None if embedder.name.startswith(_UNCACHED) else store)])

    @classmethod
    def joined(cls, indexes: Iterable[VectorIndex]) -> VectorIndex:
        """Concatenate the indexes of several repositories."""
        return cls([part for index in indexes for part in index._parts])

    @property
    def embedder(self) -> Embedder:
        return self._parts[0].embedder

    @property
    def nearest(self) -> Nearest:
        """The search among the vectors of the first repository."""
        return self._parts[0].nearest

    def cold(self) -> VectorIndex:
        """Return the same without cached queries, so that every query is embedded (for measurements)."""
        return VectorIndex([replace(part, store=None) for part in self._parts])

    def near(self, query: str, count: int, besides: Rows, among: Rows | None) -> tuple[Rows, NDArray[np.float64]]:
        """Return the `count` nearest passages of each repository and those in `besides`, with cosines.

        None if the query has no vector.
        """
        rows, cosines = [np.zeros(0, np.int64)], [np.zeros(0)]
        for place, part in enumerate(self._parts):
            allowed = None if among is None else self._rows_of(place, among)
            part_rows, part_cosines = part.near(query, count, self._rows_of(place, besides), allowed)
            rows.append(part_rows + self._bounds[place])
            cosines.append(part_cosines)
        return np.concatenate(rows), np.concatenate(cosines)

    def alike(self, passages: Rows) -> NDArray[np.float64]:
        """Return the matrix of cosines between some passages."""
        table = np.zeros((len(passages), len(passages)))
        owners = np.searchsorted(self._bounds, passages, "right") - 1
        for place, part in enumerate(self._parts):
            own = np.flatnonzero(owners == place)
            vectors = part.nearest.vectors[passages[own] - self._bounds[place]]
            table[np.ix_(own, own)] = vectors @ vectors.T
        return table

    def _rows_of(self, place: int, rows: Rows) -> Rows:
        """Return the rows that belong to one repository, by their numbers there."""
        first, end = self._bounds[place : place + 2]
        return np.asarray(rows[(rows >= first) & (rows < end)] - first)


def prepare(
    home: Home,
    root: Path,
    chunker: str,
    divided: Passages,
    spec: str,
    key_variable: str = "",
    progress: Progress | None = None,
    stage: str = "embedding passages",
) -> VectorIndex:
    """Return the vector index of a chunker's passages for an embedder spec, updating it if the passages changed.

    `stage` is the name of the work in the progress.
    """
    path, key = _path(home, chunker, spec), _key(home, chunker, spec)
    store = VectorStore(home.folder / vectors.NAME)
    texts = divided.full_texts()
    stored = _read_stored(path)
    if stored and stored.key == key and len(stored.rows) == len(divided):
        chosen = embedder(spec, texts, store, root, key_variable, stored.known)
        if chosen.name == stored.known.name:
            return VectorIndex.of(chosen, stored.rows, store)
    if progress:
        progress.start("training embedder", 1)
    try:
        chosen = embedder(spec, texts, store, root, key_variable)
        rows = _embed_with_progress(chosen, texts, store, progress, stage)
    except IndexError as error:
        damaged = passages.path_of(home.folder, chunker)
        remedy = "Delete it, and it will be made again"
        raise UnusableIndex(f"{damaged}: the index of passages is damaged ({error}). {remedy}") from None
    with home.deriving():
        arrays.write(path, _arrays(key, rows, chosen.name))
    return VectorIndex.of(chosen, rows, store)


def _arrays(key: str, rows: Vectors, model: str) -> dict[str, arrays.Array]:
    return {"key": arrays.key(FORMAT, key), "vectors": rows, **arrays.strings("model", [model])}


class _Stored(NamedTuple):
    """Contents of a vector file: key of its input, embedder, and a row for each passage."""

    key: str | None
    known: EmbedderInfo
    rows: Vectors


def is_ready(home: Home, chunker: str, spec: str) -> bool:
    """Return whether the passages have current vectors, so that a query trains and embeds nothing."""
    stored = _read_stored(_path(home, chunker, spec))
    return stored is not None and stored.key == _key(home, chunker, spec)


def _path(home: Home, chunker: str, spec: str) -> Path:
    digest = blake2b(spec.encode(), digest_size=4).hexdigest()
    return home.folder / f"vectors-{chunker.replace(':', '-')}-{digest}.npz"


def _key(home: Home, chunker: str, spec: str) -> str:
    return f"{passages.key_at(passages.path_of(home.folder, chunker))} {spec}"


def _read_stored(path: Path) -> _Stored | None:
    """Read a vector file; None if it is missing or unreadable."""
    try:
        contents = arrays.read(
            path,
            FORMAT,
            "the file of vectors",
            _arrays("", np.zeros((0, 0), np.float32), ""),
            arrays.Relations(widths=("vectors",)),
            mapped=True,
        )
    except (OSError, UnusableIndex):
        return None
    rows = contents["vectors"]
    return _Stored(
        arrays.key_of(contents, FORMAT), EmbedderInfo(arrays.strings_of(contents, "model")[0], rows.shape[1]), rows
    )


def _embed_with_progress(
    chosen: Embedder, texts: Sequence[str], store: VectorStore, progress: Progress | None, stage: str
) -> Vectors:
    if chosen.name.startswith(_UNCACHED):
        if progress:
            progress.start(stage, len(texts))
        rows = chosen.embed(texts)
        if progress:
            progress.advance(len(texts))
        return rows
    if progress is None:
        return embed_all(chosen, texts, store)
    done = 0

    def report(finished: int, total: int) -> None:
        nonlocal done
        if not done:
            progress.start(stage, total)
        progress.advance(finished - done)
        done = finished

    return embed_all(chosen, texts, store, progress=report)
