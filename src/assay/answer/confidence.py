"""The probability that a corpus answers a question: a logistic model of four features that any corpus has.

Fitted by `scripts/train_answers.py` on questions of which some have no answer. No single word decides: words that occur
nowhere count by their rarity.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files

from assay.answer.excerpts import Excerpt, coverage_with_headings
from assay.answer.question import Question
from assay.search.hits import SearchHit

MODEL = "confidence.json"


def confidence_features(question: Question, hits: Sequence[SearchHit], best: Excerpt) -> dict[str, float]:
    """Return the features of a question and what was found for it.

    `unseen`: share of its words, by rarity, that occur nowhere. `match`: lexical score of the best hit per unit of
    rarity; a word found once is worth about 1. `words`: log of the number of its words, as a long question never
    matches as well as a short one. `covered`: share of its words, by rarity, in the best excerpt and its headings.
    """
    total = sum(word.idf for word in question.words) or 1.0
    return {
        "unseen": sum(word.idf for word in question.words if not word.frequency) / total,
        "match": max((hit.lexical for hit in hits), default=0.0) / total,
        "words": math.log1p(len(question.words)),
        "covered": coverage_with_headings(question, best),
    }


def confidence(question: Question, hits: Sequence[SearchHit], chosen: Sequence[Excerpt]) -> float:
    """Return the probability that the corpus answers the question; 0 without excerpts or content words."""
    if not chosen or not question.words:
        return 0.0
    base, weights = _model()
    values = confidence_features(question, hits, chosen[0])
    odds = base + sum(weight * values[name] for name, weight in weights.items())
    return round(1 / (1 + math.exp(-odds)), 4)


@cache
def _model() -> tuple[float, Mapping[str, float]]:
    stored = json.loads((files(__package__) / MODEL).read_text("utf-8"))
    return float(stored["base"]), stored["features"]
