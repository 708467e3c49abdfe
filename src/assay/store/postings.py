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

FIELDS = ("name", "qualifier", "path", "signature", "doc", "identifiers", "literals")
NAME, QUALIFIER, PATH, SIGNATURE, DOC, IDENTIFIERS, LITERALS = range(len(FIELDS))

TERMS, STARTS, ITEMS, COUNTS, LENGTHS = (
    f"words_{part}.npy" for part in ("terms", "starts", "items", "counts", "lengths")
)
FILES = (TERMS, STARTS, ITEMS, COUNTS, LENGTHS)

START = np.dtype([("text", "<i8"), ("row", "<i8")])

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

    def without(self, numbers: Iterable[int]) -> Words:
        """Without the words of these items."""
        gone = np.zeros(max(self.items.max(initial=0), self.numbers.max(initial=0)) + 1, bool)
        gone[[number for number in numbers if number < len(gone)]] = True
        rows, left = np.flatnonzero(~gone[self.items]), np.flatnonzero(~gone[self.numbers])
        return Words(
            self.vocabulary,
            self.terms[rows],
            self.items[rows],
            self.counts.take(rows, axis=0),
            self.numbers[left],
            self.lengths[left],
        )


def joined(parts: list[Words]) -> Words:
    """Several as one, rows by term and item, the vocabulary in order and without terms that nobody has any more.

    A term of an item may have two rows in different fields; they become one.
    """
    vocabulary = sorted({term for part in parts for term in part.vocabulary})
    places = {term: place for place, term in enumerate(vocabulary)}
    none = np.zeros(0, "<i4")
    terms = np.concatenate([none, *(_codes(part.vocabulary, places)[part.terms] for part in parts)])
    items = np.concatenate([none, *(part.items for part in parts)])
    counts = np.concatenate([np.zeros((0, len(FIELDS)), "u1"), *(part.counts for part in parts)])
    keys = terms.astype("<i8") << 32 | items
    order = np.argsort(keys, kind="stable")  # which takes advantage of what is in order already
    keys, counts = keys[order], counts.take(order, axis=0)
    twice = np.flatnonzero(keys[1:] == keys[:-1])
    if len(twice):
        counts[twice] += counts[twice + 1]
        keys, counts = np.delete(keys, twice + 1), np.delete(counts, twice + 1, axis=0)
    terms, items = (keys >> 32).astype("<i4"), keys.astype("<i4")
    used = np.zeros(len(vocabulary), bool)
    used[terms] = True
    if not used.all():
        vocabulary = [term for term, keep in zip(vocabulary, used.tolist(), strict=True) if keep]
        terms = (np.cumsum(used) - 1).astype("<i4")[terms]
    numbers = np.concatenate([none, *(part.numbers for part in parts)])
    lengths = np.concatenate([np.zeros((0, len(FIELDS)), "<u2"), *(part.lengths for part in parts)])
    return Words(vocabulary, terms, items, counts, numbers, lengths)


def _codes(vocabulary: list[str], places: dict[str, int]) -> Array:
    return np.fromiter(map(places.__getitem__, vocabulary), "<i4", len(vocabulary))


def write(folder: Path, words: Words) -> str:
    """Writes words as `joined` gives them. Returns what tells them from damaged ones."""
    text = np.frombuffer("".join(f"{term}\n" for term in words.vocabulary).encode(), "u1")
    starts = np.zeros(len(words.vocabulary) + 1, START)
    starts["text"][1:] = np.flatnonzero(text == ord("\n")) + 1
    starts["row"] = np.searchsorted(words.terms, np.arange(len(starts)))
    lengths = np.zeros((words.numbers.max(initial=0) + 1, len(FIELDS)), "<u2")
    lengths[words.numbers] = words.lengths
    arrays = (text, starts, words.items, words.counts, lengths)
    for name, array in zip(FILES, arrays, strict=True):
        np.save(folder / name, array)
    return _digest(arrays)


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
    def open(cls, folder: Path) -> Postings:
        return cls(*(np.load(folder / name, mmap_mode="r") for name in FILES))

    @property
    def digest(self) -> str:
        return _digest(self._arrays)

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

    def terms_like(self, prefix: str) -> list[str]:
        """The terms that begin so."""
        wanted = prefix.encode("utf-8", "replace")
        low, high = self._place(wanted), self._place(wanted + b"\xff")  # no text has that byte
        return [self._term(place).decode() for place in range(low, high)]

    def words(self) -> Words:
        """All of it, for making the next generation."""
        vocabulary = bytes(self._text).decode().split("\n")[:-1]
        terms = np.repeat(np.arange(len(self), dtype="<i4"), np.diff(self._starts["row"]))
        numbers = self.numbers.astype("<i4")
        return Words(vocabulary, terms, self._items, self._counts, numbers, self.lengths[numbers])

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

    def _place(self, wanted: bytes) -> int:
        return bisect_left(range(len(self)), wanted, key=self._term)

    def _term(self, place: int) -> bytes:
        return bytes(self._text[int(self._starts["text"][place]) : int(self._starts["text"][place + 1]) - 1])
