"""Searching: passages of documents and definitions of code in one ranked list. `Search.ranked` reads top to bottom as the algorithm.

Both are scored with BM25F, each over its own fields, with one rarity of words over all of them: so their scores can be compared. Passages near in
meaning join them, by vectors; a reranker has the last word. Candidates share one numbering: passages first, then the items of the index behind them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from math import nan
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from assay.core.items import Item, Passage
from assay.pack.source import source_of
from assay.rank.profile import Profile
from assay.rank.ranking import Floats, Ints, highest, share_of_best
from assay.rank.signals.lexical import COMMON, Norms, rarity_of, saturated
from assay.rank.vocabulary import word_set
from assay.store.columns import KIND_NAMES
from assay.store.index import Index
from assay.store.passages import Passages
from assay.text.chunk import Chunk, Chunker, Part, Text
from assay.text.display import counted
from assay.text.terms import base_of, terms
from assay.text.tokens import LONGEST_QUERY

PASSAGE = "passage"  # the kind of what is no definition
KINDS = (PASSAGE, *KIND_NAMES[1:])


@dataclass(frozen=True, slots=True)
class Filters:
    """What is empty or None confines nothing."""

    paths: tuple[str, ...] = ()  # patterns, any of which may match: docs/*, *.py
    languages: tuple[str, ...] = ()  # of code, or formats of documents
    kinds: tuple[str, ...] = ()
    changed: frozenset[str] | None = None  # the only files to look at
    documents: bool = True
    code: bool = True


def admitted(index: Index, passages: Passages, filters: Filters) -> NDArray[np.bool_]:
    """Whether each candidate is admitted: passages first, then items by number."""
    size = len(index.postings.lengths)
    if filters == Filters():
        return np.ones(len(passages) + size, bool)
    documents = [
        _fits(path, language, filters) for path, language in zip(passages.paths, passages.languages, strict=True)
    ]
    files = np.zeros(max((row.number for row in index.files.values()), default=0) + 1, bool)
    if filters.code:
        for row in index.files.values():
            files[row.number] = _fits(row.path, row.language, filters)
    of_kind = np.array([kind != "" and _any(kind, filters.kinds) for kind in KIND_NAMES])
    items = np.zeros(size, bool)
    known = min(size, len(index.columns))
    items[:known] = files[index.columns.file[:known]] & of_kind[index.columns.kind[:known]]
    whole = filters.documents and _any(PASSAGE, filters.kinds)
    passed = np.array(documents, bool)[passages.documents] if whole and documents else np.zeros(len(passages), bool)
    return np.concatenate([passed, items])


def _fits(path: str, language: str, filters: Filters) -> bool:
    return (
        _any(language, filters.languages)
        and (not filters.paths or any(_matches(path, pattern) for pattern in filters.paths))
        and (filters.changed is None or path in filters.changed)
    )


def _matches(path: str, pattern: str) -> bool:
    """`docs/*` and `docs/` mean everything below a folder, `*.md` every such file anywhere, `README.md` itself."""
    bare = pattern.removeprefix("./").replace("**/", "*").replace("**", "*")
    return fnmatchcase(path, bare + "*" if bare.endswith("/") else bare) or path.startswith(bare + "/")


def _any(one: str, wanted: Collection[str]) -> bool:
    return not wanted or one in wanted


# What a search found: where it stands, what it says, and the lines that say it best.

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


# The words a question is searched by. Unlike in a task for code, what is to be done counts: documents tell how to
# remove and create things.

# whom a question is about, and what is left of `don't` and `it's`: rare in documents, so they would count most. `why` stays: answers are headed so.
_NOBODY = word_set(
    "my me mine our ours us your yours he she him her his hers them one ones but am been being did had s t d m ll ve re don doesn didn isn"
)
_LEFT_OUT = COMMON | _NOBODY
_QUESTION_WORD = re.compile(r"\w+")


def question_terms(question: str) -> dict[str, int]:
    """The stems of its words, each counted once; of an irregular form also those of the word it belongs to."""
    found = (
        term
        for word in _QUESTION_WORD.findall(question)
        if word.lower() not in _LEFT_OUT
        for term in (*terms(word), *terms(base_of(word)))
    )
    return {term: 1 for term in found if term not in _LEFT_OUT}


# Searching: passages of documents and definitions of code in one ranked list. `Search.ranked` reads top to bottom
# as the algorithm.

Bools = NDArray[np.bool_]


class Meaning(Protocol):
    """The passages as vectors."""

    def near(self, query: str, count: int, besides: Ints, among: Ints | None) -> tuple[Ints, Floats]:
        """The `count` passages nearest to a query (`among` some, None: all) and others `besides`, with their cosines."""

    def alike(self, passages: Ints) -> Floats:
        """The cosines of some passages with each other."""


Rerank = Callable[[str, Sequence[Found]], Sequence[Found]]

_CANDIDATES = 200  # of each ranking that are blended
_RERANKED = 50  # that a reranker reads, or as many as are wanted
_NEAR_ENOUGH = 0.5  # what no word found must be so near, as a share of the nearest
_COMPARED = 50  # of the best that are compared with each other
_SAME, _SAME_WEIGHT = 0.95, 0.6  # so near, a passage says what a better one said; what it then counts


@dataclass(frozen=True, slots=True)
class Weights:
    """The numbers of the lexical ranking."""

    # heading, path, text of passages: the weight of a field, and how much its length counts
    fields: tuple[float, ...] = (2.0, 0.5, 1.0)
    lengths: tuple[float, ...] = (0.5, 0.3, 0.75)
    saturation: float = 1.5
    code: float = 1.1  # what a definition counts, a passage being 1
    vectors: float = 0.5  # what nearness in meaning counts, all being 1


class Search:
    """An index and passages, ready to be searched again and again."""

    def __init__(self, index: Index, passages: Passages, weights: Weights = Weights()) -> None:  # noqa: B008 (frozen)
        self.index, self.passages, self.weights = index, passages, weights
        self._profile = Profile()

    def ranked(
        self,
        query: str,
        k: int = 10,
        filters: Filters = Filters(),  # noqa: B008 (frozen)
        meaning: Meaning | None = None,
        rerank: Rerank | None = None,
    ) -> list[Found]:
        """The best `k` for a query, best first."""
        query = query[:LONGEST_QUERY]
        words = question_terms(query)
        allowed = admitted(self.index, self.passages, filters)
        scores = np.where(allowed, self.scores(words), 0.0)
        best = highest(scores, max(k, _CANDIDATES))
        if meaning and words:
            ranking = self._blended(scores, best, *self._nearest(query, best, allowed, meaning))
            ranking = self._distinct(ranking, meaning)
        else:
            ranking = [Scored(int(number), float(scores[number]), float(scores[number])) for number in best]
        reader = Reader(self.index, self.passages, frozenset(words))
        if rerank:
            return list(rerank(query, reader.read(ranking[: max(k, _RERANKED)])))[:k]
        return reader.read(ranking[:k])

    def _nearest(self, query: str, best: Ints, allowed: Bools, meaning: Meaning) -> tuple[Ints, Floats]:
        """The passages nearest in meaning, and those that the words found, with their cosines."""
        passages = allowed[: len(self.passages)]
        among = None if passages.all() else np.flatnonzero(passages)
        return meaning.near(query, max(len(best), _CANDIDATES), best[best < len(passages)], among)

    def _blended(self, scores: Floats, best: Ints, rows: Ints, cosines: Floats) -> list[Scored]:
        """Words and meaning, each as a share of its best; what has no vector is judged by its words alone."""
        near = self._comparable(scores, rows, cosines)
        close = (scores[rows] > 0) | (near >= _NEAR_ENOUGH * near.max(initial=0.0))
        rows, cosines, near = rows[close], cosines[close], near[close]
        numbers = np.union1d(best, rows)
        said = share_of_best(scores[numbers])
        meant = said.copy()
        places = np.searchsorted(numbers, rows)
        meant[places] = share_of_best(np.maximum(near, 0.0))
        weight = self.weights.vectors if len(rows) else 0.0
        blended = (1 - weight) * said + weight * meant
        cosine = np.full(len(numbers), np.nan)
        cosine[places] = cosines
        return [
            Scored(int(numbers[place]), float(blended[place]), float(scores[numbers[place]]), float(cosine[place]))
            for place in highest(blended, len(numbers))
        ]

    def _comparable(self, scores: Floats, rows: Ints, cosines: Floats) -> Floats:
        """Cosines of several repositories, whose spaces differ: each counts as far as the words of its repository's best passage do."""
        starts = self.passages.starts
        if len(starts) == 1:
            return cosines
        ends = [*starts[1:], len(self.passages)]
        best = np.array([scores[start:end].max(initial=0.0) for start, end in zip(starts, ends, strict=True)])
        owners = np.searchsorted(starts, rows, "right") - 1
        return cosines * share_of_best(best)[owners] if best.any() else cosines

    @property
    def extent(self) -> str:
        """What is searched, in words."""
        definitions = len(self.index.postings.numbers) - len(self.index.files)  # a file is an item, too
        return f"{counted(len(self.passages), 'passage')} and {counted(definitions, 'definition')}"

    def _distinct(self, ranking: list[Scored], meaning: Meaning) -> list[Scored]:
        """What repeats a better passage counts less, so that one of many copies leaves room for others."""
        best = [one for one in ranking[:_COMPARED] if one.number < len(self.passages)]
        alike = meaning.alike(np.array([one.number for one in best], np.int64))
        copies = {one.number for place, one in enumerate(best) if (alike[place, :place] >= _SAME).any()}
        weighed = [one._replace(score=one.score * _SAME_WEIGHT) if one.number in copies else one for one in ranking]
        return sorted(weighed, key=lambda one: -one.score)  # equals keep their order

    def rarity(self, word: str) -> float:
        """How rare a word is among all candidates."""
        having, named = self.passages.having(word)[0], self.index.postings.get(word)[0]
        return rarity_of(len(self.passages) + len(self.index.postings.numbers), len(having) + len(named))

    def scores(self, words: Mapping[str, int]) -> Floats:
        """BM25F of every candidate."""
        items, passages, weights = self.index.postings, self.passages, self.weights
        first = len(passages)
        scores = np.zeros(first + len(items.lengths))
        for word, times in words.items():
            having, counts = passages.having(word)
            named, item_counts = items.get(word)
            rarity = rarity_of(first + len(items.numbers), len(having) + len(named))
            if len(having):
                frequency = (counts * np.array(weights.fields) / self._norms[having]).sum(axis=1)
                worth = frequency * (weights.saturation + 1) / (weights.saturation + frequency)
                scores[having] += times * rarity * worth
            if len(named):
                worth = saturated(item_counts, self._item_norms[named], self._profile)
                scores[first + named] += times * rarity * worth
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
        """What each item counts for what it is: data and tests less than definitions, files by themselves nothing."""
        kinds = np.array(
            [0.0 if kind in ("", "file") else self._profile.kind_weights.get(kind, 1.0) for kind in KIND_NAMES]
        )
        columns = self.index.columns
        weights = np.zeros(len(self.index.postings.lengths))
        size = min(len(weights), len(columns))
        weights[:size] = kinds[columns.kind[:size]] * np.where(columns.test[:size], self._profile.test_weight, 1.0)
        return weights * self.weights.code
