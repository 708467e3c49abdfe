"""Nested cross-validation: numbers are looked for on all folds but one and measured on that one, so that no query judges what it helped to choose."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assay.evaluate.metrics.judged import Floats
from assay.evaluate.tune.folds import Folds
from assay.evaluate.tune.numbers import Changes, Values, changed
from assay.evaluate.tune.search import Figures, search
from assay.evaluate.tune.verdict import GAIN, NO_GAIN, Verdict, judge


@dataclass(frozen=True, slots=True)
class Fold:
    """What was chosen without a fold's queries, and their mean figure by the base and by that."""

    queries: int
    changes: Changes
    base: float
    tuned: float


@dataclass(frozen=True, slots=True)
class Tuned:
    """A tuning after it ended. Figures are of all queries, in their order."""

    changes: Changes  # chosen on all queries: what is written
    base: Floats
    tuned: Floats  # by them; on the queries they were chosen on, so too good to believe
    without: Mapping[str, Floats]  # the same without each of the changes
    held_out: Floats  # each query by what was chosen without its fold
    folds: Sequence[Fold]
    verdict: Verdict


def cross(
    figures: Figures,
    values: Values,
    base: Mapping[str, float],
    folds: Folds,
    clusters: Sequence[str] | None = None,
    begin: Callable[[str], None] = lambda stage: None,
) -> Tuned:
    """Chooses and measures by turns, then chooses on everything. `begin` is told what comes next."""
    before = figures([()])[0]
    held_out = np.full(len(before), np.nan)
    measured = []
    for number in range(folds.count):
        begin(f"fold {number + 1} of {folds.count}")
        rows = folds.held_out(number)
        chosen = search(figures, values, base, ~rows, clusters)
        held_out[rows] = figures([chosen])[0][rows]
        measured.append(Fold(_count(before[rows]), chosen, _mean(before[rows]), _mean(held_out[rows])))
    begin("all queries")
    changes = search(figures, values, base, np.ones(len(before), np.bool_), clusters)
    after, *without = figures([changes, *(changed(changes, name, None) for name, _ in changes)])
    each = {name: one for (name, _), one in zip(changes, without, strict=True)}
    verdict = judge(before, held_out, clusters)
    if not changes and verdict.outcome == GAIN:  # what single folds chose is of no use when all of them choose nothing
        verdict = Verdict(NO_GAIN, verdict.held_out)
    return Tuned(changes, before, after, each, held_out, measured, verdict)


def _count(figures: Floats) -> int:
    return int(np.count_nonzero(~np.isnan(figures)))


def _mean(figures: Floats) -> float:
    known = figures[~np.isnan(figures)]
    return float(known.mean()) if len(known) else float("nan")
