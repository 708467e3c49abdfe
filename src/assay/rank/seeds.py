"""Seeds of the graph walk: the best items by score (`scores`), or the fused candidates of seed 003 (`fusion`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from assay.core.items import TYPE_KINDS
from assay.rank.arrays import Floats, Ints, highest
from assay.rank.noise import noise_reasons
from assay.rank.signals.fusion import fuse
from assay.rank.signals.places import path_context

if TYPE_CHECKING:
    from assay.rank.context import QueryContext
    from assay.rank.ranking import Ranking

CANDIDATES = 40  # candidates taken from the fused channels
FIRST, LAST = 1.0, 0.4  # weights of the first and the last seed


def from_scores(scores: Floats, count: int) -> Floats:
    """Return seed weights of the best items: the square of their scores."""
    best = highest(scores, count)
    seeds = np.zeros(len(scores))
    seeds[best] = scores[best] ** 2
    return seeds


def by_rank(candidates: Sequence[int], size: int, count: int) -> Floats:
    """Return seed weights of the first candidates, falling linearly with rank."""
    chosen = np.array(candidates[:count], dtype=np.int64)
    seeds = np.zeros(size)
    seeds[chosen] = np.linspace(FIRST, LAST, len(chosen)) if len(chosen) > 1 else FIRST
    return seeds


def types_first(candidates: Sequence[int], kinds: dict[int, str]) -> list[int]:
    """Sort types before other candidates, keeping their order.

    In a large graph a type is near its members, a function is not near its peers.
    """
    return sorted(candidates, key=lambda number: kinds[number] not in TYPE_KINDS)


def largest_folder_first(candidates: Sequence[int], folders: Ints) -> list[int]:
    """Sort the folder with most candidates first: nearby seeds keep the walk on topic."""
    candidate_folders = [int(folders[number]) for number in candidates]
    largest = max(
        candidate_folders,
        key=lambda folder: (candidate_folders.count(folder), -candidate_folders.index(folder)),
        default=0,
    )
    return sorted(candidates, key=lambda number: int(folders[number]) != largest)


def _best_scores(query: QueryContext, ranking: Ranking) -> Floats:
    return from_scores(ranking.scores, query.profile.seeds(query.items.size))


def _fused_candidates(query: QueryContext, ranking: Ranking) -> Floats:
    """Seed as in seed 003: fused candidates, implementors, no noise, types and the largest folder first."""
    profile, size = query.profile, query.items.size
    candidates = [number for number, _ in fuse(ranking.channels, CANDIDATES)]
    if profile.implementors:
        implementors = query.graph.sources(np.array(candidates, dtype=np.int64), "implements")
        candidates += [number for number in implementors.tolist() if number not in candidates]
    if profile.noise:
        ranking.noise |= noise_reasons(query.index.numbered(candidates), query.task.about_tests)
        candidates = [number for number in candidates if number not in ranking.noise]
    if profile.dense and size > profile.dense:
        items = query.index.numbered(candidates)
        candidates = types_first(candidates, {number: item.kind for number, item in items.items()})
    if profile.focused:
        candidates = largest_folder_first(candidates, query.items.folders)
    seeds = by_rank(candidates, size, profile.seeds(size))
    if profile.path_seeds:
        under_paths = path_context(query.index, query.task.task, query.task.keywords)
        seeds[under_paths] = np.maximum(seeds[under_paths], profile.path_seeds)
    return seeds


SEEDING: Mapping[str, Callable[[QueryContext, Ranking], Floats]] = {
    "scores": _best_scores,
    "fusion": _fused_candidates,
}
