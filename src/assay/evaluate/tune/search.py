"""Nested cross-validation: tuned parameters, folds, greedy search and verdict."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import compress
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from assay.core.golden import GoldenQuery
from assay.evaluate.judging import Floats
from assay.evaluate.statistics import Paired, detectable, paired, queries_needed, summary
from assay.evaluate.statistics.intervals import labels_of, units_of

Values = Mapping[str, tuple[float, ...]]
Changes = tuple[tuple[str, float], ...]  # changed parameters as (name, value), by name


def without(names: Collection[str], values: Values) -> Values:
    """Return the value table without some parameters."""
    return {name: candidates for name, candidates in values.items() if name not in names}


def changed(changes: Changes, name: str, value: float | None) -> Changes:
    """Return the changes with a parameter set to a value, or reset if None."""
    others = {other: other_value for other, other_value in changes if other != name}
    return tuple(sorted((others if value is None else others | {name: value}).items()))


def format_changes(changes: Changes) -> str:
    """Format changes as in a SPEC: `hits=0.25,walk=1`."""
    return ",".join(f"{name}={value:g}" for name, value in changes)


# Folds

FOLDS = 5  # each search sees four fifths of the set

Rows = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Folds:
    """Fold number of each query; folds are made by repository, time or text."""

    by: str
    of: tuple[int, ...]

    @property
    def count(self) -> int:
        return max(self.of, default=-1) + 1

    def held_out(self, fold: int) -> Rows:
        """Return a mask of the queries in a fold."""
        return np.array([number == fold for number in self.of], np.bool_)


def split(queries: Sequence[GoldenQuery]) -> Folds:
    """Split a golden set into folds, independent of the order of its queries."""
    if len({query.repository for query in queries}) > 1:
        return Folds("repository", _pack_groups([query.repository for query in queries]))
    if queries and all(_commit_time(query) for query in queries):
        return Folds("time", _contiguous(queries, lambda query: (_commit_time(query), query.id)))
    return Folds("text", _contiguous(queries, lambda query: hashlib.sha256(query.text.encode()).hexdigest()))


def _commit_time(query: GoldenQuery) -> float:
    """Return the commit time of a mined query in seconds; 0 if unknown."""
    try:
        return datetime.fromisoformat(query.notes).timestamp()
    except (ValueError, OverflowError, OSError):
        return 0.0


def _contiguous(queries: Sequence[GoldenQuery], key: Callable[[GoldenQuery], Hashable]) -> tuple[int, ...]:
    """Put neighbours by key into folds of nearly equal size; equal keys stay together."""
    keys = [key(query) for query in queries]
    ordered = sorted(set(keys))  # type: ignore[type-var]
    fold = {key_value: position * FOLDS // len(ordered) for position, key_value in enumerate(ordered)}
    return _renumber([fold[key_value] for key_value in keys])


def _pack_groups(labels: Sequence[str]) -> tuple[int, ...]:
    """Assign whole groups, largest first, to the smallest fold."""
    sizes = [0] * FOLDS
    fold: dict[str, int] = {}
    for label, size in sorted(Counter(labels).items(), key=lambda pair: (-pair[1], pair[0])):
        fold[label] = sizes.index(min(sizes))
        sizes[fold[label]] += size
    return _renumber([fold[label] for label in labels])


def _renumber(folds: Sequence[int]) -> tuple[int, ...]:
    """Renumber folds without gaps: three repositories make three folds."""
    numbers = {fold: number for number, fold in enumerate(sorted(set(folds)))}
    return tuple(numbers[fold] for fold in folds)


# Greedy forward search: each change must gain more than the noise

MOST_CHANGES = 6  # a sixth change never generalized
NOISE = 1.0  # standard errors a change must gain
SHORTLIST = 8  # parameters retried together with the current changes

Figures = Callable[[Sequence[Changes]], Sequence[Floats]]  # per-query figures for each set of changes


@dataclass(frozen=True, slots=True)
class Gain:
    """Mean gain of a change, and its lower bound (mean minus noise)."""

    mean: float
    least: float


def gain(before: Floats, after: Floats, clusters: Sequence[str] | None = None) -> Gain:
    """Return the gain over the judged queries, with the standard error by clusters if given."""
    difference = after - before
    judged = ~np.isnan(difference)
    units = units_of(difference[judged], labels_of(clusters, judged))
    if units.count < 2:
        return Gain(0.0, -math.inf)
    mean = round(units.mean, 12)
    return Gain(mean, mean - NOISE * units.standard_error)


def search(
    figures: Figures, values: Values, base: Mapping[str, float], rows: Rows, clusters: Sequence[str] | None = None
) -> Changes:
    """Return the changes of the base that are best on the selected queries; empty if none beats the noise."""
    labels = list(compress(clusters, rows)) if clusters else None

    def rank_candidates(current: Changes, candidates: Sequence[Changes]) -> list[tuple[Gain, Changes]]:
        """Return the candidates with their gains over the current changes, best first."""
        before, *after = (figures_after[rows] for figures_after in figures([current, *candidates]))
        gains = [
            (gain(before, figures_after, labels), candidate)
            for figures_after, candidate in zip(after, candidates, strict=True)
        ]
        return sorted(gains, key=lambda pair: -pair[0].least)

    current: Changes = ()
    alone = rank_candidates(current, singles(values, base))
    promising = alone
    while promising and promising[0][0].least > 0:
        current = promising[0][1]
        if len(current) == MOST_CHANGES:
            break
        promising = rank_candidates(
            current, next_candidates(current, [figures_after for _, figures_after in alone], values, base)
        )
    return _prune(current, rank_candidates)


def singles(values: Values, base: Mapping[str, float]) -> list[Changes]:
    """Return every alternative value of every parameter as a single change."""
    return [((name, value),) for name, candidates in values.items() for value in candidates if value != base[name]]


def next_candidates(
    present: Changes, alone: Sequence[Changes], values: Values, base: Mapping[str, float]
) -> list[Changes]:
    """Return the next candidates: promising parameters at their best value, and neighbours of changed values."""
    chosen = dict(present)
    best: dict[str, float] = {}
    for ((name, value),) in alone:
        if name not in chosen:
            best.setdefault(name, value)
    additions = [changed(present, name, value) for name, value in list(best.items())[:SHORTLIST]]
    return additions + [
        changed(present, name, value) for name in chosen for value in _neighbours(name, chosen, values, base)
    ]


def _neighbours(name: str, chosen: Mapping[str, float], values: Values, base: Mapping[str, float]) -> list[float]:
    """Return the next lower and higher values of a parameter, except the base's."""
    ordered = sorted({*values[name], base[name]})
    position = ordered.index(chosen[name])
    return [value for value in ordered[max(position - 1, 0) : position + 2] if value not in (chosen[name], base[name])]


