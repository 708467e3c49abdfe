"""The highest of many values, in an order that never depends on how they were found: by value, then by number."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.integer[Any]]


_BLOCK = 64  # values of which one stands for all in a first glance


def highest(values: Floats, k: int) -> Ints:
    """The places of the `k` highest values above 0, highest first, equal ones by place. Sorts no more than it must."""
    least = _at_least(values, k)
    places = np.flatnonzero(values >= least if least > 0 else values > 0)
    if 0 < k < len(places):
        found = values[places]
        places = places[found >= np.partition(found, len(found) - k)[len(found) - k]]
    return places[np.argsort(-values[places], kind="stable")[:k]]


def _at_least(values: Floats, k: int) -> float:
    """What the `k` highest values are not below: as many blocks have one of at least that. 0 where there are too few blocks to tell."""
    blocks = len(values) // _BLOCK
    if not 0 < k <= blocks:
        return 0.0
    best = values[: blocks * _BLOCK].reshape(blocks, _BLOCK).max(axis=1)
    return float(np.partition(best, blocks - k)[blocks - k])


def share_of_best(values: Floats) -> Floats:
    """Values as shares of the highest."""
    best = values.max(initial=0.0)
    return np.asarray(values / best if best > 0 else values, dtype=np.float64)


def line(values: Floats, slope: float, at_0: float) -> Floats:
    """`slope` times each value, and `at_0`. As the two below, it makes one array: making a large one takes longer than to fill it."""
    out = slope * values
    out += at_0
    return out


def multiplied(factors: Iterable[Floats]) -> Floats:
    """The product of arrays."""
    first, *others = factors
    out = first.copy()
    for values in others:
        out *= values
    return out


def summed(parts: Iterable[Floats], size: int) -> Floats:
    """The sum of arrays of a size."""
    out = np.zeros(size)
    for values in parts:
        out += values
    return out


def added_up(places: Ints, values: Floats, size: int) -> Floats:
    """The sum of the values at each place."""
    return np.bincount(places, weights=values, minlength=size).astype(np.float64, copy=False)


def different(numbers: Ints) -> Ints:
    """Numbers in their order, each once. Like numpy's own, which first imports what takes 20 ms."""
    ordered = np.sort(numbers)
    return np.concatenate([ordered[:1], ordered[1:][ordered[1:] != ordered[:-1]]])
