"""Which sentences of the best passages answer a question. Pure functions of what a search found."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from assay.answer.question import Question
from assay.answer.units import CODE, Unit, units
from assay.retrieve.filters import PASSAGE
from assay.retrieve.found import Found
from assay.text.terms import terms

_PASSAGES = 5  # the best so many are read
_MOST = 3  # excerpts of an answer
_UNITS = (4, 2, 2)  # sentences of the first, second, third excerpt
_WORDS = (90, 60, 60)
_LABEL = 0.8  # what a word of the term above counts, one of the sentence itself being 1
_HEADING = 0.5
_FURTHER = 0.75  # of the best excerpt's worth that another one must have
_WINDOW = 3  # units that are looked at together
_LONGER = 0.02  # what each unit more must bring
_BEHIND = 0.06  # what each rank costs
_CODE_WORTH = 0.8  # of a definition: it does what a document explains
_SAME = 0.8  # of the words in common: says the same


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Neighbouring units of one passage, said verbatim."""

    found: Found
    units: tuple[Unit, ...]
    worth: float  # the share of the question, by rarity, that it and what stands above it speak of

    @property
    def label(self) -> str:
        """The term that it explains."""
        return self.units[0].label.text

    @property
    def lines(self) -> tuple[int, int]:
        """Its first and last line within the passage, with the term that it explains."""
        first = self.units[0]
        return first.label.line if self.label else first.first, max(unit.last for unit in self.units)


def choose(question: Question, found: Sequence[Found]) -> list[Excerpt]:
    """The excerpts that answer best, in reading order: the best one's document first. Near-duplicates and what is much worse are left out."""
    ranked = sorted(_candidates(question, found[:_PASSAGES]), key=lambda one: -one.worth)
    chosen: list[Excerpt] = []
    for one in ranked:
        if len(chosen) == _MOST or one.worth < _FURTHER * ranked[0].worth:
            break
        short = _cut(one, len(chosen))
        if not any(_alike(short, other) for other in chosen):
            chosen.append(short)
    documents = list(dict.fromkeys(one.found.path for one in chosen))
    return sorted(chosen, key=lambda one: (documents.index(one.found.path), one.found.start, one.units[0].first))


def _candidates(question: Question, found: Sequence[Found]) -> Iterator[Excerpt]:
    """The best excerpt of each passage; a passage that was ranked higher has an advantage."""
    for rank, one in enumerate(found):
        pieces = units(one.text, code=one.kind != PASSAGE)
        if not pieces:
            continue
        start, worth = _best(question.weights, one, pieces)
        if start and pieces[start].kind == CODE:
            start -= 1  # what introduces it
        advantage = 1 - _BEHIND * rank
        kind = 1.0 if one.kind == PASSAGE else _CODE_WORTH
        yield Excerpt(one, tuple(pieces[start:]), worth * advantage * kind)


def _best(weights: Mapping[str, float], found: Found, pieces: Sequence[Unit]) -> tuple[int, float]:
    """Where to begin reading, and what the units from there are worth."""
    above = frozenset(terms(" ".join(found.headings)))
    said = [frozenset(terms(unit.text)) for unit in pieces]
    labels = [frozenset(terms(unit.label.text)) for unit in pieces]
    best, start = -1.0, 0
    for at in range(len(pieces)):
        inside: frozenset[str] = frozenset()
        under: frozenset[str] = frozenset()
        for length in range(1, _WINDOW + 1):
            if at + length > len(pieces):
                break
            inside |= said[at + length - 1]
            under |= labels[at + length - 1]
            worth = covered(weights, inside, under, above) - _LONGER * (length - 1)
            if worth > best + 1e-9:
                best, start = worth, at
    return start, best


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


def _cut(one: Excerpt, nth: int) -> Excerpt:
    """An excerpt as long as the nth of an answer may be; the first unit stays, whatever its length."""
    kept, words = [one.units[0]], len(one.units[0].text.split())
    for unit in one.units[1 : _UNITS[nth]]:
        words += len(unit.text.split())
        if words > _WORDS[nth] or unit.label.text != kept[0].label.text:
            break
        kept.append(unit)
    return Excerpt(one.found, tuple(kept), one.worth)


def _alike(one: Excerpt, other: Excerpt) -> bool:
    first, second = (frozenset(terms(" ".join(unit.text for unit in excerpt.units))) for excerpt in (one, other))
    return len(first & second) >= _SAME * min(len(first), len(second))
