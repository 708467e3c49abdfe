"""A question and its words: which of them the corpus has, how rare they are, and their variants."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import pairwise

import numpy as np

from assay.rank.signals.lexical import inverse_document_frequency
from assay.search.search import Search
from assay.text.terms import COMMON, terms
from assay.text.tokens import LONGEST_QUERY
from assay.text.variants import without_contractions, word_variants

_WORD = re.compile(r"[^\W_]+(?:[-_][^\W_]+)*")
_MAX_COMPOUND = 60  # letters; longer words are data, not compounds
_MIN_PART = 2  # letters of a part of a compound
_MAX_PASSAGES_READ = 500  # passages searched for a compound


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a question as written, its terms, and its document frequency in the corpus."""

    written: str
    terms: tuple[str, ...]  # of its parts, or of its forms and spellings
    frequency: int
    idf: float

    @property
    def parts(self) -> tuple[tuple[str, ...], ...]:
        """The terms of each part of a compound; of any other word, all its terms, as they mean the same."""
        return tuple((term,) for term in self.terms) if len(terms(self.written)) > 1 else (self.terms,)


@dataclass(frozen=True)
class Question:
    """A question and its distinct content words, in order."""

    text: str
    words: tuple[Word, ...]
    texts: int = 0  # passages, and definitions for a question about code, in which the words were counted

    @cached_property
    def weights(self) -> Mapping[tuple[str, ...], float]:
        """Weight of each word or part of a compound, given by its terms: its inverse document frequency."""
        return {part: word.idf for word in self.words for part in word.parts}

    @cached_property
    def pairs(self) -> frozenset[tuple[str, str]]:
        """Pairs of adjacent terms, stop words included."""
        return frozenset(pairwise(terms(self.text)))

    @property
    def unseen(self) -> tuple[str, ...]:
        """Words that occur nowhere in the corpus."""
        return tuple(word.written for word in self.words if not word.frequency)


def analyze_question(text: str, search: Search, about_code: bool = True) -> Question:
    """Analyze a question: its words with their frequency in the documents, and in the code if it is about code."""
    text = text[:LONGEST_QUERY]
    total = len(search.passages) + (len(search.index.postings.numbers) if about_code else 0)
    words: dict[tuple[str, ...], Word] = {}
    for written in _WORD.findall(without_contractions(text)):
        stems = tuple(term for term in terms(written) if term not in COMMON)
        if written.lower() in COMMON or not stems or stems in words:
            continue
        forms = word_variants(written) if len(terms(written)) == 1 else ()
        frequency = search.passage_ranker.frequency(forms, about_code) if len(forms) > 1 else 0
        frequency = frequency or _frequency(written, search, about_code)
        idf = inverse_document_frequency(total, frequency)
        words[stems] = Word(written, tuple(dict.fromkeys((*stems, *forms))), frequency, idf)
    return Question(text, tuple(words.values()), total)


def _frequency(written: str, search: Search, about_code: bool) -> int:
    """Count the passages, and the definitions for a question about code, that have a word.

    The parts of a compound (WebSocket, time-ordered) must occur together.
    """
    parts = terms(written)
    definitions = 0
    if about_code:
        definitions = len(reduce(np.intersect1d, (search.index.postings.get(part)[0] for part in parts)))
    if len(parts) > 1:
        return definitions + _count_joined(written, parts, search)
    if count := definitions + len(search.passages.having(parts[0])[0]):
        return count
    if len(written) > _MAX_COMPOUND:
        return 0
    # `openapi` may be written OpenAPI, which has other terms
    splits = ((*terms(written[:cut]), *terms(written[cut:])) for cut in range(_MIN_PART, len(written) - _MIN_PART + 1))
    return max((_count_joined(written, split, search) for split in splits), default=0)


def _count_joined(written: str, parts: Sequence[str], search: Search) -> int:
    """Count the passages that have the parts as one word; a hyphen may be a blank or missing."""
    joined = "[- ]?".join(map(re.escape, written.split("-")))
    word = re.compile(rf"(?<![^\W_]){joined}", re.IGNORECASE)
    numbers = reduce(np.intersect1d, (search.passages.having(part)[0] for part in parts))[:_MAX_PASSAGES_READ]
    return sum(bool(word.search(search.passages[number].text)) for number in numbers.tolist())
