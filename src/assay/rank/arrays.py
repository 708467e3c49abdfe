"""Array helpers of the ranking: order, shares, sums with few allocations. Arrays are by item number unless said otherwise."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.integer[Any]]


_BLOCK = 64  # values per block, represented by their maximum
_NOISE = 1e-9  # relative; sums of the same numbers in another order differ by less


def highest(values: Floats, k: int, order: Ints | None = None) -> Ints:
    """Return the indices of the `k` highest positive values, highest first; sorts only what it must.

    Ties are broken by `order`, or by index. Values that differ by rounding errors only are ties.
    """
    least = _lower_bound(values, k) * (1 - _NOISE)
    places = np.flatnonzero(values >= least if least > 0 else values > 0)
    if 0 < k < len(places):
        candidates = values[places]
        places = places[candidates >= np.partition(candidates, len(candidates) - k)[len(candidates) - k] * (1 - _NOISE)]
    ties = places if order is None else order[places]
    return places[np.lexsort((ties, descending(values[places])))[:k]]


def descending(values: Floats) -> Floats:
    """Return sort keys that put high values first and hide rounding errors."""
    return np.asarray(-values.astype(np.float32))


def _lower_bound(values: Floats, k: int) -> float:
    """Return a lower bound of the `k` highest values: the k-th largest block maximum; 0 with too few blocks."""
    blocks = len(values) // _BLOCK
    if not 0 < k <= blocks:
        return 0.0
    best = values[: blocks * _BLOCK].reshape(blocks, _BLOCK).max(axis=1)
    return float(np.partition(best, blocks - k)[blocks - k])


def share_of_best(values: Floats) -> Floats:
    """Return values relative to the highest."""
    best = values.max(initial=0.0)
    return np.asarray(values / best if best > 0 else values, dtype=np.float64)


def line(values: Floats, slope: float, at_0: float) -> Floats:
    """Return `slope * values + at_0` with a single allocation: allocating a large array costs more than filling it."""
    out = slope * values
    out += at_0
    return out


def multiplied(factors: Iterable[Floats]) -> Floats:
    """Return the product of arrays, with a single allocation."""
    first, *others = factors
    out = first.copy()
    for values in others:
        out *= values
    return out


def sum_arrays(parts: Iterable[Floats], size: int) -> Floats:
    """Return the sum of arrays of a size, with a single allocation."""
    out = np.zeros(size)
    for values in parts:
        out += values
    return out


def sum_by_index(places: Ints, values: Floats, size: int) -> Floats:
    """Sum the values at each index."""
    return np.bincount(places, weights=values, minlength=size).astype(np.float64, copy=False)


def sorted_unique(numbers: Ints) -> Ints:
    """Return sorted unique numbers. Like `np.unique`, without its import of 20 ms."""
    ordered = np.sort(numbers)
    return np.concatenate([ordered[:1], ordered[1:][ordered[1:] != ordered[:-1]]])
