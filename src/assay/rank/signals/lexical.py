"""BM25F over the fields of a symbol's text: field weights before saturation, length normalization per field."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from assay.rank.arrays import Floats, line
from assay.rank.profile import Profile
from assay.rank.signals.signal import Signal, Stage
from assay.store.postings import NAME, Postings

if TYPE_CHECKING:
    from assay.rank.context import QueryContext
    from assay.rank.ranking import Ranking

Counts = NDArray[Any]  # integers

_MOST = 1 << 20  # postings cached: some 15 MB
_LEAST_CLAUSE = 2  # terms of a clause that is searched by itself
_CLAUSE_CANDIDATES = 15  # best items of a clause


class Lexical:
    """Lexical match of one task: BM25F scores, coverage, and the rarity of matched and unmatched terms."""

    def __init__(self, term_weights: TermWeights, query: Mapping[str, float]) -> None:
        self.weights = dict(query)
        size = len(term_weights.words.lengths)
        self.score: Floats = np.zeros(size)
        self.coverage: Floats = np.zeros(size)
        self._name_rarity = np.zeros(size)
        self.rarity: dict[str, float] = {}
        self.unseen: dict[str, float] = {}
        for term, weight in query.items():
            items, frequency, in_name = term_weights[term]
            rarity = inverse_document_frequency(len(term_weights.words.numbers), len(items))
            if not len(items):
                self.unseen[term] = rarity
                continue
            self.rarity[term] = rarity
            self.score[items] += weight * rarity * frequency
            self.coverage[items] += rarity
            self._name_rarity[in_name] += rarity
        self.coverage /= max(sum(self.rarity.values()), 1e-9)

    def name_precision(self, name_rarity: Floats) -> Floats:
        """Return the share of each name's terms, by rarity, that the task contains."""
        return np.asarray(self._name_rarity / name_rarity, dtype=np.float64)


class Words(Protocol):
    """Postings: those of an index, or with more fields."""

    @property
    def numbers(self) -> Counts: ...
    @property
    def lengths(self) -> Counts: ...
    def get(self, term: str) -> tuple[Counts, Counts]: ...


class TermPostings(NamedTuple):
    """Postings of a term: items, their saturated term frequencies, and the items with the term in their name."""

    items: Counts
    worth: Floats
    named: Counts


class TermWeights:
    """Per-term BM25F weights of an index under a profile, cached: tasks share their most common terms."""

    def __init__(self, words: Words, profile: Profile) -> None:
        self.words, self.norms, self._profile = words, Norms(words, profile), profile
        self._cache: dict[str, TermPostings] = {}
        self._cached_items = 0  # postings in the cache

    def __getitem__(self, term: str) -> TermPostings:
        if term not in self._cache:
            items, counts = self.words.get(term)
            frequency = saturated(counts, self.norms[items], self._profile)
            if self._cached_items > _MOST:
                self._cache, self._cached_items = {}, 0
            self._cache[term] = TermPostings(items, frequency, items[counts[:, NAME] > 0])
            self._cached_items += len(items)
        return self._cache[term]

    def scores(self, terms: Iterable[str]) -> Floats:
        """Return the BM25F score of every item for some terms."""
        scores = np.zeros(len(self.words.lengths))
        for term in terms:
            items, frequency, _ = self[term]
            scores[items] += inverse_document_frequency(len(self.words.numbers), len(items)) * frequency
        return scores

    def explain(self, term: str, number: int) -> tuple[float, float, list[int]]:
        """Return the rarity of a term, its score in an item, and its count in each field."""
        items, counts = self.words.get(term)
        here = counts[items == number]
        if not len(here):
            return 0.0, 0.0, []
        rarity = inverse_document_frequency(len(self.words.numbers), len(items))
        score = rarity * float(saturated(here, self.norms[np.array([number])], self._profile)[0])
        return rarity, score, here[0].tolist()


def saturated(counts: NDArray[np.uint8], norms: Floats, profile: Profile) -> Floats:
    """Return saturated term frequencies: field counts weighted, length-normalized, summed and saturated."""
    frequency = (counts * np.array(profile.field_weights) / norms).sum(axis=1)
    return np.asarray(frequency * (profile.saturation + 1) / (profile.saturation + frequency), dtype=np.float64)


