"""Which sentences of the best passages answer a question. Pure functions of what a search found."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from assay.answer.question import Question
from assay.answer.units import CODE, Unit, units
from assay.retrieve.filters import PASSAGE
from assay.retrieve.found import Found
from assay.text.terms import terms

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
