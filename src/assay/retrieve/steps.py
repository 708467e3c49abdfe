"""The steps a walker can take: every edge in both directions, laid out so that those from one item stand beside each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.retrieve.order import Floats, Ints, added_up


class Direction(NamedTuple):
    """Edges in one direction, ordered by where they start."""

    starts: Ints
    ends: Ints
    types: Ints
    weights: Floats


@dataclass(frozen=True, slots=True)
class Steps:
    """Every edge in both directions, those that leave an item beside each other, and the share of a walker each takes."""

    starts: Ints  # by item: where its steps begin; one more than there are items
    ends: Ints
    types: Ints  # codes of edge types; the second half stands for steps against an edge
    shares: Floats
    dead_end: NDArray[np.bool_]  # by item: no step leads on from it

    @classmethod
    def of(cls, forwards: Direction, backwards: Direction, size: int) -> Steps:
        """Joins two directions, each ordered by where its steps start."""
        both = [np.searchsorted(one.starts, np.arange(size + 1)) for one in (forwards, backwards)]
        starts = both[0] + both[1]
        total = len(forwards.starts) + len(backwards.starts)
        ends, types, shares = np.empty(total, np.int64), np.empty(total, np.int64), np.empty(total)
        # a step's place: where its item's steps begin, those against edges after those along them, and how many come before it
        for one, own, before in ((forwards, both[0], 0), (backwards, both[1], np.diff(both[0]))):
            first = starts[:-1] - own[:-1] + before
            places = np.arange(len(one.starts)) + first[one.starts]
            ends[places], types[places], shares[places] = one.ends, one.types, one.weights
        leaving = added_up(np.repeat(np.arange(size), np.diff(starts)), shares, size)
        shares /= np.repeat(np.where(leaving > 0, leaving, 1.0), np.diff(starts))
        return cls(starts, ends, types, shares, leaving == 0)

    def of_item(self, number: int) -> slice:
        return slice(int(self.starts[number]), int(self.starts[number + 1]))

    def moved(self, items: Ints, walkers: Floats, size: int) -> Floats:
        """Where the walkers of some items are one step later."""
        first, counts = self.starts[items], self.starts[items + 1] - self.starts[items]
        # the places of all steps from the items, one range after the other
        places = np.arange(int(counts.sum())) + np.repeat(first - np.concatenate(([0], counts.cumsum()[:-1])), counts)
        weights = np.repeat(walkers, counts) * self.shares[places]
        return added_up(self.ends[places], weights, size)
