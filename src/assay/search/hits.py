"""Search hits: passages of documents, definitions of code and whole files, read by candidate number."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import nan
from typing import NamedTuple

from assay.core.items import Item, Passage
from assay.pack.source import WorkingTree
from assay.store.index import Index
from assay.store.passages import Passages
from assay.text.chunk import Chunk, Chunker, Part, Text
from assay.text.terms import terms

PASSAGE = "passage"  # kind of a document passage
FILE = "file"  # kind of a source file that is found as a whole

_WORD = re.compile(r"\w+")
_CODE = Chunker("symbols")  # splits long definitions
_SNIPPET_LINES = 4


class Scored(NamedTuple):
    """A candidate with its final score and its parts: BM25F and cosine similarity (NaN without a vector)."""

    number: int  # passages first, then the items of the index
    score: float
    lexical: float
    vector: float = nan
    contributions: Mapping[str, float] = {}  # of each feature to the log odds of the score


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A search hit: a passage, a definition or a file. Of a long definition, the best matching part."""

    id: str
    kind: str  # `passage`, `file`, or the kind of definition
    path: str
    language: str
    start: int  # lines, from 1; of the extracted text for formats without lines
    end: int
    page: int  # 0: none
    headings: tuple[str, ...]
    symbol: str
    score: float
    lexical: float  # BM25F
    vector: float  # cosine similarity; NaN without a vector
    text: str
    place: str  # human-readable: `docs/guide.md:12-40`, `manual.pdf, page 3`
    words: frozenset[str]  # the query terms
    repository: str = ""  # label, in a multi-repository search
    contributions: Mapping[str, float] = field(default_factory=dict)  # of each feature to the score, as log odds
    also: tuple[str, ...] = ()  # languages and versions of the same page that were left out

    @property
    def title(self) -> str:
        if self.kind == FILE:
            return FILE
        return " > ".join(self.headings) if self.kind == PASSAGE else f"{self.kind} {self.symbol}"

    def snippet(self, lines: int = _SNIPPET_LINES) -> list[str]:
        """Return the window of neighbouring lines that has most distinct query terms."""
        text_lines = [line for line in self.text.split("\n") if line.strip()]
        line_terms = [self.words & set(terms(line)) for line in text_lines]
        windows = range(max(1, len(text_lines) - lines + 1))
        best = max(
            windows, key=lambda first: (len(frozenset().union(*line_terms[first : first + lines])), -first), default=0
        )
        return text_lines[best : best + lines]

    def marked(self, line: str) -> list[tuple[str, bool]]:
        """Split a line into pieces, each flagged if it matches a query term."""
        out, at = [], 0
        for word in _WORD.finditer(line):
            if self.words & set(terms(word[0])):
                out += [(line[at : word.start()], False), (word[0], True)]
                at = word.end()
        return [piece for piece in [*out, (line[at:], False)] if piece[0]]


class Reader:
    """Reads candidates by number: passages first, then items of the index."""

    def __init__(self, index: Index, passages: Passages, words: frozenset[str]) -> None:
        self._index, self._passages, self._words = index, passages, words
        self._tree = WorkingTree(index)

    def read(self, ranking: Sequence[Scored]) -> list[SearchHit]:
        first = len(self._passages)
        items = self._index.numbered(scored.number - first for scored in ranking if scored.number >= first)
        return [
            self._passage(self._passages[scored.number], scored)
            if scored.number < first
            else self._definition(items[scored.number - first], scored)
            for scored in ranking
        ]

    def _passage(self, passage: Passage, scored: Scored) -> SearchHit:
        return SearchHit(
            passage.id, PASSAGE, passage.path, passage.language, passage.first, passage.last, passage.page, passage.headings,
            "", *scored[1:4], passage.text, passage.place, self._words, passage.repository, scored.contributions,
        )  # fmt: skip

    def _definition(self, item: Item, scored: Scored) -> SearchHit:
        text, start, end = self._tree.text(item), item.start, item.end
        if text:
            chunk = self._best_part(item, text)
            text, start, end = chunk.text, item.start + chunk.first - 1, item.start + chunk.last - 1
        else:  # changed since it was indexed
            text = "\n".join(filter(None, (item.signature, item.doc)))
        language = self._index.files[item.path].language
        return SearchHit(
            item.id, item.kind, item.path, language, start, end, 0, (), item.symbol, *scored[1:4], text,
            f"{item.path}:{start}-{end}", self._words, item.repository, scored.contributions,
        )  # fmt: skip

    def _best_part(self, item: Item, text: str) -> Chunk:
        """Return the part of a definition with most query terms; the first of equals."""
        lines = text.split("\n")
        inside = [
            inner for inner in self._index.in_file(item.path) if item.start < inner.start and inner.end <= item.end
        ]
        parts = sorted(
            {Part(inner.start - item.start, (item.name, inner.name)) for inner in inside}, key=lambda part: part.line
        )
        chunks = _CODE.chunks(Text(lines, (Part(0, (item.name,)), *parts)))
        non_empty = [chunk for chunk in chunks if chunk.text.strip()] or [
            Chunk(text, (), 1, len(lines), 0, len(text), 0)
        ]
        return max(non_empty, key=lambda chunk: len(self._words & set(terms(chunk.text))))
