"""The probability that the printed excerpts contain what a question asks for: a logistic model.

Fitted by `scripts/train_answers.py` on questions of which some have no answer. Its threshold is chosen so that of the
replies printed as an answer, four of five are right. No single word decides: words that occur nowhere count by their
rarity.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files

from assay.answer.excerpts import Excerpt, coverage_with_headings
from assay.answer.question import Question
from assay.search.embed.embedders import Embedder
from assay.search.hits import SearchHit
from assay.search.intent import asks_how

MODEL = "confidence.json"


def confidence_features(
    question: Question, hits: Sequence[SearchHit], chosen: Sequence[Excerpt], embedder: Embedder | None
) -> dict[str, float]:
    """Return the features of a question and the excerpts chosen for it; those that cannot be told are left out.

    `excerpt`: score of the best excerpt. `vector`: cosine of the question and the best excerpt, by general word
    vectors. `hit vector`: of the question and the best hit, by the vectors of the corpus. `covered`: share of the
    question's words, by rarity, in the best excerpt and its headings. `unseen`: share that occurs nowhere. `rarest`:
    rarity of its rarest word, 1 at most. `how`: 1 if it asks how.
    """
    best = chosen[0]
    total = sum(word.idf for word in question.words) or 1.0
    values = {
        "excerpt": best.worth,
        "covered": coverage_with_headings(question, best),
        "unseen": sum(word.idf for word in question.words if not word.frequency) / total,
        "rarest": min(1.0, max((word.idf for word in question.words), default=0.0) / math.log(max(3, question.texts))),
        "how": float(asks_how(question.text)),
    }
    if embedder is not None:
        values["vector"] = best.vector
    vectors = [hit.vector for hit in hits if not math.isnan(hit.vector)]
    return values | ({"hit vector": vectors[0]} if vectors else {})


def confidence(
    question: Question, hits: Sequence[SearchHit], chosen: Sequence[Excerpt], embedder: Embedder | None = None
) -> float:
    """Return the probability that the excerpts answer the question; 0 without excerpts or content words."""
    if not chosen or not question.words:
        return 0.0
    base, weights = _model()
    values = confidence_features(question, hits, chosen, embedder)
    odds = base + sum(weight * (values[name] - mean) for name, (mean, weight) in weights.items() if name in values)
    return round(1 / (1 + math.exp(-odds)), 4)


@cache
def _model() -> tuple[float, Mapping[str, tuple[float, float]]]:
    """Return the log odds at the means, and the mean and weight of each feature."""
    stored = json.loads((files(__package__) / MODEL).read_text("utf-8"))
    return float(stored["base"]), {
        name: (float(mean), float(weight)) for name, (mean, weight) in stored["features"].items()
    }
