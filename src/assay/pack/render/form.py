"""The interface of an output format. Each piece ends with a line end, so that tokens of pieces are additive."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from assay.core.packs import Heading, Pack, PackedItem, Section
from assay.text.display import one_line, path_mark

# Characters that move a terminal's cursor or change the text direction, or that XML or UTF-8 cannot represent.
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
ADVICE = "other words, a symbol name, or a document search (assay search)"


@dataclass(frozen=True, slots=True)
class Form:
    """An output format. `head` and `foot` may depend on everything of a pack except its items."""

    name: str
    head: Callable[[Pack], str]
    item: Callable[[PackedItem], str]
    foot: Callable[[Pack], str] = lambda _pack: ""
    least: Callable[[Pack], str] = lambda _pack: ""  # output when the budget does not even fit the frame
    writes_tokens: bool = False  # True if items state their tokens
    separator: str = ""  # before the line end of every item but the last
    opening: Callable[[Section], str] = lambda _section: ""  # before the items of a section
    closing: Callable[[Section], str] = lambda _section: ""
    most_characters: int = 0  # maximum length that the consumer accepts; 0 = no limit

    def framed(self, pack: Pack) -> str:
        """Return the frame alone: the cost of a pack before its items."""
        sections = (self.opening(section) + self.closing(section) for section in pack.heading.sections)
        return self.head(pack) + "".join(sections) + self.foot(pack)

    def piece(self, packed: PackedItem, last: bool = False) -> str:
        """Return one item with its separator."""
        text = self.item(packed)
        return text if last or not self.separator else f"{text[:-1]}{self.separator}\n"


def printable(text: str) -> str:
    """Return text, possibly of several lines, that any terminal and parser accepts."""
    if text.replace("\n", "").isprintable():  # nearly always true, and several times as fast
        return text
    return _UNPRINTABLE.sub("\ufffd", text.replace("\r\n", "\n"))


def place(packed: PackedItem) -> str:
    """Return `path:line`, which editors and terminals open; it never starts like a line of a heading."""
    return one_line(f"{path_mark(packed.item.path)}{packed.item.path}:{packed.item.start}")


def remark(packed: PackedItem) -> str:
    """Return the remarks on an item: why it is listed, where or why not its lines are shown; usually empty."""
    path, _, symbol = packed.within.partition("::")
    lines = f"shown in {symbol or path}" if packed.within else packed.note
    return "; ".join(part for part in (packed.why, lines) if part)


def statements(pack: Pack) -> list[tuple[str, str]]:
    """Return the lines of a heading as (name, text), in order, for human-readable formats."""
    heading = pack.heading
    reasons = [
        ("confidence", chance(heading)),
        ("unmatched words", ", ".join(heading.unseen)),
        ("nearest names", ", ".join(heading.nearest)),
        ("searched" if heading.confidence else "found", searched(heading)),
        ("try", "" if heading.sure else ADVICE),
    ]
    question = [
        ("task", heading.task),
        ("scope", heading.scope),
        ("index", heading.freshness),
        ("pending", heading.pending),
    ]
    lines = [
        *(question + reasons if heading.sure else reasons + question),  # an unsure answer says so first
        ("tokens", f"{pack.tokens} of {pack.budget}"),
        ("left out", left_out(pack)),
    ]
    return [(name, one_line(text)) for name, text in lines if text]


_PERHAPS = 1 / 3  # confidence from which an unsure answer says "perhaps": one in three of them is right


def chance(heading: Heading) -> str:
    """Return `62 % that one of the first five is right`; empty without a confidence or results."""
    if not heading.confidence:
        return ""
    text = f"{percent(heading.confidence)} that one of the first five is right"
    if heading.sure:
        return text
    return f"{text}: {doubt(heading.confidence)} not in this repository, or worded differently"


def doubt(confidence: float) -> str:
    """Return how likely it is that an unsure answer is not in the repository."""
    return "perhaps" if confidence >= _PERHAPS else "probably"


def percent(chance: float) -> str:
    """Return `62 %`; from 1 to 99, as it is never certain."""
    return f"{min(max(round(chance * 100), 1), 99)} %"


def searched(heading: Heading) -> str:
    """Return what was searched, for an unsure or empty answer."""
    return f"nothing in {heading.searched}" if heading.searched and not heading.confidence else heading.searched


def left_out(pack: Pack) -> str:
    """Return the omitted items as `12 more, best: Flask.run, Flask.route`."""
    if not pack.left_out:
        return ""
    return f"{pack.left_out} more" + (f", best: {', '.join(pack.best_left_out)}" if pack.best_left_out else "")
