"""The passages of documents by one chunker: where they stand, what they say, and which of them have a term, field by field.

One file in `.assay/` for each chunker that was asked for, replaced in a single step and mapped when read. Passages are numbered from 0, in the order
of their documents. Counts are kept per field, so that weights are chosen when searching.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain
from pathlib import Path

import msgspec
import numpy as np

from assay.core.items import Passage, passage_id
from assay.store import arrays
from assay.store.arrays import Array, Strings
from assay.store.index import UnusableIndex
from assay.text.terms import terms

FORMAT = 1  # of the arrays below
FIELDS = ("heading", "path", "text")
_MOST = 255  # times that a term is counted


class PassageFacts(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """What is read of one passage; the terms are those of its text."""

    text: str
    headings: tuple[str, ...]
    lines: tuple[int, int]
    characters: tuple[int, int]
    page: int
    terms: dict[str, int]


@dataclass(frozen=True, slots=True)
class Divided:
    """A document and its passages."""

    path: str
    language: str
    passages: Sequence[PassageFacts] = ()


def path_of(folder: Path, chunker: str) -> Path:
    """The file of a chunker's passages in an index's folder."""
    return folder / f"passages-{chunker.replace(':', '-')}.npz"


def write(path: Path, key: str, chunker: str, documents: Sequence[Divided]) -> None:
    """Writes the passages of documents in a single step; `chunker` is its identity, `key` tells what they were made from."""
    arrays.write(path, _arrays(key, chunker, documents))


def _arrays(key: str, chunker: str, documents: Sequence[Divided]) -> dict[str, Array]:
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
def _nothing() -> dict[str, Array]:
    """The arrays of no documents."""
    return _arrays("", "", [])


def key_at(path: Path) -> str | None:
    """What the passages of a file were made from; None when there are none that can be used."""
    try:
        return arrays.key_of(arrays.mapped(path, FORMAT, "the index of passages", _nothing()), FORMAT)
    except (OSError, UnusableIndex):
        return None


def _ids(documents: Sequence[Divided], chunker: str) -> list[str]:
    out = []
    for document in documents:
        met: Counter[tuple[tuple[str, ...], str]] = Counter()
        for passage in document.passages:
            same = passage.headings, passage.text
            met[same] += 1
            out.append(passage_id(document.path, *same, chunker, met[same]))
    return out


def _postings(
    documents: Sequence[Divided], passages: Sequence[PassageFacts]
) -> tuple[list[str], Array, Array, Array, Array]:
    """The terms in order, where each one's rows begin, and the rows: passage and counts by field; then the lengths of each passage's fields."""
    fields: list[list[Mapping[str, int]]] = [
        [Counter(terms(" ".join(p.headings))) for p in passages],
        [counted for d in documents for counted in [Counter(terms(d.path))] * len(d.passages)],
        [p.terms for p in passages],
    ]
    vocabulary = sorted(set(chain.from_iterable(chain.from_iterable(fields))))
    places = {term: number for number, term in enumerate(vocabulary)}
    keys, counts = (np.concatenate(part) for part in zip(*(_flat(field, places) for field in fields), strict=True))
    kinds = np.repeat(np.arange(len(fields)), [sum(map(len, field)) for field in fields])
    found, rows = np.unique(keys, return_inverse=True)
    table = np.zeros((len(found), len(fields)), "u1")
    table[rows, kinds] = np.minimum(counts, _MOST)
    starts = np.searchsorted(found >> 32, np.arange(len(vocabulary) + 1)).astype("<i8")
    lengths = np.array([[sum(counted.values()) for counted in field] for field in fields], "<i4").T
    return vocabulary, starts, (found & 0xFFFFFFFF).astype("<i4"), table, lengths.reshape(-1, len(fields)).copy()


def _flat(field: Sequence[Mapping[str, int]], places: Mapping[str, int]) -> tuple[Array, Array]:
    """One row for every passage and term of a field: term and passage as one number, and the count."""
    owners = np.repeat(np.arange(len(field), dtype="<i8"), [len(counted) for counted in field])
    found: Iterable[str] = chain.from_iterable(field)
    codes = np.fromiter(map(places.__getitem__, found), "<i8", len(owners))
    counts = np.fromiter(chain.from_iterable(counted.values() for counted in field), "<i8", len(owners))
    return codes << 32 | owners, counts


class Passages:
    """The passages by one chunker, open for reading."""

    def __init__(self, found: Mapping[str, Array]) -> None:
        self._arrays = found

    @classmethod
    def open(cls, path: Path) -> Passages:
        return cls(arrays.mapped(path, FORMAT, "the index of passages", _nothing()))

    def __len__(self) -> int:
        return len(self._arrays["documents"])

    @property
    def starts(self) -> Sequence[int]:
        """The numbers that the passages of each repository begin from."""
        return (0,)

    def __getitem__(self, number: int) -> Passage:
        document = int(self._arrays["documents"][number])
        headings = tuple(filter(None, self._strings["heading"][number].split("\n")))
        first, last, start, end, page = self._arrays["places"][number].tolist()
        path, language, text = self.paths[document], self.languages[document], self._strings["text"][number]
        return Passage(
            number, self._strings["id"][number], path, language, headings, first, last, start, end, page, text
        )

    @property
    def documents(self) -> Array:
        """The document of each passage, by its place in `paths`."""
        return self._arrays["documents"]

    @property
    def lengths(self) -> Array:
        """How many terms each passage has in each field."""
        return self._arrays["lengths"]

    @cached_property
    def paths(self) -> list[str]:
        return [self._strings["path"][number] for number in range(len(self._strings["path"]))]

    @cached_property
    def languages(self) -> list[str]:
        """The format of each document."""
        return [self._strings["language"][number] for number in range(len(self._strings["language"]))]

    def having(self, term: str) -> tuple[Array, Array]:
        """The passages that have a term, in order, and how often each has it in every field."""
        found = self._strings["term"].find(term)
        start, end = self._arrays["term_starts"][found : found + 2] if found >= 0 else (0, 0)
        return self._arrays["passages"][start:end], self._arrays["counts"][start:end]

    @cached_property
    def _strings(self) -> dict[str, Strings]:
        return {
            what: arrays.strings_of(self._arrays, what)
            for what in ("path", "language", "heading", "id", "text", "term")
        }
