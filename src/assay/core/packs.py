"""Packs: ranked items cut to a budget of tokens, each in the fullest rendering it was worth."""

from __future__ import annotations

from dataclasses import dataclass
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
