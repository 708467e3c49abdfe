"""The probability that a corpus answers a question: a logistic model of three features that any corpus has.

Fitted by `scripts/train_answers.py` on questions of which some have no answer. No single word decides: words that occur
nowhere count by their rarity.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files

from assay.answer.question import Question
from assay.search.hits import SearchHit

MODEL = "confidence.json"


def confidence_features(question: Question, hits: Sequence[SearchHit]) -> dict[str, float]:
    """Return the features of a question and what was found for it.

    `unseen`: share of its words, by rarity, that occur nowhere. `match`: lexical score of the best hit per unit of
    rarity; a word found once is worth about 1. `words`: log of the number of its words, as a long question never
    matches as well as a short one.
    """
    total = sum(word.idf for word in question.words) or 1.0
    return {
        "unseen": sum(word.idf for word in question.words if not word.frequency) / total,
        "match": max((hit.lexical for hit in hits), default=0.0) / total,
        "words": math.log1p(len(question.words)),
    }


def confidence(question: Question, hits: Sequence[SearchHit]) -> float:
    """Return the probability that the corpus answers the question; 0 without hits or content words."""
    if not hits or not question.words:
        return 0.0
    base, weights = _model()
    values = confidence_features(question, hits)
    odds = base + sum(weight * values[name] for name, weight in weights.items())
    return round(1 / (1 + math.exp(-odds)), 4)


@cache
def _model() -> tuple[float, Mapping[str, float]]:
    stored = json.loads((files(__package__) / MODEL).read_text("utf-8"))
    return float(stored["base"]), stored["features"]