def bm25(
    having: Callable[[str], tuple[Counts, Counts]],
    lengths: Counts,
    query: Mapping[str, float],
    saturation: float,
    length: float,
) -> Floats:
    """Score single-field texts by BM25; `having` returns the texts of a term and its counts, `length` is b."""
    total = len(lengths)
    scores = np.zeros(total)
    average = max(float(lengths.mean()), 1.0) if total else 1.0
    for term, weight in query.items():
        texts, counts = having(term)
        if len(texts):
            norm = saturation * (1 - length + length * lengths[texts] / average)
            frequency = counts.astype(np.float64)
            scores[texts] += (
                weight
                * inverse_document_frequency(total, len(texts))
                * frequency
                * (saturation + 1)
                / (frequency + norm)
            )
    return scores


def inverse_document_frequency(items: int, having: int) -> float:
    """Return the inverse document frequency, never negative."""
    return math.log(1 + (items - having + 0.5) / (having + 0.5))


class Norms:
    """Length normalization per field, 1 at the average length; computed for the requested items only."""

    def __init__(self, words: Words, profile: Profile) -> None:
        # below 1: an empty field would divide by 0
        self._lengths, self._length_weight = words.lengths, np.minimum(profile.field_lengths, 1 - 1e-9)
        average = self._lengths.sum(axis=0, dtype=np.int64) / max(len(words.numbers), 1)
        self._average = np.maximum(average, 1e-9)

    def __getitem__(self, items: Counts) -> Floats:
        lengths = self._lengths[items].astype(np.float64)
        return np.asarray(1 - self._length_weight + self._length_weight * lengths / self._average, dtype=np.float64)


def name_rarity_of(words: Postings) -> Floats:
    """Return the summed rarity of the terms of each item's name."""
    frequencies = words.frequencies
    rarities = np.zeros(int(frequencies.max(initial=0)) + 1)  # by document frequency: few distinct values
    for having in set(frequencies.tolist()):
        rarities[having] = inverse_document_frequency(len(words.numbers), having)
    rarity = rarities[frequencies]
    terms, items = words.having(NAME)
    added = np.bincount(items, weights=rarity[terms], minlength=len(words.lengths))
    return np.asarray(added, dtype=np.float64)


# Signals


def _coverage(query: QueryContext, ranking: Ranking) -> Floats:
    weight = query.profile.coverage
    return line(query.lexical.coverage, weight, 1 - weight)


def _clause_candidates(query: QueryContext) -> list[int]:
    """Return the best items of each clause by BM25F, taken in turn: so each concept of a long task is covered."""
    clauses = [clause for clause in query.task.clauses if len(clause) >= _LEAST_CLAUSE]
    if len(clauses) < 2:
        return []
    weights, product = query.resources.term_weights, query.items.is_product_symbol
    lists = [query.items.highest(weights.scores(clause) * product, _CLAUSE_CANDIDATES).tolist() for clause in clauses]
    return list(dict.fromkeys(number for numbers in zip_longest(*lists) for number in numbers if number is not None))


PARSING = ("repeats", "clause_decay")  # settings that the terms of a task depend on
_BM25F = ("field_weights", "field_lengths", "saturation", *PARSING)

CLAUSES = Signal(
    "clauses",
    Stage.CHANNEL,
    "words",
    "matched by one clause of the task",
    weights={"channels.clauses": ()},
    reads=_BM25F,
    generate=_clause_candidates,
)
LEXICAL = Signal(
    "lexical",
    Stage.FACTOR,
    "words",
    "lexical score (BM25F)",
    reads=_BM25F,
    score=lambda query, ranking: query.lexical.score,
)
COVERAGE = Signal(
    "coverage",
    Stage.FACTOR,
    "words",
    "share of the task's words found in it, weighted by rarity",
    weights={"coverage": (0.3, 0.5, 0.85, 1.0)},
    reads=PARSING,
    score=_coverage,
)
NAME_PRECISION = Signal(
    "name",
    Stage.FACTOR,
    "names",
    "share of its name's words that are in the task",
    weights={"name_precision": (0.0, 0.15, 0.6, 1.0)},
    reads=PARSING,
    generate=lambda query: query.lexical.name_precision(query.items.name_rarity),
)
