"""Paired significance tests, Holm correction and effect sizes."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

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
    difference_interval,
    floats,
    labels_of,
    summary,
    two_sided_p,
    units_of,
    without_noise,
)

_MAX_EXACT_BITS = 16  # log2 of the sign patterns enumerated instead of sampled
_MAX_EXACT_WILCOXON = 25  # differences; the classical limit of the tables
_TIE_TOLERANCE = 1e-9  # relative; sums closer than this differ only by rounding


class Outcome(NamedTuple):
    """A two-sided p and the test that produced it."""

    p: float
    method: str


def randomisation(totals: Floats, resamples: int = RESAMPLES, seed: int = 0) -> Outcome:
    """Fisher's paired randomisation test: how often random signs give a sum at least as far from 0 as the observed one.

    Takes the differences, or their totals per cluster to flip clusters as a whole. Equal magnitudes are flipped
    together as a binomial, so that many coarse metrics are enumerated exactly; up to 16 non-zero differences always
    are.
    """
    magnitudes, counts = np.unique(np.abs(totals[totals != 0]), return_counts=True)
    if not len(magnitudes):
        return Outcome(1.0, "no differences")
    threshold = abs(float(totals.sum())) - _TIE_TOLERANCE * float(magnitudes @ counts)
    if np.log2(counts + 1).sum() <= _MAX_EXACT_BITS:
        return Outcome(_exact_sign_flip_p(magnitudes, counts, threshold), "exact randomisation")
    flipped = int(counts.sum())
    if flipped * resamples > WORK:
        spread = math.sqrt(float(magnitudes**2 @ counts))
        return Outcome(_two_sided_normal_p(float(totals.sum()) / spread), "normal approximation of randomisation")
    extreme = _count_extreme_flips(np.repeat(magnitudes, counts), threshold, resamples, seed)
    return Outcome((extreme + 1) / (resamples + 1), f"randomisation, {resamples:,} resamples")


def _exact_sign_flip_p(
    magnitudes: Floats, counts: np.ndarray[tuple[int], np.dtype[np.intp]], threshold: float
) -> float:
    """Return the share of all sign patterns whose sum is at least `threshold` from 0."""
    sums, probabilities = np.zeros(1), np.ones(1)
    for magnitude, count in zip(magnitudes, counts, strict=True):
        positive = np.arange(count + 1)
        sums = np.add.outer(sums, magnitude * (2 * positive - count)).ravel()
        probabilities = np.multiply.outer(probabilities, _binomial(int(count))).ravel()
    return float(probabilities[np.abs(sums) >= threshold].sum() / probabilities.sum())


def _binomial(count: int) -> Floats:
    """Return P(0..count heads) of a fair coin, by logarithms: the coefficients overflow beyond 1,000."""
    k = np.arange(1, count + 1)
    logarithms = np.cumsum(np.log((count - k + 1) / k)) - count * math.log(2)
    return np.exp(np.concatenate(([-count * math.log(2)], logarithms)))


def _count_extreme_flips(magnitudes: Floats, threshold: float, resamples: int, seed: int) -> int:
    """Count the random sign patterns, of `resamples`, whose sum is at least `threshold` from 0."""
    generator = np.random.default_rng(seed)
    n, total = len(magnitudes), float(magnitudes.sum())
    rows = max(1, BLOCK // n)
    extreme = 0
    for start in range(0, resamples, rows):
        flips = min(rows, resamples - start) * n
        drawn = np.frombuffer(generator.bytes((flips + 7) // 8), dtype=np.uint8)
        positive = np.unpackbits(drawn, count=flips).reshape(-1, n) @ magnitudes
        extreme += int((np.abs(2 * positive - total) >= threshold).sum())
    return extreme


def wilcoxon(differences: Floats) -> Outcome:
    """Wilcoxon's signed-rank test: zeros left out, ties share their mean rank.

    Exact up to 25 differences without ties, else normal with tie-corrected variance, without continuity correction.
    """
    nonzero = differences[differences != 0]
    n = len(nonzero)
    if not n:
        return Outcome(1.0, "no differences")
    magnitudes, counts = np.unique(np.abs(nonzero), return_counts=True)
    ranks = np.cumsum(counts) - (counts - 1) / 2
    gains, gain_counts = np.unique(nonzero[nonzero > 0], return_counts=True)
    positive = float(ranks[np.searchsorted(magnitudes, gains)] @ gain_counts)
    if n <= _MAX_EXACT_WILCOXON and len(counts) == n:
        return Outcome(_exact_signed_rank_p(n, round(positive)), "exact Wilcoxon")
    cubes = counts.astype(np.float64)
    variance = (n * (n + 1) * (2 * n + 1) - float((cubes**3 - cubes).sum()) / 2) / 24
    return Outcome(
        _two_sided_normal_p((positive - n * (n + 1) / 4) / math.sqrt(variance)), "Wilcoxon, normal approximation"
    )


def _exact_signed_rank_p(n: int, positive: int) -> float:
    """Return the two-sided probability of a positive rank sum as extreme as `positive`."""
    ways = np.ones(1)
    for rank in range(1, n + 1):
        ways = np.pad(ways, (0, rank)) + np.pad(ways, (rank, 0))
    tail = min(ways[: positive + 1].sum(), ways[positive:].sum())
    return min(1.0, float(tail) * 2.0 ** (1 - n))


def student_t(units: Units) -> Outcome:
    """Paired t-test; with clusters on the cluster-robust standard error (for equal sizes, t on the cluster means).

    Constant non-zero differences have no spread: p = 0. Fewer than two units cannot be tested: p is NaN.
    """
    error = units.standard_error
    if not units.totals.any():
        return Outcome(1.0, "no differences")
    if math.isnan(error):
        return Outcome(math.nan, "none: fewer than 2 differences")
    t = units.mean / error if error else math.inf
    return Outcome(two_sided_p(t, units.count - 1), "paired t")


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Return Holm-adjusted p-values, in the order given, which control the family-wise error rate.

    NaN (not tested) stays NaN and does not count.
    """
    tested = sorted((name for name, p in p_values.items() if not math.isnan(p)), key=lambda name: p_values[name])
    adjusted = dict(p_values)
    highest = 0.0
    for rank, name in enumerate(tested):
        highest = max(highest, min(1.0, (len(tested) - rank) * p_values[name]))
        adjusted[name] = highest
    return adjusted


