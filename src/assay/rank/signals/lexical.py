"""BM25F: how well a symbol's words answer a task, over all fields of its text. Weights are applied before saturation, lengths per field."""

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

Counts = NDArray[Any]  # of whole numbers

_MOST = 1 << 20  # items whose words are remembered: some 15 MB
_WORD = re.compile(r"[^\W_]+")
# words that say nothing about what is sought
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
# in a task also what people want done, which is not what they want it done to
_STOP = COMMON | frozenset(
    _WORD.findall(
        "add implement create fix support new update remove refactor change allow ensure handle trace explain understand find show "
        "while because including requiring"
    )
)


# what a sentence goes on with when it has said what it is about
_CLAUSE = re.compile(
    r"""\b(?:that|which|when|where|so|while|because|including|requiring|without|using|by|during|if|after|with|for|via|through)\b
    | [;:]\s | \s\(""",
    re.VERBOSE | re.IGNORECASE,
)
_LAST_CLAUSE = 4  # from here on all count alike


def query_terms(task: str, repeats: int, later: float = 1.0) -> dict[str, float]:
    """The words a task is searched by, and how often each counts: at most `repeats`, and `later` times for each clause before its own.

    The first of several lines is the title: its words count twice, and only it is read by clauses.
    """
    title, _, rest = task.strip().partition("\n")
    found = Counter(_searched(task))
    if rest.strip():
        found.update(_searched(title))
    clauses = _clauses(title)
    searched = islice(found.items(), MOST_TERMS)
    return {term: min(count, repeats) * later ** clauses.get(term, 0) for term, count in searched}


def _clauses(title: str) -> dict[str, int]:
    """The clause each word is first said in, counted from 0; a clause without a word that is searched by does not count."""
    said = [list(_searched(clause)) for clause in _CLAUSE.split(title)]
    first: dict[str, int] = {}
    for number, words in enumerate(filter(None, said)):
        for term in words:
            first.setdefault(term, min(number, _LAST_CLAUSE))
    return first


def _searched(text: str) -> Iterator[str]:
    for word in re.findall(r"\w+", text):
        if word.lower() not in _STOP:
            yield from (term for term in terms(word) if term not in _STOP)


def phrases(task: str) -> list[tuple[str, str]]:
    """The pairs of words that stand beside each other in a task, as they are searched."""
    found: list[tuple[str, str]] = []
    for words in re.split(r"[^\w\s-]", task):
        line = [term for word in re.findall(r"\w+", words) if word.lower() not in _STOP for term in terms(word)]
        found += pairwise(line)
    return list(islice(dict.fromkeys(pair for pair in found if pair[0] != pair[1]), MOST_TERMS))


class Lexical:
    """The lexical side of one task: scores, and what is known about the words behind them."""

    def __init__(self, weighed: Weighed, query: Mapping[str, float]) -> None:
        self._weighed, size = weighed, len(weighed.words.lengths)
        self.score, self.coverage, self._name = np.zeros(size), np.zeros(size), np.zeros(size)
        self.rarity: dict[str, float] = {}
        self.unseen: dict[str, float] = {}
        for term, times in query.items():
            items, worth, named = weighed[term]
            rarity = rarity_of(len(weighed.words.numbers), len(items))
            if not len(items):
                self.unseen[term] = rarity
                continue
            self.rarity[term] = rarity
            self.score[items] += times * rarity * worth
            self.coverage[items] += rarity
            self._name[named] += rarity
        self.coverage /= max(sum(self.rarity.values()), 1e-9)

    def add_related(self, related: Mapping[str, float]) -> None:
        """Adds what words that mean nearly the same are worth; they cover nothing of the task itself."""
        for term, weight in related.items():
            items, worth, _ = self._weighed[term]
            rarity = rarity_of(len(self._weighed.words.numbers), len(items))
            self.score[items] += weight * rarity * worth

    def name_precision(self, name_rarity: Floats) -> Floats:
        """The share of each name's words, by rarity, that the task has."""
        return np.asarray(self._name / name_rarity, dtype=np.float64)

    def has_phrase(self, pairs: Iterable[tuple[str, str]]) -> Floats:
        """1 for items whose name has two words that stand beside each other in the task, else 0."""
        found = np.zeros(len(self.score))
        for pair in pairs:
            first, second = (self._weighed[term].named for term in pair)
            found[np.intersect1d(first, second, assume_unique=True)] = 1.0
        return found


