"""The units of a sample: what is drawn, flipped and counted as a whole. Single queries, or the clusters they belong to."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Clusters = Sequence[Hashable] | NDArray[np.generic]

_DIGITS = 12  # that count; 1/2 - 1/3 and 1/3 - 1/6 differ in the 17th


@dataclass(frozen=True)
class Units:
    """For each unit the total of its values and how many they are. Sorted, so that the order of the queries changes nothing."""

    totals: Floats
    sizes: Floats

    @property
    def count(self) -> int:
        return len(self.totals)

    @cached_property
    def clustered(self) -> bool:
        """Whether any unit has more than one value."""
        return bool((self.sizes != 1).any())

    @cached_property
    def mean(self) -> float:
        """The mean of all values, not of the units; NaN without any."""
        return float(self.totals.sum() / self.sizes.sum()) if self.count else math.nan

    @property
    def means(self) -> Floats:
        """The mean of each unit."""
        return self.totals / self.sizes

    @cached_property
    def standard_error(self) -> float:
        """Of the mean, robust to likeness within a unit; for units of one value it is sd / √n. NaN below two units."""
        if self.count < 2:
            return math.nan
        residuals = self.totals - self.sizes * self.mean
        if np.abs(residuals).max() <= 10.0**-_DIGITS * np.abs(self.totals).max():
            return 0.0
        return math.sqrt(self.count / (self.count - 1) * float(residuals @ residuals)) / float(self.sizes.sum())

    def negated(self) -> Units:
        """The same units with the opposite values, again in order."""
        order = np.lexsort((-self.totals, self.sizes)) if self.clustered else slice(None, None, -1)
        return Units(-self.totals[order], self.sizes[order])


def floats(values: ArrayLike) -> Floats:
    """A flat array of floats; None becomes NaN."""
    return np.asarray(values, dtype=np.float64).ravel()


def labels_of(clusters: Clusters | None, kept: NDArray[np.bool_]) -> list[Hashable] | None:
    """The cluster labels of the values that are kept."""
    if clusters is None:
        return None
    if len(clusters) != len(kept):
        raise ValueError(f"{len(clusters)} cluster labels for {len(kept)} values")
    labels = clusters.tolist() if isinstance(clusters, np.ndarray) else clusters
    return list(compress(labels, kept.tolist()))


def units_of(values: Floats, labels: list[Hashable] | None = None) -> Units:
    """Each value by itself, or the values with one label together. Fewer than two clusters say nothing: then each by itself."""
    codes = None if labels is None else _codes(labels)
    if codes is None or not codes.any():
        return Units(np.sort(values), np.ones(len(values)))
    order = np.argsort(values)  # sums depend on the order in the last digit
    totals = np.bincount(codes[order], weights=values[order]).astype(np.float64)
    sizes = np.bincount(codes).astype(np.float64)
    totals = without_noise(totals, float(np.bincount(codes, weights=np.abs(values)).max()))
    order = np.lexsort((totals, sizes))
    return Units(totals[order], sizes[order])


def without_noise(values: Floats, largest: float) -> Floats:
    """Values as exact as numbers up to `largest` can be trusted: 0.1 + 0.2 - 0.3 is 0, and equal differences are equal."""
    if not largest:
        return values
    return np.round(values, min(300, _DIGITS - math.ceil(math.log10(largest))))


def _codes(labels: list[Hashable]) -> NDArray[np.intp]:
    """Labels as numbers from 0. A dictionary is much faster than sorting a million strings."""
    numbers = {label: number for number, label in enumerate(dict.fromkeys(labels))}
    return np.fromiter(map(numbers.__getitem__, labels), dtype=np.intp, count=len(labels))
