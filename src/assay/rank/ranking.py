"""A ranking: the order of an index's items for one task, and everything it was made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
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


# A ranking: the order of an index's items for one task, and everything it was made of.


@dataclass(frozen=True, slots=True)
class Ranking:
    """The order of an index's items for one task, and everything it was made of; arrays are by item number."""

    task: str
    terms: Mapping[str, float]  # the words searched by, with their rarity here
    unseen: Mapping[str, float]  # … and those that nothing here has, as rare as a word can be
    called: Sequence[int]  # what the task calls by its whole name
    covered: Floats  # the share of `terms`, by rarity, that each item has
    scores: Floats
    factors: dict[str, Floats]
    direct: Floats  # their product
    pointed: Floats  # what it gained because the task points at it
    shared: Floats  # what it gained from its container and members
    walked: Floats  # where the walk ended
    parts: dict[str, Floats]  # their sum, times all of `times`, is the score
    times: dict[str, Floats]
    channels: dict[str, Sequence[int]]  # what each channel found, best first
    noise: dict[int, str]  # what was left out, and why

    @classmethod
    def nothing(cls, task: str, size: int, unseen: Mapping[str, float]) -> Ranking:
        """The ranking of a task that no item has to do with."""
        zeros = np.zeros(size)
        return cls(task, {}, unseen, (), zeros, zeros, {}, zeros, zeros, zeros, zeros, {}, {}, {}, {})

    def best(self, k: int) -> list[int]:
        """The numbers of the best items, best first; ties by number."""
        return [int(number) for number in highest(self.scores, k)]


# Scoring: the named parts whose sum is an item's score, in two ways: `shares` (the default) and `composite` (seed
# 003).

# weights of the composite score: (blast radius, confidence, recency, distance), without and with HITS
BASE, WITH_HITS = (0.40, 0.25, 0.20, 0.15), (0.35, 0.20, 0.15, 0.15)
NOT_OBSERVED = 0.3  # recency of what no runtime trace has shown: an index has none, so it is everybody's
REACHED = 0.02  # of the walk's best; what the walk reached less is not scored
NEXT = 0.5  # distance of what is not a seed: one step away, 1 / (1 + 1)


@dataclass(frozen=True, slots=True)
class Walked:
    """What the walk and HITS say about every item."""

    found: Floats
    seeds: Floats
    adjustment: Floats  # by HITS; zeros when it is switched off


def shares(direct: Floats, walked: Walked, walk: float, hits: float) -> dict[str, Floats]:
    """The share of the best direct score, of the best of the walk, and what HITS adds."""
    parts = {"direct": share_of_best(direct), "walk": walk * share_of_best(walked.found)}
    return parts | ({"hits": hits * walked.adjustment} if hits else {})


def composite(walked: Walked, confidence: Floats, hits: float) -> dict[str, Floats]:
    """Blast radius, confidence, recency and distance, weighted; only for what the walk reached."""
    blast, sure, recent, near = WITH_HITS if hits else BASE
    radius = share_of_best(walked.found)
    reached = radius >= REACHED
    parts = {
        "blast radius": blast * radius,
        "confidence": sure * confidence,
        "recency": np.full(len(radius), recent * NOT_OBSERVED),
        "distance": near * np.where(walked.seeds > 0, 1.0, NEXT),
        "hits": hits * walked.adjustment,
    }
    return {name: np.where(reached, values, 0.0) for name, values in parts.items()}
