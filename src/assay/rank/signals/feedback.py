"""Signals learned from use: vocabulary associated with the task's words, feedback and session proximity."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.rank.signals.fusion import Channel
from assay.rank.signals.signal import Signal, Stage

if TYPE_CHECKING:
    from assay.rank.arrays import Floats
    from assay.rank.context import QueryContext
    from assay.rank.ranking import Ranking


def _vocabulary(query: QueryContext, ranking: Ranking) -> dict[str, Channel]:
    """Return one channel per confidence of an association: reciprocal rank fusion weighs whole channels."""
    associations = query.learned.vocabulary
    weights = sorted({association.weight for association in associations}, reverse=True)
    return {
        f"learned {weight:.2f}": Channel(weight, [entry.number for entry in associations if entry.weight == weight])
        for weight in weights
    }


def _learned(query: QueryContext, ranking: Ranking) -> Floats | None:
    learned = query.learned
    return query.items.by_symbol(learned.adjustments()) if learned.feedback or learned.session else None


VOCABULARY = Signal(
    "vocabulary", Stage.CHANNEL, "learned", "was useful for tasks with some of the same words", score=_vocabulary
)
LEARNED = Signal("learned", Stage.BOOST, "learned", "feedback, and what the session was given", score=_learned)
