"""What every format must say how to write. Each piece ends with a line end, so the tokens of the pieces add up."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from assay.core.packs import Heading, Pack, PackedItem, Section

# Nothing that moves a terminal's cursor or turns the direction of writing, and nothing that XML or UTF-8 cannot hold.
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
_NOT_FIRST = frozenset(" =\t")  # signs that a place does not begin with
_TRY = "other words, a name from the code, or a search of the documents"
_BREAKS = re.compile("[\t\n\r\u2028\u2029]+")


@dataclass(frozen=True, slots=True)
class Form:
    """One format. `head` and `foot` may depend on everything of a pack but its items."""

    name: str
    head: Callable[[Pack], str]
    item: Callable[[PackedItem], str]
    foot: Callable[[Pack], str]
    least: Callable[[Pack], str]  # what is written when the budget does not even hold the frame
    writes_tokens: bool = False  # whether items say their tokens
    separator: str = ""  # stands before the line end of every item but the last
    opening: Callable[[Section], str] = lambda _section: ""  # before the items of a section
    closing: Callable[[Section], str] = lambda _section: ""
    most_characters: int = 0  # that whoever takes it accepts; 0 where there is no limit

    def framed(self, pack: Pack) -> str:
        """The frame alone: what a pack costs before its items."""
        sections = (self.opening(section) + self.closing(section) for section in pack.heading.sections)
        return self.head(pack) + "".join(sections) + self.foot(pack)

    def piece(self, packed: PackedItem, last: bool = False) -> str:
        """One item as it stands among others."""
        text = self.item(packed)
        return text if last or not self.separator else f"{text[:-1]}{self.separator}\n"


def printable(text: str) -> str:
    """Text of any number of lines that any terminal and any parser takes."""
    if text.replace("\n", "").isprintable():  # nearly always, and told several times as fast
        return text
    return _UNPRINTABLE.sub("\ufffd", text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    return text if text.isprintable() else printable(_BREAKS.sub(" ", text))


def place(packed: PackedItem) -> str:
    """`path:line`, which editors and terminals open; it never begins like quoted text or a title."""
    path = packed.item.path
    return one_line(f"{'./' if path[:1] in _NOT_FIRST else ''}{path}:{packed.item.start}")


def remark(packed: PackedItem) -> str:
    """What is to be said about an item besides its name; empty as a rule."""
    path, _, symbol = packed.within.partition("::")
    lines = f"shown in {symbol or path}" if packed.within else packed.note
    return "; ".join(part for part in (packed.why, lines) if part)


def statements(pack: Pack) -> list[tuple[str, str]]:
    """What a heading says, in order, for formats that people read."""
    heading = pack.heading
    said = [
        ("task", heading.task),
        ("scope", heading.scope),
        ("index", heading.freshness),
        ("confidence", chance(heading)),
        ("searched" if heading.confidence else "found", searched(heading)),
        ("words not here", ", ".join(heading.unseen)),
        ("nearest names", ", ".join(heading.nearest)),
        ("try", "" if heading.sure else _TRY),
        ("tokens", f"{pack.tokens} of {pack.budget}"),
        ("left out", left_out(pack)),
    ]
    return [(name, one_line(text)) for name, text in said if text]


def chance(heading: Heading) -> str:
    """`62 % that one of the first five is right`; nothing where it is not known, or nothing was found."""
    if not heading.confidence:
        return ""
    said = f"{percent(heading.confidence)} that one of the first five is right"
    return said if heading.sure else f"{said}: probably not here, or in other words"


def percent(chance: float) -> str:
    """`62 %`; neither 0 nor 100, as it is never certain."""
    return f"{min(max(round(chance * 100), 1), 99)} %"


def searched(heading: Heading) -> str:
    """What was looked through, where that is worth saying."""
    return f"nothing in {heading.searched}" if heading.searched and not heading.confidence else heading.searched


def left_out(pack: Pack) -> str:
    """`12 more, best: Flask.run, Flask.route`."""
    if not pack.left_out:
        return ""
    return f"{pack.left_out} more" + (f", best: {', '.join(pack.best_left_out)}" if pack.best_left_out else "")
