"""Passages of documents by one chunker: text, location and per-field postings.

One file in `.assay/` per chunker, replaced atomically and memory-mapped. Passages are numbered from 0 in document
order. Counts are stored per field, so that weights can be chosen at query time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain
from pathlib import Path
from typing import NamedTuple, overload

import msgspec
import numpy as np

from assay.core.items import Passage, passage_id
from assay.store import arrays
from assay.store.arrays import Array
from assay.store.generation import UnusableIndex
from assay.text.terms import terms

FORMAT = 1  # file format version
_RELATIONS = arrays.Relations(  # of all but the postings, which `PassageTable` checks when it reads them
    rows=(("documents", "places", "lengths", "heading", "id", "text"), ("path", "language")),
    numbers={"documents": ["path"]},
    widths=("counts",),
)
FIELDS = ("heading", "path", "text")
_HEADING, _TEXT = FIELDS.index("heading"), FIELDS.index("text")
_MAX_COUNT = 255  # stored term frequency


class PassageFacts(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """Extracted facts of a passage; the terms are those of its text."""

    text: str
    headings: tuple[str, ...]
    lines: tuple[int, int]
    characters: tuple[int, int]
    page: int
    terms: dict[str, int]


@dataclass(frozen=True, slots=True)
class ChunkedDocument:
    """A document and its passages."""

    path: str
    language: str
    passages: Sequence[PassageFacts] = ()


def path_of(folder: Path, chunker: str) -> Path:
    """Return the file of a chunker's passages in an index folder."""
    return folder / f"passages-{chunker.replace(':', '-')}.npz"


def write(path: Path, key: str, chunker: str, documents: Sequence[ChunkedDocument]) -> None:
    """Write passages atomically; `chunker` is its identity, `key` identifies the input."""
    arrays.write(path, _arrays(key, chunker, documents))


def _arrays(key: str, chunker: str, documents: Sequence[ChunkedDocument]) -> dict[str, Array]:
    passages = [passage for document in documents for passage in document.passages]
    sizes = [len(document.passages) for document in documents]
    vocabulary, starts, rows, counts, lengths = _postings(documents, passages)
    return {
        "key": arrays.key(FORMAT, key),
        "documents": np.repeat(np.arange(len(documents), dtype="<i4"), sizes),
        "places": np.array([(*p.lines, *p.characters, p.page) for p in passages], "<i4").reshape(-1, 5),
        "term_starts": starts,
        "passages": rows,
        "counts": counts,
        "lengths": lengths,
        **arrays.strings("path", (d.path for d in documents)),
        **arrays.strings("language", (d.language for d in documents)),
        **arrays.strings("heading", ("\n".join(p.headings) for p in passages)),
        **arrays.strings("id", _ids(documents, chunker)),
        **arrays.strings("text", (p.text for p in passages)),
        **arrays.strings("term", vocabulary),
    }


@cache
def _empty_arrays() -> dict[str, Array]:
    """Return the arrays of no documents."""
    return _arrays("", "", [])


def key_at(path: Path) -> str | None:
    """Return the input key of a passage file; None if it is missing or unusable."""
    try:
        return arrays.key_of(_load(path), FORMAT)
    except (OSError, UnusableIndex):
        return None


def _load(path: Path) -> dict[str, Array]:
    return arrays.read(path, FORMAT, "the index of passages", _empty_arrays(), _RELATIONS, mapped=True)


def _ids(documents: Sequence[ChunkedDocument], chunker: str) -> list[str]:
    out = []
    for document in documents:
        seen: Counter[tuple[tuple[str, ...], str]] = Counter()
        for passage in document.passages:
            content = passage.headings, passage.text
            seen[content] += 1
            out.append(passage_id(document.path, *content, chunker, seen[content]))
    return out


