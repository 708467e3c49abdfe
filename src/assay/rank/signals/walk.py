"""Parts of the score around the graph walk: by `shares` (the default) or by the `composite` formula of seed 003."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from assay.rank.arrays import Floats, share_of_best
from assay.rank.ranking import WalkResult
from assay.rank.seeds import SEEDING
from assay.rank.signals.signal import Signal, Stage

if TYPE_CHECKING:
    from assay.rank.context import QueryContext
    from assay.rank.profile import Profile
    from assay.rank.ranking import Ranking

_NEIGHBOURHOOD = 200  # top items of the walk on which HITS runs


def walk(query: QueryContext, ranking: Ranking) -> WalkResult:
    """Walk the graph from the seeds of a query (personalized PageRank), and run HITS on what it reaches."""
    profile, size = query.profile, query.items.size
    seeds = SEEDING[profile.seeding](query, ranking)
    if not profile.walk:
        return WalkResult(np.zeros(size), seeds, np.zeros(size))
    visits = query.graph.walk(seeds, profile.restart, profile.steps)
    visits[query.items.not_retrieved] = 0
    adjustment = query.graph.adjustment(visits, seeds, _NEIGHBOURHOOD) if profile.hits else np.zeros(size)
    return WalkResult(visits, seeds, adjustment)


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
    reads=("edge_weights",),  # the graph is shared
    score=_walk_share,
    enabled=lambda profile: _by_shares(profile) and profile.walk > 0,
)


# The composite score: weighted blast radius, confidence, recency and distance of the items the walk reached.

# weights of the specification: (blast radius, confidence, recency, distance), without and with HITS
BASE, WITH_HITS = (0.40, 0.25, 0.20, 0.15), (0.35, 0.20, 0.15, 0.15)
NOT_OBSERVED = 0.3  # recency without a runtime trace; an index has none, so it is constant
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
    lambda query, ranking: np.full(query.items.size, NOT_OBSERVED),
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
