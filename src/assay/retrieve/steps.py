"""The steps a walker can take: every edge in both directions, where the index has it. Nothing is laid out anew: most items no walker ever sees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.retrieve.order import Floats, Ints, added_up

_NOTHING = 1e-300  # instead of 0, to divide by


class Direction(NamedTuple):
    """Edges in one direction, ordered by the item where they start, and how many start at each; `types` are codes."""

    counts: Ints
    ends: Ints
    types: Ints
    confidence: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Steps:
    """Every edge in both directions. What share of the walkers takes each is worked out for an item when one first comes there."""

    first: Ints  # by item, in two columns: where its steps along edges begin, and where those against them
    counts: Ints  # likewise: how many there are
    ends: Ints
    types: Ints  # each direction has codes of its own
    confidence: NDArray[np.float32]
    weights: Floats  # by type
    leaving: Floats  # by item: what its steps weigh together; NaN until a walker came there
    shares: Floats  # by step: the share of the walkers that takes it; filled in with the item's

    @classmethod
    def of(cls, along: Direction, against: Direction, weights: Floats) -> Steps:
        """Joins two directions."""
        counts = np.stack([along.counts, against.counts], axis=1)
        first = np.stack([one.counts.cumsum() - one.counts for one in (along, against)], axis=1)
        first[:, 1] += len(along.ends)
        ends, types = np.concatenate([along.ends, against.ends]), np.concatenate([along.types, against.types])
        confidence = np.concatenate([along.confidence, against.confidence])
        return cls(first, counts, ends, types, confidence, weights, np.full(len(first), np.nan), np.empty(len(ends)))

    def of_items(self, items: Ints) -> Ints:
        """The places of all steps from some items: of one item after the other, those along edges first."""
        return _ranges(self.first[items].ravel(), self.counts[items].ravel())

    def along(self, items: Ints) -> tuple[Ints, Ints]:
        """The steps along edges from some items: for each the item, and the place of the step."""
        counts = self.counts[items, 0]
        return np.repeat(items, counts), _ranges(self.first[items, 0], counts)

    def lead_on(self, items: Ints) -> NDArray[np.bool_]:
        """Whether any step leads on from each of some items. Works out the shares of those that are asked about for the first time."""
        new = items[np.isnan(self.leaving[items])]
        if len(new):
            places, counts = self.of_items(new), self.counts[new].sum(axis=1)
            weights = self.weights[self.types[places]] * self.confidence[places]
            self.leaving[new] = added_up(np.repeat(np.arange(len(new)), counts), weights, len(new))
            self.shares[places] = weights / np.repeat(np.maximum(self.leaving[new], _NOTHING), counts)
        return np.asarray(self.leaving[items] > 0)

    def moved(self, items: Ints, walkers: Floats, size: int) -> Floats:
        """Where the walkers of some items, from all of which steps lead on, are one step later."""
        places = self.of_items(items)
        moving = np.repeat(walkers, self.counts[items].sum(axis=1))
        moving *= self.shares[places]
        return added_up(self.ends[places], moving, size)


def _ranges(first: Ints, counts: Ints) -> Ints:
    """Whole numbers from each `first`, so many as `counts` says, one range after the other."""
    before = counts.cumsum() - counts
    places = np.repeat(first - before, counts)
    places += np.arange(len(places))
    return places
