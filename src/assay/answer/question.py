"""What a question asks for: its words, and how much each tells in this corpus."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np

from assay.retrieve.lexical import rarity_of
from assay.retrieve.search import Search
from assay.retrieve.vocabulary import word_set
from assay.text.terms import terms

_WORD = re.compile(r"[^\W_]+(?:[-_][^\W_]+)*")
_LOOKED_AT = 500  # passages that are read to see whether parts stand together
# what every question has, whatever it is about
_ASKING = word_set("""
a about actually after again all also always am an and another any anybody anyone anything are as at be because been before being best better between
both but by can cannot could did different do does doing done during each either else even ever every everything everybody exactly few for from
get gets getting give gives go goes going good got had happen happens has have having he her here him his how however i if in instead into is it its
itself just know least less let like long look looks lot made make makes many may me mean means might more most much must my myself need needs never
no nor not nothing now of off often on once one ones only or other others otherwise our out over own per please possible rather really same say see
several shall she should since so some somebody someone something still such sure take takes tell than that the their them then there these they
thing things this those though through to together too try trying two under until up us use used useful uses using very via want wanted wants was way
ways we well zero three four five six seven eight nine ten eleven twelve fifteen twenty hundred thousand first second third last were what when where whether which while who whole whom whose why will with within without work works would yes yet you your
d ll m re s t ve don doesn didn isn aren wasn won can't
""")


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

    @property
    def unseen(self) -> tuple[str, ...]:
        """The words that nothing in the corpus has."""
        return tuple(word.written for word in self.words if not word.frequency)


def understood(text: str, search: Search) -> Question:
    """A question as the corpus behind a search understands it."""
    total = len(search.passages) + len(search.index.postings.numbers)
    words: dict[tuple[str, ...], Word] = {}
    for written in _WORD.findall(text):
        stems = tuple(term for term in terms(written) if term not in _ASKING)
        if written.lower() in _ASKING or not stems or stems in words:
            continue
        frequency = _frequency(written, search)
        words[stems] = Word(written, stems, frequency, rarity_of(total, frequency))
    return Question(text, tuple(words.values()))


def _frequency(written: str, search: Search) -> int:
    """How many passages and definitions have a word. Parts of one that is composed (WebSocket, time-ordered) must stand together."""
    parts = terms(written)
    passages, items = (
        reduce(np.intersect1d, (having(part)[0] for part in parts)) for having in (search.passages.having, search.index.postings.get)
    )
    if len(parts) == 1:
        return len(passages) + len(items)
    joined = "[- ]?".join(map(re.escape, written.split("-")))
    together = re.compile(rf"(?<![^\W_]){joined}", re.IGNORECASE)
    return len(items) + sum(bool(together.search(search.passages[number].text)) for number in passages[:_LOOKED_AT].tolist())
