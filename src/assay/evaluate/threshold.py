"""Refusal threshold: the confidence below which a system should refuse, chosen on a golden set.

system × golden set ──▶ confidences ──▶ shares answered and refused per threshold ──▶ the best, if significantly so
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

from assay.core.golden import GoldenQuery
from assay.evaluate.systems import System, SystemFailed
from assay.text.display import counted

MIN_QUESTIONS = 8  # questions of either kind; with fewer, one question moves the figure more than any threshold
_EXPECTED_BEHAVIOURS = ((False, "answer"), (True, "refuse"))
_RESULTS = 10  # requested per question
_STEPS = 20  # thresholds on the curve
_Z_95 = 1.96  # normal quantile of a two-sided 95 % interval


@dataclass(frozen=True, slots=True)
class JudgedQuestion:
    """A system's confidence on a question, and the expected behaviour."""

    confidence: float
    refuse: bool


@dataclass(frozen=True, slots=True)
class Point:
    """Effect of a threshold: share of answerable questions answered, share of the others refused, balanced accuracy.

    Balanced accuracy is the mean of the two shares; `low` and `high` are its 95 % interval.
    """

    threshold: float
    answered: float
    refused: float
    balanced_accuracy: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Advice:
    """The recommended threshold; `change`: it is significantly better than the one in use; `why`: the reason."""

    point: Point
    used: Point
    change: bool
    why: str


def evaluate_threshold(threshold: float, judged: Sequence[JudgedQuestion]) -> Point:
    """Evaluate a threshold, with the Agresti–Caffo interval, which holds for small sets and shares of 0 and 1."""
    answered_flags = [question.confidence >= threshold for question in judged if not question.refuse]
    refused_flags = [question.confidence < threshold for question in judged if question.refuse]
    answered, refused = _share(answered_flags), _share(refused_flags)
    adjusted = [((sum(flags) + 1) / (len(flags) + 2), len(flags) + 2) for flags in (answered_flags, refused_flags)]
    middle = sum(share for share, _ in adjusted) / 2
    spread = _Z_95 * math.sqrt(sum(share * (1 - share) / size for share, size in adjusted)) / 2
    balanced = (answered + refused) / 2
    return Point(
        threshold, answered, refused, balanced,
        max(0.0, min(middle - spread, balanced)), min(1.0, max(middle + spread, balanced)),
    )  # fmt: skip


def threshold_curve(judged: Sequence[JudgedQuestion]) -> list[Point]:
    """Evaluate thresholds from 0 to 1 in even steps."""
    return [evaluate_threshold(step / _STEPS, judged) for step in range(_STEPS + 1)]


def advise(judged: Sequence[JudgedQuestion], used: float) -> Advice:
    """Return the best threshold, in the middle of its equivalent range.

    Keep the one in use unless another is significantly better.
    """
    current = evaluate_threshold(used, judged)
    fewest, behaviour = min(
        (sum(question.refuse == refuse for question in judged), name) for refuse, name in _EXPECTED_BEHAVIOURS
    )
    if fewest < MIN_QUESTIONS:
        why = f"the set has only {counted(fewest, 'question')} to {behaviour}; at least {MIN_QUESTIONS} are needed"
        return Advice(current, current, False, why)
    points = [evaluate_threshold(threshold, judged) for threshold in _candidate_thresholds(judged)]
    best = max(points, key=lambda point: (point.balanced_accuracy, -abs(point.threshold - used)))
    if best.balanced_accuracy <= current.balanced_accuracy:
        return Advice(current, current, False, "no threshold does better on this set")
    if current.balanced_accuracy >= best.low:
        return Advice(best, current, False, "better on this set, but not significantly; add questions to the set")
    return Advice(best, current, True, "significantly better on this set")


def _candidate_thresholds(judged: Sequence[JudgedQuestion]) -> list[float]:
    """Return a threshold between each two neighbouring confidences, rounded to two decimals where possible."""
    confidences = sorted({0.0, *(question.confidence for question in judged), 1.0})
    thresholds = []
    for low, high in pairwise(confidences):
        middle = (low + high) / 2
        thresholds.append(round(middle, 2) if low < round(middle, 2) <= high else middle)
    return thresholds


def _share(flags: Sequence[bool]) -> float:
    return sum(flags) / len(flags) if flags else math.nan


def ask_confidences(
    system: System, queries: Sequence[GoldenQuery], advance: Callable[[], None]
) -> tuple[list[JudgedQuestion], int]:
    """Return the system's confidence on each question, and the number of questions without one."""
    system.index()
    judged = []
    for query in queries:
        try:
            answer = system.answer(query.text, _RESULTS, query_id=query.id).answer
        except SystemFailed:
            answer = None
        if answer is not None and answer.confidence is not None:
            judged.append(JudgedQuestion(answer.confidence, query.refuse))
        advance()
    return judged, len(queries) - len(judged)


def threshold_json(points: Sequence[Point], advice: Advice) -> dict[str, Any]:
    """Return the curve and the advice as printed by --format json."""

    def rounded(point: Point) -> dict[str, float]:
        return {name: round(value, 4) for name, value in asdict(point).items()}

    facts = {"used": rounded(advice.used), "best": rounded(advice.point), "change": advice.change, "why": advice.why}
    return {"curve": list(map(rounded, points)), **facts}
