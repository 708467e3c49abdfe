"""Extractive answers: the sentences of the best passages that cover a question, verbatim, and the confidence in them.

Pure functions of the search hits.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import groupby, pairwise

import numpy as np

from assay.answer.citations import strip_unknown_citations
from assay.answer.reply import Source, source
from assay.answer.units import CODE, SENTENCE, Unit, units
from assay.rank.signals.lexical import inverse_document_frequency
from assay.search.search import PASSAGE, Search, SearchHit
from assay.text.markup import ticks_around
from assay.text.terms import COMMON, base_of, terms
from assay.text.tokens import LONGEST_QUERY

_WORD = re.compile(r"[^\W_]+(?:[-_][^\W_]+)*")
_MAX_COMPOUND = 60  # letters; longer words are data, not compounds
_MIN_PART = 2  # letters of a part of a compound
_MAX_PASSAGES_READ = 500  # passages searched for a compound


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a question as written, its terms, and its document frequency in the corpus."""

    written: str
    terms: tuple[str, ...]
    frequency: int
    idf: float


@dataclass(frozen=True)
class Question:
    """A question and its distinct content words, in order."""

    text: str
    words: tuple[Word, ...]

    @cached_property
    def weights(self) -> Mapping[str, float]:
        """Weight of each term: its inverse document frequency."""
        return {term: word.idf for word in self.words for term in word.terms}

    @cached_property
    def pairs(self) -> frozenset[tuple[str, str]]:
        """Pairs of adjacent terms, stop words included."""
        return frozenset(pairwise(terms(self.text)))

    @property
    def unseen(self) -> tuple[str, ...]:
        """Words that occur nowhere in the corpus."""
        return tuple(word.written for word in self.words if not word.frequency)


def analyze_question(text: str, search: Search) -> Question:
    """Analyze a question: its words with their frequency in the searched corpus."""
    text = text[:LONGEST_QUERY]
    total = len(search.passages) + len(search.index.postings.numbers)
    words: dict[tuple[str, ...], Word] = {}
    for written in _WORD.findall(text):
        stems = tuple(term for term in terms(written) if term not in COMMON)
        if written.lower() in COMMON or not stems or stems in words:
            continue
        base = base_of(written)
        frequency = _frequency(written, search) + (_frequency(base, search) if base else 0)
        words[stems] = Word(written, (*stems, *terms(base)), frequency, inverse_document_frequency(total, frequency))
    return Question(text, tuple(words.values()))


def _frequency(written: str, search: Search) -> int:
    """Count the passages and definitions that have a word.

    The parts of a compound (WebSocket, time-ordered) must occur together.
    """
    parts = terms(written)
    items = reduce(np.intersect1d, (search.index.postings.get(part)[0] for part in parts))
    if len(parts) > 1:
        return len(items) + _count_joined(written, parts, search)
    if count := len(items) + len(search.passages.having(parts[0])[0]):
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


# Choice of excerpts

_MAX_PASSAGES = 8  # passages considered
_MAX_SENTENCES = (4, 2, 2)  # in the first, second and third excerpt
_MAX_WORDS = 90  # per excerpt
_MAX_CODE_LINES = 12  # per excerpt
_WINDOW = 2  # units scored together
_UNIT_COST = 0.02  # cost of each further unit in the window
_LABEL = 1.0  # weight of a term in the label, relative to the sentence itself
_HEADING = 0.7
_PHRASE = 0.1  # bonus for term pairs of the question
_RANK_COST = 0.03  # per rank of the passage
_DEFINITION = 0.8  # weight of code: documents explain, code does
_MIN_RELATIVE_SCORE = 0.6  # of a further excerpt, relative to the best
_DUPLICATE_OVERLAP = 0.8  # share of common terms


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Neighbouring units of one passage, quoted verbatim."""

    found: SearchHit
    units: tuple[Unit, ...]
    worth: float  # about the idf-weighted share of the question that it, its label and its headings cover

    @property
    def label(self) -> str:
        """The term that the excerpt explains."""
        return self.units[0].label.text

    @property
    def lines(self) -> tuple[int, int]:
        """First and last line within the passage, including the line of the explained term."""
        first = self.units[0]
        return first.label.line if self.label else first.first, max(unit.last for unit in self.units)


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A passage's units, the unit an excerpt would start at, and the score of that start."""

    found: SearchHit
    pieces: Sequence[Unit]
    start: int
    worth: float


