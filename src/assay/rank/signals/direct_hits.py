"""Direct hits: items the task points at by path, stack frame, rare name or project class."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from assay.rank.signals import classes
from assay.rank.signals.fusion import Channel, K
from assay.rank.signals.places import places_of
from assay.rank.signals.signal import Signal, Stage

if TYPE_CHECKING:
    from assay.rank.arrays import Floats
    from assay.rank.context import QueryContext
    from assay.rank.ranking import Ranking

_MAX_BEARERS = 5  # a name with more bearers points at none of them


def _direct_hits(query: QueryContext) -> list[int]:
    return [*places_of(query), *_named(query)]


def _named(query: QueryContext) -> list[int]:
    """Return items the task calls by a rare name, after the targets of surely matching project classes."""
    resources = query.resources
    matched = classes.matches(query.task.task, resources.classes, resources.languages) if resources.classes else []
    sure = [match for match in matched if match.is_sure]
    numbers = [hit.number for hit in classes.resolve(resources.names, sure, len(sure) * _MAX_BEARERS)]
    for name in query.task.keywords.literal:
        bearers = [row.number for row in islice(resources.names.exact(name), _MAX_BEARERS + 1)]
        numbers += bearers if len(bearers) <= _MAX_BEARERS else []
    return list(dict.fromkeys(numbers))


def _channel(query: QueryContext, ranking: Ranking) -> dict[str, Channel]:
    return {CANDIDATES.name: Channel(0.0, query.evidence(CANDIDATES))}  # not fused: their gain is an addition


def _gain(query: QueryContext, ranking: Ranking) -> Floats | None:
    """Return a share of the best score, falling with rank; neither kind of hit needs a matching term.

    Items that learned vocabulary associates with the task gain by its confidence.
    """
    hits, vocabulary = query.evidence(CANDIDATES), query.learned.vocabulary
    if not (hits or vocabulary):
        return None
    gain = query.profile.direct_hits * (float(ranking.direct.max()) or 1.0)
    gains = {entry.number: entry.weight * gain * K / (K + rank) for rank, entry in enumerate(vocabulary)}
    gains |= {number: gain * K / (K + rank) for rank, number in enumerate(hits)}
    return query.items.by_symbol(gains)


CANDIDATES = Signal(
    "direct_hits",
    Stage.CHANNEL,
    "pointed at",
    "named by the task",
    weights={"direct_hits": ()},
    generate=_direct_hits,
    score=_channel,
    is_feature=True,
)
DIRECT_HITS = Signal(
    "direct_hits",
    Stage.ADDITION,
    "pointed at",
    "the task points at it (path, frame or rare name)",
    weights={"direct_hits": ()},
    score=_gain,
)
