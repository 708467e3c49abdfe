"""Nested cross-validation over folds: the parameters, their values, and the greedy search."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from assay.core.golden import GoldenQuery
from assay.evaluate.metrics.judged import Floats
from assay.evaluate.statistics import Paired, detectable, paired, queries_needed, summary
from assay.evaluate.statistics.intervals import labels_of, units_of

Values = Mapping[str, tuple[float, ...]]
Changes = tuple[tuple[str, float], ...]  # numbers with other values than the base has, by name

# a few steps to either side of the default, wide enough that the best is rarely outside
TUNED: Values = {
    "coverage": (0.3, 0.5, 0.85, 1.0),
    "name_precision": (0.0, 0.15, 0.6, 1.0),
    "phrase": (0.25, 0.5),
    "authority": (0.0, 0.35, 1.2, 2.0),
    "history": (0.0, 0.7, 1.5, 3.0),
    "touched": (0.0, 0.3, 1.0, 2.0),
    "documents": (0.0, 0.25, 1.0, 2.0),
    "fusion": (0.0, 0.25, 1.0, 2.0),
    "container_share": (0.0, 0.2, 0.6, 0.8),
    "member_share": (0.0, 0.15, 0.3, 0.8),
    "walk": (0.0, 0.5, 1.0, 2.5),
    "hits": (0.0, 0.25, 1.0),
    "folder": (0.0, 0.15, 0.6, 1.0),
    "test_weight": (0.1, 0.5, 1.0),
    "overload": (0.1, 0.5, 1.0),
    "namesake": (0.25, 0.75, 1.0),
    "own": (0.0, 1.0, 4.0),
}

OF_HISTORY = ("history", "touched")  # know the answers of a set that was mined from the history they read


def without(names: Collection[str], values: Values = TUNED) -> Values:
    """The table without some numbers."""
    return {name: tried for name, tried in values.items() if name not in names}


def changed(changes: Changes, name: str, value: float | None) -> Changes:
    """The changes with one more, or another value of one; None takes it back."""
    rest = {known: number for known, number in changes if known != name}
    return tuple(sorted((rest if value is None else rest | {name: value}).items()))


def written(changes: Changes) -> str:
    """As in a SPEC: `hits=0.25,walk=1`; empty for none."""
    return ",".join(f"{name}={value:g}" for name, value in changes)


# Folds: parts of a golden set, each of which is measured with what was tuned on the others.

FOLDS = 5  # each tuning sees four fifths of the set, and all of it is measured

Rows = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Folds:
    """The number of each query's fold, and what they were made by: repository, time or text."""

    by: str
    of: tuple[int, ...]

    @property
    def count(self) -> int:
        return max(self.of, default=-1) + 1

    def held_out(self, fold: int) -> Rows:
        """Which queries are in a fold."""
        return np.array([one == fold for one in self.of], np.bool_)


def split(queries: Sequence[GoldenQuery]) -> Folds:
    """The folds of a golden set; the same whatever the order of its queries."""
    if len({query.repository for query in queries}) > 1:
        return Folds("repository", _packed([query.repository for query in queries]))
    if queries and all(_when(query) for query in queries):
        return Folds("time", _stretches(queries, lambda query: (_when(query), query.id)))
    return Folds("text", _stretches(queries, lambda query: hashlib.sha256(query.text.encode()).hexdigest()))


def _when(query: GoldenQuery) -> float:
    """When a mined query was committed, in seconds; 0 when it does not say."""
    try:
        return datetime.fromisoformat(query.notes).timestamp()
    except (ValueError, OverflowError, OSError):
        return 0.0


def _stretches(queries: Sequence[GoldenQuery], key: Callable[[GoldenQuery], Hashable]) -> tuple[int, ...]:
    """Neighbours by a key in one fold, the folds of nearly one size; queries with the same key stay together."""
    keys = [key(query) for query in queries]
    ordered = sorted(set(keys))  # type: ignore[type-var]
    fold = {one: place * FOLDS // len(ordered) for place, one in enumerate(ordered)}
    return _numbered([fold[one] for one in keys])


def _packed(labels: Sequence[str]) -> tuple[int, ...]:
    """Whole groups, the largest first, each into the fold that has least."""
    filled = [0] * FOLDS
    fold: dict[str, int] = {}
    for label, size in sorted(Counter(labels).items(), key=lambda pair: (-pair[1], pair[0])):
        fold[label] = filled.index(min(filled))
        filled[fold[label]] += size
    return _numbered([fold[label] for label in labels])


def _numbered(folds: Sequence[int]) -> tuple[int, ...]:
    """Without gaps: a set of three repositories has three folds."""
    places = {fold: place for place, fold in enumerate(sorted(set(folds)))}
    return tuple(places[fold] for fold in folds)


# Looking for better numbers: one change after the other, each of which must gain more than the noise of the set.

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


# What a tuning amounts to: a gain, none that is more than chance, or too few queries to tell.

ALPHA = 0.05
LEAST = 40  # judged queries; with fewer, a fold has less than eight
LARGEST = 0.05  # about the most that tuning brings (docs/guides/tune.md): what a set must be able to show

GAIN, NO_GAIN, TOO_FEW = "gain", "no gain", "too few queries"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome, the comparison of base and tuned on held-out queries, and how many queries would tell."""

    outcome: str
    held_out: Paired
    needed: int = (
        0  # queries that show a gain of LARGEST where differences spread like these; 0 unless they are too few
    )


def judge(base: Floats, tuned: Floats, clusters: Sequence[str] | None = None) -> Verdict:
    """Figures of each query by the base, and by what was tuned without it."""
    pair = paired(base, tuned, clusters=clusters if enough(clusters) else None)
    if pair.delta > 0 and pair.p < ALPHA:
        return Verdict(GAIN, pair)
    spread = summary(tuned - base).sd
    if spread > 0 and detectable(spread, pair.n) > LARGEST and pair.interval.high >= LARGEST:
        return Verdict(TOO_FEW, pair, queries_needed(LARGEST, spread))
    return Verdict(NO_GAIN, pair)


def enough(clusters: Sequence[str] | None) -> bool:
    """Whether there are so many clusters that their signs can tell anything: five cannot, whatever they show."""
    return clusters is not None and 2.0 ** (1 - len(set(clusters))) <= ALPHA


# Nested cross-validation: numbers are looked for on all folds but one and measured on that one, so that no query
# judges what it helped to choose.


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
