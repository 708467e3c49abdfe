"""Descriptive statistics, clusters, Student's t, bootstrap intervals and statistical power."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import compress
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.errors import AssayError

Floats = NDArray[np.float64]
Clusters = Sequence[Hashable] | NDArray[np.generic]

_DIGITS = 12  # significant digits; 1/2 - 1/3 and 1/3 - 1/6 differ in the 17th


@dataclass(frozen=True)
class Units:
    """Sampling units (queries or clusters): total and count of their values, sorted to be order-independent."""

    totals: Floats
    sizes: Floats

    @property
    def count(self) -> int:
        return len(self.totals)

    @cached_property
    def clustered(self) -> bool:
        """True if any unit has more than one value."""
        return bool((self.sizes != 1).any())

    @cached_property
    def mean(self) -> float:
        """Mean of all values, not of the units; NaN without any."""
        return float(self.totals.sum() / self.sizes.sum()) if self.count else math.nan

    @property
    def means(self) -> Floats:
        """Mean of each unit."""
        return self.totals / self.sizes

    @cached_property
    def standard_error(self) -> float:
        """Cluster-robust standard error of the mean; sd / √n for units of one value. NaN below two units."""
        if self.count < 2:
            return math.nan
        residuals = self.totals - self.sizes * self.mean
        if np.abs(residuals).max() <= 10.0**-_DIGITS * np.abs(self.totals).max():
            return 0.0
        return math.sqrt(self.count / (self.count - 1) * float(residuals @ residuals)) / float(self.sizes.sum())


def floats(values: ArrayLike) -> Floats:
    """Return a flat array of floats; None becomes NaN."""
    return np.asarray(values, dtype=np.float64).ravel()


def labels_of(clusters: Clusters | None, mask: NDArray[np.bool_]) -> list[Hashable] | None:
    """Return the cluster labels of the values selected by `mask`."""
    if clusters is None:
        return None
    if len(clusters) != len(mask):
        raise ValueError(f"{len(clusters)} cluster labels for {len(mask)} values")
    labels = clusters.tolist() if isinstance(clusters, np.ndarray) else clusters
    return list(compress(labels, mask.tolist()))


def units_of(values: Floats, labels: list[Hashable] | None = None) -> Units:
    """Group the values by label; with fewer than two clusters each value is its own unit."""
    codes = None if labels is None else _label_codes(labels)
    if codes is None or not codes.any():
        return Units(np.sort(values), np.ones(len(values)))
    order = np.argsort(values)  # floating-point sums depend on the order
    totals = np.bincount(codes[order], weights=values[order]).astype(np.float64)
    sizes = np.bincount(codes).astype(np.float64)
    totals = without_noise(totals, float(np.bincount(codes, weights=np.abs(values)).max()))
    order = np.lexsort((totals, sizes))
    return Units(totals[order], sizes[order])


def without_noise(values: Floats, largest: float) -> Floats:
    """Round values to the precision of numbers up to `largest`, so that 0.1 + 0.2 - 0.3 is 0."""
    if not largest:
        return values
    return np.round(values, min(300, _DIGITS - math.ceil(math.log10(largest))))


def _label_codes(labels: list[Hashable]) -> NDArray[np.intp]:
    """Number the labels from 0. A dictionary is much faster than sorting a million strings."""
    code_by_label = {label: code for code, label in enumerate(dict.fromkeys(labels))}
    return np.fromiter(map(code_by_label.__getitem__, labels), dtype=np.intp, count=len(labels))


# descriptive statistics


@dataclass(frozen=True, slots=True)
class Summary:
    """Mean and sample standard deviation (n - 1) of n values. One value has sd 0; without values both are NaN."""

    mean: float
    sd: float
    n: int


@dataclass(frozen=True, slots=True)
class Latency:
    """Median, 95th percentile (linear interpolation) and mean in milliseconds. NaN when nothing was measured."""

    p50: float
    p95: float
    mean: float


def summary(values: ArrayLike) -> Summary:
    """Return mean, standard deviation and count of the measured values."""
    measured = _measured(values)
    if not len(measured):
        return Summary(math.nan, math.nan, 0)
    units = units_of(measured)
    sd = units.standard_error * math.sqrt(units.count) if units.count > 1 else 0.0
    return Summary(units.mean, sd, units.count)


def latency(milliseconds: ArrayLike) -> Latency:
    """Return median, 95th percentile and mean of the measured latencies."""
    measured = _measured(milliseconds)
    if not len(measured):
        return Latency(math.nan, math.nan, math.nan)
    p50, p95 = np.percentile(measured, (50, 95))
    return Latency(float(p50), float(p95), float(measured.mean()))


def _measured(values: ArrayLike) -> Floats:
    array = floats(values)
    return array[np.isfinite(array)]


# Student's t distribution, by the regularised incomplete beta function with b = 1/2

_MIN_DENOMINATOR = 1e-300  # replaces a zero denominator (Lentz)
_PRECISION = 1e-15
_MAX_ITERATIONS = 10_000
_SERIES_FROM = 50.0  # above this the series for the gamma ratio is exact to the last digit


def two_sided_p(t: float, freedom: int) -> float:
    """Return P(|T| ≥ |t|) with `freedom` degrees of freedom."""
    if math.isinf(t):
        return 0.0
    return _incomplete_beta(t * t / freedom, freedom / 2)


@lru_cache(maxsize=1024)
def quantile(probability: float, freedom: int) -> float:
    """Return the t quantile of `probability` (at least one half)."""
    tail = 2 * (1 - probability)
    low, high = 0.0, max(1.0, NormalDist().inv_cdf(probability))
    while two_sided_p(high, freedom) > tail:
        low, high = high, 2 * high
    while high - low > _PRECISION * high:
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if two_sided_p(middle, freedom) > tail else (low, middle)
    return high


def _incomplete_beta(odds: float, a: float) -> float:
    """Return I_x(a, 1/2) at x = 1 / (1 + odds); takes the odds because x is too close to 1 for large a."""
    if odds == 0.0:
        return 1.0
    x, complement = 1 / (1 + odds), odds / (1 + odds)
    factor = math.exp(_log_gamma_ratio(a) - a * math.log1p(odds) + math.log(complement) / 2) / math.sqrt(math.pi)
    if x < (a + 1) / (a + 2.5):
        return factor * _continued_fraction(x, a, 0.5) / a
    return 1 - factor * _continued_fraction(complement, 0.5, a) / 0.5


def _log_gamma_ratio(a: float) -> float:
    """Return log Γ(a + 1/2) - log Γ(a); for large a by a series, which does not cancel digits."""
    if a < _SERIES_FROM:
        return math.lgamma(a + 0.5) - math.lgamma(a)
    return math.log(a) / 2 - 1 / (8 * a) + 1 / (192 * a**3) - 1 / (640 * a**5)


def _continued_fraction(x: float, a: float, b: float) -> float:
    """Evaluate the incomplete beta continued fraction by Lentz's method (Numerical Recipes 6.4)."""
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1) or _MIN_DENOMINATOR)
    value = d
    for m in range(1, _MAX_ITERATIONS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        previous = value
        for term in (even, odd):
            d = 1 / (1 + term * d or _MIN_DENOMINATOR)
            c = 1 + term / c or _MIN_DENOMINATOR
            value *= c * d
        if abs(value - previous) <= _PRECISION * abs(value):
            break
    return value


# bootstrap confidence intervals of a mean

RESAMPLES = 10_000
WORK = 20_000_000  # values drawn per result, about 0.15 s; beyond (2,000 units × 10,000) the mean is practically normal
BLOCK = 1_000_000  # values drawn at once, to bound memory


@dataclass(frozen=True, slots=True)
class Interval:
    """Closed confidence interval of a mean, and its method. NaN when fewer than two values were measured."""

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
    """Return the confidence interval of the mean; with `clusters` (a label per value) whole clusters are resampled.

    Percentile bootstrap, widened for small samples (Hesterberg 2015). For differences: `difference_interval`.
    """
    if not 0 < confidence < 1:
        raise AssayError(f"confidence is {confidence:g}; give a number between 0 and 1, such as 0.95")
    if resamples < 1:
        raise AssayError(f"resamples is {resamples}; give at least 1, better {RESAMPLES:,}")
    array = floats(values)
    measured = np.isfinite(array)
    return _bootstrap_interval(units_of(array[measured], labels_of(clusters, measured)), confidence, resamples, seed)


def _bootstrap_interval(units: Units, confidence: float, resamples: int, seed: int) -> Interval:
    """Return the bootstrap interval of the units' mean; the normal one where sampling would exceed WORK."""
    mean, error = units.mean, units.standard_error
    if math.isnan(error):
        return Interval(math.nan, math.nan, "none: fewer than 2 values")
    if error == 0.0:
        return Interval(mean, mean, "no spread")
    upper = (1 + confidence) / 2
    suffix = _cluster_suffix(units)
    if units.count * resamples > WORK:
        half_width = NormalDist().inv_cdf(upper) * error
        return Interval(mean - half_width, mean + half_width, f"normal approximation{suffix}")
    means = _bootstrap_means(units, resamples, seed)
    low, high = np.quantile(means, _widened_percentiles(upper, units.count))
    return Interval(float(low), float(high), f"bootstrap{suffix}, {resamples:,} resamples")


def _cluster_suffix(units: Units) -> str:
    return f" over {units.count} clusters" if units.clustered else ""


def _widened_percentiles(upper: float, count: int) -> tuple[float, float]:
    """Return the two percentiles, widened to the reach of Student's t with an unbiased variance."""
    tail = NormalDist().cdf(-math.sqrt(count / (count - 1)) * quantile(upper, count - 1))
    return tail, 1 - tail


def _bootstrap_means(units: Units, resamples: int, seed: int) -> Floats:
    """Return the means of `resamples` samples of as many units, drawn with replacement."""
    generator = np.random.default_rng(seed)
    rows = max(1, BLOCK // units.count)
    clustered, blocks = units.clustered, []
    for start in range(0, resamples, rows):
        shape = (min(rows, resamples - start), units.count)
        drawn = generator.integers(0, units.count, size=shape, dtype=np.int32)
        sizes = units.sizes[drawn].sum(axis=1) if clustered else units.count
        blocks.append(units.totals[drawn].sum(axis=1) / sizes)
    return np.concatenate(blocks)


# confidence intervals of a mean difference

_UNSEEN = 0.5  # queries added, half a gain and half a loss of typical size: few changes say little about their spread
_LONGER_TAIL = 2.0  # times the first-order skewness correction: a small sample shows less skewness than there is


def difference_interval(units: Units, confidence: float = 0.95) -> Interval:
    """Return the confidence interval of a mean difference, most differences being zero perhaps.

    Student's t with `_UNSEEN` queries added, extended on the side of the longer tail by the Cornish-Fisher correction
    for skewness (Johnson 1978). Both constants were chosen by coverage (benchmarks/interval_coverage.py). Never beyond
    the largest difference seen.
    """
    changed = units.totals[units.totals != 0]
    if units.count and not len(changed):
        return Interval(0.0, 0.0, "no differences")
    if units.count < 2:
        return Interval(math.nan, math.nan, "none: fewer than 2 values")
    typical = math.sqrt(float(np.mean(changed**2)))
    unseen = np.array([typical, -typical])
    count, size = units.count + _UNSEEN, float(units.sizes.sum()) * (1 + _UNSEEN / units.count)
    mean = float(units.totals.sum()) / size
    residuals, added = units.totals - units.sizes * mean, unseen - size / count * mean
    squares, extra = residuals * residuals, added * added
    spread = math.sqrt((float(squares.sum()) + _UNSEEN / 2 * float(extra.sum())) / count)
    cubes = float((squares * residuals).sum()) + _UNSEEN / 2 * float((extra * added).sum())
    skewness = cubes / spread**3 / count
    error = spread * count / math.sqrt(count - 1) / size
    t = quantile((1 + confidence) / 2, units.count - 1)
    extension = _LONGER_TAIL * skewness * (1 + 2 * t * t) / (6 * math.sqrt(units.count))
    largest = float(np.abs(units.means).max())
    low = max(-largest, mean - error * (t + max(0.0, -extension)))
    high = min(largest, mean + error * (t + max(0.0, extension)))
    return Interval(low, high, f"Student's t, adjusted for sparse and skewed differences{_cluster_suffix(units)}")


# statistical power: detectable difference and required sample size

ALPHA = 0.05
POWER = 0.8
# standard deviation of the differences of two runs in a metric from 0 to 1: one query in eight flips (0.35² ≈ 1/8)
ASSUMED_SD = 0.35


def detectable(sd: float, n: int, *, power: float = POWER, alpha: float = ALPHA) -> float:
    """Return the true mean difference that n pairs with this sd of differences detect with probability `power`.

    Two-sided at `alpha`, with t quantiles for small n. Infinite below two pairs.
    """
    return detectable_with(sd / math.sqrt(n), n - 1, power=power, alpha=alpha) if n >= 2 else math.inf


def detectable_with(error: float, freedom: int, *, power: float = POWER, alpha: float = ALPHA) -> float:
    """Return the detectable difference from the standard error and its degrees of freedom."""
    return (quantile(1 - alpha / 2, freedom) + quantile(power, freedom)) * error


def detectable_before(n: int) -> float:
    """Return the difference detectable with n queries before any run, for an assumed sd of differences."""
    return detectable(ASSUMED_SD, n)


def queries_needed(effect: float, sd: float = ASSUMED_SD) -> int:
    """Return the smallest number of queries that detects a mean difference of `effect`."""
    if not effect > 0:
        raise AssayError(f"the difference to detect is {effect:g}; give one above 0, such as 0.05")
    normal = NormalDist()
    # normal quantiles are smaller than t quantiles, so this is a lower bound
    n = max(2, math.ceil(((normal.inv_cdf(1 - ALPHA / 2) + normal.inv_cdf(POWER)) * sd / effect) ** 2))
    while detectable(sd, n) > effect:
        n += 1
    return n
