"""What a golden set can show at all: the smallest difference it detects, and how many queries a difference needs."""

from __future__ import annotations

import math
from statistics import NormalDist

from assay.errors import AssayError
from assay.evaluate.statistics import student

ALPHA = 0.05
POWER = 0.8
ASSUMED_SD = (
    0.35  # of the differences of two runs in a metric from 0 to 1: as when one query in eight flips (0.35² ≈ 1/8)
)


def detectable(sd: float, n: int, *, power: float = POWER, alpha: float = ALPHA) -> float:
    """The true mean difference that n pairs, whose differences have this standard deviation, show in `power` of all cases.

    Two-sided at `alpha`, with t quantiles for small n. Infinite below two pairs.
    """
    return detectable_with(sd / math.sqrt(n), n - 1, power=power, alpha=alpha) if n >= 2 else math.inf


def detectable_with(error: float, freedom: int, *, power: float = POWER, alpha: float = ALPHA) -> float:
    """The same from the standard error of the mean difference and its degrees of freedom."""
    return (student.quantile(1 - alpha / 2, freedom) + student.quantile(power, freedom)) * error


def detectable_before(n: int, sd: float = ASSUMED_SD) -> float:
    """What a golden set of n queries can detect before anything was run, on an assumed spread of the differences."""
    return detectable(sd, n)


def queries_needed(effect: float, sd: float = ASSUMED_SD, *, power: float = POWER, alpha: float = ALPHA) -> int:
    """The smallest number of queries that detects a mean difference of `effect`."""
    if not effect > 0:
        raise AssayError(f"the difference to detect is {effect:g}; give one above 0, such as 0.05")
    normal = NormalDist()
    # the normal quantiles are smaller than those of t, so this is never too many
    n = max(2, math.ceil(((normal.inv_cdf(1 - alpha / 2) + normal.inv_cdf(power)) * sd / effect) ** 2))
    while detectable(sd, n, power=power, alpha=alpha) > effect:
        n += 1
    return n