class Having(NamedTuple):
    """The items that have a term, what it is worth in each but for its rarity, and those that have it in their name."""

    items: Counts
    worth: Floats
    named: Counts


class Weighed:
    """The words of an index as a profile weighs them. What tasks ask for is remembered: they have their commonest words in common."""

    def __init__(self, words: Postings, profile: Profile) -> None:
        self.words, self.norms, self._profile = words, Norms(words, profile), profile
        self._known: dict[str, Having] = {}
        self._kept = 0  # items of all that is known

    def __getitem__(self, term: str) -> Having:
        if term not in self._known:
            items, counts = self.words.get(term)
            worth = saturated(counts, self.norms[items], self._profile)
            if self._kept > _MOST:
                self._known, self._kept = {}, 0
            self._known[term] = Having(items, worth, items[counts[:, NAME] > 0])
            self._kept += len(items)
        return self._known[term]


def saturated(counts: NDArray[np.uint8], norms: Floats, profile: Profile) -> Floats:
    """What counts per field are worth: weighted, divided by the norms of their lengths, added up, and then saturated."""
    frequency = (counts * np.array(profile.field_weights) / norms).sum(axis=1)
    return np.asarray(frequency * (profile.saturation + 1) / (profile.saturation + frequency), dtype=np.float64)


def bm25(
    having: Callable[[str], tuple[Counts, Counts]],
    lengths: Counts,
    query: Mapping[str, float],
    saturation: float,
    length: float,
) -> Floats:
    """Plain BM25 of texts of one field: `having` gives the texts with a term, and how often each has it; `length` is how much length counts."""
    total = len(lengths)
    scores = np.zeros(total)
    average = max(float(lengths.mean()), 1.0) if total else 1.0
    for term, times in query.items():
        texts, counts = having(term)
        if len(texts):
            norm = saturation * (1 - length + length * lengths[texts] / average)
            often = counts.astype(np.float64)
            scores[texts] += times * rarity_of(total, len(texts)) * often * (saturation + 1) / (often + norm)
    return scores


def rarity_of(items: int, having: int) -> float:
    """Inverse document frequency, never negative."""
    return math.log(1 + (items - having + 0.5) / (having + 0.5))


class Norms:
    """What each field's counts are divided by, for its length: 1 at the average. Worked out for the items that are asked for."""

    def __init__(self, words: Postings, profile: Profile) -> None:
        self._lengths, self._share = words.lengths, np.array(profile.field_lengths)
        average = self._lengths.sum(axis=0, dtype=np.int64) / max(len(words.numbers), 1)
        self._average = np.maximum(average, 1e-9)

    def __getitem__(self, items: Counts) -> Floats:
        lengths = self._lengths[items].astype(np.float64)
        return np.asarray(1 - self._share + self._share * lengths / self._average, dtype=np.float64)


def name_rarity_of(words: Postings) -> Floats:
    """How rare the words of each item's name are, added up."""
    frequencies = words.frequencies
    rarities = np.zeros(int(frequencies.max(initial=0)) + 1)  # by frequency: few are different
    for having in set(frequencies.tolist()):
        rarities[having] = rarity_of(len(words.numbers), having)
    rarity = rarities[frequencies]
    terms, items = words.having(NAME)
    added = np.bincount(items, weights=rarity[terms], minlength=len(words.lengths))
    return np.asarray(added, dtype=np.float64)
