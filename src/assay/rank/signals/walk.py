"""The graph walk from the best items by score, and the parts of the score around it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from assay.rank.arrays import Floats, Ints, share_of_best
from assay.rank.ranking import WalkResult
from assay.rank.signals.signal import Signal, Stage

if TYPE_CHECKING:
    from assay.rank.context import QueryContext
    from assay.rank.ranking import Ranking

_NEIGHBOURHOOD = 200  # top items of the walk on which HITS runs


def walk(query: QueryContext, ranking: Ranking) -> WalkResult:
    """Walk the graph from the seeds of a query (personalized PageRank), and run HITS on what it reaches."""
    profile, size = query.profile, query.items.size
    seeds = from_scores(ranking.scores, ranking.highest(ranking.scores, profile.seeds))
    if not profile.walk:
        return WalkResult(np.zeros(size), seeds, np.zeros(size))
    visits = query.graph.walk(seeds, profile.restart, profile.steps)
    visits[query.items.not_retrieved] = 0
    adjustment = query.graph.adjustment(visits, seeds, _NEIGHBOURHOOD) if profile.hits else np.zeros(size)
    return WalkResult(visits, seeds, adjustment)


def from_scores(scores: Floats, best: Ints) -> Floats:
    """Return seed weights of the best items: the square of their scores."""
    seeds = np.zeros(len(scores))
    seeds[best] = scores[best] ** 2
    return seeds


# Parts of the score


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
)
WALK = Signal(
    "walk",
    Stage.PART,
    "graph",
    "visit probability (personalized PageRank), relative to the top result",
    weights={"walk": (0.0, 0.5, 1.0, 2.5)},
    reads=("edge_weights", "tool_edges"),  # the graph is shared
    score=_walk_share,
)


HITS = Signal(
    "hits",
    Stage.PART,
    "graph",
    "hub and authority scores (HITS) among the results of the walk",
    weights={"hits": (0.0, 0.25, 1.0)},
    score=lambda query, ranking: query.profile.hits * ranking.walk.adjustment,
)
