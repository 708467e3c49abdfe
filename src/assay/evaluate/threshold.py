"""At which confidence to refuse: what each threshold would have answered and refused of a golden set, and which one is best."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from assay.text.counting import counted

FEWEST = 8  # questions of either kind; below, one of them moves the figure by more than any threshold
_KINDS = ((False, "answer"), (True, "refuse"))
_STEPS = 20  # thresholds that are shown
_NORMAL = 1.96  # standard errors to either side of a 95 % interval


@dataclass(frozen=True, slots=True)
class Judged:
    """How sure a system was about one question, and whether it should refuse it."""

    confidence: float
    refuse: bool


@dataclass(frozen=True, slots=True)
class Point:
    """What a threshold does: the shares of the answerable that it answers and of the others that it refuses, their mean, and its 95 % interval."""

    threshold: float
    answered: float
    refused: float
    balanced: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Advice:
    """The threshold to use; `change` says whether it is surely better than the one in use, `why` what that rests on."""

    point: Point
    used: Point
    change: bool
    why: str


def at(threshold: float, judged: Sequence[Judged]) -> Point:
    """What a threshold does. The interval is that of Agresti and Caffo, which holds for small sets and for shares of 0 and 1."""
    sure = [one.confidence >= threshold for one in judged if not one.refuse]
    unsure = [one.confidence < threshold for one in judged if one.refuse]
    answered, refused = _share(sure), _share(unsure)
    drawn = [((sum(kind) + 1) / (len(kind) + 2), len(kind) + 2) for kind in (sure, unsure)]
    middle = sum(share for share, _ in drawn) / 2
    spread = _NORMAL * math.sqrt(sum(share * (1 - share) / size for share, size in drawn)) / 2
    balanced = (answered + refused) / 2
    return Point(
        threshold, answered, refused, balanced,
        max(0.0, min(middle - spread, balanced)), min(1.0, max(middle + spread, balanced)),
    )  # fmt: skip


def curve(judged: Sequence[Judged]) -> list[Point]:
    """The thresholds from 0 to 1 in even steps."""
    return [at(step / _STEPS, judged) for step in range(_STEPS + 1)]


def advise(judged: Sequence[Judged], used: float) -> Advice:
    """The best threshold, in the middle of where it makes no difference; the one in use where no other is surely better."""
    now = at(used, judged)
    few, kind = min((sum(one.refuse == refuse for one in judged), name) for refuse, name in _KINDS)
    if few < FEWEST:
        why = f"the set has only {counted(few, 'question')} to {kind}: too few to tell, {FEWEST} are the least"
        return Advice(now, now, False, why)
    points = [at(threshold, judged) for threshold in _between(judged)]
    best = max(points, key=lambda point: (point.balanced, -abs(point.threshold - used)))
    if best.balanced <= now.balanced:
        return Advice(now, now, False, "none does better on this set")
    if now.balanced >= best.low:
        return Advice(
            best, now, False, "better on this set, but by less than chance may bring: more questions would tell"
        )
    return Advice(best, now, True, "better by more than chance")


def _between(judged: Sequence[Judged]) -> list[float]:
    """One threshold between any two neighbouring confidences, to two decimals where that still lies between them."""
    met = sorted({0.0, *(one.confidence for one in judged), 1.0})
    found = []
    for low, high in pairwise(met):
        middle = (low + high) / 2
        found.append(round(middle, 2) if low < round(middle, 2) <= high else middle)
    return found


def _share(flags: Sequence[bool]) -> float:
    return sum(flags) / len(flags) if flags else math.nan