def choose(question: Question, found: Sequence[SearchHit]) -> list[Excerpt]:
    """Select the excerpts that answer best: the best first, then the others in document order.

    Near-duplicates and much weaker excerpts are left out.
    """
    ranked = sorted(_candidates(question, found[:_MAX_PASSAGES]), key=lambda candidate: -candidate.worth)
    chosen: list[Excerpt] = []
    for candidate in ranked:
        if len(chosen) == len(_MAX_SENTENCES) or candidate.worth < _MIN_RELATIVE_SCORE * ranked[0].worth:
            break
        excerpt = _extend(candidate, _MAX_SENTENCES[len(chosen)])
        if not any(_are_duplicates(excerpt, other) for other in chosen):
            chosen.append(excerpt)
    documents = [candidate.found.path for candidate in chosen]
    further = sorted(chosen[1:], key=lambda candidate: (documents.index(candidate.found.path), candidate.found.start))
    return [*chosen[:1], *further]


def _candidates(question: Question, hits: Sequence[SearchHit]) -> Iterator[_Candidate]:
    """Yield the best start in each passage; a lower rank costs a little."""
    for rank, hit in enumerate(hits):
        pieces = units(hit.text, hit.headings, hit.language, code=hit.kind != PASSAGE)
        if pieces:
            start, score = _best_start(question, hit, pieces)
            kind_weight = 1.0 if hit.kind == PASSAGE else _DEFINITION
            yield _Candidate(hit, pieces, start, score * kind_weight * (1 - _RANK_COST * rank))


def _best_start(question: Question, hit: SearchHit, pieces: Sequence[Unit]) -> tuple[int, float]:
    """Return the unit to start at and the score of the units from there."""
    heading_terms = frozenset(terms(" ".join(hit.headings)))
    unit_terms = [terms(unit.text) for unit in pieces]
    best_score, start = -1.0, 0
    for first in range(len(pieces)):
        for end in range(first + 1, min(first + _WINDOW, len(pieces)) + 1):
            window_terms = [term for unit in unit_terms[first:end] for term in unit]
            label_terms = {term for unit in pieces[first:end] for term in terms(unit.label.text)}
            score = covered(question.weights, set(window_terms), label_terms, heading_terms) - _UNIT_COST * (
                end - first - 1
            )
            score += _PHRASE * len(question.pairs & set(pairwise(window_terms))) / max(1, len(question.pairs))
            if score > best_score + 1e-9:
                best_score, start = score, first
    return start - (start > 0 and pieces[start].kind == CODE), best_score  # with the sentence that introduces code


def covered(
    weights: Mapping[str, float], inside: Collection[str], under: Collection[str] = (), above: Collection[str] = ()
) -> float:
    """Return the weighted share of the terms that a text has; those in its label and headings count less."""
    total = sum(weights.values())
    if not total:
        return 0.0
    covered_weight = sum(
        weight * (1.0 if term in inside else _LABEL if term in under else _HEADING if term in above else 0.0)
        for term, weight in weights.items()
    )
    return covered_weight / total


def _extend(candidate: _Candidate, max_sentences: int) -> Excerpt:
    """Extend a start to at most `max_sentences` and the code between them.

    If there is room, the earlier sentences of the same paragraph are added.
    """
    label = candidate.pieces[candidate.start].label.text
    first, last = candidate.start, candidate.start + 1
    while last < len(candidate.pieces) and _fits(candidate.pieces[first : last + 1], label, max_sentences):
        last += 1
    block = candidate.pieces[first].block
    while (
        first
        and candidate.pieces[first - 1].block == block
        and _fits(candidate.pieces[first - 1 : last], label, max_sentences)
    ):
        first -= 1
    if last - first > 1 and candidate.pieces[last - 1].text.endswith(":"):
        last -= 1  # it introduces text that is left out
    return Excerpt(candidate.found, tuple(candidate.pieces[first:last]), candidate.worth)


