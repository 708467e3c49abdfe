"""A ranking: the order of an index's items for one task, and everything it was made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assay.retrieve.order import Floats, highest


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
