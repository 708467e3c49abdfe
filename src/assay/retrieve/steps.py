"""The steps a walker can take: every edge in both directions, where the index has it. Nothing is laid out anew: most items no walker ever sees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.retrieve.order import Floats, Ints, added_up


class Direction(NamedTuple):
    """Edges in one direction, ordered by where they start; `types` are codes."""

    starts: Ints
    ends: Ints
    types: Ints
    confidence: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Steps:
    """Every edge in both directions. What the steps from an item weigh together is worked out when a walker first comes there."""

    first: Ints  # by item, in two columns: where its steps along edges begin, and where those against them
    counts: Ints  # likewise: how many there are
    ends: Ints
    types: Ints  # each direction has codes of its own
    confidence: NDArray[np.float32]
    weights: Floats  # by type
    _leaving: Floats  # by item: what its steps weigh together; NaN before that is known

    @classmethod
    def of(cls, along: Direction, against: Direction, weights: Floats, size: int) -> Steps:
        """Joins two directions, each ordered by where its steps start."""
        counts = np.stack([np.bincount(one.starts, minlength=size) for one in (along, against)], axis=1)
        first = np.cumsum(counts, axis=0) - counts + np.array([0, len(along.starts)])
        ends, types = np.concatenate([along.ends, against.ends]), np.concatenate([along.types, against.types])
        confidence = np.concatenate([along.confidence, against.confidence])
        return cls(first, counts, ends, types, confidence, weights, np.full(size, np.nan))

    def of_items(self, items: Ints) -> Ints:
        """The places of all steps from some items: of one item after the other, those along edges first."""
        return _ranges(self.first[items].ravel(), self.counts[items].ravel())

    def along(self, items: Ints) -> tuple[Ints, Ints]:
        """The steps along edges from some items: for each the item, and the place of the step."""
        counts = self.counts[items, 0]
        return np.repeat(items, counts), _ranges(self.first[items, 0], counts)

    def weighing(self, places: Ints) -> Floats:
        return np.asarray(self.weights[self.types[places]] * self.confidence[places], dtype=np.float64)

    def leaving(self, items: Ints) -> Floats:
        """What the steps from each of some items weigh together; 0 where none leads on."""
        new = items[np.isnan(self._leaving[items])]
        if len(new):
            owners = np.repeat(np.arange(len(new)), self.counts[new].sum(axis=1))
            self._leaving[new] = added_up(owners, self.weighing(self.of_items(new)), len(new))
        return self._leaving[items]

    def moved(self, items: Ints, walkers: Floats, size: int) -> Floats:
        """Where the walkers of some items, none of them a dead end, are one step later."""
        counts, places = self.counts[items].sum(axis=1), self.of_items(items)
        shares = self.weighing(places) / np.repeat(self.leaving(items), counts)
        return added_up(self.ends[places], np.repeat(walkers, counts) * shares, size)


def _ranges(first: Ints, counts: Ints) -> Ints:
    """Whole numbers from each `first`, so many as `counts` says, one range after the other."""
    before = counts.cumsum() - counts
    return np.asarray(np.arange(int(counts.sum())) + np.repeat(first - before, counts))
