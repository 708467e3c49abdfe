"""Paired significance tests, Holm correction and effect sizes."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from assay.evaluate.statistics import intervals as student
from assay.evaluate.statistics.intervals import (
    ALPHA,
    BLOCK,
    RESAMPLES,
    WORK,
    Clusters,
    Floats,
    Interval,
    Units,
    detectable_with,
    floats,
    interval_of,
    labels_of,
    summary,
    units_of,
    without_noise,
)

_EXACT = 16  # log2 of the sign patterns that are enumerated rather than drawn
_WILCOXON_EXACT = 25  # the classical limit of its tables
_TIE = 1e-9  # relative; sums this near to each other differ only by rounding


class Outcome(NamedTuple):
    """The outcome of a test: a two-sided p, and how it was found."""

    p: float
    method: str


def randomisation(totals: Floats, resamples: int = RESAMPLES, seed: int = 0) -> Outcome:
    """Fisher's paired randomisation test: how often random signs give a sum at least as far from 0 as the observed one.

    Takes the differences, or their totals per cluster to flip clusters as a whole. Equal magnitudes are flipped together as a
    binomial, so that many coarse metrics are enumerated exactly; always with up to 16 differences that are not zero.
    """
    magnitudes, counts = np.unique(np.abs(totals[totals != 0]), return_counts=True)
    if not len(magnitudes):
        return Outcome(1.0, "no differences")
    least = abs(float(totals.sum())) - _TIE * float(magnitudes @ counts)
    if np.log2(counts + 1).sum() <= _EXACT:
        return Outcome(_exact_flips(magnitudes, counts, least), "exact randomisation")
    flipped = int(counts.sum())
    if flipped * resamples > WORK:
        spread = math.sqrt(float(magnitudes**2 @ counts))
        return Outcome(_normal_p(float(totals.sum()) / spread), "normal approximation of randomisation")
    extreme = _count_random_flips(np.repeat(magnitudes, counts), least, resamples, seed)
    return Outcome((extreme + 1) / (resamples + 1), f"randomisation, {resamples:,} resamples")


def _exact_flips(magnitudes: Floats, counts: np.ndarray[tuple[int], np.dtype[np.intp]], least: float) -> float:
    """The share of all sign patterns whose sum is at least `least` from 0."""
    sums, chances = np.zeros(1), np.ones(1)
    for magnitude, count in zip(magnitudes, counts, strict=True):
        positive = np.arange(count + 1)
        sums = np.add.outer(sums, magnitude * (2 * positive - count)).ravel()
        chances = np.multiply.outer(chances, _binomial(int(count))).ravel()
    return float(chances[np.abs(sums) >= least].sum() / chances.sum())


def _binomial(count: int) -> Floats:
    """The probabilities of 0..count heads of a fair coin. In logarithms: the coefficients overflow beyond 1,000."""
    k = np.arange(1, count + 1)
    logarithms = np.cumsum(np.log((count - k + 1) / k)) - count * math.log(2)
    return np.exp(np.concatenate(([-count * math.log(2)], logarithms)))


def _count_random_flips(magnitudes: Floats, least: float, resamples: int, seed: int) -> int:
    """How many of `resamples` random sign patterns give a sum at least `least` from 0."""
    generator = np.random.default_rng(seed)
    n, total = len(magnitudes), float(magnitudes.sum())
    rows = max(1, BLOCK // n)
    extreme = 0
    for start in range(0, resamples, rows):
        flips = min(rows, resamples - start) * n
        drawn = np.frombuffer(generator.bytes((flips + 7) // 8), dtype=np.uint8)
        positive = np.unpackbits(drawn, count=flips).reshape(-1, n) @ magnitudes
        extreme += int((np.abs(2 * positive - total) >= least).sum())
    return extreme


def wilcoxon(differences: Floats) -> Outcome:
    """Wilcoxon's signed-rank test: zeros left out, equal magnitudes share their mean rank.

    Exact up to 25 differences without ties, else normal with the variance corrected for ties, without continuity correction.
    """
    kept = differences[differences != 0]
    n = len(kept)
    if not n:
        return Outcome(1.0, "no differences")
    magnitudes, counts = np.unique(np.abs(kept), return_counts=True)
    ranks = np.cumsum(counts) - (counts - 1) / 2
    gains, times = np.unique(kept[kept > 0], return_counts=True)
    positive = float(ranks[np.searchsorted(magnitudes, gains)] @ times)
    if n <= _WILCOXON_EXACT and len(counts) == n:
        return Outcome(_exact_ranks(n, round(positive)), "exact Wilcoxon")
    cubes = counts.astype(np.float64)
    variance = (n * (n + 1) * (2 * n + 1) - float((cubes**3 - cubes).sum()) / 2) / 24
    return Outcome(_normal_p((positive - n * (n + 1) / 4) / math.sqrt(variance)), "Wilcoxon, normal approximation")


def _exact_ranks(n: int, positive: int) -> float:
    """The two-sided probability that a random half of the ranks 1..n sums to something as extreme as `positive`."""
    ways = np.ones(1)
    for rank in range(1, n + 1):
        ways = np.pad(ways, (0, rank)) + np.pad(ways, (rank, 0))
    tail = min(ways[: positive + 1].sum(), ways[positive:].sum())
    return min(1.0, float(tail) * 2.0 ** (1 - n))


def student_t(units: Units) -> Outcome:
    """The paired t-test. With clusters on the cluster-robust standard error; for clusters of one size that is t on their means.

    Differences that are all alike but not zero have no spread: p = 0. Fewer than two units cannot be tested: p is NaN.
    """
    error = units.standard_error
    if not units.totals.any():
        return Outcome(1.0, "no differences")
    if math.isnan(error):
        return Outcome(math.nan, "none: fewer than 2 differences")
    t = units.mean / error if error else math.inf
    return Outcome(student.two_sided_p(t, units.count - 1), "paired t")


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """The p-values adjusted by Holm: below alpha after it, the chance of any false alarm among them is below alpha.

    In the order given. NaN (not tested) stays NaN and does not count.
    """
    tested = sorted((name for name, p in p_values.items() if not math.isnan(p)), key=lambda name: p_values[name])
    adjusted = dict(p_values)
    highest = 0.0
    for rank, name in enumerate(tested):
        highest = max(highest, min(1.0, (len(tested) - rank) * p_values[name]))
        adjusted[name] = highest
    return adjusted


def _normal_p(z: float) -> float:
    """The two-sided tail of the normal distribution; erfc keeps small values exact."""
    return math.erfc(abs(z) / math.sqrt(2))


# Two runs of one golden set, query by query: how much better is the second, and can it be chance?


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
