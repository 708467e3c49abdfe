"""Sections of documents: postings, location, and the symbols and files that each mentions.

One file in `.assay/`, replaced atomically when a document changes. Sections are numbered from 0 in document order.
Mentions are stored by name and resolved against an open index, so that editing code never rewrites the sections.

A `SectionTable` is the file of one repository, `Sections` those of all parts of an index.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

from assay.store import arrays, layout
from assay.store.arrays import Array
from assay.store.generation import Generation, UnusableIndex
from assay.store.index import Index

NAME = layout.SECTIONS
FORMAT = 3  # file format version
_WHAT = "the index of documents"  # in messages
_RELATIONS = arrays.Relations(
    rows=(
        ("documents", "lines", "lengths", "heading"), ("sizes", "mtimes", "hashes", "path", "problem"), ("sections", "counts"),
        ("names", "marked"),
    ),
    numbers={"documents": ["sizes"], "sections": ["documents"], "names": ["name"]},
    groups={"term_starts": ("sections", "term"), "name_starts": ("names", "documents")},
)  # fmt: skip
MOST_NAMESAKES = 8  # a name with more definitions is too ambiguous to count
_MAX_ROWS = 200  # definitions considered for a qualified name
_UNREAD = bytes(16)  # content hash of an unreadable document
_PART = re.compile(r"[^\w]+")
_MAX_CACHED = 1 << 10  # sections whose symbols are cached

Row = tuple[int, str, str]  # number, qualified name and path of a symbol


class SectionFacts(NamedTuple):
    """Extracted facts of a section: headings (outermost first), lines from 1, terms, mentioned names.

    `marked` says of each name whether the section marks it as code.
    """

    headings: tuple[str, ...]
    first: int
    last: int
    terms: dict[str, int]
    names: tuple[str, ...]
    marked: tuple[bool, ...] = ()


@dataclass(frozen=True, slots=True)
class Document:
    """A document as read; without a hash if it could not be."""

    path: str
    size: int
    mtime: int
    hash: bytes = b""
    sections: Sequence[SectionFacts] = ()
    problem: str = ""  # why it could not be read


@dataclass(frozen=True, slots=True)
class Section:
    """Location of a section."""

    path: str
    headings: tuple[str, ...]
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class IndexedDocuments:
    """Indexed documents by path, without their sections, and the time of indexing."""

    documents: Mapping[str, Document]
    indexed_at: int


def write(path: Path, key: str, documents: Sequence[Document], indexed_at: int) -> None:
    """Write sections atomically; `key` identifies the version of the reader."""
    arrays.write(path, _arrays(key, documents, indexed_at))


def read_indexed_documents(path: Path, key: str) -> IndexedDocuments | None:
    """Return the indexed documents; None if the file is missing, damaged or of another key."""
    try:
        contents = _load(path)
    except (OSError, UnusableIndex):
        return None
    if arrays.key_of(contents, FORMAT) != key:
        return None
    paths, sizes, mtimes = arrays.strings_of(contents, "path"), contents["sizes"].tolist(), contents["mtimes"].tolist()
    hashes, problems = [bytes(row_hash) for row_hash in contents["hashes"]], arrays.strings_of(contents, "problem")
    rows = [
        Document(paths[n], sizes[n], mtimes[n], hashes[n] if hashes[n] != _UNREAD else b"", (), problems[n])
        for n in range(len(paths))
    ]
    return IndexedDocuments({row.path: row for row in rows}, int(contents["indexed_at"][0]))


def set_times(path: Path, times: Mapping[str, tuple[int, int]], indexed_at: int) -> None:
    """Replace size and modification time of some documents, by path, and the time of indexing."""
    contents = _load(path)
    paths = arrays.strings_of(contents, "path")
    rows = [
        times.get(name, stat)
        for name, stat in zip(paths, zip(contents["sizes"], contents["mtimes"], strict=True), strict=True)
    ]
    sizes, mtimes = np.array(rows, "<i8").reshape(-1, 2).T
    arrays.write(
        path, {**contents, "sizes": sizes.copy(), "mtimes": mtimes.copy(), "indexed_at": np.array([indexed_at], "<i8")}
    )


def _load(path: Path) -> dict[str, Array]:
    return arrays.read(path, FORMAT, _WHAT, _empty_arrays(), _RELATIONS)


@cache
def _empty_arrays() -> dict[str, Array]:
    """Return the arrays of no documents."""
    return _arrays("", [], 0)


def _arrays(key: str, documents: Sequence[Document], indexed_at: int) -> dict[str, Array]:
    sections = [section for document in documents for section in document.sections]
    vocabulary, postings, counts = _postings(sections)
    names: dict[str, int] = {}
    for section in sections:
        for name in section.names:
            names.setdefault(name, len(names))
    return {
        "key": arrays.key(FORMAT, key),
        "indexed_at": np.array([indexed_at], "<i8"),
        "sizes": np.array([d.size for d in documents], "<i8"),
        "mtimes": np.array([d.mtime for d in documents], "<i8"),
        "hashes": np.frombuffer(b"".join(d.hash or _UNREAD for d in documents), "u1").reshape(-1, len(_UNREAD)),
        "documents": np.repeat(np.arange(len(documents), dtype="<i4"), [len(d.sections) for d in documents]),
        "lines": np.array([(s.first, s.last) for s in sections], "<i4").reshape(-1, 2),
        "lengths": np.array([sum(s.terms.values()) for s in sections], "<i4"),
        "sections": postings[:, 1].copy(),
        "counts": counts,
        "term_starts": np.searchsorted(postings[:, 0], np.arange(len(vocabulary) + 1)).astype("<i4"),
        "names": np.array([names[name] for s in sections for name in s.names], "<i4"),
        "name_starts": arrays.starts(s.names for s in sections),
        "marked": np.array([mark for s in sections for mark in s.marked or (False,) * len(s.names)], "u1"),
        **arrays.strings("path", (d.path for d in documents)),
        **arrays.strings("problem", (d.problem for d in documents)),
        **arrays.strings("heading", ("\n".join(s.headings) for s in sections)),
        **arrays.strings("term", vocabulary),
        **arrays.strings("name", names),
    }


def _postings(sections: Sequence[SectionFacts]) -> tuple[list[str], Array, Array]:
    """Return the vocabulary, sorted rows of (term, section), and the term frequency of each row."""
    vocabulary = sorted(set(chain.from_iterable(s.terms for s in sections)))
    places = {term: number for number, term in enumerate(vocabulary)}
    flat = np.fromiter(map(places.__getitem__, chain.from_iterable(s.terms for s in sections)), "<i4")
    owners = np.repeat(np.arange(len(sections), dtype="<i4"), [len(s.terms) for s in sections])
    counts = np.fromiter(chain.from_iterable(s.terms.values() for s in sections), "<i8")
    order = np.argsort(flat, kind="stable")
    return vocabulary, np.stack([flat, owners], axis=1)[order], np.minimum(counts, 255).astype("u1")[order]


class Mention(NamedTuple):
    """A name in a section, with the symbols that it may mean."""

    section: int
    name: str
    symbols: list[int]
    marked: bool  # as code


class SectionTable:
    """The sections of one repository, resolved against its index: mentions that are not indexed are left out."""

    def __init__(self, generation: Generation, stored: Mapping[str, Array]) -> None:
        self._generation, self.arrays = generation, stored
        self._paths, self._headings, self._terms, self._names = (
            arrays.strings_of(stored, what) for what in ("path", "heading", "term", "name")
        )
        self._resolved: dict[str, tuple[int, ...]] = {}

    @classmethod
    def open(cls, generation: Generation) -> SectionTable:
        """Open the sections of a repository; empty if there are none that this version reads."""
        return cls(generation, arrays.read_or_empty(generation.home / NAME, FORMAT, _WHAT, _empty_arrays(), _RELATIONS))

    def __len__(self) -> int:
        return len(self.arrays["documents"])

    def __getitem__(self, section: int) -> Section:
        first, last = self.arrays["lines"][section].tolist()
        path = self._paths[int(self.arrays["documents"][section])]
        return Section(path, tuple(filter(None, self._headings[section].split("\n"))), first, last)

    def having(self, term: str) -> tuple[Array, Array]:
        position = self._terms.find(term)
        start, end = self.arrays["term_starts"][position : position + 2] if position >= 0 else (0, 0)
        return self.arrays["sections"][start:end], self.arrays["counts"][start:end]

    def names(self, section: int) -> list[str]:
        start, end = self.arrays["name_starts"][section : section + 2]
        return [self._names[number] for number in self.arrays["names"][start:end].tolist()]

    def named(self, name: str) -> tuple[int, ...]:
        """Resolve a mention to the symbols that its qualifiers fit best; none if too many have the name."""
        if name not in self._resolved:
            self._resolved[name] = () if "/" in name or self.file(name) else self._look_up(name)
        return self._resolved[name]

    def _look_up(self, name: str) -> tuple[int, ...]:
        *qualifiers, last = name.split(".")
        rows = self._generation.catalogue.connection.execute(
            "SELECT s.number, s.symbol, f.path FROM symbols s JOIN files f ON f.number = s.file "
            "WHERE s.name = ? AND s.ordinal >= 0 ORDER BY s.id LIMIT ?",
            (last, _MAX_ROWS if qualifiers else MOST_NAMESAKES + 1),
        ).fetchall()
        if qualifiers and len(rows) > 1:
            rows = _best_rows(rows, _count_words({*qualifiers}, [symbol for _, symbol, _ in rows]))
            lower = [qualifier.lower() for qualifier in qualifiers]
            rows = _best_rows(rows, _count_words(lower, [f"{symbol}/{path}".lower() for _, symbol, path in rows]))
        return tuple(row[0] for row in rows) if len(rows) <= MOST_NAMESAKES else ()

    def mentions(self, last: str) -> list[tuple[str, Array, Array]]:
        """Return the mentions that end in a name, `route` or `flask.Flask.route`: their sections, and which mark it."""
        starts, sections, marked = self._by_mention
        spans = ((number, slice(starts[number], starts[number + 1])) for number in self._by_last_name.get(last, ()))
        return [(self._names[number], sections[span], marked[span]) for number, span in spans]

    @cached_property
    def _by_mention(self) -> tuple[Array, Array, Array]:
        """Sections of every mention and whether they mark it as code, by the number of the mention."""
        names, sections = self.arrays["names"], np.repeat(np.arange(len(self)), np.diff(self.arrays["name_starts"]))
        order = np.argsort(names, kind="stable")
        starts = np.searchsorted(names[order], np.arange(len(self._names) + 1))
        return starts, sections[order], self.arrays["marked"][order]

    @cached_property
    def _by_last_name(self) -> dict[str, list[int]]:
        out: defaultdict[str, list[int]] = defaultdict(list)
        for number, name in enumerate(self._names):
            out[name.rpartition(".")[2]].append(number)
        return dict(out)

    def file(self, name: str) -> int:
        """Return the number of the only file whose path ends so; 0 if there is none or it is ambiguous."""
        candidates = self._files.get(name.rpartition("/")[2], ())
        matches = [number for path, number in candidates if f"/{path}".endswith(f"/{name}")]
        return matches[0] if len(matches) == 1 else 0

    @cached_property
    def _files(self) -> dict[str, list[tuple[str, int]]]:
        """Indexed files by base name."""
        out: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
        for path, row in self._generation.files.items():
            out[path.rpartition("/")[2]].append((path, row.number))
        return dict(out)


class Sections:
    """The sections of an index, one part after the other. Symbols are numbers of the index.

    Mentioned names are resolved in the section's own repository first, then in the others: a manual may be in a
    repository of its own.
    """

    def __init__(self, index: Index, tables: Sequence[SectionTable]) -> None:
        self.index, self.tables = index, tables  # one table per part
        self._firsts = arrays.offsets(map(len, tables))
        self._symbols: dict[int, dict[int, float]] = {}

    @classmethod
    def open(cls, index: Index) -> Sections:
        """Open the sections of an index; empty if no documents were indexed."""
        return cls(index, [SectionTable.open(part.generation) for part in index.parts])

    def __len__(self) -> int:
        return self._firsts[-1]

    @property
    def documents(self) -> int:
        """Number of documents."""
        return sum(len(table.arrays["sizes"]) for table in self.tables)

    @property
    def unread(self) -> int:
        """Number of documents that could not be read."""
        return sum(int((~table.arrays["hashes"].any(axis=1)).sum()) for table in self.tables)

    @cached_property
    def lengths(self) -> Array:
        """Number of terms per section."""
        return arrays.concatenated([table.arrays["lengths"] for table in self.tables])

    def having(self, term: str) -> tuple[Array, Array]:
        """Return the sections that have a term, ascending, and the term frequencies."""
        return arrays.concatenated_postings([table.having(term) for table in self.tables], self._firsts)

    def __getitem__(self, section: int) -> Section:
        place, local = arrays.locate(self._firsts, section)
        local_section = self.tables[place][local]
        return replace(local_section, path=self.index.parts[place].path(local_section.path))

    def names(self, section: int) -> list[str]:
        """Return the mentions in a section that look like code: `flask.Flask`, `url_for`, `src/flask/app.py`."""
        place, local = arrays.locate(self._firsts, section)
        return self.tables[place].names(local)

    def symbols(self, section: int) -> Mapping[int, float]:
        """Return the symbols that a section mentions; the weight of an ambiguous mention is split."""
        if section not in self._symbols:
            if len(self._symbols) >= _MAX_CACHED:
                self._symbols.clear()
            place, _ = arrays.locate(self._firsts, section)
            self._symbols[section] = _shares(self._named(name, place) for name in self.names(section))
        return self._symbols[section]

    def mentions(self, last: str) -> list[Mention]:
        """Return the mentions that end in a name."""
        out = []
        for place, table in enumerate(self.tables):
            for name, sections, marked in table.mentions(last):
                symbols = self._named(name, place)
                out += [
                    Mention(section + self._firsts[place], name, symbols, bool(mark))
                    for section, mark in zip(sections.tolist(), marked.tolist(), strict=True)
                ]
        return out

    def _named(self, name: str, place: int) -> list[int]:
        """Resolve a mention in the section's own part, else in all parts."""
        matches = [
            [number + part.first for number in table.named(name)]
            for part, table in zip(self.index.parts, self.tables, strict=True)
        ]
        everywhere = list(chain.from_iterable(matches))
        return matches[place] or (everywhere if len(everywhere) <= MOST_NAMESAKES else [])


def _shares(mentions: Iterable[Sequence[int]]) -> dict[int, float]:
    """Return the weight of each symbol: 1/n for a mention of n candidates, the maximum over mentions."""
    out: defaultdict[int, float] = defaultdict(float)
    for candidates in mentions:
        for number in candidates:
            out[number] = max(out[number], 1 / len(candidates))
    return dict(out)


def _best_rows(rows: Sequence[Row], scores: Sequence[int]) -> list[Row]:
    """Return the rows with the highest fit."""
    best = max(scores)
    return [row for row, score in zip(rows, scores, strict=True) if score == best]


def _count_words(names: Collection[str], places: Iterable[str]) -> list[int]:
    """Count the names that are words of each place."""
    counts = []
    for place in places:
        present = [name for name in names if name in place]  # cheap test first: few places need to be split
        words = {*_PART.split(place)} if present else ()
        counts.append(len([name for name in present if name in words]))
    return counts
