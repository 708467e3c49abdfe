"""Ranking result: the scores of an index's items for one task, with everything they were made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from assay.rank.arrays import Floats, Ints, highest

if TYPE_CHECKING:
    from assay.rank.candidates import Candidates
    from assay.rank.context import ItemArrays
    from assay.rank.signals.fusion import Channel


@dataclass(frozen=True, slots=True)
class WalkResult:
    """Visit probabilities of the graph walk, seed weights and HITS adjustment of every item."""

    visits: Floats
    seeds: Floats
    adjustment: Floats  # zeros when HITS is off


@dataclass(slots=True)
class Ranking:
    """The scores of an index's items for one task, with all their components; arrays are by item number.

    The engine fills it in, stage by stage; `scores` then holds the scores so far. `factors`, `additions`, `parts`,
    `multipliers` and `boosts` have the values of each signal of their stage, by name.
    """

    task: str
    terms: Mapping[str, float]  # matched query terms with their rarity (IDF)
    unseen: Mapping[str, float]  # unmatched query terms with the maximum rarity
    coverage: Floats  # share of `terms`, by rarity, in each item
    scores: Floats
    direct: Floats  # product of the factors
    walk: WalkResult
    channels: dict[str, Channel] = field(default_factory=dict)
    called: Sequence[int] = ()  # items the task calls by their whole name
    factors: dict[str, Floats] = field(default_factory=dict)
    additions: dict[str, Floats] = field(default_factory=dict)  # added to `direct`, also by propagation
    parts: dict[str, Floats] = field(default_factory=dict)  # their sum times all `multipliers` is the score
    multipliers: dict[str, Floats] = field(default_factory=dict)
    boosts: dict[str, Floats] = field(default_factory=dict)  # added after the multipliers
    scale: float = 1.0  # best score before it was divided by: final scores are from 0 to 1
    noise: dict[int, str] = field(default_factory=dict)  # filtered items with the reason
    order: Ints | None = None  # of items with equal scores; None: by number
    item_count: int = 0
    candidates: Candidates | None = None  # what the learned ranker orders; None without results

    @classmethod
    def empty(
        cls, task: str, terms: Mapping[str, float], unseen: Mapping[str, float], coverage: Floats, items: ItemArrays
    ) -> Ranking:
        """Return the ranking of a task before anything is scored."""
        zeros = np.zeros(len(coverage))
        return cls(
            task,
            terms,
            unseen,
            coverage,
            zeros,
            zeros,
            WalkResult(zeros, zeros, zeros),
            order=items.order,
            item_count=items.count,
        )

    def best(self, k: int) -> list[int]:
        """Return the numbers of the best items, best first."""
        return [int(number) for number in self.highest(self.scores, k)]

    def highest(self, values: Floats, k: int) -> Ints:
        """Return the numbers of the `k` highest positive values by item, highest first."""
        return highest(values, k, self.order)
