"""Hybrid search: document passages and code definitions in one ranked list.

`Search.ranked` is the algorithm, top to bottom.

Both are scored with BM25F, each over its own fields, with one document frequency over both, so that scores are
comparable. Vector search adds passages that are near in meaning; a reranker reorders the top. Candidates share one
numbering: passages first, then the items of the index.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import nan
from typing import NamedTuple, Protocol

import numpy as np

from assay.core.items import Item, Passage
from assay.pack.source import WorkingTree
from assay.rank.arrays import Floats, Ints, highest, share_of_best
from assay.rank.profile import Profile
from assay.rank.signals.lexical import Norms, inverse_document_frequency, saturated
from assay.rank.vocabulary import COMMON, word_set
from assay.search.filters import FILE, Bools, Filters, Subset, filter_mask
from assay.search.filters import PASSAGE as PASSAGE  # for importers of hits
from assay.search.pattern import Match, Pattern, matches_in, merged_spans
from assay.store.columns import KIND_NAMES
from assay.store.index import Index
from assay.store.passages import Passages
from assay.text.chunk import Chunk, Chunker, Part, Text
from assay.text.display import counted
from assay.text.terms import base_of, terms
from assay.text.tokens import LONGEST_QUERY

# Search hits

_WORD = re.compile(r"\w+")
_CODE = Chunker("symbols")  # splits long definitions
_SNIPPET_LINES = 4
_MAX_MATCHES = 100  # matching lines kept of a hit
_NO_LINES: Mapping[int, Collection[int]] = {}


class Scored(NamedTuple):
    """A candidate with its final score and its parts: BM25F and cosine similarity (NaN without a vector)."""

    number: int
    score: float
    lexical: float
    vector: float = nan


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A search hit: a passage or a definition. Of a long definition, the best matching part."""

    id: str
    kind: str  # `passage`, or the kind of definition
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
    matches: tuple[Match, ...] = ()  # lines that match the exact parts of the query, at most 100
    patterns: tuple[Pattern, ...] = ()  # the exact parts

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
        text_lines = [line for line in self.text.split("\n") if line.strip()]
        line_terms = [self.words & set(terms(line)) for line in text_lines]
        windows = range(max(1, len(text_lines) - lines + 1))
        best = max(
            windows, key=lambda first: (len(frozenset().union(*line_terms[first : first + lines])), -first), default=0
        )
        return [(0, line) for line in text_lines[best : best + lines]]

    def marked(self, line: str) -> list[tuple[str, bool]]:
        """Split a line into pieces, each flagged if it matches a query term or an exact part."""
        spans = [word.span() for word in _WORD.finditer(line) if self.words & set(terms(word[0]))]
        spans += [span for pattern in self.patterns for span in pattern.spans(line)]
        out, at = list[tuple[str, bool]](), 0
        for start, end in merged_spans(spans):
            out += [(line[at:start], False), (line[start:end], True)]
            at = end
        return [piece for piece in [*out, (line[at:], False)] if piece[0]]


class SearchResults(list[SearchHit]):
    """Search hits, best first, with `notes` on what was left out."""

    def __init__(self, hits: Iterable[SearchHit] = (), notes: Iterable[str] = ()) -> None:
        super().__init__(hits)
        self.notes = tuple(notes)


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
            "", *scored[1:], passage.text, passage.place, self._words, passage.repository,
            self._matches(lines, first), self._patterns,
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
            item.id, item.kind, item.path, language, start, end, 0, (), item.symbol, *scored[1:], text,
            f"{item.path}:{start}-{end}", self._words, item.repository, matches, self._patterns,
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


# Query terms. Unlike in a task for code, verbs count: documents explain how to create and remove things.

# Pronouns and the remains of `don't` and `it's`: rare in documents, so they would get the highest idf. `why` stays, as
# headings use it.
_PRONOUNS = word_set(
    "my me mine our ours us your yours he she him her his hers them one ones but am been being did had s t d m ll ve re don doesn didn isn"
)
_STOP_WORDS = COMMON | _PRONOUNS
_QUESTION_WORD = re.compile(r"\w+")


def question_terms(question: str) -> dict[str, int]:
    """Return the stems of a question's content words, each with count 1; irregular forms add their base form."""
    stems = (
        term
        for word in _QUESTION_WORD.findall(question)
        if word.lower() not in _STOP_WORDS
        for term in (*terms(word), *terms(base_of(word)))
    )
    return {term: 1 for term in stems if term not in _STOP_WORDS}


