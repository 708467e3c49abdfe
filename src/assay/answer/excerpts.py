"""Excerpts that answer a question: short runs of neighbouring units of the best passages, verbatim.

Every run of units up to a length is a candidate. A linear model rates them by the words of the question they cover, by
their vector, and by the passage they stand in; it was trained on questions whose answers are known
(`scripts/train_answers.py`). Pure functions of the search hits.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import groupby, pairwise

import numpy as np

from assay.answer.question import Question
from assay.answer.units import CODE, ROW, SENTENCE, Unit, units
from assay.rank.arrays import Floats
from assay.search.embed.embedders import Embedder
from assay.search.hits import PASSAGE, SearchHit
from assay.search.intent import asks_for_amount, asks_how
from assay.text.terms import terms

MODEL = "excerpts.json"
PASSAGES = 10  # hits that are read
MAX_EXCERPTS = 3
_MAX_LENGTH = 600  # characters of an excerpt; a single longer unit is quoted whole
_MAX_UNITS = 40  # of a passage; more are lists of data
_SHORT = 25  # characters; a shorter unit is no good start
_NUMBER = re.compile(r"\b\d+\b")
_DUPLICATE_OVERLAP = 0.8  # share of common terms
_MIN_RELATIVE_CHANCE = 0.05  # of a further excerpt, relative to the first


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Neighbouring units of one passage, quoted verbatim."""

    found: SearchHit
    units: tuple[Unit, ...]
    worth: float = 0.0  # score of the model; higher is better
    vector: float = 0.0  # cosine of the question and the excerpt

    @property
    def label(self) -> str:
        """The term that the excerpt explains."""
        return self.units[0].label.text

    @property
    def lines(self) -> tuple[int, int]:
        """First and last line within the passage, including the line of the explained term."""
        first = self.units[0]
        return first.label.line if self.label else first.first, max(unit.last for unit in self.units)

    @property
    def text(self) -> str:
        """The units with the terms they explain."""
        return "\n".join(
            f"{unit.label.text}: {unit.text}" if unit.label.text not in unit.text else unit.text for unit in self.units
        )


def choose(question: Question, hits: Sequence[SearchHit], embedder: Embedder | None = None) -> list[Excerpt]:
    """Return the excerpts that answer best, best first. Near-duplicates and much weaker ones are left out."""
    candidates = list(excerpts(hits))
    if not candidates:
        return []
    values = features(question, candidates, hits, embedder)
    return select(candidates, rate(values), values["vector"])


def select(candidates: Sequence[Excerpt], scores: Floats, vectors: Floats) -> list[Excerpt]:
    """Return the best candidates that do not repeat each other, best first, with their values."""
    order = np.argsort(-scores, kind="stable")
    chosen: list[Excerpt] = []
    for place in order.tolist():
        weak = chosen and math.exp(scores[place] - scores[order[0]]) < _MIN_RELATIVE_CHANCE
        if len(chosen) == MAX_EXCERPTS or weak:
            break
        candidate = candidates[place]
        if not any(_overlap(candidate, other) for other in chosen):
            chosen.append(Excerpt(candidate.found, candidate.units, float(scores[place]), float(vectors[place])))
    return chosen


def excerpts(hits: Sequence[SearchHit]) -> Iterator[Excerpt]:
    """Yield every longest run of units within the length, from each place where one may begin, of each hit."""
    for hit in hits[:PASSAGES]:
        pieces = units(hit.text, hit.headings, hit.language, code=hit.kind != PASSAGE)[:_MAX_UNITS]
        end = 0
        for start in _starts(pieces):
            reach = _reach(pieces, start)
            if reach > end:  # otherwise it is part of the run before
                end = reach
                yield Excerpt(hit, tuple(pieces[start:end]))


def _starts(pieces: Sequence[Unit]) -> Iterator[int]:
    """Yield where an excerpt may begin: at a paragraph, item, row or block of code, inside only overlong paragraphs."""
    for _, group in groupby(range(len(pieces)), key=lambda place: pieces[place].block):
        places = list(group)
        is_whole = pieces[places[0]].kind == SENTENCE and sum(len(pieces[place].text) for place in places) < _MAX_LENGTH
        yield from places[:1] if is_whole else places


def _reach(pieces: Sequence[Unit], start: int) -> int:
    """Return where the longest run from a unit ends."""
    length, end = len(pieces[start].text), start + 1
    while end < len(pieces) and length + len(pieces[end].text) < _MAX_LENGTH:
        length += len(pieces[end].text) + 1
        end += 1
    return end


