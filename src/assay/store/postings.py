"""Postings of items: items per term with term frequencies by field, and field lengths per item.

Memory-mapped when read. A `Segment` holds those of one generation, `Postings` those of all parts of an index.

Counts are stored per field, so that weights and length normalization can be chosen at query time. On disk: the sorted
terms, one per line; for each, its offset in that text and in the rows; the rows (item, counts) by term and item;
lengths by item.
"""

from __future__ import annotations

import zlib
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path

import numpy as np
import numpy.typing as npt

from assay.store.arrays import Array, are_offsets, array_of, concatenated_postings, offsets
from assay.store.generation import MappedFiles

FIELDS = ("name", "qualifier", "path", "signature", "doc", "identifiers", "literals")
NAME, QUALIFIER, PATH, SIGNATURE, DOC, IDENTIFIERS, LITERALS = range(len(FIELDS))

TERMS, STARTS, ITEMS, COUNTS, LENGTHS = (
    f"words_{part}.npy" for part in ("terms", "starts", "items", "counts", "lengths")
)
FILES = (TERMS, STARTS, ITEMS, COUNTS, LENGTHS)

START = np.dtype([("text", "<i8"), ("row", "<i8")])
_TYPES: tuple[tuple[npt.DTypeLike, int], ...] = (  # dtype and columns of FILES
    ("u1", 0), (START, 0), ("<i4", 0), ("u1", len(FIELDS)), ("<u2", len(FIELDS)),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Words:
    """Unsorted postings of some items: a row for every item and term, and the field lengths of each item."""

    vocabulary: list[str]
    terms: Array  # per row: position of its term in the vocabulary
    items: Array  # per row: item number
    counts: Array  # per row: frequency by field
    numbers: Array  # item numbers
    lengths: Array  # per item: terms by field


def joined(parts: list[Words]) -> Segment:
    """Merge and sort postings by term and item. Rows of the same item and term in different fields are combined."""
    vocabulary = sorted({term for part in parts for term in part.vocabulary})
    places = {term: place for place, term in enumerate(vocabulary)}
    empty = np.zeros(0, "<i4")
    keys = np.concatenate([empty, *(_codes(part.vocabulary, places)[part.terms] for part in parts)]).astype("<i8") << 32
    keys |= np.concatenate([empty, *(part.items for part in parts)])
    order = np.argsort(keys, kind="stable")  # fast on partially sorted input
    keys = keys[order]
    counts = np.concatenate([np.zeros((0, len(FIELDS)), "u1"), *(part.counts for part in parts)]).take(order, axis=0)
    duplicates = np.flatnonzero(keys[1:] == keys[:-1])
    if len(duplicates):
        counts[duplicates] += counts[duplicates + 1]
        keys, counts = np.delete(keys, duplicates + 1), np.delete(counts, duplicates + 1, axis=0)
    numbers = np.concatenate([empty, *(part.numbers for part in parts)])
    lengths = np.zeros((numbers.max(initial=0) + 1, len(FIELDS)), "<u2")
    lengths[numbers] = np.concatenate([lengths[:0], *(part.lengths for part in parts)])
    sizes = np.bincount(keys >> 32, minlength=len(vocabulary))
    return _assemble([term.encode() for term in vocabulary], sizes, keys.astype("<i4"), counts, lengths)


def _codes(vocabulary: list[str], places: dict[str, int]) -> Array:
    return np.fromiter(map(places.__getitem__, vocabulary), "<i4", len(vocabulary))


def _assemble(vocabulary: list[bytes], sizes: Array, items: Array, counts: Array, lengths: Array) -> Segment:
    """Build postings from sorted rows; `sizes` is the number of rows per term. Terms without rows are dropped."""
    used = np.flatnonzero(sizes)
    text = np.frombuffer(b"".join(vocabulary[place] + b"\n" for place in used.tolist()), "u1")
    starts = np.zeros(len(used) + 1, START)
    starts["text"][1:] = np.flatnonzero(text == ord("\n")) + 1
    starts["row"][1:] = np.cumsum(sizes[used])
    return Segment(text, starts, items, counts, lengths)


def _digest(arrays: Iterable[Array]) -> str:
    """Return the number of rows and a checksum."""
    total, rows = 0, 0
    for array in arrays:
        total, rows = zlib.crc32(array.view("u1").data, total), max(rows, len(array))
    return f"{rows} {total:08x}"


class Segment:
    """The postings of one generation: written, updated and read."""

    def __init__(self, terms: Array, starts: Array, items: Array, counts: Array, lengths: Array) -> None:
        self._arrays = terms, starts, items, counts, lengths
        self._text, self._starts, self._items, self._counts = terms.data, starts, items, counts
        self.lengths = lengths  # by item number; zero for unused numbers

    @classmethod
    def open(cls, maps: MappedFiles) -> Segment:
        return cls(*(array_of(maps, name, *kind) for name, kind in zip(FILES, _TYPES, strict=True)))

    def write(self, folder: Path) -> str:
        """Save for `open`; return the digest."""
        for name, array in zip(FILES, self._arrays, strict=True):
            np.save(folder / name, array)
        return self.digest

    @property
    def digest(self) -> str:
        return _digest(self._arrays)

    def is_consistent(self, exists: Array) -> bool:
        """Return whether all offsets are in range and all items exist, by a flag for each number."""
        text, starts, items = self._arrays[0], self._starts, self._items
        if len(starts) == 0 or len(items) != len(self._counts) or len(self.lengths) > len(exists):
            return False
        try:
            bytes(text).decode()
        except UnicodeDecodeError:
            return False
        return (
            starts["text"][0] == 0
            and np.array_equal(starts["text"][1:], np.flatnonzero(text == ord("\n")) + 1)
            and (len(text) == 0 or text[-1] == ord("\n"))
            and are_offsets(starts["row"], len(items))
            and bool(np.all((items >= 0) & (items < len(self.lengths))))
            and bool(np.all(exists[items]) and np.all(exists[np.flatnonzero(self.lengths.any(axis=1))]))
        )

    def __len__(self) -> int:
        """Number of terms."""
        return len(self._starts) - 1

    @cached_property
    def numbers(self) -> Array:
        """Existing item numbers; every item has a path."""
        return np.flatnonzero(self.lengths[:, PATH])

    def get(self, term: str) -> tuple[Array, Array]:
        """Return the items that have a term, ascending, and its counts by field."""
        rows = self._rows(term)
        return self._items[rows], self._counts[rows]

    @property
    def frequencies(self) -> Array:
        """Document frequency of each term, by position."""
        return np.diff(self._starts["row"])

    def having(self, field: int) -> tuple[Array, Array]:
        """Return term position and item of every row with a count in a field."""
        rows = np.flatnonzero(self._counts[:, field])
        firsts = np.searchsorted(rows, self._starts["row"])  # first matching row of each term
        return np.repeat(np.arange(len(self)), np.diff(firsts)), self._items[rows]

    def terms_like(self, prefix: str) -> list[str]:
        """Return the terms with a prefix."""
        encoded = prefix.encode("utf-8", "replace")
        low, high = self._position(encoded), self._position(encoded + b"\xff")  # not a UTF-8 byte
        return [self._term(place).decode() for place in range(low, high)]

    def words(self) -> Words:
        """Return all postings, row by row."""
        vocabulary = [term.decode() for term in self.vocabulary()]
        terms = np.repeat(np.arange(len(self), dtype="<i4"), np.diff(self._starts["row"]))
        numbers = self.numbers.astype("<i4")
        return Words(vocabulary, terms, self._items, self._counts, numbers, self.lengths[numbers])

    def replaced(self, gone: Iterable[int], fresh: Segment) -> Segment:
        """Return postings without the items `gone` and with `fresh` ones merged in: equal to a full rebuild."""
        lengths = np.zeros((max(len(self.lengths), len(fresh.lengths)), len(FIELDS)), "<u2")
        lengths[: len(self.lengths)] = self.lengths
        removed = np.zeros(len(lengths), bool)
        removed[[number for number in gone if number < len(removed)]] = True
        lengths[removed] = 0
        lengths[fresh.numbers] = fresh.lengths[fresh.numbers]
        remaining = ~removed[self._items]
        starts = self._starts["row"]
        sizes = self.frequencies - np.bincount(np.searchsorted(starts, np.flatnonzero(~remaining), "right") - 1, minlength=len(self))  # fmt: skip
        items = self._items[remaining]
        vocabulary, sizes, places = self._with_terms(fresh, sizes, items)
        rows = [_as_rows(self._counts)[remaining], _as_rows(fresh._counts)]
        counts = np.insert(rows[0], places, rows[1]).view("u1").reshape(-1, len(FIELDS))
        return _assemble(vocabulary, sizes, np.insert(items, places, fresh._items), counts, lengths)

    def _with_terms(self, fresh: Segment, sizes: Array, items: Array) -> tuple[list[bytes], Array, Array]:
        """Return the merged vocabulary, rows per term, and the positions of fresh rows among the remaining ones."""
        vocabulary, firsts = self.vocabulary(), np.concatenate([[0], np.cumsum(sizes)])
        out, counts, places = list[bytes](), list[Array](), list[Array]()
        at = 0
        for number, term in enumerate(fresh.vocabulary()):
            place = bisect_left(vocabulary, term, at)
            exists = int(place < len(vocabulary) and vocabulary[place] == term)
            added = fresh._items[slice(*fresh._starts["row"][number : number + 2])]
            present = items[firsts[place] : firsts[place + exists]]
            places.append(firsts[place] + np.searchsorted(present, added))
            out += [*vocabulary[at:place], term]
            counts += [sizes[at:place], len(present) + np.array([len(added)])]
            at = place + exists
        sizes = np.concatenate([*counts, sizes[at:]])
        return out + vocabulary[at:], sizes, np.concatenate([np.zeros(0, "i8"), *places])

    def digests(self) -> dict[int, int]:
        """Return a checksum of every item's postings and lengths, for comparing two indexes."""
        out = {number: zlib.crc32(self.lengths[number].tobytes()) for number in self.numbers.tolist()}
        words = self.words()
        for place, item, counts in zip(words.terms.tolist(), words.items.tolist(), words.counts, strict=True):
            out[item] = zlib.crc32(words.vocabulary[place].encode() + counts.tobytes(), out[item])
        return out

    def _rows(self, term: str) -> slice:
        encoded = term.encode("utf-8", "replace")
        place = self._position(encoded)
        if place == len(self) or self._term(place) != encoded:
            return slice(0, 0)
        return slice(int(self._starts["row"][place]), int(self._starts["row"][place + 1]))

    def vocabulary(self) -> list[bytes]:
        """Return the sorted terms."""
        return bytes(self._text).split(b"\n")[:-1]

    def _position(self, term: bytes) -> int:
        return bisect_left(range(len(self)), term, key=self._term)

    def _term(self, place: int) -> bytes:
        return bytes(self._text[int(self._starts["text"][place]) : int(self._starts["text"][place + 1]) - 1])


class Postings:
    """The postings of an index: those of its parts, each given with its item offset.

    Rows of a single part are returned as they are, memory-mapped. Term positions are concatenated, too.
    """

    def __init__(self, parts: Sequence[tuple[Segment, int]]) -> None:
        self._segments, self._firsts = [segment for segment, _ in parts], [first for _, first in parts]
        self._terms = offsets(map(len, self._segments))

    def __len__(self) -> int:
        """Number of term positions."""
        return self._terms[-1]

    @cached_property
    def lengths(self) -> Array:
        """Terms by field, by item number; zero for unused numbers."""
        if len(self._segments) == 1:
            return self._segments[0].lengths
        lengths = np.zeros((self._firsts[-1] + len(self._segments[-1].lengths), len(FIELDS)), "<u2")
        for segment, first in zip(self._segments, self._firsts, strict=True):
            lengths[first : first + len(segment.lengths)] = segment.lengths
        return lengths

    @cached_property
    def numbers(self) -> Array:
        """Existing item numbers; every item has a path."""
        return np.flatnonzero(self.lengths[:, PATH])

    def get(self, term: str) -> tuple[Array, Array]:
        """Return the items that have a term, ascending, and its counts by field."""
        return concatenated_postings([segment.get(term) for segment in self._segments], self._firsts)

    @cached_property
    def frequencies(self) -> Array:
        """Document frequency over all parts of each term, by position."""
        if len(self._segments) == 1:
            return self._segments[0].frequencies
        totals: Counter[bytes] = Counter()
        vocabularies = [segment.vocabulary() for segment in self._segments]
        for vocabulary, segment in zip(vocabularies, self._segments, strict=True):
            totals.update(dict(zip(vocabulary, segment.frequencies.tolist(), strict=True)))
        return np.fromiter(map(totals.__getitem__, chain.from_iterable(vocabularies)), np.int64, len(self))

    def having(self, field: int) -> tuple[Array, Array]:
        """Return term position and item of every row with a count in a field."""
        rows = [segment.having(field) for segment in self._segments]
        if len(rows) == 1:
            return rows[0]
        terms = [places + first for (places, _), first in zip(rows, self._terms, strict=False)]
        items = [numbers + np.int64(first) for (_, numbers), first in zip(rows, self._firsts, strict=True)]
        return np.concatenate(terms), np.concatenate(items)

    def terms_like(self, prefix: str) -> list[str]:
        """Return the terms with a prefix."""
        return sorted({term for segment in self._segments for term in segment.terms_like(prefix)})


def _as_rows(counts: Array) -> Array:
    """View the counts of each row as one value: numpy moves it ten times as fast as its fields."""
    return np.ascontiguousarray(counts).view(f"V{len(FIELDS)}").reshape(-1)
