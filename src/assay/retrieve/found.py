"""What a search found: where it stands, what it says, and the lines that say it best."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import nan
from typing import NamedTuple

from assay.core.items import Item
from assay.core.passages import Passage
from assay.retrieve.filters import PASSAGE
from assay.retrieve.source import source_of
from assay.store.index import Index
from assay.store.passages import Passages
from assay.text.chunk import Chunk, Chunker, Part, Text
from assay.text.terms import terms

_WORD = re.compile(r"\w+")
_CODE = Chunker("symbols")  # how definitions that are too long to read are divided
_SNIPPET_LINES = 4


class Scored(NamedTuple):
    """A candidate, the score it is ranked by, and what that came from: BM25F of its words, the cosine of its meaning (NaN: it has no vector)."""

    number: int
    score: float
    lexical: float
    vector: float = nan


@dataclass(frozen=True, slots=True)
class Found:
    """A passage or a definition for a query. Of a long definition, the lines that say most."""

    id: str
    kind: str  # `passage`, or what is defined
    path: str
    language: str
    start: int  # lines, from 1; of formats without lines those of their text
    end: int
    page: int  # 0: none
    headings: tuple[str, ...]
    symbol: str
    score: float
    lexical: float  # BM25F of its words
    vector: float  # the cosine of its meaning; NaN when it has no vector
    text: str
    place: str  # for people: `docs/guide.md:12-40`, `manual.pdf, page 3`
    words: frozenset[str]  # the terms it was searched by
    repository: str = ""  # its label, where several are searched as one

    @property
    def title(self) -> str:
        return " > ".join(self.headings) if self.kind == PASSAGE else f"{self.kind} {self.symbol}"

    def snippet(self, lines: int = _SNIPPET_LINES) -> list[str]:
        """The neighbouring lines that have most of the words; a word counts once."""
        said = [line for line in self.text.split("\n") if line.strip()]
        having = [self.words & set(terms(line)) for line in said]
        windows = range(max(1, len(said) - lines + 1))
        best = max(windows, key=lambda at: (len(frozenset().union(*having[at : at + lines])), -at), default=0)
        return said[best : best + lines]

    def marked(self, line: str) -> list[tuple[str, bool]]:
        """A line in pieces, each with whether it is one of the words."""
        out, at = [], 0
        for word in _WORD.finditer(line):
            if self.words & set(terms(word[0])):
                out += [(line[at : word.start()], False), (word[0], True)]
                at = word.end()
        return [piece for piece in [*out, (line[at:], False)] if piece[0]]


class Reader:
    """Reads candidates by their numbers: passages first, then items of the index."""

    def __init__(self, index: Index, passages: Passages, words: frozenset[str]) -> None:
        self._index, self._passages, self._words = index, passages, words
        self._tree = source_of(index)

    def read(self, ranking: Sequence[Scored]) -> list[Found]:
        first = len(self._passages)
        items = self._index.numbered(one.number - first for one in ranking if one.number >= first)
        return [
            self._passage(self._passages[one.number], one)
            if one.number < first
            else self._definition(items[one.number - first], one)
            for one in ranking
        ]

    def _passage(self, one: Passage, scored: Scored) -> Found:
        return Found(
            one.id, PASSAGE, one.path, one.language, one.first, one.last, one.page, one.headings, "", *scored[1:], one.text,
            one.place, self._words, one.repository,
        )  # fmt: skip

    def _definition(self, item: Item, scored: Scored) -> Found:
        text, start, end = self._tree.text(item), item.start, item.end
        if text:
            chunk = self._best(item, text)
            text, start, end = chunk.text, item.start + chunk.first - 1, item.start + chunk.last - 1
        else:  # changed since it was indexed
            text = "\n".join(filter(None, (item.signature, item.doc)))
        language = self._index.files[item.path].language
        return Found(
            item.id, item.kind, item.path, language, start, end, 0, (), item.symbol, *scored[1:], text,
            f"{item.path}:{start}-{end}", self._words, item.repository,
        )  # fmt: skip

    def _best(self, item: Item, text: str) -> Chunk:
        """The part of a definition that has most of the words; the first of equals."""
        lines = text.split("\n")
        inside = [one for one in self._index.in_file(item.path) if item.start < one.start and one.end <= item.end]
        parts = sorted(
            {Part(one.start - item.start, (item.name, one.name)) for one in inside}, key=lambda one: one.line
        )
        chunks = _CODE.chunks(Text(lines, (Part(0, (item.name,)), *parts)))
        whole = [chunk for chunk in chunks if chunk.text.strip()] or [Chunk(text, (), 1, len(lines), 0, len(text), 0)]
        return max(whole, key=lambda chunk: len(self._words & set(terms(chunk.text))))