def _postings(
    documents: Sequence[ChunkedDocument], passages: Sequence[PassageFacts]
) -> tuple[list[str], Array, Array, Array, Array]:
    """Return vocabulary, row offset per term, rows (passage), counts by field, and field lengths per passage."""
    fields: list[list[Mapping[str, int]]] = [
        _heading_counts(passages),
        [term_counts for d in documents for term_counts in [Counter(terms(d.path))] * len(d.passages)],
        [p.terms for p in passages],
    ]
    vocabulary = sorted(set(chain.from_iterable(chain.from_iterable(fields))))
    places = {term: number for number, term in enumerate(vocabulary)}
    keys, counts = (np.concatenate(part) for part in zip(*(_flat(field, places) for field in fields), strict=True))
    field_numbers = np.repeat(np.arange(len(fields)), [sum(map(len, field)) for field in fields])
    unique_keys, rows = np.unique(keys, return_inverse=True)
    table = np.zeros((len(unique_keys), len(fields)), "u1")
    table[rows, field_numbers] = np.minimum(counts, _MAX_COUNT)
    starts = np.searchsorted(unique_keys >> 32, np.arange(len(vocabulary) + 1)).astype("<i8")
    lengths = np.array([[sum(term_counts.values()) for term_counts in field] for field in fields], "<i4").T
    return vocabulary, starts, (unique_keys & 0xFFFFFFFF).astype("<i4"), table, lengths.reshape(-1, len(fields)).copy()


def _heading_counts(passages: Sequence[PassageFacts]) -> list[Mapping[str, int]]:
    """Return the term counts of the headings of each passage; every heading is split once, as many passages share it."""
    split: dict[str, list[str]] = {}
    for passage in passages:
        for heading in passage.headings:
            if heading not in split:
                split[heading] = terms(heading)
    return [Counter(chain.from_iterable(map(split.__getitem__, passage.headings))) for passage in passages]


def _flat(field: Sequence[Mapping[str, int]], places: Mapping[str, int]) -> tuple[Array, Array]:
    """Return (term << 32 | passage) and count for every term of every passage in a field."""
    owners = np.repeat(np.arange(len(field), dtype="<i8"), [len(term_counts) for term_counts in field])
    flat_terms: Iterable[str] = chain.from_iterable(field)
    codes = np.fromiter(map(places.__getitem__, flat_terms), "<i8", len(owners))
    counts = np.fromiter(chain.from_iterable(term_counts.values() for term_counts in field), "<i8", len(owners))
    return codes << 32 | owners, counts


class TermCounts(NamedTuple):
    """Term counts of texts, in CSR format: those of text i are from `starts[i]` to `starts[i + 1]`."""

    vocabulary: Sequence[str]
    starts: Array
    terms: Array  # positions in the vocabulary, ascending within a text
    counts: Array


class PassageTable:
    """The passages of one repository."""

    def __init__(self, stored: Mapping[str, Array]) -> None:
        self.arrays = stored
        self.paths, self.languages, self._ids, self._headings, self._texts, self._terms = (
            arrays.strings_of(stored, name) for name in ("path", "language", "id", "heading", "text", "term")
        )

    def __len__(self) -> int:
        return len(self.arrays["documents"])

    def passage(self, number: int, label: str, joint_number: int) -> Passage:
        document = int(self.arrays["documents"][number])
        headings = tuple(filter(None, self._headings[number].split("\n")))
        first, last, start, end, page = self.arrays["places"][number].tolist()
        prefix = f"{label}/" if label else ""
        return Passage(
            joint_number, prefix + self._ids[number], prefix + self.paths[document], self.languages[document],
            headings, first, last, start, end, page, self._texts[number], label,
        )  # fmt: skip

    def full_text(self, number: int) -> str:
        """Return the headings and the text of a passage, without reading its other facts."""
        return "\n".join((*filter(None, self._headings[number].split("\n")), self._texts[number]))

    def term_counts(self) -> TermCounts:
        """Return the term counts of all full texts, from the postings: nothing is split into terms again.

        Raises IndexError if the postings are damaged: they are mapped, so nobody has looked at them.
        """
        stored = self.arrays
        sizes, rows = np.diff(stored["term_starts"]), stored["passages"]
        complete = len(sizes) == len(self._terms) and sizes.sum() == len(rows) == len(stored["counts"])
        if not complete or min(sizes.min(initial=0), rows.min(initial=0)) < 0 or rows.max(initial=-1) >= len(self):
            raise IndexError("postings out of range")
        terms = np.repeat(np.arange(len(self._terms), dtype="<i4"), sizes)
        counts = stored["counts"][:, _HEADING].astype("<i4") + stored["counts"][:, _TEXT]
        present = np.flatnonzero(counts)
        present = present[np.argsort(rows[present], kind="stable")]
        starts = np.append(0, np.cumsum(np.bincount(rows[present], minlength=len(self))))
        return TermCounts(list(self._terms), starts, terms[present], counts[present])

    def having(self, term: str) -> tuple[Array, Array]:
        position = self._terms.find(term)
        start, end = self.arrays["term_starts"][position : position + 2] if position >= 0 else (0, 0)
        return self.arrays["passages"][start:end], self.arrays["counts"][start:end]


