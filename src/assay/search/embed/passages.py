"""The meaning of passages: the vectors of an embedder for all passages of a chunker, in one mapped file. `prepare` is the whole story.

The file is made when an embedder is first asked for, and again when the passages are others; vectors of texts that stayed come from the store. So a
question in a new process reads neither texts nor store.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from assay.search.embed.embedders import Embedder, Known, Vectors, embed_all, embedder
from assay.store import arrays, passages, vectors
from assay.store.index import UnusableIndex
from assay.store.layout import Home
from assay.store.passages import Passages
from assay.store.vectors import VectorStore

if TYPE_CHECKING:
    from assay.core.progress import Progress

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


# The meaning of passages: the vectors of an embedder for all passages of a chunker, in one mapped file. `prepare`
# is the whole story.

FORMAT = 1  # of the arrays below
_QUICKER_THAN_A_STORE = "lsa:"  # how the names of such embedders begin

Rows = NDArray[np.integer[Any]]


class Meaning:
    """The passages of an index as vectors, ready to be asked again and again."""

    def __init__(self, embedder: Embedder, rows: Vectors, store: VectorStore | None) -> None:
        self.embedder = embedder
        self.nearest = Nearest(rows)
        self._store = None if embedder.name.startswith(_QUICKER_THAN_A_STORE) else store

    def cold(self) -> Meaning:
        """The same without what was asked before: every query is embedded, as one that is new would be."""
        return Meaning(self.embedder, self.nearest.vectors, None)

    def near(self, query: str, count: int, besides: Rows, among: Rows | None) -> tuple[Rows, NDArray[np.float64]]:
        """The `count` passages nearest to a query, and others `besides`, with their cosines; none when the query says nothing to the embedder."""
        asked = embed_all(self.embedder, [query], self._store, role="query")[0]
        if not asked.any():
            return np.zeros(0, np.int64), np.zeros(0)
        found = self.nearest.search(asked, count, among)
        others = np.setdiff1d(besides, found.rows)
        cosines = np.concatenate([found.scores, self.nearest.vectors[others] @ asked])
        return np.concatenate([found.rows, others]), cosines.astype(np.float64)

    def alike(self, passages: Rows) -> NDArray[np.float64]:
        """The cosines of some passages with each other."""
        rows = self.nearest.vectors[passages]
        return (rows @ rows.T).astype(np.float64)


class MeaningOfAll(Meaning):
    """The passages of several repositories as vectors, one after the other. Each has a space of its own: across them nothing is alike."""

    def __init__(self, parts: Sequence[tuple[Meaning, int]]) -> None:
        """Each with the number of its passages."""
        self._parts = [part for part, _ in parts]
        self._bounds = np.cumsum([0, *(size for _, size in parts)])

    def near(self, query: str, count: int, besides: Rows, among: Rows | None) -> tuple[Rows, NDArray[np.float64]]:
        rows, cosines = [np.zeros(0, np.int64)], [np.zeros(0)]
        for place, part in enumerate(self._parts):
            first = self._bounds[place]
            allowed = None if among is None else self._of(place, among)
            found, near = part.near(query, count, self._of(place, besides), allowed)
            rows.append(found + first)
            cosines.append(near)
        return np.concatenate(rows), np.concatenate(cosines)

    def alike(self, passages: Rows) -> NDArray[np.float64]:
        table = np.zeros((len(passages), len(passages)))
        owners = np.searchsorted(self._bounds, passages, "right") - 1
        for place, part in enumerate(self._parts):
            here = np.flatnonzero(owners == place)
            table[np.ix_(here, here)] = part.alike(passages[here] - self._bounds[place])
        return table

    def _of(self, place: int, rows: Rows) -> Rows:
        """Those rows that are of one repository, by their numbers there."""
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
) -> Meaning:
    """The meaning of a chunker's passages by the embedder that a spec names, brought up to date with them."""
    path, key = _path(home, chunker, spec), _key(home, chunker, spec)
    store = VectorStore(home.folder / vectors.NAME)
    texts = _Texts(divided)
    stored = _stored(path)
    if stored and stored.key == key:
        chosen = embedder(spec, texts, store, root, key_variable, stored.known)
        if chosen.name == stored.known.name:
            return Meaning(chosen, stored.rows, store)
    if progress:
        progress.start("learning words", 1)
    chosen = embedder(spec, texts, store, root, key_variable, before=stored.known.name if stored else "")
    rows = _embedded(chosen, texts, store, progress)
    with home.writing():
        arrays.write(path, _arrays(key, rows, chosen.name))
    return Meaning(chosen, rows, store)


def _arrays(key: str, rows: Vectors, model: str) -> dict[str, arrays.Array]:
    return {"key": arrays.key(FORMAT, key), "vectors": rows, **arrays.strings("model", [model])}


class _Stored(NamedTuple):
    """What a file has: what the vectors were made from, by whom, and a row for each passage."""

    key: str | None
    known: Known
    rows: Vectors


def is_ready(home: Home, chunker: str, spec: str) -> bool:
    """Whether the passages have vectors: then nothing is trained when they are asked for."""
    stored = _stored(_path(home, chunker, spec))
    return stored is not None and stored.key == _key(home, chunker, spec)


def _path(home: Home, chunker: str, spec: str) -> Path:
    digest = blake2b(spec.encode(), digest_size=4).hexdigest()
    return home.folder / f"vectors-{chunker.replace(':', '-')}-{digest}.npz"


def _key(home: Home, chunker: str, spec: str) -> str:
    return f"{passages.key_at(passages.path_of(home.folder, chunker))} {spec}"


def _stored(path: Path) -> _Stored | None:
    """The vectors of a file; None when there are none that can be read."""
    try:
        found = arrays.mapped(path, FORMAT, "the file of vectors", _arrays("", np.zeros((0, 0), np.float32), ""))
    except (OSError, UnusableIndex):
        return None
    rows = found["vectors"]
    return _Stored(arrays.key_of(found, FORMAT), Known(arrays.strings_of(found, "model")[0], rows.shape[1]), rows)


def _embedded(chosen: Embedder, texts: Sequence[str], store: VectorStore, progress: Progress | None) -> Vectors:
    if progress is None:
        return embed_all(chosen, texts, store)
    done = 0

    def told(now: int, total: int) -> None:
        nonlocal done
        if not done:
            progress.start("embedding passages", total)
        progress.advance(now - done)
        done = now

    return embed_all(chosen, texts, store, progress=told)


class _Texts(Sequence[str]):
    """What is embedded of each passage: its headings, then its text. Each is read when it is asked for."""

    def __init__(self, divided: Passages) -> None:
        self._divided = divided

    def __len__(self) -> int:
        return len(self._divided)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        if isinstance(place, slice):
            return [self[one] for one in range(*place.indices(len(self)))]
        if not 0 <= place < len(self):
            raise IndexError(place)
        one = self._divided[place]
        return "\n".join((*one.headings, one.text))