# Ranking


class PassageVectors(Protocol):
    """Vector index of the passages."""

    def near(self, query: str, count: int, besides: Ints, among: Ints | None) -> tuple[Ints, Floats]:
        """Return the `count` nearest passages (`among` some; None: all) and the passages `besides`, with their cosines."""

    def alike(self, passages: Ints) -> Floats:
        """Return the matrix of cosines between some passages."""


Rerank = Callable[[str, Sequence[SearchHit]], Sequence[SearchHit]]

_CANDIDATES_PER_RANKING = 200  # lexical and vector
_RERANK_DEPTH = 50  # candidates that a reranker reads, or k if larger
_MIN_RELATIVE_COSINE = 0.5  # of candidates without a lexical match, relative to the nearest
_DUPLICATE_DEPTH = 50  # top candidates compared with each other
_DUPLICATE_COSINE, _DUPLICATE_WEIGHT = 0.95, 0.6  # similarity that makes a duplicate, and its score multiplier


@dataclass(frozen=True, slots=True)
class Weights:
    """Tuning parameters of the ranking."""

    # fields of passages (heading, path, text): weights and length normalization (b)
    fields: tuple[float, ...] = (2.0, 0.5, 1.0)
    lengths: tuple[float, ...] = (0.5, 0.3, 0.75)
    saturation: float = 1.5
    code: float = 1.1  # weight of a definition relative to a passage
    vectors: float = 0.5  # share of the vector score in the blend


