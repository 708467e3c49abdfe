"""Two runs of one golden set, query by query: how much better is the second, and can it be chance?"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from assay.evaluate.statistics.bootstrap import RESAMPLES, Interval, interval_of
from assay.evaluate.statistics.describe import summary
from assay.evaluate.statistics.power import ALPHA, detectable_with
from assay.evaluate.statistics.significance import randomisation, student_t, wilcoxon
from assay.evaluate.statistics.units import Clusters, Floats, Units, floats, labels_of, units_of, without_noise


@dataclass(frozen=True, slots=True)
class Paired:
    """The comparison of b with a over the queries measured in both. Differences are b - a, so a win is a query where b is higher."""

    n: int
    dropped: int  # pairs left out because one side was not measured
    clusters: int  # 0 when every query stands for itself
    mean_a: float
    mean_b: float
    delta: float
    interval: Interval  # of delta, 95 %
    p: float  # randomisation test
    p_wilcoxon: float
    p_t: float
    effect: float | None  # Cohen's d_z, delta in standard deviations of the differences; None when all are alike
    wins: int
    losses: int
    ties: int
    detectable: float  # smallest true difference found with 80 % power; NaN when the differences have no spread
    method: str  # of p
    notes: tuple[str, ...] = ()


def paired(
    a: ArrayLike, b: ArrayLike, *, clusters: Clusters | None = None, resamples: int = RESAMPLES, seed: int = 0
) -> Paired:
    """Compare two arrays of one value per query, in the same order. NaN on either side leaves the pair out.

    With `clusters`, a label per query, clusters are drawn, flipped and counted as a whole; Wilcoxon sees the mean of each.
    """
    first, second = floats(a), floats(b)
    if len(first) != len(second):
        raise ValueError(f"{len(first)} values paired with {len(second)}")
    kept = np.isfinite(first) & np.isfinite(second)
    first, second = first[kept], second[kept]
    labels = labels_of(clusters, kept)
    differences = _differences(first, second)
    units = units_of(differences, labels)
    delta, error = _delta(units, differences), units.standard_error
    test = randomisation(units.totals, resamples, seed)
    return Paired(
        n=len(differences),
        dropped=int((~kept).sum()),
        clusters=units.count if units.clustered else 0,
        mean_a=units_of(first).mean,
        mean_b=units_of(second).mean,
        delta=delta,
        interval=_interval(units, delta, resamples, seed),
        p=test.p,
        p_wilcoxon=wilcoxon(units.means).p,
        p_t=student_t(units).p,
        effect=_effect(delta, summary(differences).sd),
        wins=int((differences > 0).sum()),
        losses=int((differences < 0).sum()),
        ties=int((differences == 0).sum()),
        detectable=detectable_with(error, units.count - 1) if error > 0 else math.nan,
        method=test.method,
        notes=tuple(_notes(units, labels)),
    )


def _differences(a: Floats, b: Floats) -> Floats:
    """b - a, free of rounding: a difference in the 17th digit is a tie, and equal differences rank equally."""
    largest = max(np.abs(a).max(initial=0.0), np.abs(b).max(initial=0.0))
    return without_noise(b - a, float(largest))


def _delta(units: Units, differences: Floats) -> float:
    """The mean difference, free of rounding too: gains and losses that cancel out give 0."""
    return float(without_noise(np.array([units.mean]), float(np.abs(differences).max(initial=0.0)))[0])


def _interval(units: Units, delta: float, resamples: int, seed: int) -> Interval:
    """The bootstrap interval of the mean difference, drawn from the winner's side: swapping the runs mirrors it exactly."""
    if units.count and not units.totals.any():
        return Interval(0.0, 0.0, "no differences")
    if not delta < 0:
        return interval_of(units, resamples=resamples, seed=seed)
    mirrored = interval_of(units.negated(), resamples=resamples, seed=seed)
    return Interval(-mirrored.high, -mirrored.low, mirrored.method)


def _effect(delta: float, sd: float) -> float | None:
    """Cohen's d of paired differences. Undefined where every difference is the same; 0 where every one is 0."""
    if sd > 0:
        return delta / sd
    return 0.0 if delta == 0 else None


def _notes(units: Units, labels: list[Hashable] | None) -> Iterator[str]:
    """What a reader must know before believing p."""
    if labels and not units.clustered and len(set(labels)) == 1:
        yield "all queries are in one cluster: each was taken by itself"
    differing = int(np.count_nonzero(units.totals))
    least = 2.0 ** (1 - differing)  # all signs alike, in both directions, of all sign patterns
    if differing and least > ALPHA:
        units_named = "clusters" if units.clustered else "queries"
        yield f"p cannot be below {least:.4g} with {differing} of {units.count} {units_named} differing"
