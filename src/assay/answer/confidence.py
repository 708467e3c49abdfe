"""How sure it is that what was found answers a question: a number from 0 to 1, from two signs that any corpus has.

A question that people ask about something else uses words that nothing here has; that tells most. The other sign is how well the best passage
matches, held against what a passage with every word of the question could reach. Fitted with `benchmarks/ask.py --fit` on four corpora,
each left out in turn; docs/guides/ask.md has the figures.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from assay.answer.question import Question
from assay.retrieve.found import Found


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
