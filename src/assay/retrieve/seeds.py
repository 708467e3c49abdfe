"""Seeds of the walk: from candidates, best first, to where a walker starts and how likely."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.core.items import TYPE_KINDS
from assay.retrieve.order import Floats, Ints, highest

CANDIDATES = 40  # of the fused channels
FIRST, LAST = 1.0, 0.4  # the weight of the first and of the last seed


def from_scores(scores: Floats, count: int) -> Floats:
    """The best items; a better one is a likelier start, by the square of its score."""
    best = highest(scores, count)
    seeds = np.zeros(len(scores))
    seeds[best] = scores[best] ** 2
    return seeds


def by_rank(candidates: Sequence[int], size: int, count: int) -> Floats:
    """The first candidates, their weight falling evenly with their rank."""
    kept = np.array(candidates[:count], dtype=np.int64)
    seeds = np.zeros(size)
    seeds[kept] = np.linspace(FIRST, LAST, len(kept)) if len(kept) > 1 else FIRST
    return seeds


def types_first(candidates: Sequence[int], kinds: dict[int, str]) -> list[int]:
    """Types before anything else, else in their order: on a large graph a type's members are near, a function's peers are not."""
    return sorted(candidates, key=lambda number: kinds[number] not in TYPE_KINDS)


def largest_folder_first(candidates: Sequence[int], folders: Ints) -> list[int]:
    """The candidates of the folder that has most of them, then the others: seeds beside each other make a walk that stays on topic."""
    where = [int(folders[number]) for number in candidates]
    most = max(where, key=lambda folder: (where.count(folder), -where.index(folder)), default=0)
    return sorted(candidates, key=lambda number: int(folders[number]) != most)