class Search:
    """An index and its passages, ready for any number of queries."""

    def __init__(self, index: Index, passages: Passages, weights: Weights = Weights()) -> None:  # noqa: B008 (frozen)
        self.index, self.passages, self.weights = index, passages, weights
        self._profile = Profile()

    def ranked(
        self,
        query: str,
        k: int = 10,
        filters: Filters = Filters(),  # noqa: B008 (frozen)
        vector_index: PassageVectors | None = None,
        rerank: Rerank | None = None,
        subset: Subset | None = None,
    ) -> list[SearchHit]:
        """Return the best `k` hits for a query, best first; with a `subset`, among its candidates only."""
        query = query[:LONGEST_QUERY]
        words = question_terms(query)
        allowed = filter_mask(self.index, self.passages, filters)
        if subset:
            allowed = allowed & subset.allowed
        scores = np.where(allowed, self.scores(words), 0.0)
        best = highest(scores, max(k, _CANDIDATES_PER_RANKING))
        if vector_index and words:
            ranking = self._blend(scores, best, *self._nearest(query, best, allowed, vector_index))
            ranking = self._demote_duplicates(ranking, vector_index)
        else:
            ranking = [Scored(int(number), float(scores[number]), float(scores[number])) for number in best]
        reader = Reader(self.index, self.passages, frozenset(words), subset.patterns if subset else ())
        if rerank:
            return list(rerank(query, reader.read(ranking[: max(k, _RERANK_DEPTH)])))[:k]
        return reader.read(ranking[:k])

    def _nearest(self, query: str, best: Ints, allowed: Bools, vector_index: PassageVectors) -> tuple[Ints, Floats]:
        """Return the nearest passages and the lexical candidates, with their cosines."""
        passages = allowed[: len(self.passages)]
        among = None if passages.all() else np.flatnonzero(passages)
        return vector_index.near(query, max(len(best), _CANDIDATES_PER_RANKING), best[best < len(passages)], among)

    def _blend(self, scores: Floats, best: Ints, rows: Ints, cosines: Floats) -> list[Scored]:
        """Blend lexical and vector scores, each relative to its best; without a vector, the lexical score is used."""
        similarities = self._scale_across_repositories(scores, rows, cosines)
        close = (scores[rows] > 0) | (similarities >= _MIN_RELATIVE_COSINE * similarities.max(initial=0.0))
        rows, cosines, similarities = rows[close], cosines[close], similarities[close]
        numbers = np.union1d(best, rows)
        lexical = share_of_best(scores[numbers])
        semantic = lexical.copy()
        places = np.searchsorted(numbers, rows)
        semantic[places] = share_of_best(np.maximum(similarities, 0.0))
        weight = self.weights.vectors if len(rows) else 0.0
        blended = (1 - weight) * lexical + weight * semantic
        cosine = np.full(len(numbers), np.nan)
        cosine[places] = cosines
        return [
            Scored(int(numbers[place]), float(blended[place]), float(scores[numbers[place]]), float(cosine[place]))
            for place in highest(blended, len(numbers))
        ]

    def _scale_across_repositories(self, scores: Floats, rows: Ints, cosines: Floats) -> Floats:
        """Scale cosines across repositories, whose vector spaces differ.

        Each is weighted by the best lexical score in its repository, relative to the best of all.
        """
        starts = self.passages.starts
        if len(starts) == 1:
            return cosines
        ends = [*starts[1:], len(self.passages)]
        best = np.array([scores[start:end].max(initial=0.0) for start, end in zip(starts, ends, strict=True)])
        owners = np.searchsorted(starts, rows, "right") - 1
        return cosines * share_of_best(best)[owners] if best.any() else cosines

    @property
    def extent(self) -> str:
        """Human-readable size of the corpus: passages and definitions."""
        definitions = len(self.index.postings.numbers) - len(self.index.files)  # files are items, too
        return f"{counted(len(self.passages), 'passage')} and {counted(definitions, 'definition')}"

    def _demote_duplicates(self, ranking: list[Scored], vector_index: PassageVectors) -> list[Scored]:
        """Down-weight near-duplicates of better passages to leave room for others."""
        best = [scored for scored in ranking[:_DUPLICATE_DEPTH] if scored.number < len(self.passages)]
        alike = vector_index.alike(np.array([scored.number for scored in best], np.int64))
        copies = {
            scored.number for place, scored in enumerate(best) if (alike[place, :place] >= _DUPLICATE_COSINE).any()
        }
        reweighted = [
            scored._replace(score=scored.score * _DUPLICATE_WEIGHT) if scored.number in copies else scored
            for scored in ranking
        ]
        return sorted(reweighted, key=lambda scored: -scored.score)  # stable: ties keep their order

    def idf(self, word: str) -> float:
        """Return the inverse document frequency of a word over all candidates."""
        with_word, items_with_word = self.passages.having(word)[0], self.index.postings.get(word)[0]
        return inverse_document_frequency(
            len(self.passages) + len(self.index.postings.numbers), len(with_word) + len(items_with_word)
        )

    def scores(self, words: Mapping[str, int]) -> Floats:
        """Return the BM25F score of every candidate."""
        items, passages, weights = self.index.postings, self.passages, self.weights
        first = len(passages)
        scores = np.zeros(first + len(items.lengths))
        for word, query_count in words.items():
            with_word, counts = passages.having(word)
            items_with_word, item_counts = items.get(word)
            idf = inverse_document_frequency(first + len(items.numbers), len(with_word) + len(items_with_word))
            if len(with_word):
                frequency = (counts * np.array(weights.fields) / self._norms[with_word]).sum(axis=1)
                saturation = frequency * (weights.saturation + 1) / (weights.saturation + frequency)
                scores[with_word] += query_count * idf * saturation
            if len(items_with_word):
                saturation = saturated(item_counts, self._item_norms[items_with_word], self._profile)
                scores[first + items_with_word] += query_count * idf * saturation
        scores[first:] *= self._item_weights
        return scores

    @cached_property
    def _norms(self) -> Floats:
        lengths = self.passages.lengths.astype(np.float64)
        average = lengths.mean(axis=0) if len(lengths) else np.ones(lengths.shape[1])
        share = np.array(self.weights.lengths)
        return np.asarray(1 - share + share * lengths / np.maximum(average, 1e-9), dtype=np.float64)

    @cached_property
    def _item_norms(self) -> Norms:
        return Norms(self.index.postings, self._profile)

    @cached_property
    def _item_weights(self) -> Floats:
        """Weight of each item by kind: data and tests count less than definitions, files nothing."""
        kinds = np.array(
            [0.0 if kind in ("", "file") else self._profile.kind_weights.get(kind, 1.0) for kind in KIND_NAMES]
        )
        columns = self.index.columns
        weights = np.zeros(len(self.index.postings.lengths))
        size = min(len(weights), len(columns))
        weights[:size] = kinds[columns.kind[:size]] * np.where(columns.test[:size], self._profile.test_weight, 1.0)
        return weights * self.weights.code
