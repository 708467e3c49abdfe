"""Which sentences of the best passages answer a question. Pure functions of what a search found."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import groupby, pairwise

import numpy as np

from assay.answer.citations import cited
from assay.answer.reply import Source, source
from assay.answer.units import CODE, SENTENCE, Unit, units
from assay.rank.signals.lexical import rarity_of
from assay.search.search import PASSAGE, Found, Search
from assay.text.terms import COMMON, base_of, terms
from assay.text.tokens import LONGEST_QUERY

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


# Which sentences of the best passages answer a question. Pure functions of what a search found.

_PASSAGES = 8  # the best so many are read
_SENTENCES = (4, 2, 2)  # of the first, second and third excerpt
_WORDS = 90  # of an excerpt
_CODE = 12  # lines of code in an excerpt
_WINDOW = 2  # units that are looked at together
_LONGER = 0.02  # what each unit more must bring
_LABEL = 1.0  # what a word of the term above counts, one of the sentence itself being 1
_HEADING = 0.7
_PHRASE = 0.1  # what it is worth to have the question's words beside each other
_BEHIND = 0.03  # what each rank costs
_DEFINITION = 0.8  # what code is worth: it does what a document explains
_FURTHER = 0.6  # of the best excerpt's worth that another one must have
_SAME = 0.8  # of the words in common: says the same


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Neighbouring units of one passage, said verbatim."""

    found: Found
    units: tuple[Unit, ...]
    worth: float  # about the share of the question, by rarity, that it and what stands above it speak of

    @property
    def label(self) -> str:
        """The term that it explains."""
        return self.units[0].label.text

    @property
    def lines(self) -> tuple[int, int]:
        """Its first and last line within the passage, with the term that it explains."""
        first = self.units[0]
        return first.label.line if self.label else first.first, max(unit.last for unit in self.units)


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A passage's units, where to begin reading them, and what that is worth."""

    found: Found
    pieces: Sequence[Unit]
    start: int
    worth: float


def choose(question: Question, found: Sequence[Found]) -> list[Excerpt]:
    """The excerpts that answer best: the best, then the others as their documents have them. Near-duplicates and what is much worse are left out."""
    ranked = sorted(_candidates(question, found[:_PASSAGES]), key=lambda one: -one.worth)
    chosen: list[Excerpt] = []
    for one in ranked:
        if len(chosen) == len(_SENTENCES) or one.worth < _FURTHER * ranked[0].worth:
            break
        excerpt = _excerpt(one, _SENTENCES[len(chosen)])
        if not any(_alike(excerpt, other) for other in chosen):
            chosen.append(excerpt)
    documents = [one.found.path for one in chosen]
    further = sorted(chosen[1:], key=lambda one: (documents.index(one.found.path), one.found.start))
    return [*chosen[:1], *further]


def _candidates(question: Question, found: Sequence[Found]) -> Iterator[_Candidate]:
    """The best place of each passage; a passage that was ranked higher has an advantage."""
    for rank, one in enumerate(found):
        pieces = units(one.text, one.headings, code=one.kind != PASSAGE)
        if pieces:
            start, worth = _best(question, one, pieces)
            kind = 1.0 if one.kind == PASSAGE else _DEFINITION
            yield _Candidate(one, pieces, start, worth * kind * (1 - _BEHIND * rank))


def _best(question: Question, found: Found, pieces: Sequence[Unit]) -> tuple[int, float]:
    """Where to begin reading, and what the units from there are worth."""
    above = frozenset(terms(" ".join(found.headings)))
    said = [terms(unit.text) for unit in pieces]
    best, start = -1.0, 0
    for at in range(len(pieces)):
        for end in range(at + 1, min(at + _WINDOW, len(pieces)) + 1):
            inside = [term for some in said[at:end] for term in some]
            under = {term for unit in pieces[at:end] for term in terms(unit.label.text)}
            worth = covered(question.weights, set(inside), under, above) - _LONGER * (end - at - 1)
            worth += _PHRASE * len(question.pairs & set(pairwise(inside))) / max(1, len(question.pairs))
            if worth > best + 1e-9:
                best, start = worth, at
    return start - (start > 0 and pieces[start].kind == CODE), best  # with the sentence that introduces code


def covered(
    weights: Mapping[str, float], inside: Collection[str], under: Collection[str] = (), above: Collection[str] = ()
) -> float:
    """The share of the terms, by what they are worth, that a text has; those of the term and the headings above it count less."""
    total = sum(weights.values())
    if not total:
        return 0.0
    worth = sum(
        weight * (1.0 if term in inside else _LABEL if term in under else _HEADING if term in above else 0.0)
        for term, weight in weights.items()
    )
    return worth / total


