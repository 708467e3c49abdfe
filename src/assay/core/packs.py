"""Packs: ranked items rendered into a token budget, and the learned signals a ranking takes into account."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from assay.core.items import Item

NAME, SIGNATURE, BODY = RENDERINGS = ("name", "signature", "body")


@dataclass(frozen=True, slots=True)
class Ranked:
    """An item with its ranking. `proximity` (0 to 1) is its graph proximity to the task."""

    item: Item
    score: float
    proximity: float = 1.0
    why: str = ""  # reason, if it is not the words of the task
    section: str = ""  # name of the section it belongs to
    most: str = BODY  # the fullest useful rendering
    link: str = ""  # URL for a browser


class Source(Protocol):
    """Provider of the source text of items."""

    def note(self, item: Item) -> str:
        """Return why the item's lines cannot be shown, e.g. that its file changed; empty if they can."""

    def text(self, item: Item) -> str:
        """Return the item's lines; empty if they cannot be shown."""


@dataclass(frozen=True, slots=True)
class Section:
    """A titled part of an answer; listed even if empty."""

    name: str
    title: str
    said: str = ""  # count, or why it is empty
    empty: bool = False


@dataclass(frozen=True, slots=True)
class Heading:
    """The header of an answer, and the titles of its sections."""

    task: str = ""
    fresh: bool = True
    freshness: str = ""  # human-readable: "index of 12:03, 2 files changed since"
    searched: str = ""  # only if not sure: "40,112 symbols in 2,803 files"
    nearest: tuple[str, ...] = ()  # only if not sure: spelling suggestions for unmatched words
    scope: str = ""  # query scope besides the task: files, or a diff
    sections: tuple[Section, ...] = ()  # in order; every item then belongs to one
    confidence: float | None = None  # probability that one of the first five is right; None if unknown
    sure: bool = True  # False below the threshold, or without results
    unseen: tuple[str, ...] = ()  # only if not sure: words of the task that occur nowhere
    pending: str = ""  # what the index does not have yet


@dataclass(frozen=True, slots=True)
class PackedItem:
    """An item as rendered."""

    item: Item
    score: float
    rendering: str = NAME
    text: str = ""  # empty for a name; signature and doc; or source lines
    tokens: int = 0  # cost beyond the name
    note: str = ""  # why its lines are not shown
    within: str = ""  # id of the item whose lines already show it
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
    """An answer in one format: `tokens`, including the frame, is exact and within the budget."""

    budget: int
    format: str
    heading: Heading = Heading()
    items: tuple[PackedItem, ...] = ()  # in rank order
    left_out: int = 0
    best_left_out: tuple[str, ...] = ()
    tokens: int = 0
    framed: bool = True  # False if the budget is too small for the format's frame


# Signals learned from use for one task; empty on a cold start


@dataclass(frozen=True, slots=True)
class Association:
    """An item that was useful for tasks with some of the same words; `weight` is used in the fusion."""

    number: int
    weight: float
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Learned:
    """Learned signals by item number, and associated items, best first.

    Feedback is from -1 (never useful) to 1 (always), session proximity from 0 to 1.
    """

    feedback: Mapping[int, float] = field(default_factory=dict)
    session: Mapping[int, float] = field(default_factory=dict)
    vocabulary: tuple[Association, ...] = ()


NOTHING = Learned()
