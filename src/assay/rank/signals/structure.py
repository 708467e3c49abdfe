"""Signals of the code's structure: kind, test code, in-degree, containers and members."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from assay.rank.signals.names import called
from assay.rank.signals.signal import Signal, Stage

if TYPE_CHECKING:
    from assay.rank.arrays import Floats
    from assay.rank.context import QueryContext
    from assay.rank.ranking import Ranking


def _kind(query: QueryContext, ranking: Ranking) -> Floats:
    """Return the kind weight of each item; items the task calls by name keep weight 1."""
    if not query.profile.kind_weights:
        return query.items.kinds
    kinds = query.items.kinds.copy()
    kinds[called(query)] = 1.0
    return kinds


def _tests(query: QueryContext, ranking: Ranking) -> Floats:
    return np.ones(query.items.size) if query.task.about_tests else query.items.tests


def _containment(query: QueryContext, ranking: Ranking) -> Floats:
    """Return the direct scores with shares of containers and members."""
    shared = query.graph.shared(ranking.scores, query.profile.container_share, query.profile.member_share)
    shared *= ranking.factors["kind"]
    return shared


AUTHORITY = Signal(
    "authority",
    Stage.FACTOR,
    "use",
    "how often the repository uses it (in-degree)",
    weights={"authority": (0.0, 0.35, 1.2, 2.0)},
    generate=lambda query: query.graph.uses,
    is_feature=True,
)
KIND = Signal("kind", Stage.FACTOR, "itself", "weight of its kind; fields and constants count less", score=_kind)
TESTS = Signal(
    "tests",
    Stage.FACTOR,
    "itself",
    "test code, and the task is not about tests",
    weights={"test_weight": (0.1, 0.5, 1.0)},
    score=_tests,
    enabled=lambda profile: True,
)
CONTAINMENT = Signal(
    "containment",
    Stage.PROPAGATION,
    "family",
    "from its container and members",
    weights={"container_share": (0.0, 0.2, 0.6, 0.8), "member_share": (0.0, 0.15, 0.3, 0.8)},
    score=_containment,
    enabled=lambda profile: True,  # also without shares: the kind counts once more among what is shared
)
