"""The probability that a corpus answers a question: a logistic model of what was found.

Fitted by `scripts/train_answers.py` on questions of which some have no answer. No single word decides: words that occur
nowhere count by their rarity, and less if the best excerpts have words of similar meaning.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files

import numpy as np

from assay.answer.excerpts import Excerpt, covered
from assay.answer.question import Question
from assay.search.embed.embedders import Embedder
from assay.search.hits import SearchHit
from assay.text.terms import pieces, terms, words

MODEL = "confidence.json"


def confidence_features(
    question: Question, hits: Sequence[SearchHit], chosen: Sequence[Excerpt], embedder: Embedder | None
) -> dict[str, float]:
    """Return the features of a question and what was found for it."""
    total = sum(word.idf for word in question.words) or 1.0
    text = " ".join(" ".join((*excerpt.found.headings, excerpt.text)) for excerpt in chosen)
    likeness = _likeness(question, text, embedder)
    present = frozenset(terms(text))
    missing = [
        (word.idf / total) * (1 - similar)
        for word, similar in zip(question.words, likeness, strict=True)
        if not present.intersection(word.terms)
    ]
    first = " ".join((*chosen[0].found.headings, chosen[0].text)) if chosen else ""
    return {
        "unseen": sum(word.idf for word in question.words if not word.frequency) / total,
        "match": max((hit.lexical for hit in hits), default=0.0) / total,
        "coverage": covered(question.weights, present),
        "coverage of the first": covered(question.weights, frozenset(terms(first))),
        "missing": sum(missing),
        "most missing": max(missing, default=0.0),
        "vector": _nearest(question, chosen, embedder),
        "score": _log_odds(max((hit.score for hit in hits), default=0.0)),
        "words": math.log1p(len(question.words)),
    }


def _likeness(question: Question, text: str, embedder: Embedder | None) -> list[float]:
    """Return the similarity of each word of the question to the most similar word of a text, from 0 to 1."""
    others = sorted({word for piece in pieces(text) for word in words(piece)})
    if embedder is None or not others or not question.words:
        return [0.0] * len(question.words)
    own = embedder.embed([word.written for word in question.words])
    similar = (own @ embedder.embed(others).T).max(axis=1)
    return [float(value) for value in np.clip(similar, 0.0, 1.0)]


def _nearest(question: Question, chosen: Sequence[Excerpt], embedder: Embedder | None) -> float:
    if embedder is None or not chosen:
        return 0.0
    texts = [" ".join((*excerpt.found.headings[-1:], excerpt.text)) for excerpt in chosen]
    return float((embedder.embed(texts) @ embedder.embed([question.text], "query")[0]).max())


def _log_odds(chance: float) -> float:
    bounded = min(max(chance, 1e-4), 1 - 1e-4)
    return math.log(bounded / (1 - bounded))


def confidence(
    question: Question, hits: Sequence[SearchHit], chosen: Sequence[Excerpt], embedder: Embedder | None
) -> float:
    """Return the probability that the corpus answers the question."""
    if not chosen or not question.words:
        return 0.0
    base, weights = _model()
    values = confidence_features(question, hits, chosen, embedder)
    odds = base + sum(weight * values[name] for name, weight in weights.items())
    return round(1 / (1 + math.exp(-odds)), 4)


@cache
def _model() -> tuple[float, Mapping[str, float]]:
    stored = json.loads((files(__package__) / MODEL).read_text("utf-8"))
    return float(stored["base"]), stored["features"]
