"""The interface of everything that contributes to a score: stages, components and `Signal`. `table.py` lists all signals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.rank.context import QueryContext
    from assay.rank.profile import Profile
    from assay.rank.ranking import Ranking


class Stage(Enum):
    """The steps of a ranking, in order. Each has one rule by which the values of its signals are combined."""

    CHANNEL = "channel"  # `generate` returns ranked item numbers; channels are fused by reciprocal rank
    FACTOR = "factor"  # values by item; their product is the direct score
    ADDITION = "addition"  # values by item, added to the direct score
    PROPAGATION = "propagation"  # direct scores in, direct scores after related items have shared theirs out
    PART = "part"  # values by item after the graph walk; their sum is the score
    MULTIPLIER = "multiplier"  # values by item that multiply the score, one signal after the other
    BOOST = "boost"  # values by item, relative to the best score, added last: what the user said counts most


# Score components that users see → description, in display order. Every signal and feature belongs to one.
# Factors below 1 only shrink the others.
COMPONENTS = {
    "words": "terms of the task in its text",
    "names": "terms or phrases of the task in its name",
    "meaning": "words of similar meaning in its name, signature and comment",
    "use": "how often the repository uses it",
    "history": "commits with matching messages changed it",
    "documents": "matching documentation sections mention it",
    "pointed at": "the task names it, its file or a related concept",
    "family": "scores of its container and members",
    "graph": "graph walk and links to other results",
    "learned": "feedback, and what the session was given",
    "itself": "its kind, size, nesting, and whether it is a test",
}


@dataclass(frozen=True, eq=False, slots=True)
class Signal:
    """A contribution to the score. It generates evidence, scores items, or both.

    `generate` returns unweighted evidence of a query: ranked item numbers of a CHANNEL, a value per item of a FACTOR.
    It is computed once per query and shared by all profiles that agree in the settings it `reads`. `score` returns the
    weighted values for its stage, or None if it has nothing to contribute. Without `score`, a CHANNEL is its evidence
    with its weight, and a FACTOR is 1 + weight × evidence: evidence from 0 to 1 raises an item, -1 lowers it to 1 - weight.
    """

    name: str  # unique within its stage
    stage: Stage
    component: str
    meaning: str  # shown by `assay why`
    # profile setting → other values than the default that tuning tries; () = not tuned
    weights: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    reads: tuple[str, ...] = ()  # profile settings that `generate`, or what it is computed from, depends on
    generate: Callable[[QueryContext], Any] | None = None
    score: Callable[[QueryContext, Ranking], Any] | None = None
    enabled: Callable[[Profile], bool] | None = None  # default: its first weight is not 0
    is_feature: bool = False  # a feature of the learned rankers, which must be trained again to use it

    def weight(self, profile: Profile) -> float:
        """Return the value of its first weight in a profile; 1 for a signal without weights."""
        setting, _, key = next(iter(self.weights), "").partition(".")
        if not setting:
            return 1.0
        value = getattr(profile, setting)
        return float(value.get(key, 0.0) if key else value)

    def is_on(self, profile: Profile) -> bool:
        return self.enabled(profile) if self.enabled is not None else bool(self.weight(profile))
