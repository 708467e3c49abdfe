"""Words of items: the rows of the word table (`word_vectors.py`) of each item's name and text.

With them, the similarity of an item to a task is a sum of numbers: no text is read or split into words. One file beside
the generations, written when indexing, keyed by the content of each source file; items of files that changed since are
described when they are needed. Losing the file loses work, never an answer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

from assay.store import arrays
from assay.store.arrays import Array
from assay.store.catalogue import FileRow
from assay.store.generation import Generation, UnusableIndex
from assay.store.index import Index
from assay.store.layout import Home
from assay.store.word_vectors import TextVectors, shipped_vectors

FORMAT = 1  # of the stored file
NAME = "item-words.npz"
_COMMENT = 300  # characters of a comment that count
_MOST = 1 << 15  # described items that are kept
_PORTION = 2000  # items whose vectors are added up at a time
_MOST_MISSING = 0.1  # share of files without stored words from which the file is written again
_HASH = 16  # bytes of a content hash
_RELATIONS = arrays.Relations(
    rows=(("path", "hashes"),),
    groups={
        "items": ("lengths", "path"),
        "name_starts": ("names", "lengths"),
        "text_starts": ("texts", "lengths"),
    },
)


class Words(NamedTuple):
    """The words of some items, as rows of the table, and the lengths of their vectors before these are scaled to 1."""

    names: list[Array]
    texts: list[Array]
    lengths: Array


class ItemWords:
    """The words of the items of an index: stored ones, and those of changed files, described on demand."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._described: dict[int, tuple[Array, Array, float]] = {}

    @cached_property
    def texts(self) -> TextVectors:
        return shipped_vectors()

    def of(self, numbers: Sequence[int]) -> Words:
        """Return the words of items, by their numbers."""
        rows = list[tuple[Array, Array, float]]()
        places = self._places[list(numbers)].tolist()
        self._describe([number for number, place in zip(numbers, places, strict=True) if place < 0])
        for number, place in zip(numbers, places, strict=True):
            rows.append(self._described[number] if place < 0 else self._stored.item(place))
        return Words([row[0] for row in rows], [row[1] for row in rows], np.array([row[2] for row in rows], np.float32))

    def _describe(self, numbers: Sequence[int]) -> None:
        if len(self._described) > _MOST:
            self._described = {}
        new = [number for number in numbers if number not in self._described]
        described = self._index.descriptions_of(new, _COMMENT)
        words = _StoredWords.of(self.texts, [*described.values()])
        self._described |= {number: words.item(place) for place, number in enumerate(described)}

    @cached_property
    def _tables(self) -> list[tuple[Mapping[tuple[str, bytes], int], _StoredWords]]:
        return [_read(part.generation.home, self.texts) for part in self._index.parts]

    @cached_property
    def _stored(self) -> _StoredWords:
        return _StoredWords.joined([table for _, table in self._tables])

    @cached_property
    def _places(self) -> Array:
        """Place of each item in the stored words; -1 if they have none of it."""
        places, before = np.full(len(self._index.columns), -1, np.int64), 0
        for part, (firsts, table) in zip(self._index.parts, self._tables, strict=True):
            files, columns = np.full(part.generation.last_file + 1, -1, np.int64), part.generation.columns
            for row in part.generation.files.values():
                files[row.number] = firsts.get((row.path, row.hash), -1)
            first = np.where(columns.kind > 0, files[columns.file], -1)
            own = first + columns.ordinal + 1
            # ordinals of an index from elsewhere are any
            exists = (first >= 0) & (columns.ordinal >= -1) & (own < len(table.lengths))
            places[part.first : part.first + len(own)] = np.where(exists, before + own, -1)
            before += len(table.lengths)
        return places