def _two_sided_normal_p(z: float) -> float:
    """Return the two-sided normal tail probability; erfc keeps small values exact."""
    return math.erfc(abs(z) / math.sqrt(2))


# paired comparison of two runs


@dataclass(frozen=True, slots=True)
class Paired:
    """Comparison of b with a over the queries measured in both. Differences are b - a; a win means b is higher."""

    n: int
    dropped: int  # pairs with an unmeasured side
    clusters: int  # 0 without clustering
    mean_a: float
    mean_b: float
    delta: float
    interval: Interval  # of delta, 95 %
    p: float  # randomisation test
    p_wilcoxon: float
    p_t: float
    effect: float | None  # Cohen's d_z: delta over the sd of the differences; None when they are constant
    wins: int
    losses: int
    ties: int
    detectable: float  # smallest true difference detected with 80 % power; NaN when the differences are constant
    method: str  # of p
    notes: tuple[str, ...] = ()


def paired(
    a: ArrayLike, b: ArrayLike, *, clusters: Clusters | None = None, resamples: int = RESAMPLES, seed: int = 0
) -> Paired:
    """Compare two arrays with one value per query, in the same order. NaN on either side drops the pair.

    With `clusters` (a label per query) whole clusters are flipped and counted; Wilcoxon gets cluster means.
    """
    first, second = floats(a), floats(b)
    if len(first) != len(second):
        raise ValueError(f"{len(first)} values paired with {len(second)}")
    measured = np.isfinite(first) & np.isfinite(second)
    first, second = first[measured], second[measured]
    labels = labels_of(clusters, measured)
    differences = _differences(first, second)
    units = units_of(differences, labels)
    delta, error = _delta(units, differences), units.standard_error
    test = randomisation(units.totals, resamples, seed)
    return Paired(
        n=len(differences),
        dropped=int((~measured).sum()),
        clusters=units.count if units.clustered else 0,
        mean_a=units_of(first).mean,
        mean_b=units_of(second).mean,
        delta=delta,
        interval=difference_interval(units),
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
    """Return b - a without rounding noise: a difference in the 17th digit is a tie."""
    largest = max(np.abs(a).max(initial=0.0), np.abs(b).max(initial=0.0))
    return without_noise(b - a, float(largest))


def _delta(units: Units, differences: Floats) -> float:
    """Return the mean difference without rounding noise: cancelling gains and losses give 0."""
    return float(without_noise(np.array([units.mean]), float(np.abs(differences).max(initial=0.0)))[0])


def _effect(delta: float, sd: float) -> float | None:
    """Return Cohen's d_z. None for constant non-zero differences, 0 when all are 0."""
    if sd > 0:
        return delta / sd
    return 0.0 if delta == 0 else None


def _notes(units: Units, labels: list[Hashable] | None) -> Iterator[str]:
    """Yield caveats about p."""
    if labels and not units.clustered and len(set(labels)) == 1:
        yield "all queries are in one cluster: each was taken by itself"
    differing = int(np.count_nonzero(units.totals))
    smallest_p = 2.0 ** (1 - differing)  # two of all sign patterns: all positive, all negative
    if differing and smallest_p > ALPHA:
        unit_name = "clusters" if units.clustered else "queries"
        yield f"p cannot be below {smallest_p:.4g} with {differing} of {units.count} {unit_name} differing"
