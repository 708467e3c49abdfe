"""One sample in a few numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from assay.evaluate.statistics.units import Floats, floats, units_of


@dataclass(frozen=True, slots=True)
class Summary:
    """Mean and sample standard deviation (n - 1) of the n measured values. Of one value the deviation is 0, of none both are NaN."""

    mean: float
    sd: float
    n: int


@dataclass(frozen=True, slots=True)
class Latency:
    """Milliseconds: median, 95th percentile (linear between ranks, as numpy), mean. NaN when nothing was measured."""

    p50: float
    p95: float
    mean: float


def summary(values: ArrayLike) -> Summary:
    """Mean, standard deviation and number of the measured values."""
    measured = _measured(values)
    if not len(measured):
        return Summary(math.nan, math.nan, 0)
    units = units_of(measured)
    sd = units.standard_error * math.sqrt(units.count) if units.count > 1 else 0.0
    return Summary(units.mean, sd, units.count)


def latency(milliseconds: ArrayLike) -> Latency:
    """Median, 95th percentile and mean of the measured latencies."""
    measured = _measured(milliseconds)
    if not len(measured):
        return Latency(math.nan, math.nan, math.nan)
    p50, p95 = np.percentile(measured, (50, 95))
    return Latency(float(p50), float(p95), float(measured.mean()))


def _measured(values: ArrayLike) -> Floats:
    given = floats(values)
    return given[np.isfinite(given)]
