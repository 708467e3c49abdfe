"""BM25F over the fields of a symbol's text: field weights before saturation, length normalization per field."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.rank.profile import Profile
from assay.rank.ranking import Floats
from assay.store.postings import NAME, Postings
from assay.text.terms import terms
from assay.text.tokens import MOST_TERMS

Counts = NDArray[Any]  # integers

_MOST = 1 << 20  # postings cached: some 15 MB
_WORD = re.compile(r"[^\W_]+")
# stop words of documents and queries
COMMON = frozenset(
    _WORD.findall(
        """
        a an and are as at be by can do does for from has have how i if in into is it its not of on or that the this to we what when
        where which with you they their there these those was were will would should could than then so such via per each any all some
        other more most also only between about through over after before during without within against up out no nor
        make use using need
        """
    )
)
# additional stop words of tasks: verbs and connectives
_TASK_STOP_WORDS = COMMON | frozenset(
    _WORD.findall(
        "add implement create fix support new update remove refactor change allow ensure handle trace explain understand find show "
        "while because including requiring"
    )
)


# clause boundaries
_CLAUSE = re.compile(
    r"""\b(?:that|which|when|where|so|while|because|including|requiring|without|using|by|during|if|after|with|for|via|through)\b
    | [;:]\s | \s\(""",
    re.VERBOSE | re.IGNORECASE,
)
_LAST_CLAUSE = 4  # later clauses count like this one


def query_terms(task: str, repeats: int, later: float = 1.0) -> dict[str, float]:
    """Return query terms with weights: the term frequency up to `repeats`, times `later` per preceding clause.

    The first of several lines is the title: its terms count twice, and only it is split into clauses.
    """
    title, _, body = task.strip().partition("\n")
    counts = Counter(_content_terms(task))
    if body.strip():
        counts.update(_content_terms(title))
    clauses = _clauses(title)
    limited = islice(counts.items(), MOST_TERMS)
    return {term: min(count, repeats) * later ** clauses.get(term, 0) for term, count in limited}


def _clauses(title: str) -> dict[str, int]:
    """Return the index of the clause in which each term first occurs; clauses without query terms are not counted."""
    clause_terms = [list(_content_terms(clause)) for clause in _CLAUSE.split(title)]
    first: dict[str, int] = {}
    for number, clause in enumerate(filter(None, clause_terms)):
        for term in clause:
            first.setdefault(term, min(number, _LAST_CLAUSE))
    return first


def _content_terms(text: str) -> Iterator[str]:
    for word in re.findall(r"\w+", text):
        if word.lower() not in _TASK_STOP_WORDS:
            yield from (term for term in terms(word) if term not in _TASK_STOP_WORDS)


def phrases(task: str) -> list[tuple[str, str]]:
    """Return the pairs of adjacent query terms in a task."""
    pairs: list[tuple[str, str]] = []
    for segment in re.split(r"[^\w\s-]", task):
        segment_terms = [
            term for word in re.findall(r"\w+", segment) if word.lower() not in _TASK_STOP_WORDS for term in terms(word)
        ]
        pairs += pairwise(segment_terms)
    return list(islice(dict.fromkeys(pair for pair in pairs if pair[0] != pair[1]), MOST_TERMS))


class Lexical:
    """Lexical match of one task: BM25F scores, coverage, and the rarity of matched and unmatched terms."""

    def __init__(self, term_weights: TermWeights, query: Mapping[str, float]) -> None:
        self._term_weights, size = term_weights, len(term_weights.words.lengths)
        self.score, self.coverage, self._name_rarity = np.zeros(size), np.zeros(size), np.zeros(size)
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

    def add_related(self, related: Mapping[str, float]) -> None:
        """Add the scores of expansion terms; they do not count as coverage."""
        for term, weight in related.items():
            items, frequency, _ = self._term_weights[term]
            rarity = inverse_document_frequency(len(self._term_weights.words.numbers), len(items))
            self.score[items] += weight * rarity * frequency

    def name_precision(self, name_rarity: Floats) -> Floats:
        """Return the share of each name's terms, by rarity, that the task contains."""
        return np.asarray(self._name_rarity / name_rarity, dtype=np.float64)

    def has_phrase(self, pairs: Iterable[tuple[str, str]]) -> Floats:
        """Return 1 for items whose name contains two adjacent query terms, else 0."""
        matches = np.zeros(len(self.score))
        for pair in pairs:
            first, second = (self._term_weights[term].named for term in pair)
            matches[np.intersect1d(first, second, assume_unique=True)] = 1.0
        return matches


class TermPostings(NamedTuple):
    """Postings of a term: items, their saturated term frequencies, and the items with the term in their name."""

    items: Counts
    worth: Floats
    named: Counts


class TermWeights:
    """Per-term BM25F weights of an index under a profile, cached: tasks share their most common terms."""

    def __init__(self, words: Postings, profile: Profile) -> None:
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

    def __init__(self, words: Postings, profile: Profile) -> None:
        self._lengths, self._length_weight = words.lengths, np.array(profile.field_lengths)
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
