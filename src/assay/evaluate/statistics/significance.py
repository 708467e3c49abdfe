"""Tests of paired differences: could they be chance? And what to do when several metrics are tested at once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from assay.evaluate.statistics import student
from assay.evaluate.statistics.bootstrap import BLOCK, RESAMPLES, WORK
from assay.evaluate.statistics.units import Floats, Units

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
