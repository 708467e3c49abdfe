"""Packs: ranked items rendered into a token budget, and the learned adjustments a ranking takes into account."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from assay.core.items import Item

NAME, SIGNATURE, BODY = RENDERINGS = ("name", "signature", "body")


@dataclass(frozen=True, slots=True)
class Ranked:
    """An item with what ranking says about it. `proximity` (0 to 1) is how near the walk found it to the task."""

    item: Item
    score: float
    proximity: float = 1.0
    why: str = ""  # it is here, where that is not the task's words
    section: str = ""  # name of the section it belongs to
    most: str = BODY  # the fullest rendering there is a use for
    link: str = ""  # where it can be looked at in a browser


class Source(Protocol):
    """Where the text of items comes from."""

    def note(self, item: Item) -> str:
        """Why the item's lines cannot be shown, e.g. that its file changed; empty when they can."""

    def text(self, item: Item) -> str:
        """The item's lines; empty when there are none to show."""


@dataclass(frozen=True, slots=True)
class Section:
    """A part of an answer with a title of its own; it is named also when nothing is in it."""

    name: str
    title: str
    said: str = ""  # how many there are, or why there are none
    empty: bool = False


@dataclass(frozen=True, slots=True)
class Heading:
    """What an answer says before its items, and the titles between them."""

    task: str = ""
    fresh: bool = True
    freshness: str = ""  # the same for people: "index of 12:03, 2 files changed since"
    searched: str = ""  # said only when it is not sure: "40,112 symbols in 2,803 files"
    nearest: tuple[str, ...] = ()  # likewise: names like those words of the task that nothing here has
    scope: str = ""  # what was asked about besides the task: files, or a diff
    sections: tuple[Section, ...] = ()  # in their order; every item then belongs to one
    confidence: float | None = None  # the chance that one of the first five is right; None where it is not known
    sure: bool = True  # False when that is below the threshold, or nothing was found
    unseen: tuple[str, ...] = ()  # said only when it is not sure: words of the task that nothing here has


@dataclass(frozen=True, slots=True)
class PackedItem:
    """An item as it is shown."""

    item: Item
    score: float
    rendering: str = NAME
    text: str = ""  # nothing for a name; signature and doc; or the source lines
    tokens: int = 0  # that showing more than the name adds to the answer
    note: str = ""  # why its lines are not shown
    within: str = ""  # id of the item in whose lines it is already shown
    why: str = ""
    section: str = ""
    link: str = ""

    @property
    def id(self) -> str:
        return self.item.id

    @property
    def symbol(self) -> str:
        return self.item.symbol

    @property
    def kind(self) -> str:
        return self.item.kind

    @property
    def path(self) -> str:
        return self.item.path

    @property
    def start(self) -> int:
        return self.item.start

    @property
    def end(self) -> int:
        return self.item.end


@dataclass(frozen=True, slots=True)
class Pack:
    """An answer for one format: `tokens`, frame included, is exact and within the budget."""

    budget: int
    format: str
    heading: Heading = Heading()
    items: tuple[PackedItem, ...] = ()  # in rank order
    left_out: int = 0
    best_left_out: tuple[str, ...] = ()
    tokens: int = 0
    framed: bool = True  # False when the budget is too small for the format's own frame


# What use has taught about the items of an index, as the engine sees it for one task. Empty for a cold start.

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