def _excerpt(one: _Candidate, most: int) -> Excerpt:
    """So many sentences from where reading begins, and the code between them; if there is room, what its paragraph says before."""
    label = one.pieces[one.start].label.text
    first, last = one.start, one.start + 1
    while last < len(one.pieces) and _fits(one.pieces[first : last + 1], label, most):
        last += 1
    block = one.pieces[first].block
    while first and one.pieces[first - 1].block == block and _fits(one.pieces[first - 1 : last], label, most):
        first -= 1
    if last - first > 1 and one.pieces[last - 1].text.endswith(":"):
        last -= 1  # it announces what is not said
    return Excerpt(one.found, tuple(one.pieces[first:last]), one.worth)


def _fits(pieces: Sequence[Unit], label: str, most: int) -> bool:
    """Whether units can be said together: all of one label, not too many, not too long."""
    prose = [unit for unit in pieces if unit.kind != CODE]
    code = sum(unit.last - unit.first + 1 for unit in pieces if unit.kind == CODE)
    words = sum(len(unit.text.split()) for unit in prose)
    return (
        pieces[0].label.text == pieces[-1].label.text == label
        and len(prose) <= most
        and words <= _WORDS
        and code <= _CODE
    )


def _alike(one: Excerpt, other: Excerpt) -> bool:
    first, second = (frozenset(terms(" ".join(unit.text for unit in excerpt.units))) for excerpt in (one, other))
    return len(first & second) >= _SAME * min(len(first), len(second))


# An answer without a model: the sentences of the best passages, verbatim, each excerpt with its citation.

_TICKS = re.compile("`+")
_AGAIN = 5  # times that citations are taken out: `[#[#1]1]` is one when one is gone


def said(chosen: Sequence[Excerpt]) -> tuple[str, tuple[Source, ...]]:
    """The text of an answer in Markdown, and the sources it cites, numbered from 1."""
    paragraphs: list[str] = []
    sources: list[Source] = []
    for number, one in enumerate(chosen, 1):
        first, last = one.lines
        lines = one.found.text.split("\n")[first : last + 1]
        sources.append(source(number, one.found, first, last, "\n".join(lines)))
        paragraphs += _paragraphs(one, f"[#{number}]")
    return "\n\n".join(paragraphs), tuple(sources)


def _paragraphs(one: Excerpt, citation: str) -> Iterator[str]:
    """Every paragraph ends with the citation, the first begins with the term it explains. Code and tables have their citation above them."""
    label = f"{one.label}: " if one.label and one.label not in one.units[0].text else ""
    begun = False
    for (kind, _), group in groupby(
        one.units, key=lambda unit: (unit.kind, unit.block if unit.kind == SENTENCE else 0)
    ):
        text = _joined(kind, list(group))
        if kind == CODE or text.startswith("|"):
            if not begun:
                yield f"{label}{citation}"
            yield text
        else:
            yield f"{'' if begun else label}{text} {citation}"
        begun = True


def _joined(kind: str, units: Sequence[Unit]) -> str:
    """Sentences run on, items and rows have lines of their own, code is fenced. What a document has that looks like a citation goes."""
    if kind != CODE:
        said = (" " if kind == SENTENCE else "\n").join(unit.text for unit in units)
        return _without_citations(said)
    code = "\n\n".join(unit.text for unit in units)
    fence = "`" * max(3, 1 + max((len(run) for run in _TICKS.findall(code)), default=0))
    return f"{fence}\n{code}\n{fence}"


def _without_citations(text: str) -> str:
    for _ in range(_AGAIN):
        text, met = cited(text, frozenset())
        if not met.dropped:
            return text
    return text.replace("[#", "[")


# How sure it is that what was found answers a question: a number from 0 to 1, from two signs that any corpus has.


@dataclass(frozen=True, slots=True)
class Signs:
    """What confidence is made of."""

    unseen: float  # the share of the question's words, by rarity, that nothing in the corpus has
    match: float  # the best passage's score for its words, a word found once being worth about 1


UNSEEN, MATCH, BASE = -5.0, 1.4, -0.3  # what the signs are worth, as log odds


def signs(question: Question, found: Sequence[Found]) -> Signs:
    """The signs of a question and what was found for it."""
    total = sum(word.rarity for word in question.words)
    if not total or not found:
        return Signs(1.0, 0.0)
    unseen = sum(word.rarity for word in question.words if not word.frequency)
    return Signs(unseen / total, max(one.lexical for one in found) / total)


def confidence(question: Question, found: Sequence[Found]) -> float:
    """How likely it is that the question is answered by what was found."""
    if not found:
        return 0.0
    seen = signs(question, found)
    odds = BASE + UNSEEN * seen.unseen + MATCH * seen.match
    return round(1 / (1 + math.exp(-odds)), 4)
