"""What use has taught about the items of an index, as the engine sees it for one task. Empty for a cold start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

# A boost is worth more than a penalty: what was not used may still have been right (weights of the specification).
USEFUL_WEIGHT, NOT_USEFUL_WEIGHT, SESSION_WEIGHT = 0.25, 0.05, 0.20


@dataclass(frozen=True, slots=True)
class Association:
    """An item that was useful for tasks with some of this task's words. `weight` is that of its share in the fusion."""

    number: int
    weight: float
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Learned:
    """By item number: feedback from -1 (never useful) to 1 (always), nearness of the session from 0 to 1; and the vocabulary, best first."""

    feedback: Mapping[int, float] = field(default_factory=dict)
    session: Mapping[int, float] = field(default_factory=dict)
    vocabulary: tuple[Association, ...] = ()

    def adjustments(
        self, useful: float = USEFUL_WEIGHT, not_useful: float = NOT_USEFUL_WEIGHT, session: float = SESSION_WEIGHT
    ) -> dict[int, float]:
        """What feedback and session add to the score of each item they speak of."""
        found = {number: weighted(signal, useful, not_useful) for number, signal in self.feedback.items()}
        for number, near in self.session.items():
            found[number] = found.get(number, 0.0) + session * near
        return found


NOTHING = Learned()


def weighted(signal: float, useful: float = USEFUL_WEIGHT, not_useful: float = NOT_USEFUL_WEIGHT) -> float:
    """What feedback of this signal adds to a score: 1 → +0.25, 0 → 0, -1 → -0.05."""
    return signal * (useful if signal > 0 else not_useful)
