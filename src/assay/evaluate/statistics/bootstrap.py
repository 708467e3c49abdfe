"""Intervals of a mean by the bootstrap: how far it would move with other queries of the same kind."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from assay.errors import AssayError
from assay.evaluate.statistics import student
from assay.evaluate.statistics.units import Clusters, Floats, Units, floats, labels_of, units_of

RESAMPLES = 10_000
WORK = 20_000_000  # values drawn for one result, about 0.15 s; beyond (2,000 units, 10,000 resamples) a mean is as good as normal
BLOCK = 1_000_000  # values drawn at once, so that memory stays small


@dataclass(frozen=True, slots=True)
class Interval:
    """Where a mean may lie, both ends included, and how that was found. NaN when fewer than two values were measured."""

    low: float
    high: float
    method: str


def mean_interval(
    values: ArrayLike,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
    clusters: Clusters | None = None,
) -> Interval:
    """The interval of the mean of the measured values; with `clusters`, a label per value, whole clusters are drawn.

    Percentiles of the bootstrap means, widened for small samples (Hesterberg 2015). Chosen by coverage: of 95 % asked for, on
    differences of which three in five are zero, it reaches 92 % at n = 20 and 94 % at n = 60; plain percentiles 89 and 93 %,
    BCa 85 and 91 %. tests/test_statistics.py repeats that comparison.
    """
    measured = floats(values)
    kept = np.isfinite(measured)
    return interval_of(units_of(measured[kept], labels_of(clusters, kept)), confidence, resamples, seed)


def interval_of(units: Units, confidence: float = 0.95, resamples: int = RESAMPLES, seed: int = 0) -> Interval:
    """The bootstrap interval of the mean of units; the normal one where the bootstrap would take long and add nothing."""
    if not 0 < confidence < 1:
        raise AssayError(f"confidence is {confidence:g}; give a number between 0 and 1, such as 0.95")
    if resamples < 1:
        raise AssayError(f"resamples is {resamples}; give at least 1, better {RESAMPLES:,}")
    mean, error = units.mean, units.standard_error
    if math.isnan(error):
        return Interval(math.nan, math.nan, "none: fewer than 2 values")
    if error == 0.0:
        return Interval(mean, mean, "no spread")
    upper = (1 + confidence) / 2
    over = f" over {units.count} clusters" if units.clustered else ""
    if units.count * resamples > WORK:
        reach = NormalDist().inv_cdf(upper) * error
        return Interval(mean - reach, mean + reach, f"normal approximation{over}")
    means = _bootstrap_means(units, resamples, seed)
    low, high = np.quantile(means, _widened(upper, units.count))
    return Interval(float(low), float(high), f"bootstrap{over}, {resamples:,} resamples")


def _widened(upper: float, count: int) -> tuple[float, float]:
    """The two percentiles to read: as far out as Student's t with an unbiased variance, which the bootstrap alone is not."""
    tail = NormalDist().cdf(-math.sqrt(count / (count - 1)) * student.quantile(upper, count - 1))
    return tail, 1 - tail


def _bootstrap_means(units: Units, resamples: int, seed: int) -> Floats:
    """The means of `resamples` samples of as many units, drawn with replacement."""
    generator = np.random.default_rng(seed)
    rows = max(1, BLOCK // units.count)
    clustered, blocks = units.clustered, []
    for start in range(0, resamples, rows):
        shape = (min(rows, resamples - start), units.count)
        drawn = generator.integers(0, units.count, size=shape, dtype=np.int32)
        sizes = units.sizes[drawn].sum(axis=1) if clustered else units.count
        blocks.append(units.totals[drawn].sum(axis=1) / sizes)
    return np.concatenate(blocks)
