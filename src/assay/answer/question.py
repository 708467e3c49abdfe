"""What a question asks for: its words, and how much each tells in this corpus."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import pairwise

import numpy as np

from assay.retrieve.lexical import rarity_of
from assay.retrieve.search import Search
from assay.text.common import COMMON
from assay.text.irregular import base_of
from assay.text.limits import LONGEST_QUERY
from assay.text.terms import terms

_WORD = re.compile(r"[^\W_]+(?:[-_][^\W_]+)*")
_LONGEST_WORD = 60  # letters of a word that may be two written as one; longer ones are data
_SHORTEST = 2  # letters of a part of a word
_LOOKED_AT = 500  # passages that are read to see whether parts stand together


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a question as it was written, its terms, and how many texts of the corpus have it."""

    written: str
    terms: tuple[str, ...]
    frequency: int
    rarity: float


@dataclass(frozen=True)
class Question:
    """A question and its words that tell something, each once and in order."""

    text: str
    words: tuple[Word, ...]

    @cached_property
    def weights(self) -> Mapping[str, float]:
        """What each term is worth: its rarity."""
        return {term: word.rarity for word in self.words for term in word.terms}

    @cached_property
    def pairs(self) -> frozenset[tuple[str, str]]:
        """The terms that stand beside each other in it, common ones too."""
        return frozenset(pairwise(terms(self.text)))

    @property
    def unseen(self) -> tuple[str, ...]:
        """The words that nothing in the corpus has."""
        return tuple(word.written for word in self.words if not word.frequency)


def understood(text: str, search: Search) -> Question:
    """A question as the corpus behind a search understands it."""
    text = text[:LONGEST_QUERY]
    total = len(search.passages) + len(search.index.postings.numbers)
    words: dict[tuple[str, ...], Word] = {}
    for written in _WORD.findall(text):
        stems = tuple(term for term in terms(written) if term not in COMMON)
        if written.lower() in COMMON or not stems or stems in words:
            continue
        base = base_of(written)
        frequency = _frequency(written, search) + (_frequency(base, search) if base else 0)
        words[stems] = Word(written, (*stems, *terms(base)), frequency, rarity_of(total, frequency))
    return Question(text, tuple(words.values()))


def _frequency(written: str, search: Search) -> int:
    """How many passages and definitions have a word. Parts of one that is composed (WebSocket, time-ordered) must stand together."""
    parts = terms(written)
    items = reduce(np.intersect1d, (search.index.postings.get(part)[0] for part in parts))
    if len(parts) > 1:
        return len(items) + _together(written, parts, search)
    if number := len(items) + len(search.passages.having(parts[0])[0]):
        return number
    if len(written) > _LONGEST_WORD:
        return 0
    # `openapi` may stand there as OpenAPI, which has other terms
    splits = ((*terms(written[:at]), *terms(written[at:])) for at in range(_SHORTEST, len(written) - _SHORTEST + 1))
    return max((_together(written, split, search) for split in splits), default=0)


def _together(written: str, parts: Sequence[str], search: Search) -> int:
    """How many passages have the parts as one word; a hyphen may be a blank or missing."""
    joined = "[- ]?".join(map(re.escape, written.split("-")))
    word = re.compile(rf"(?<![^\W_]){joined}", re.IGNORECASE)
    numbers = reduce(np.intersect1d, (search.passages.having(part)[0] for part in parts))[:_LOOKED_AT]
    return sum(bool(word.search(search.passages[number].text)) for number in numbers.tolist())
