"""The highest of many values, in an order that never depends on how they were found: by value, then by number."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def highest(values: Floats, k: int) -> Ints:
    """The places of the `k` highest values above 0, highest first, equal ones by place. Sorts no more than it must."""
    if k < len(values):
        threshold = np.partition(values, len(values) - k)[len(values) - k]
        places = np.flatnonzero(values >= threshold) if threshold > 0 else np.flatnonzero(values > 0)
    else:
        places = np.flatnonzero(values > 0)
    return places[np.argsort(-values[places], kind="stable")[:k]]


def share_of_best(values: Floats) -> Floats:
    """Values as shares of the highest."""
    best = values.max(initial=0.0)
    return np.asarray(values / best if best > 0 else values, dtype=np.float64)


def added_up(places: Ints, values: Floats, size: int) -> Floats:
    """The sum of the values at each place."""
    return np.bincount(places, weights=values, minlength=size).astype(np.float64, copy=False)