def _prune(
    current: Changes, rank_candidates: Callable[[Changes, Sequence[Changes]], list[tuple[Gain, Changes]]]
) -> Changes:
    """Remove changes that gain nothing given the others."""
    while len(current) > 1:
        shorter = rank_candidates(current, [changed(current, name, None) for name, _ in current])
        removal = max(shorter, key=lambda pair: pair[0].mean)
        if removal[0].mean < 0:
            break
        current = removal[1]
    return current


# Verdict

ALPHA = 0.05
LEAST = 40  # judged queries; with fewer, a fold has less than eight
LARGEST = 0.05  # about the largest gain of tuning (docs/guides/tune.md), which a set must be able to detect

GAIN, NO_GAIN, TOO_FEW = "gain", "no gain", "too few queries"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Outcome, paired comparison of base and tuned on held-out queries, and the number of queries needed."""

    outcome: str
    held_out: Paired
    p: float  # of `held_out`, corrected for folds that share training queries
    needed: int = 0  # queries that would detect a gain of LARGEST; 0 unless there are too few


def judge(base: Floats, tuned: Floats, clusters: Sequence[str] | None = None) -> Verdict:
    """Judge tuned against base figures; each query's tuned figure comes from a search without its fold."""
    # five clusters are never enough for a sign test over them to be significant
    enough = clusters is not None and 2.0 ** (1 - len(set(clusters))) <= ALPHA
    pair = paired(base, tuned, clusters=clusters if enough else None)
    p = corrected_p(pair.p)
    if pair.delta > 0 and p < ALPHA:
        return Verdict(GAIN, pair, p)
    spread = summary(tuned - base).sd
    if spread > 0 and detectable(spread, pair.n) > LARGEST and pair.interval.high >= LARGEST:
        return Verdict(TOO_FEW, pair, p, queries_needed(LARGEST, spread))
    return Verdict(NO_GAIN, pair, p)


def corrected_p(p: float, folds: int = FOLDS) -> float:
    """Return a p-value of cross-validated differences, corrected for the queries that the folds' searches share.

    Searches that share training queries choose alike, so held-out differences are correlated and an uncorrected test is
    too eager. Nadeau and Bengio (2003) multiply the variance by 1 + folds × (test size / training size).
    """
    if not 0 < p < 1:
        return p
    normal = NormalDist()
    inflation = math.sqrt(1 + folds / (folds - 1))
    return 2 * normal.cdf(normal.inv_cdf(p / 2) / inflation)


# Nested cross-validation: no query judges changes it helped to choose


@dataclass(frozen=True, slots=True)
class Fold:
    """A fold: changes chosen without its queries, and its mean figures by the base and by these changes."""

    queries: int
    changes: Changes
    base: float
    tuned: float


@dataclass(frozen=True, slots=True)
class Tuned:
    """A finished tuning. Figures are per query, in order."""

    changes: Changes  # chosen on all queries; the result
    base: Floats
    tuned: Floats  # with these changes; in-sample, so optimistic
    without: Mapping[str, Floats]  # with all but one change, by its name
    held_out: Floats  # each query with the changes chosen without its fold
    folds: Sequence[Fold]
    verdict: Verdict


def cross_validate(
    figures: Figures,
    values: Values,
    base: Mapping[str, float],
    folds: Folds,
    clusters: Sequence[str] | None = None,
    begin: Callable[[str], None] = lambda stage: None,
) -> Tuned:
    """Search and measure per fold, then search on all queries. `begin` is called with each stage's name."""
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
    without_change = {name: values_without for (name, _), values_without in zip(changes, without, strict=True)}
    verdict = judge(before, held_out, clusters)
    if not changes and verdict.outcome == GAIN:  # there is nothing to write if the whole set yields no change
        verdict = Verdict(NO_GAIN, verdict.held_out, verdict.p)
    return Tuned(changes, before, after, without_change, held_out, measured, verdict)


def _count(figures: Floats) -> int:
    return int(np.count_nonzero(~np.isnan(figures)))


def _mean(figures: Floats) -> float:
    judged = figures[~np.isnan(figures)]
    return float(judged.mean()) if len(judged) else float("nan")
