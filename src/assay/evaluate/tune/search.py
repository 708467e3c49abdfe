"""Looking for better numbers: one change after the other, each of which must gain more than the noise of the set.

Every value of every number is tried alone first. Then the best change is made, and the most promising others are tried beside it, and so on.
What is not worth its place is taken back at the end: fewer changes win ties.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np

from assay.evaluate.metrics.judged import Floats
from assay.evaluate.statistics.units import labels_of, units_of
from assay.evaluate.tune.folds import Rows
from assay.evaluate.tune.numbers import Changes, Values, changed

MOST_CHANGES = 6  # the sixth never brought anything that held
NOISE = 1.0  # standard errors by which a change must gain
SHORTLIST = 8  # numbers that are tried again beside the changes made

Figures = Callable[[Sequence[Changes]], Sequence[Floats]]  # the figure of each query, for each of some changes


@dataclass(frozen=True, slots=True)
class Gain:
    """What a change brings over what was before, on average, and the least it brings when luck is taken off."""

    mean: float
    least: float


def gain(before: Floats, after: Floats, clusters: Sequence[str] | None = None) -> Gain:
    """The mean difference, and the same less the noise, by clusters where there are any; queries without a figure do not count."""
    difference = after - before
    known = ~np.isnan(difference)
    units = units_of(difference[known], labels_of(clusters, known))
    if units.count < 2:
        return Gain(0.0, -math.inf)
    mean = round(units.mean, 12)
    return Gain(mean, mean - NOISE * units.standard_error)


def search(
    figures: Figures, values: Values, base: Mapping[str, float], rows: Rows, clusters: Sequence[str] | None = None
) -> Changes:
    """The changes of the base that are best on some of the queries; none when none is better by more than noise."""
    labels = list(compress(clusters, rows)) if clusters else None

    def tried(present: Changes, candidates: Sequence[Changes]) -> list[tuple[Gain, Changes]]:
        """The candidates with what each gains over the present, best first; of equal ones the first."""
        before, *after = (one[rows] for one in figures([present, *candidates]))
        gains = [(gain(before, one, labels), candidate) for one, candidate in zip(after, candidates, strict=True)]
        return sorted(gains, key=lambda pair: -pair[0].least)

    present: Changes = ()
    alone = tried(present, singles(values, base))
    promising = alone
    while promising and promising[0][0].least > 0:
        present = promising[0][1]
        if len(present) == MOST_CHANGES:
            break
        promising = tried(present, beside(present, [one for _, one in alone], values, base))
    return _pruned(present, tried)


def singles(values: Values, base: Mapping[str, float]) -> list[Changes]:
    """Every value of every number by itself."""
    return [((name, value),) for name, tried in values.items() for value in tried if value != base[name]]


def beside(present: Changes, alone: Sequence[Changes], values: Values, base: Mapping[str, float]) -> list[Changes]:
    """What to try next: the best value of the numbers that promise most, and the neighbouring values of those that were changed."""
    made = dict(present)
    best: dict[str, float] = {}
    for ((name, value),) in alone:
        if name not in made:
            best.setdefault(name, value)
    more = [changed(present, name, value) for name, value in list(best.items())[:SHORTLIST]]
    return more + [changed(present, name, value) for name in made for value in _neighbours(name, made, values, base)]


def _neighbours(name: str, made: Mapping[str, float], values: Values, base: Mapping[str, float]) -> list[float]:
    """The next lower and the next higher value of a number; the base's own is no change."""
    ordered = sorted({*values[name], base[name]})
    place = ordered.index(made[name])
    return [value for value in ordered[max(place - 1, 0) : place + 2] if value not in (made[name], base[name])]


def _pruned(present: Changes, tried: Callable[[Changes, Sequence[Changes]], list[tuple[Gain, Changes]]]) -> Changes:
    """Without the changes that bring nothing now that the others are made."""
    while len(present) > 1:
        shorter = tried(present, [changed(present, name, None) for name, _ in present])
        free = max(shorter, key=lambda pair: pair[0].mean)
        if free[0].mean < 0:
            break
        present = free[1]
    return present
