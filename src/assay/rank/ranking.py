"""Ranking result: the scores of an index's items for one task with all their components; array helpers; scoring."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.integer[Any]]


_BLOCK = 64  # values per block, represented by their maximum


def highest(values: Floats, k: int) -> Ints:
    """Return the indices of the `k` highest positive values, highest first, ties by index; sorts only what it must."""
    least = _lower_bound(values, k)
    places = np.flatnonzero(values >= least if least > 0 else values > 0)
    if 0 < k < len(places):
        candidates = values[places]
        places = places[candidates >= np.partition(candidates, len(candidates) - k)[len(candidates) - k]]
    return places[np.argsort(-values[places], kind="stable")[:k]]


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


# Result


@dataclass(frozen=True, slots=True)
class Ranking:
    """The scores of an index's items for one task, with all their components; arrays are by item number."""

    task: str
    terms: Mapping[str, float]  # matched query terms with their rarity (IDF)
    unseen: Mapping[str, float]  # unmatched query terms with the maximum rarity
    called: Sequence[int]  # items the task calls by their whole name
    covered: Floats  # share of `terms`, by rarity, in each item
    scores: Floats
    factors: dict[str, Floats]
    direct: Floats  # product of the factors
    pointed: Floats  # gain of items the task points at
    shared: Floats  # gain from container and members
    walked: Floats  # visit probabilities of the graph walk
    parts: dict[str, Floats]  # their sum times all of `times` is the score
    times: dict[str, Floats]
    channels: dict[str, Sequence[int]]  # hits of each channel, best first
    noise: dict[int, str]  # filtered items with the reason

    @classmethod
    def nothing(cls, task: str, size: int, unseen: Mapping[str, float]) -> Ranking:
        """Return the ranking of a task without any match."""
        zeros = np.zeros(size)
        return cls(task, {}, unseen, (), zeros, zeros, {}, zeros, zeros, zeros, zeros, {}, {}, {}, {})

    def best(self, k: int) -> list[int]:
        """Return the numbers of the best items, best first; ties by number."""
        return [int(number) for number in highest(self.scores, k)]


# Scoring: named parts that sum to an item's score, by `shares` (the default) or `composite` (seed 003).

# weights of the composite score: (blast radius, confidence, recency, distance), without and with HITS
BASE, WITH_HITS = (0.40, 0.25, 0.20, 0.15), (0.35, 0.20, 0.15, 0.15)
NOT_OBSERVED = 0.3  # recency without a runtime trace; an index has none, so it is constant
REACHED = 0.02  # share of the walk's maximum below which items are not scored
NEXT = 0.5  # distance score of items that are not seeds: one step away, 1 / (1 + 1)


@dataclass(frozen=True, slots=True)
class WalkResult:
    """Graph-walk probabilities, seed weights and HITS adjustment of every item."""

    found: Floats
    seeds: Floats
    adjustment: Floats  # zeros when HITS is off


def shares(direct: Floats, walked: WalkResult, walk: float, hits: float) -> dict[str, Floats]:
    """Return the parts: direct score and walk relative to their best, and the HITS adjustment."""
    parts = {"direct": share_of_best(direct), "walk": walk * share_of_best(walked.found)}
    return parts | ({"hits": hits * walked.adjustment} if hits else {})


def composite(walked: WalkResult, confidence: Floats, hits: float) -> dict[str, Floats]:
    """Return weighted blast radius, confidence, recency and distance of the items the walk reached."""
    blast_weight, confidence_weight, recency_weight, distance_weight = WITH_HITS if hits else BASE
    radius = share_of_best(walked.found)
    reached = radius >= REACHED
    parts = {
        "blast radius": blast_weight * radius,
        "confidence": confidence_weight * confidence,
        "recency": np.full(len(radius), recency_weight * NOT_OBSERVED),
        "distance": distance_weight * np.where(walked.seeds > 0, 1.0, NEXT),
        "hits": hits * walked.adjustment,
    }
    return {name: np.where(reached, values, 0.0) for name, values in parts.items()}