@dataclass(frozen=True, slots=True)
class _StoredWords:
    """Words of items, one after the other: those of the name and the text of item i end where those of i + 1 start."""

    names: Array
    name_starts: Array
    texts: Array
    text_starts: Array
    lengths: Array

    @classmethod
    def of(cls, table: TextVectors, described: Sequence[tuple[str, str]]) -> _StoredWords:
        """Look up the words of names and texts."""
        names = [table.table.find(name) for name, _ in described]
        texts = [table.rows(text) for _, text in described]
        portions = [texts[first : first + _PORTION] for first in range(0, len(texts), _PORTION)]
        lengths = [np.linalg.norm(table.sums(portion), axis=1) for portion in portions]
        return cls(
            np.fromiter(chain.from_iterable(names), "<u2"), arrays.starts(names),
            np.fromiter(chain.from_iterable(texts), "<u2"), arrays.starts(texts),
            np.concatenate([np.zeros(0, "<f4"), *lengths]).astype("<f4"),
        )  # fmt: skip

    @classmethod
    def joined(cls, parts: Sequence[_StoredWords]) -> _StoredWords:
        if len(parts) == 1:
            return parts[0]
        starts = []
        for name in ("name_starts", "text_starts"):
            ends = arrays.offsets(int(getattr(part, name)[-1]) for part in parts)
            shifted = [getattr(part, name)[:-1] + end for part, end in zip(parts, ends, strict=False)]
            starts.append(np.concatenate([*shifted, ends[-1:]]))
        names, texts, lengths = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("names", "texts", "lengths")
        )
        return cls(names, starts[0], texts, starts[1], lengths)

    def item(self, place: int) -> tuple[Array, Array, float]:
        """Return the words of an item's name, those of its text, and the length of its vector."""
        name, text = (starts[place : place + 2].tolist() for starts in (self.name_starts, self.text_starts))
        return self.names[slice(*name)], self.texts[slice(*text)], float(self.lengths[place])


def is_stored(home: Home) -> bool:
    """Return whether words are stored; those of changed files may be missing."""
    return (home.folder / NAME).is_file()


def update_item_words(root: Path, home: Home) -> None:
    """Write the words of an index unless the stored ones nearly suffice. The caller holds the lock."""
    generation = Generation.open(root, home)
    try:
        _update(generation, home)
    finally:
        generation.close()


def _update(generation: Generation, home: Home) -> None:
    table = shipped_vectors()
    firsts, _ = _read(home.folder, table)
    files = list(generation.files.values())
    missing = sum((row.path, row.hash) not in firsts for row in files)
    if missing <= _MOST_MISSING * len(files):
        return
    described: defaultdict[int, list[tuple[str, str]]] = defaultdict(list)
    for _, file, name, text in generation.catalogue.descriptions(_COMMENT):
        described[file].append((name, text))
    words = _StoredWords.of(table, [*chain.from_iterable(described[row.number] for row in files)])
    sizes = [described[row.number] for row in files]
    arrays.write(home.folder / NAME, _arrays(table.name, files, arrays.starts(sizes), words))


def _arrays(key: str, files: Sequence[FileRow], items: Array, words: _StoredWords) -> dict[str, Array]:
    return {
        "key": arrays.key(FORMAT, f"{key} {_COMMENT}"),
        "hashes": np.frombuffer(b"".join(row.hash for row in files), "u1").reshape(-1, _HASH),
        "items": items,
        **arrays.strings("path", (row.path for row in files)),
        **{name: getattr(words, name) for name in _StoredWords.__slots__},
    }


def _read(folder: Path, table: TextVectors) -> tuple[Mapping[tuple[str, bytes], int], _StoredWords]:
    """Return the first item of each file by its path and content, and the words of the items; none if unusable."""
    nothing = _StoredWords.of(table, [])
    like = _arrays(table.name, [], arrays.starts([]), nothing)
    try:
        stored = arrays.read(folder / NAME, FORMAT, "the words of items", like, _RELATIONS, mapped=True)
    except (OSError, UnusableIndex):
        return {}, nothing
    rows = len(table.table.codes)
    words = _StoredWords(*(stored[name] for name in _StoredWords.__slots__))
    if (
        stored["key"].tobytes() != like["key"].tobytes()
        or max(words.names.max(initial=0), words.texts.max(initial=0)) >= rows
    ):
        return {}, nothing
    hashes = stored["hashes"].tobytes()
    keys = ((path, hashes[_HASH * place :][:_HASH]) for place, path in enumerate(arrays.strings_of(stored, "path")))
    return dict(zip(keys, stored["items"].tolist(), strict=False)), words