def _fits(pieces: Sequence[Unit], label: str, max_sentences: int) -> bool:
    """Return whether units can be quoted together: same label, not too many, not too long."""
    prose = [unit for unit in pieces if unit.kind != CODE]
    code = sum(unit.last - unit.first + 1 for unit in pieces if unit.kind == CODE)
    words = sum(len(unit.text.split()) for unit in prose)
    return (
        pieces[0].label.text == pieces[-1].label.text == label
        and len(prose) <= max_sentences
        and words <= _MAX_WORDS
        and code <= _MAX_CODE_LINES
    )


def _are_duplicates(excerpt: Excerpt, other: Excerpt) -> bool:
    first, second = (frozenset(terms(" ".join(unit.text for unit in item.units))) for item in (excerpt, other))
    return len(first & second) >= _DUPLICATE_OVERLAP * min(len(first), len(second))


# Answer text

_MAX_PASSES = 5  # removing a citation may form another: `[#[#1]1]`


def render_excerpts(chosen: Sequence[Excerpt]) -> tuple[str, tuple[Source, ...]]:
    """Return the text of an answer in Markdown, and its sources numbered from 1."""
    paragraphs: list[str] = []
    sources: list[Source] = []
    for number, excerpt in enumerate(chosen, 1):
        first, last = excerpt.lines
        lines = excerpt.found.text.split("\n")[first : last + 1]
        sources.append(source(number, excerpt.found, first, last, "\n".join(lines)))
        paragraphs += _paragraphs(excerpt, f"[#{number}]")
    return "\n\n".join(paragraphs), tuple(sources)


def _paragraphs(excerpt: Excerpt, citation: str) -> Iterator[str]:
    """Yield paragraphs that end with the citation; the first starts with the explained term.

    Code and tables have their citation above them.
    """
    label = f"{excerpt.label}: " if excerpt.label and excerpt.label not in excerpt.units[0].text else ""
    started = False
    for (kind, _), group in groupby(
        excerpt.units, key=lambda unit: (unit.kind, unit.block if unit.kind == SENTENCE else 0)
    ):
        text = _join_units(kind, list(group))
        if kind == CODE or text.startswith("|"):
            if not started:
                yield f"{label}{citation}"
            yield text
        else:
            yield f"{'' if started else label}{text} {citation}"
        started = True


def _join_units(kind: str, units: Sequence[Unit]) -> str:
    """Join sentences with blanks, items and rows with newlines; fence code.

    Text that looks like a citation is removed.
    """
    if kind != CODE:
        prose = (" " if kind == SENTENCE else "\n").join(unit.text for unit in units)
        return _without_citations(prose)
    code = "\n\n".join(unit.text for unit in units)
    fence = ticks_around(code)
    return f"{fence}\n{code}\n{fence}"


def _without_citations(text: str) -> str:
    for _ in range(_MAX_PASSES):
        text, citations = strip_unknown_citations(text, frozenset())
        if not citations.dropped:
            return text
    return text.replace("[#", "[")


# Confidence: a logistic model of two features that any corpus has


@dataclass(frozen=True, slots=True)
class ConfidenceFeatures:
    """Features of the confidence model."""

    unseen: float  # idf-weighted share of the question's words that occur nowhere in the corpus
    match: float  # lexical score of the best passage per unit of idf: a word found once is worth about 1


UNSEEN, MATCH, BASE = -5.0, 1.4, -0.3  # logistic regression coefficients


def confidence_features(question: Question, found: Sequence[SearchHit]) -> ConfidenceFeatures:
    """Compute the confidence features of a question and its search hits."""
    total = sum(word.idf for word in question.words)
    if not total or not found:
        return ConfidenceFeatures(1.0, 0.0)
    unseen = sum(word.idf for word in question.words if not word.frequency)
    return ConfidenceFeatures(unseen / total, max(hit.lexical for hit in found) / total)


def confidence(question: Question, found: Sequence[SearchHit]) -> float:
    """Return the probability that the search hits answer the question (logistic model)."""
    if not found:
        return 0.0
    features = confidence_features(question, found)
    log_odds = BASE + UNSEEN * features.unseen + MATCH * features.match
    return round(1 / (1 + math.exp(-log_odds)), 4)
