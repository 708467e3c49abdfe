"""The sections of documents: which of them speak of a term, where they stand, and which symbols and files each names.

One file in `.assay/`, replaced in a single step when a document changed. Sections are numbered from 0, in the order of their documents. What they
name is kept by name and becomes numbers of the catalogue when an index is asked: editing code never rewrites the sections.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

from assay.store import arrays, layout
from assay.store.arrays import Array, Strings
from assay.store.index import Index, UnusableIndex

NAME = layout.SECTIONS
FORMAT = 2  # of the arrays below
MOST_NAMESAKES = 8  # definitions of a name; one that more have names none of them
_MOST_ROWS = 200  # definitions looked at for a qualified name
_UNREAD = bytes(16)  # instead of a content hash
_PART = re.compile(r"[^\w]+")
_KEPT = 1 << 10  # sections of which it is remembered what they name

Row = tuple[int, str, str]  # number, qualified name and path of a symbol


class SectionFacts(NamedTuple):
    """What is read from one section: the headings above it, outermost first, its lines from 1, its terms, the names it mentions."""

    headings: tuple[str, ...]
    first: int
    last: int
    terms: dict[str, int]
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Document:
    """A document as it was read; without a hash when it could not be."""

    path: str
    size: int
    mtime: int
    hash: bytes = b""
    sections: Sequence[SectionFacts] = ()
    problem: str = ""  # why nothing was read


@dataclass(frozen=True, slots=True)
class Section:
    """Where a section stands."""

    path: str
    headings: tuple[str, ...]
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Known:
    """What documents were read, by path, without their sections, and when."""

    documents: Mapping[str, Document]
    indexed_at: int


def write(path: Path, key: str, documents: Sequence[Document], indexed_at: int) -> None:
    """Writes the sections of documents in a single step; `key` tells by which version they were read."""
    arrays.write(path, _arrays(key, documents, indexed_at))


def known(path: Path, key: str) -> Known | None:
    """The documents that were read; None when there are none of this key, or they are damaged anywhere."""
    try:
        found = _load(path)
    except (OSError, UnusableIndex):
        return None
    if arrays.key_of(found, FORMAT) != key:
        return None
    paths, sizes, times = arrays.strings_of(found, "path"), found["sizes"].tolist(), found["mtimes"].tolist()
    hashes, problems = [bytes(one) for one in found["hashes"]], arrays.strings_of(found, "problem")
    rows = [
        Document(paths[n], sizes[n], times[n], hashes[n] if hashes[n] != _UNREAD else b"", (), problems[n])
        for n in range(len(paths))
    ]
    return Known({row.path: row for row in rows}, int(found["indexed_at"][0]))


def _load(path: Path) -> dict[str, Array]:
    return arrays.load(path, FORMAT, "the index of documents", _nothing())


@cache
def _nothing() -> dict[str, Array]:
    """The arrays of no documents."""
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
        **arrays.strings("path", (d.path for d in documents)),
        **arrays.strings("problem", (d.problem for d in documents)),
        **arrays.strings("heading", ("\n".join(s.headings) for s in sections)),
        **arrays.strings("term", vocabulary),
        **arrays.strings("name", names),
    }


def _postings(sections: Sequence[SectionFacts]) -> tuple[list[str], Array, Array]:
    """The terms in order, rows of (term, section) in order, and how often a section has its term."""
    vocabulary = sorted(set(chain.from_iterable(s.terms for s in sections)))
    places = {term: number for number, term in enumerate(vocabulary)}
    flat = np.fromiter(map(places.__getitem__, chain.from_iterable(s.terms for s in sections)), "<i4")
    owners = np.repeat(np.arange(len(sections), dtype="<i4"), [len(s.terms) for s in sections])
    counts = np.fromiter(chain.from_iterable(s.terms.values() for s in sections), "<i8")
    order = np.argsort(flat, kind="stable")
    return vocabulary, np.stack([flat, owners], axis=1)[order], np.minimum(counts, 255).astype("u1")[order]


@dataclass(frozen=True)
class Sections:
    """The sections beside one index. Symbols and files are numbers of its catalogue; what the index does not have is left out."""

    index: Index
    arrays: Mapping[str, Array]
    _found: dict[str, tuple[int, ...]] = field(default_factory=dict)
    _symbols: dict[int, Mapping[int, float]] = field(default_factory=dict)

    @classmethod
    def open(cls, index: Index) -> Sections:
        """The sections beside an index; none when no documents were read."""
        try:
            return cls(index, _load(index.folder.parent.parent / NAME))
        except FileNotFoundError:
            return cls(index, _nothing())

    def __len__(self) -> int:
        return len(self.arrays["documents"])

    @property
    def documents(self) -> int:
        """How many documents there are."""
        return len(self.arrays["sizes"])

    @property
    def unread(self) -> int:
        """How many of them could not be read."""
        return int((~self.arrays["hashes"].any(axis=1)).sum())

    @property
    def lengths(self) -> Array:
        """How many terms each section has."""
        return self.arrays["lengths"]

    def __getitem__(self, section: int) -> Section:
        first, last = self.arrays["lines"][section].tolist()
        path = self._of("path")[int(self.arrays["documents"][section])]
        return Section(path, tuple(filter(None, self._of("heading")[section].split("\n"))), first, last)

    def having(self, term: str) -> tuple[Array, Array]:
        """The sections that have a term, in order, and how often each has it."""
        found = self._of("term").find(term)
        start, end = self.arrays["term_starts"][found : found + 2] if found >= 0 else (0, 0)
        return self.arrays["sections"][start:end], self.arrays["counts"][start:end]

    def names(self, section: int) -> list[str]:
        """What a section mentions that looks like a name of code: `flask.Flask`, `url_for`, `src/flask/app.py`."""
        start, end = self.arrays["name_starts"][section : section + 2]
        return [self._of("name")[number] for number in self.arrays["names"][start:end].tolist()]

    def symbols(self, section: int) -> Mapping[int, float]:
        """The symbols a section names; of a name that several have, each counts its share."""
        if section not in self._symbols:
            if len(self._symbols) >= _KEPT:
                self._symbols.clear()
            self._symbols[section] = shares([self.named(name) for name in self.names(section)])
        return self._symbols[section]

    def files(self, section: int) -> set[int]:
        """The files a section names, by the end of their path."""
        return {number for name in self.names(section) if (number := self._file(name))}

    def named(self, name: str) -> tuple[int, ...]:
        """The symbols that a mention means: those it qualifies best; none when too many have the name."""
        if name not in self._found:
            self._found[name] = () if "/" in name or self._file(name) else self._look_up(name)
        return self._found[name]

    def _look_up(self, name: str) -> tuple[int, ...]:
        *qualifiers, last = name.split(".")
        rows = self.index.catalogue.connection.execute(
            "SELECT s.number, s.symbol, f.path FROM symbols s JOIN files f ON f.number = s.file WHERE s.name = ? AND s.ordinal >= 0 LIMIT ?",
            (last, _MOST_ROWS if qualifiers else MOST_NAMESAKES + 1),
        ).fetchall()
        if qualifiers and len(rows) > 1:
            rows = _best(rows, [_shared({*qualifiers}, symbol) for _, symbol, _ in rows])
            lower = [one.lower() for one in qualifiers]
            rows = _best(rows, [_shared(lower, f"{symbol}/{path}".lower()) for _, symbol, path in rows])
        return tuple(row[0] for row in rows) if len(rows) <= MOST_NAMESAKES else ()

    def _file(self, name: str) -> int:
        """The number of the one file whose path ends so; 0 when there is none, or several."""
        found = self._files.get(name.rpartition("/")[2], ())
        fitting = [number for path, number in found if f"/{path}".endswith(f"/{name}")]
        return fitting[0] if len(fitting) == 1 else 0

    @cached_property
    def _files(self) -> dict[str, list[tuple[str, int]]]:
        """Indexed files by their last name."""
        out: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
        for path, row in self.index.files.items():
            out[path.rpartition("/")[2]].append((path, row.number))
        return dict(out)

    def _of(self, what: str) -> Strings:
        return self._all_strings[what]

    @cached_property
    def _all_strings(self) -> dict[str, Strings]:
        return {what: arrays.strings_of(self.arrays, what) for what in ("path", "heading", "term", "name")}


def shares(mentions: Iterable[Sequence[int]]) -> dict[int, float]:
    """What each symbol counts: of those that a mention may mean each its share, and of several mentions the surest."""
    out: defaultdict[int, float] = defaultdict(float)
    for named in mentions:
        for number in named:
            out[number] = max(out[number], 1 / len(named))
    return dict(out)


def _best(rows: Sequence[Row], fitting: Sequence[int]) -> list[Row]:
    """The rows that fit as well as any."""
    most = max(fitting)
    return [row for row, fits in zip(rows, fitting, strict=True) if fits == most]


def _shared(names: Collection[str], place: str) -> int:
    """How many of some names are words of a place."""
    if not any(name in place for name in names):  # not even as a part of one: few places need to be split
        return 0
    words = {*_PART.split(place)}
    return sum(name in words for name in names)
