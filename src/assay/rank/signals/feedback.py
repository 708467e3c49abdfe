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
    """Return one ranked list in which each item weighs as much as its association is sure."""
    weights = {association.number: association.weight for association in query.learned.vocabulary}
    return {VOCABULARY.name: Channel(max(weights.values()), list(weights), weights)} if weights else {}


def _learned(query: QueryContext, ranking: Ranking) -> Floats | None:
    learned, profile = query.learned, query.profile
    boosts = {number: profile.feedback_boost(signal) for number, signal in learned.feedback.items()}
    if profile.session:
        for number, nearness in learned.session.items():
            boosts[number] = boosts.get(number, 0.0) + profile.session * nearness
    return query.items.by_symbol(boosts) if boosts else None


VOCABULARY = Signal(
    "learned_vocabulary",
    Stage.CHANNEL,
    "learned",
    "was useful for tasks with some of the same words",
    score=_vocabulary,
)
LEARNED = Signal(
    "learned",
    Stage.BOOST,
    "learned",
    "feedback, and what the session was given",
    weights={"useful": (), "not_useful": (), "session": ()},  # an evaluation sees nothing learned: nothing to tune
    score=_learned,
    enabled=lambda profile: bool(profile.useful or profile.not_useful or profile.session),
)
