"""The table of signals, in order of evaluation, and what follows from it: evidence sharing and tunable settings.

Order matters for propagation, multipliers and channels that read other channels: each gets the result so far. For the
others it is the order in `assay why`.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.rank.profile import Profile
from assay.rank.signals import (
    central,
    classes,
    documents,
    feedback,
    fusion,
    history,
    lexical,
    multipliers,
    names,
    places,
    structure,
    walk,
)
from assay.rank.signals.signal import Signal, Stage

SIGNALS: tuple[Signal, ...] = (
    # candidates
    names.NAMES,
    classes.CLASSES,
    feedback.VOCABULARY,
    places.CANDIDATES,
    central.CENTRAL,
    lexical.CLAUSES,
    history.CANDIDATES,
    documents.CANDIDATES,
    # the direct score
    lexical.LEXICAL,
    lexical.COVERAGE,
    lexical.NAME_PRECISION,
    structure.AUTHORITY,
    history.HISTORY,
    history.TOUCHED,
    history.RECENCY,
    documents.DOCUMENTS,
    places.PLACE,
    fusion.CHANNELS,
    structure.KIND,
    structure.TESTS,
    places.DIRECT_HITS,
    structure.CONTAINMENT,
    # the score after the walk
    walk.DIRECT,
    walk.WALK,
    walk.HITS,
    fusion.PROPOSED,
    # the learned order comes before repeated names are lowered in it
    multipliers.FOLDER,
    multipliers.RANKER,
    multipliers.REPEATED,
    multipliers.REORDER,
    # what the user said
    places.POINTED_AT,
    feedback.LEARNED,
)

BY_STAGE: Mapping[Stage, Mapping[str, Signal]] = {
    stage: {signal.name: signal for signal in SIGNALS if signal.stage is stage} for stage in Stage
}
# profile settings that evidence depends on
EVIDENCE_SETTINGS = tuple(dict.fromkeys(setting for signal in SIGNALS for setting in signal.reads))
# profile setting → values that tuning tries: a few around the default, so that the best is rarely outside
TUNED = {setting: values for signal in SIGNALS for setting, values in signal.weights.items() if values}
# settings that leak the answers of a golden set mined from the searched history
HISTORY_SETTINGS = tuple(setting for signal in SIGNALS if signal.component == "history" for setting in signal.weights)


def can_share_evidence(first: Profile, second: Profile) -> bool:
    """Return whether evidence generated under one profile may be scored under the other."""
    return all(getattr(first, setting) == getattr(second, setting) for setting in EVIDENCE_SETTINGS)


def channel_names() -> list[str]:
    """Return the keys of the profile setting `channels`."""
    keys = (weight.partition(".") for signal in SIGNALS for weight in signal.weights)
    return [key for setting, _, key in keys if setting == "channels"]
