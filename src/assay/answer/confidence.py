"""How sure it is that what was found answers a question: a number from 0 to 1, from signs that any corpus has."""

from __future__ import annotations

from collections.abc import Sequence

from assay.answer.excerpts import Excerpt, covered
from assay.answer.question import Question
from assay.retrieve.found import Found
from assay.text.terms import terms


def confidence(question: Question, found: Sequence[Found], chosen: Sequence[Excerpt]) -> float:
    """The share of the question that the best passage speaks of, by rarity."""
    if not chosen or not found:
        return 0.0
    best = max(chosen, key=lambda one: one.worth).found
    return round(covered(question.weights, set(terms(f"{best.text} {best.title}"))), 4)
