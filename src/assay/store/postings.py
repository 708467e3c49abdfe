"""The words of every item: which items have a term, how often in each field, and how long their fields are. Memory-mapped when read.

Counts are kept per field, so that weights and length normalisation are chosen when searching. On disk: the terms in order, one a line; where
each begins in that text and among the rows; the rows (item, counts) by term and item; the lengths by item.
"""

from __future__ import annotations

import zlib
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from assay.store.index import Held, array_of

FIELDS = ("name", "qualifier", "path", "signature", "doc", "identifiers", "literals")
NAME, QUALIFIER, PATH, SIGNATURE, DOC, IDENTIFIERS, LITERALS = range(len(FIELDS))

TERMS, STARTS, ITEMS, COUNTS, LENGTHS = (
    f"words_{part}.npy" for part in ("terms", "starts", "items", "counts", "lengths")
)
FILES = (TERMS, STARTS, ITEMS, COUNTS, LENGTHS)

START = np.dtype([("text", "<i8"), ("row", "<i8")])
_TYPES: tuple[tuple[npt.DTypeLike, int], ...] = (  # of FILES, with their columns
    ("u1", 0), (START, 0), ("<i4", 0), ("u1", len(FIELDS)), ("<u2", len(FIELDS)),
)  # fmt: skip

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Words:
    """The words of some items: one row for every item and term, in any order, and the lengths of each item's fields."""

    vocabulary: list[str]
    terms: Array  # per row: its term's place in the vocabulary
    items: Array  # per row: its item
    counts: Array  # per row: how often the term is in each field
    numbers: Array  # the items
    lengths: Array  # per item: terms in each field


def joined(parts: list[Words]) -> Postings:
    """The words of several as one, by term and item. A term of an item may have two rows in different fields; they become one."""
    vocabulary = sorted({term for part in parts for term in part.vocabulary})
    places = {term: place for place, term in enumerate(vocabulary)}
    none = np.zeros(0, "<i4")
    keys = np.concatenate([none, *(_codes(part.vocabulary, places)[part.terms] for part in parts)]).astype("<i8") << 32
    keys |= np.concatenate([none, *(part.items for part in parts)])
    order = np.argsort(keys, kind="stable")  # which takes advantage of what is in order already
    keys = keys[order]
    counts = np.concatenate([np.zeros((0, len(FIELDS)), "u1"), *(part.counts for part in parts)]).take(order, axis=0)
    twice = np.flatnonzero(keys[1:] == keys[:-1])
    if len(twice):
        counts[twice] += counts[twice + 1]
        keys, counts = np.delete(keys, twice + 1), np.delete(counts, twice + 1, axis=0)
    numbers = np.concatenate([none, *(part.numbers for part in parts)])
    lengths = np.zeros((numbers.max(initial=0) + 1, len(FIELDS)), "<u2")
    lengths[numbers] = np.concatenate([lengths[:0], *(part.lengths for part in parts)])
    sizes = np.bincount(keys >> 32, minlength=len(vocabulary))
    return _assembled([term.encode() for term in vocabulary], sizes, keys.astype("<i4"), counts, lengths)


def _codes(vocabulary: list[str], places: dict[str, int]) -> Array:
    return np.fromiter(map(places.__getitem__, vocabulary), "<i4", len(vocabulary))


def _assembled(vocabulary: list[bytes], sizes: Array, items: Array, counts: Array, lengths: Array) -> Postings:
    """Rows in order under their terms, which are in order too; `sizes` says how many rows each has. A term without any is left out."""
    held = np.flatnonzero(sizes)
    text = np.frombuffer(b"".join(vocabulary[place] + b"\n" for place in held.tolist()), "u1")
    starts = np.zeros(len(held) + 1, START)
    starts["text"][1:] = np.flatnonzero(text == ord("\n")) + 1
    starts["row"][1:] = np.cumsum(sizes[held])
    return Postings(text, starts, items, counts, lengths)


def _digest(arrays: Iterable[Array]) -> str:
    """The number of rows and a checksum."""
    total, rows = 0, 0
    for array in arrays:
        total, rows = zlib.crc32(array.view("u1").data, total), max(rows, len(array))
    return f"{rows} {total:08x}"


