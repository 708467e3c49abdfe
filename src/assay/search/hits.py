"""Search hits: passages of documents, definitions of code and whole files, read by candidate number."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import nan
from typing import NamedTuple

from assay.core.items import Item, Passage
from assay.search.filters import FILE, PASSAGE
from assay.search.pattern import Match, Pattern, matches_in, merged_spans
from assay.store.index import Index
from assay.store.passages import Passages
from assay.store.source import WorkingTree
from assay.text.chunk import Chunk, Chunker, Part, Text
from assay.text.terms import matching_spans, pieces_at, terms

__all__ = ["FILE", "PASSAGE", "Reader", "Scored", "SearchHit", "SearchResults"]

_CODE = Chunker("symbols")  # splits long definitions
_SNIPPET_LINES = 4
_MAX_MATCHES = 100  # matching lines kept of a hit
_NO_LINES: Mapping[int, Collection[int]] = {}


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
    start: int  # lines of `text`, from 1; of the extracted text for formats without lines
    end: int
    page: int  # 0: none
    headings: tuple[str, ...]
    symbol: str
    score: float
    lexical: float  # BM25F
    vector: float  # cosine similarity; NaN without a vector
    text: str
    place: str  # of what matched, human-readable: `docs/guide.md:12-40`, `manual.pdf, page 3`
    words: frozenset[str]  # the query terms
    repository: str = ""  # label, in a multi-repository search
    matches: tuple[Match, ...] = ()  # lines that match the exact parts of the query, at most 100
    patterns: tuple[Pattern, ...] = ()  # the exact parts
    contributions: Mapping[str, float] = field(default_factory=dict)  # of each feature to the score, as log odds
    also: tuple[str, ...] = ()  # languages and versions of the same page that were left out
    passage: str = ""  # what matched, if `text` also has what stands around it (`windows.py`)

    @property
    def matched_text(self) -> str:
        """The text that was ranked: lines to show are chosen from it."""
        return self.passage or self.text

    @property
    def title(self) -> str:
        return " > ".join(self.headings) if self.kind == PASSAGE else f"{self.kind} {self.symbol}".rstrip()

    def snippet(self, lines: int = _SNIPPET_LINES) -> list[str]:
        """Return the lines to show: those that match exactly, or the neighbouring lines with most query terms."""
        return [text for _, text in self.numbered_snippet(lines)]

    def numbered_snippet(self, lines: int = _SNIPPET_LINES) -> list[tuple[int, str]]:
        """Return the lines to show with their numbers, which are 0 unless the lines match exactly."""
        if self.matches:
            return [(match.line, match.text) for match in self.matches[:lines]]
        text_lines = [line for line in self.matched_text.split("\n") if line.strip()]
        line_terms = [self.words & set(terms(line)) for line in text_lines]
        windows = range(max(1, len(text_lines) - lines + 1))
        best = max(
            windows, key=lambda first: (len(frozenset().union(*line_terms[first : first + lines])), -first), default=0
        )
        return [(0, line) for line in text_lines[best : best + lines]]

    def marked(self, line: str) -> list[tuple[str, bool]]:
        """Split a line into pieces, each flagged if it matches a query term or an exact part."""
        spans = [span for pattern in self.patterns for span in pattern.spans(line)]
        return pieces_at(line, merged_spans([*matching_spans(line, self.words), *spans]))


class SearchResults(list[SearchHit]):
    """Search hits, best first, with `notes` on what was left out."""

    def __init__(self, hits: Iterable[SearchHit] = (), notes: Iterable[str] = ()) -> None:
        super().__init__(hits)
        self.notes = tuple(notes)

    def by_file(self) -> SearchResults:
        """Return the best hit of each file."""
        paths = [hit.path for hit in self]
        return SearchResults((hit for place, hit in enumerate(self) if hit.path not in paths[:place]), self.notes)


class Reader:
    """Reads candidates by number: passages first, then items of the index.

    `patterns` mark matching lines; `own_lines` confines those of some definitions, as a nested one is a hit itself.
    """

    def __init__(
        self,
        index: Index,
        passages: Passages,
        words: frozenset[str],
        patterns: Sequence[Pattern] = (),
        own_lines: Mapping[int, Collection[int]] = _NO_LINES,
    ) -> None:
        self._index, self._passages, self._words = index, passages, words
        self._patterns, self._own_lines = tuple(patterns), own_lines
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
        lines = passage.text.split("\n")
        # the lines of some formats, such as HTML, are not those of the file
        first = passage.first if passage.last - passage.first + 1 == len(lines) else 0
        return SearchHit(
            passage.id, PASSAGE, passage.path, passage.language, passage.first, passage.last, passage.page, passage.headings,
            "", *scored[1:4], passage.text, passage.place, self._words, passage.repository,
            self._matches(lines, first), self._patterns, scored.contributions,
        )  # fmt: skip

    def _definition(self, item: Item, scored: Scored) -> SearchHit:
        if item.kind == FILE:  # its own item has only the first line
            item = replace(item, end=max(self._index.files[item.path].lines, 1))
        text, start, end = self._tree.text(item), item.start, item.end
        matches = self._matches(text.split("\n"), start, self._own_lines.get(scored.number))
        if text:
            chunk = self._best_part(item, text, matches)
            text, start, end = chunk.text, item.start + chunk.first - 1, item.start + chunk.last - 1
        else:  # changed since it was indexed
            text = "\n".join(filter(None, (item.signature, item.doc)))
        language = self._index.files[item.path].language
        return SearchHit(
            item.id, item.kind, item.path, language, start, end, 0, (), item.symbol, *scored[1:4], text,
            f"{item.path}:{start}-{end}", self._words, item.repository, matches, self._patterns, scored.contributions,
        )  # fmt: skip

    def _matches(self, lines: Sequence[str], first: int, own: Collection[int] | None = None) -> tuple[Match, ...]:
        if not self._patterns:
            return ()
        if own is None:
            return tuple(matches_in(lines, first, self._patterns, _MAX_MATCHES))
        return tuple(
            match
            for line in sorted(own)[:_MAX_MATCHES]
            for match in matches_in(lines[line - first : line - first + 1], line, self._patterns, 1)
        )

    def _best_part(self, item: Item, text: str, matches: Sequence[Match]) -> Chunk:
        """Return the part of a definition with most matching lines, then most query terms; the first of equals."""
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
        return max(
            non_empty,
            key=lambda chunk: (
                sum(chunk.first <= match.line - item.start + 1 <= chunk.last for match in matches),
                len(self._words & set(terms(chunk.text))),
            ),
        )
