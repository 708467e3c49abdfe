"""Verdicts: one word for the difference of a metric between two runs, and one mark for the result of a query.

The words follow the corrected p and the 95 % interval of the difference, never its sign alone:

    better, worse                   both say that the difference is not chance
    perhaps better, perhaps worse   one of the two does, and the other is not far from it
    not shown                       neither does: more queries might show a difference, or there is none
    within tolerance                the difference is at most what the user accepts
    same                            no query differs
"""

from __future__ import annotations

from typing import Any

from assay.evaluate.metrics import parse
from assay.evaluate.statistics import Paired

ALPHA = 0.05  # significance level of a difference, after Holm's correction
_PERHAPS = 0.2  # corrected p above which the interval alone, which knows of one metric only, proves nothing

BETTER, WORSE, NOT_SHOWN, WITHIN_TOLERANCE, SAME = "better", "worse", "not shown", "within tolerance", "same"

_NO_DIFFERENCE = 1e-12  # differences below are rounding


def verdict(name: str, pair: Paired, adjusted: float, tolerance: float = 0.0) -> str:
    """Return the verdict on a metric's difference; `adjusted` is its p after correction."""
    if not pair.wins and not pair.losses:
        return SAME
    if tolerance and abs(pair.delta) <= tolerance:
        return WITHIN_TOLERANCE
    significant = adjusted < ALPHA
    excludes_zero = pair.interval.low > 0 or pair.interval.high < 0
    if abs(pair.delta) < _NO_DIFFERENCE or adjusted >= _PERHAPS or not (significant or excludes_zero):
        return NOT_SHOWN
    word = BETTER if (pair.delta > 0) == parse(name).higher_is_better else WORSE
    return word if significant and excludes_zero else f"perhaps {word}"


# queries

GOOD, FAIR, WEAK = "good", "fair", "weak"
SIGNS = {GOOD: "✓", FAIR: "⚠", WEAK: "✗", "": " "}
WEAK_BELOW = 0.5  # reciprocal rank, as in seed 002: something right only at rank 3, or nowhere


def query_verdict(query: dict[str, Any]) -> str:
    """Return how well a query was answered: good at rank 1 (or rightly refused), fair at 2, else weak.

    Empty for a query without expectations at the level judged. `query` is a row of a run's JSON.
    """
    if query["error"]:
        return WEAK
    if query["refuse"]:
        return GOOD if query["refused"] else WEAK
    if not query["expected"]:
        return ""
    reciprocal_rank = 1 / query["first_rank"] if query["first_rank"] else 0.0
    return GOOD if reciprocal_rank == 1 else FAIR if reciprocal_rank >= WEAK_BELOW else WEAK
