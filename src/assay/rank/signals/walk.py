"""The graph walk: its seeds, and the parts of the score around it.

Seeds are the best items by score (`scores`, the default), or fused candidates (`fusion`, as in seed 003). The score is the
sum of `shares` (the default), or the `composite` formula of seed 003.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from assay.core.items import TYPE_KINDS
from assay.rank.arrays import Floats, Ints, share_of_best
from assay.rank.noise import noise_reasons
from assay.rank.ranking import WalkResult
from assay.rank.recency import UNKNOWN
from assay.rank.signals.fusion import fuse
from assay.rank.signals.places import path_context
from assay.rank.signals.signal import Signal, Stage

if TYPE_CHECKING:
    from assay.rank.context import QueryContext
    from assay.rank.profile import Profile
    from assay.rank.ranking import Ranking

_NEIGHBOURHOOD = 200  # top items of the walk on which HITS runs


def walk(query: QueryContext, ranking: Ranking) -> WalkResult:
    """Walk the graph from the seeds of a query (personalized PageRank), and run HITS on what it reaches."""
    profile, size = query.profile, query.items.size
    seeds = _SEEDING[profile.seeding](query, ranking)
    if not profile.walk:
        return WalkResult(np.zeros(size), seeds, np.zeros(size))
    visits = query.graph.walk(seeds, profile.restart, profile.steps)
    visits[query.items.not_retrieved] = 0
    adjustment = query.graph.adjustment(visits, seeds, _NEIGHBOURHOOD) if profile.hits else np.zeros(size)
    return WalkResult(visits, seeds, adjustment)


# Seeds

CANDIDATES = 40  # candidates taken from the fused channels
FIRST, LAST = 1.0, 0.4  # weights of the first and the last seed


def from_scores(scores: Floats, best: Ints) -> Floats:
    """Return seed weights of the best items: the square of their scores."""
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
    return from_scores(ranking.scores, ranking.highest(ranking.scores, query.profile.seeds(query.items.count)))


def _fused_candidates(query: QueryContext, ranking: Ranking) -> Floats:
    """Seed as in seed 003: fused candidates, implementors, no noise, types and the largest folder first."""
    profile, size = query.profile, query.items.size
    candidates = [number for number, _ in fuse(ranking.channels, CANDIDATES, query.items.order)]
    if profile.implementors:
        implementors = query.graph.sources(np.array(candidates, dtype=np.int64), "implements")
        candidates += [number for number in implementors.tolist() if number not in candidates]
    if profile.noise:
        ranking.noise |= noise_reasons(query.index.numbered(candidates), query.task.about_tests)
        candidates = [number for number in candidates if number not in ranking.noise]
    if profile.dense and query.items.count > profile.dense:
        items = query.index.numbered(candidates)
        candidates = types_first(candidates, {number: item.kind for number, item in items.items()})
    if profile.focused:
        candidates = largest_folder_first(candidates, query.items.folders)
    seeds = by_rank(candidates, size, profile.seeds(query.items.count))
    if profile.path_seeds:
        under_paths = path_context(query.index, query.task.task, query.task.keywords)
        seeds[under_paths] = np.maximum(seeds[under_paths], profile.path_seeds)
    return seeds


_SEEDING: Mapping[str, Callable[[QueryContext, Ranking], Floats]] = {
    "scores": _best_scores,
    "fusion": _fused_candidates,
}


# Parts of the score


def _by_shares(profile: Profile) -> bool:
    return profile.scoring == "shares"


def _walk_share(query: QueryContext, ranking: Ranking) -> Floats:
    return query.profile.walk * share_of_best(ranking.walk.visits * _lowered(ranking))


def _lowered(ranking: Ranking) -> Floats:
    """Return the weight by kind and test code, which also lowers what the walk finds."""
    return ranking.factors["kind"] * ranking.factors["tests"]


DIRECT = Signal(
    "direct",
    Stage.PART,
    "words",
    "the score above, relative to the top result",
    score=lambda query, ranking: share_of_best(ranking.scores),
    enabled=_by_shares,
)
WALK = Signal(
    "walk",
    Stage.PART,
    "graph",
    "visit probability (personalized PageRank), relative to the top result",
    weights={"walk": (0.0, 0.5, 1.0, 2.5)},
    reads=("edge_weights", "tool_edges"),  # the graph is shared
    score=_walk_share,
    enabled=lambda profile: _by_shares(profile) and profile.walk > 0,
)


# The composite score: weighted blast radius, confidence, recency and distance of the items the walk reached.

# weights of the specification: (blast radius, confidence, recency, distance), without and with HITS
BASE, WITH_HITS = (0.40, 0.25, 0.20, 0.15), (0.35, 0.20, 0.15, 0.15)
REACHED = 0.02  # share of the walk's maximum below which items are not scored
NEXT = 0.5  # distance score of items that are not seeds: one step away, 1 / (1 + 1)


def _of_reached(values: Floats, ranking: Ranking) -> Floats:
    """Return the values of items that the walk reached, lowered by kind and test code; 0 for the others."""
    return np.where(share_of_best(ranking.walk.visits) >= REACHED, values, 0.0) * _lowered(ranking)


def _composite(name: str, position: int, meaning: str, of: Callable[[QueryContext, Ranking], Floats]) -> Signal:
    """Build a part of the composite score; `position` is that of its weight."""

    def score(query: QueryContext, ranking: Ranking) -> Floats:
        weight = (WITH_HITS if query.profile.hits else BASE)[position]
        return _of_reached(weight * of(query, ranking), ranking)

    return Signal(name, Stage.PART, "graph", meaning, score=score, enabled=lambda profile: not _by_shares(profile))


BLAST_RADIUS = _composite(
    "blast radius",
    0,
    "visit probability (personalized PageRank)",
    lambda query, ranking: share_of_best(ranking.walk.visits),
)
CONFIDENCE = _composite(
    "confidence", 1, "confidence of the surest incoming edge", lambda query, ranking: query.graph.confidence
)
RECENCY = _composite(
    "recency",
    2,
    "constant: the index has no runtime traces",
    lambda query, ranking: np.full(query.items.size, UNKNOWN),
)
DISTANCE = _composite(
    "distance",
    3,
    "seed of the walk, or one step away",
    lambda query, ranking: np.where(ranking.walk.seeds > 0, 1.0, NEXT),
)


def _hits(query: QueryContext, ranking: Ranking) -> Floats:
    part = query.profile.hits * ranking.walk.adjustment
    return part if _by_shares(query.profile) else _of_reached(part, ranking)


HITS = Signal(
    "hits",
    Stage.PART,
    "graph",
    "hub and authority scores (HITS) among the results of the walk",
    weights={"hits": (0.0, 0.25, 1.0)},
    score=_hits,
    is_feature=True,
)