class Postings:
    """The words of one generation."""

    def __init__(self, terms: Array, starts: Array, items: Array, counts: Array, lengths: Array) -> None:
        self._arrays = terms, starts, items, counts, lengths
        self._text, self._starts, self._items, self._counts = terms.data, starts, items, counts
        self.lengths = lengths  # by item number; zero in all fields where there is no such item

    @classmethod
    def open(cls, held: Held) -> Postings:
        return cls(*(array_of(held, name, *kind) for name, kind in zip(FILES, _TYPES, strict=True)))

    def write(self, folder: Path) -> str:
        """Writes them for `open`. Returns what tells them from damaged ones."""
        for name, array in zip(FILES, self._arrays, strict=True):
            np.save(folder / name, array)
        return self.digest

    @property
    def digest(self) -> str:
        return _digest(self._arrays)

    @property
    def is_consistent(self) -> bool:
        """Whether every number in them leads somewhere."""
        if len(self._starts) == 0 or len(self._items) != len(self._counts):
            return False
        return (
            _rises(self._starts["text"], len(self._text))
            and _rises(self._starts["row"], len(self._items))
            and bool(np.all((self._items >= 0) & (self._items < len(self.lengths))))
        )

    def __len__(self) -> int:
        """The number of terms."""
        return len(self._starts) - 1

    @cached_property
    def numbers(self) -> Array:
        """The items there are: every one has a path."""
        return np.flatnonzero(self.lengths[:, PATH])

    def get(self, term: str) -> tuple[Array, Array]:
        """The items that have a term, in order, and how often each has it in every field."""
        rows = self._rows(term)
        return self._items[rows], self._counts[rows]

    def document_frequency(self, term: str) -> int:
        rows = self._rows(term)
        return int(rows.stop - rows.start)

    @property
    def frequencies(self) -> Array:
        """How many items have each term, by its place."""
        return np.diff(self._starts["row"])

    def having(self, field: int) -> tuple[Array, Array]:
        """The term's place and the item of every row whose term is in a field: a glance at all rows that copies few."""
        rows = np.flatnonzero(self._counts[:, field])
        firsts = np.searchsorted(rows, self._starts["row"])  # of each term, among the rows found
        return np.repeat(np.arange(len(self)), np.diff(firsts)), self._items[rows]

    def terms_like(self, prefix: str) -> list[str]:
        """The terms that begin so."""
        wanted = prefix.encode("utf-8", "replace")
        low, high = self._place(wanted), self._place(wanted + b"\xff")  # no text has that byte
        return [self._term(place).decode() for place in range(low, high)]

    def words(self) -> Words:
        """All of it, row by row."""
        vocabulary = [term.decode() for term in self.vocabulary()]
        terms = np.repeat(np.arange(len(self), dtype="<i4"), np.diff(self._starts["row"]))
        numbers = self.numbers.astype("<i4")
        return Words(vocabulary, terms, self._items, self._counts, numbers, self.lengths[numbers])

    def replaced(self, gone: Iterable[int], fresh: Postings) -> Postings:
        """These words without those of the items that are gone, and with those of fresh ones: the same as counting all of them anew."""
        lengths = np.zeros((max(len(self.lengths), len(fresh.lengths)), len(FIELDS)), "<u2")
        lengths[: len(self.lengths)] = self.lengths
        leaving = np.zeros(len(lengths), bool)
        leaving[[number for number in gone if number < len(leaving)]] = True
        lengths[leaving] = 0
        lengths[fresh.numbers] = fresh.lengths[fresh.numbers]
        stays = ~leaving[self._items]
        starts = self._starts["row"]
        sizes = self.frequencies - np.bincount(np.searchsorted(starts, np.flatnonzero(~stays), "right") - 1, minlength=len(self))  # fmt: skip
        items = self._items[stays]
        vocabulary, sizes, places = self._with_terms(fresh, sizes, items)
        rows = [_as_one(self._counts)[stays], _as_one(fresh._counts)]
        counts = np.insert(rows[0], places, rows[1]).view("u1").reshape(-1, len(FIELDS))
        return _assembled(vocabulary, sizes, np.insert(items, places, fresh._items), counts, lengths)

    def _with_terms(self, fresh: Postings, sizes: Array, items: Array) -> tuple[list[bytes], Array, Array]:
        """The vocabulary of both, the number of rows of each of its terms, and where among the rows left here the fresh ones belong."""
        vocabulary, firsts = self.vocabulary(), np.concatenate([[0], np.cumsum(sizes)])
        out, counts, places = list[bytes](), list[Array](), list[Array]()
        at = 0
        for number, term in enumerate(fresh.vocabulary()):
            place = bisect_left(vocabulary, term, at)
            known = int(place < len(vocabulary) and vocabulary[place] == term)
            added = fresh._items[slice(*fresh._starts["row"][number : number + 2])]
            here = items[firsts[place] : firsts[place + known]]
            places.append(firsts[place] + np.searchsorted(here, added))
            out += [*vocabulary[at:place], term]
            counts += [sizes[at:place], len(here) + np.array([len(added)])]
            at = place + known
        sizes = np.concatenate([*counts, sizes[at:]])
        return out + vocabulary[at:], sizes, np.concatenate([np.zeros(0, "i8"), *places])

    def digests(self) -> dict[int, int]:
        """A checksum of every item's words and lengths: for comparing two indexes."""
        out = {number: zlib.crc32(self.lengths[number].tobytes()) for number in self.numbers.tolist()}
        words = self.words()
        for place, item, counts in zip(words.terms.tolist(), words.items.tolist(), words.counts, strict=True):
            out[item] = zlib.crc32(words.vocabulary[place].encode() + counts.tobytes(), out[item])
        return out

    def _rows(self, term: str) -> slice:
        wanted = term.encode("utf-8", "replace")
        place = self._place(wanted)
        if place == len(self) or self._term(place) != wanted:
            return slice(0, 0)
        return slice(int(self._starts["row"][place]), int(self._starts["row"][place + 1]))

    def vocabulary(self) -> list[bytes]:
        """The terms in order."""
        return bytes(self._text).split(b"\n")[:-1]

    def _place(self, wanted: bytes) -> int:
        return bisect_left(range(len(self)), wanted, key=self._term)

    def _term(self, place: int) -> bytes:
        return bytes(self._text[int(self._starts["text"][place]) : int(self._starts["text"][place + 1]) - 1])


def _rises(starts: Array, end: int) -> bool:
    """Whether places begin at 0, never fall and end at `end`."""
    return bool(starts[0] == 0 and starts[-1] == end and np.all(starts[1:] >= starts[:-1]))


def _as_one(counts: Array) -> Array:
    """The counts of each row as one value, which numpy moves ten times as fast as several."""
    return np.ascontiguousarray(counts).view(f"V{len(FIELDS)}").reshape(-1)