def _overlap(excerpt: Excerpt, other: Excerpt) -> bool:
    """Return whether two excerpts share units or say the same."""
    if excerpt.found.id == other.found.id and excerpt.lines[0] <= other.lines[1] and other.lines[0] <= excerpt.lines[1]:
        return True
    first, second = (frozenset(terms(" ".join(unit.text for unit in item.units))) for item in (excerpt, other))
    return len(first & second) >= _DUPLICATE_OVERLAP * min(len(first), len(second))


# The model


def rate(values: Mapping[str, Floats]) -> Floats:
    """Return the score of each candidate from its features. Without vectors, theirs count as average."""
    score = np.zeros(len(values["vector"]))
    for name, (mean, weight) in _model().items():
        if values["vector"].any() or name not in _OF_VECTORS:
            score += weight * (values[name] - mean)
    return score


_OF_VECTORS = ("vector", "vector, relative")


@cache
def _model() -> Mapping[str, tuple[float, float]]:
    """Return the mean and weight of each feature."""
    stored = json.loads((files(__package__) / MODEL).read_text("utf-8"))
    return {name: (float(mean), float(weight)) for name, (mean, weight) in stored["features"].items()}


def features(
    question: Question, candidates: Sequence[Excerpt], hits: Sequence[SearchHit], embedder: Embedder | None
) -> dict[str, Floats]:
    """Return the features of each candidate, by name."""
    ranks = {hit.id: rank for rank, hit in enumerate(hits)}
    best = max((hit.score for hit in hits), default=0.0) or 1.0
    weights = question.weights
    amount, how = asks_for_amount(question.text), asks_how(question.text)
    rows = []
    for candidate in candidates:
        hit, pieces = candidate.found, candidate.units
        own = terms(candidate.text)
        above = frozenset(terms(" ".join(hit.headings)))
        rows.append(
            (
                hit.score / best,
                math.log1p(ranks[hit.id]),
                covered(weights, {*own, *above}),
                covered(weights, frozenset(own)),
                covered(weights, frozenset(terms(pieces[0].text))),
                covered(weights, above),
                len(question.pairs & set(pairwise(own))) / max(1, len(question.pairs)),
                float(any(unit.kind == CODE for unit in pieces)),
                float(hit.kind != PASSAGE),
                pieces[0].first / max(1, hit.text.count("\n")),
                math.log1p(sum(len(unit.text) for unit in pieces)),
                float(len(pieces[0].text) < _SHORT),
                float(amount and _NUMBER.search(candidate.text) is not None),
                float(amount and "default" in own),
                float(how and any(unit.kind == CODE for unit in pieces)),
                float(pieces[0].kind == SENTENCE),
                float(any(unit.kind == ROW for unit in pieces)),
            )
        )
    nearness = _nearness(question, candidates, embedder)
    values = dict(zip(_NAMES, np.array(rows, np.float64).reshape(len(rows), len(_NAMES)).T, strict=True))
    relative = np.clip(nearness / max(nearness.max(initial=0.0), 1e-6), -1.0, 1.0)  # none may be near
    return values | {"vector": nearness, "vector, relative": relative}


_NAMES = (
    "passage", "log rank", "coverage with headings", "coverage", "coverage of the first unit", "coverage of headings",
    "pairs", "has code", "is code", "position", "log length", "short start", "number, if asked for an amount",
    "default, if asked for an amount", "code, if asked how", "starts with a sentence", "has a row",
)  # fmt: skip


def _nearness(question: Question, candidates: Sequence[Excerpt], embedder: Embedder | None) -> Floats:
    """Return the cosine of each candidate, with its innermost heading, and the question."""
    if embedder is None:
        return np.zeros(len(candidates))
    texts = [" ".join((*candidate.found.headings[-1:], candidate.text)) for candidate in candidates]
    return np.asarray(embedder.embed(texts) @ embedder.embed([question.text], "query")[0], np.float64)


def coverage_with_headings(question: Question, excerpt: Excerpt) -> float:
    """Return the share of the question's words, by rarity, in an excerpt and the headings above it."""
    return covered(question.weights, {*terms(excerpt.text), *terms(" ".join(excerpt.found.headings))})


def covered(weights: Mapping[tuple[str, ...], float], inside: Collection[str]) -> float:
    """Return the weighted share of the words that a text has, in any of their forms."""
    total = sum(weights.values())
    present = sum(weight for forms, weight in weights.items() if any(form in inside for form in forms))
    return present / total if total else 0.0