class PassageTexts(Sequence[str]):
    """The full texts of a repository's passages, read on demand, with their term counts."""

    def __init__(self, table: PassageTable) -> None:
        self._table = table

    def __len__(self) -> int:
        return len(self._table)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        if isinstance(place, slice):
            return [self._table.full_text(number) for number in range(*place.indices(len(self)))]
        if not 0 <= place < len(self):
            raise IndexError(place)
        return self._table.full_text(place)

    def term_counts(self) -> TermCounts:
        return self._table.term_counts()


class Passages:
    """The passages by one chunker, open for reading: those of a repository, or of several by label."""

    def __init__(self, parts: Sequence[tuple[str, PassageTable]]) -> None:
        self._labels, self._tables = [label for label, _ in parts], [table for _, table in parts]
        self._firsts = arrays.offsets(map(len, self._tables))

    @classmethod
    def open(cls, path: Path) -> Passages:
        return cls([("", PassageTable(_load(path)))])

    @classmethod
    def joined(cls, passages: Mapping[str, Passages]) -> Passages:
        """Join the passages of several repositories, by label."""
        return cls([(label, table) for label, part in passages.items() for table in part._tables])

    def __len__(self) -> int:
        return self._firsts[-1]

    @property
    def starts(self) -> Sequence[int]:
        """First passage number of each repository."""
        return self._firsts[:-1]

    def __getitem__(self, number: int) -> Passage:
        place, local = arrays.locate(self._firsts, number)
        return self._tables[place].passage(local, self._labels[place], number)

    def full_texts(self) -> PassageTexts:
        """Return headings and text of every passage, for the passages of a single repository."""
        (table,) = self._tables
        return PassageTexts(table)

    @cached_property
    def documents(self) -> Array:
        """Document of each passage, as a position in `paths`."""
        firsts = arrays.offsets(len(table.paths) for table in self._tables)
        documents = [table.arrays["documents"] for table in self._tables]
        return arrays.concatenated(
            [part + first if first else part for part, first in zip(documents, firsts, strict=False)]
        )

    @cached_property
    def lengths(self) -> Array:
        """Number of terms per passage and field."""
        return arrays.concatenated([table.arrays["lengths"] for table in self._tables])

    @cached_property
    def paths(self) -> list[str]:
        return [
            f"{label}/{path}" if label else path
            for label, table in zip(self._labels, self._tables, strict=True)
            for path in table.paths
        ]

    @cached_property
    def languages(self) -> list[str]:
        """Format of each document."""
        return [language for table in self._tables for language in table.languages]

    def having(self, term: str) -> tuple[Array, Array]:
        """Return the passages that have a term, ascending, and its counts by field."""
        return arrays.concatenated_postings([table.having(term) for table in self._tables], self._firsts)
