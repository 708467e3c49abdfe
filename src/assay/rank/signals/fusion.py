"""Weighted reciprocal rank fusion of channels, and the factor that it gives a candidate."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from assay.rank.arrays import Floats, line
from assay.rank.signals.signal import Signal, Stage

if TYPE_CHECKING:
    from assay.rank.context import QueryContext
    from assay.rank.ranking import Ranking

K = 60  # the usual constant of reciprocal rank fusion: agreement between channels outweighs the top ranks


@dataclass(frozen=True, slots=True)
class Channel:
    """A ranked list of item numbers, best first, with its weight, or with a weight for each item."""

    weight: float
    items: Sequence[int]
    weights: Mapping[int, float] = field(default_factory=dict)


def fused_scores(channels: Mapping[str, Channel]) -> dict[int, float]:
    """Return the fused score of each item; an item repeated in a channel counts once, at its best rank.

    Sums are exact, so the order of the channels does not matter.
    """
    scores: dict[int, list[float]] = {}
    for channel in channels.values():
        if channel.weight > 0:
            for rank, number in enumerate(dict.fromkeys(channel.items)):
                weight = channel.weights.get(number, channel.weight)
                scores.setdefault(number, []).append(weight / (K + rank + 1))
    return {number: math.fsum(contributions) for number, contributions in scores.items()}


def _gain(query: QueryContext, ranking: Ranking) -> Floats:
    """Return 1 + the fused score, scaled so that the first item of a single channel of weight 1 gains the weight."""
    scores = {number: score * (K + 1) for number, score in fused_scores(ranking.channels).items()}
    return line(query.items.by_item(scores), query.profile.fusion, 1)


def _proposed(query: QueryContext, ranking: Ranking) -> Floats:
    """Return a small score for what channels found, so that it is a candidate without any evidence of its own."""
    part = np.zeros(query.items.size)
    for channel in ranking.channels.values():
        if channel.items:
            ranked = np.array(channel.items[::-1])
            part[ranked] = np.maximum(part[ranked], query.profile.proposed / np.arange(len(ranked), 0, -1))
    part[query.items.not_retrieved] = 0
    return part


PROPOSED = Signal(
    "proposed",
    Stage.PART,
    "pointed at",
    "found by a list of candidates",
    weights={"proposed": ()},
    score=_proposed,
)
CHANNELS = Signal(
    "channels",
    Stage.FACTOR,
    "pointed at",
    "the task names it, a related concept, or learned words lead to it (rank fusion)",
    weights={"fusion": (0.0, 0.25, 1.0, 2.0)},
    score=_gain,
)
