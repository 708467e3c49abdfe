"""Citations in a text: `[#n]` outside code, and nothing else. What comes bit by bit is read as it comes.

Outside code means outside of fenced blocks, indented blocks and inline code, as Markdown has them. A number that no passage has is dropped
from the text. However the text is cut into bits, the result is the same.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_CITATION = re.compile(r"[ \t]*\[#([1-9]\d{0,5})\]")
_BEGUN = re.compile(r"[ \t]*(?:\[(?:#(?:[1-9]\d{0,5})?)?)?")  # what may still become one
_PLAIN = re.compile(r"[^`\[\\\n \t]+|[ \t]+(?![ \t\[])(?!$)")
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`\n]*$)|~{3,})", re.MULTILINE)
_UNDECIDED = re.compile(r"[ \t]*(?:`*|~*|[-*+]?|\d{0,9}[.)]?)")  # a line that may still become a fence, an item, blank
_ITEM = re.compile(r" {0,3}(?:[-*+]|\d{1,9}[.)])[ \t]")
_PARAGRAPH_END = re.compile(r"\n[ \t]*(?:\n|(?:`{3}|~{3}))")
_FENCES = ("```", "~~~")
_TICKS = re.compile(r"`+")


@dataclass
class Citations:
    """Reads a text bit by bit: `feed` and `finish` return it as it may be shown. `used` and `dropped` are the numbers met, in order."""

    known: frozenset[int]
    used: list[int] = field(default_factory=list)
    dropped: list[int] = field(default_factory=list)
    _left: str = ""  # what could not be decided yet
    _fence: str = ""  # of the block that is open
    _line_start: bool = True
    _may_indent: bool = True  # an indented line would be code: nothing, a blank line or code stands before it
    _in_list: bool = False

    def feed(self, bit: str) -> str:
        self._left += bit
        return self._read(last=False)

    def finish(self) -> str:
        return self._read(last=True)

    def _read(self, last: bool) -> str:
        """As much of what is left as is decided."""
        out = []
        while self._left:
            taken = self._line(last) if self._line_start else self._inline(last)
            if taken is None:
                break
            out.append(taken)
        return "".join(out)

    def _take(self, size: int) -> str:
        taken, self._left = self._left[:size], self._left[size:]
        if taken:
            self._line_start = taken.endswith("\n")
        return taken

    def _line(self, last: bool) -> str | None:
        """At the start of a line: a line of code whole, or nothing, and what follows is prose. None when more must be known."""
        end = self._left.find("\n")
        whole = end >= 0 or last
        unclear = self._fence or _UNDECIDED.fullmatch(self._left) or self._left.lstrip(" ").startswith(_FENCES)
        if unclear and not whole:
            return None
        line = self._left[: end + 1] if end >= 0 else self._left
        if self._fence:
            stripped = line.strip()
            closes = stripped.startswith(self._fence) and not stripped.strip(self._fence[0])
            self._fence = "" if closes else self._fence
            return self._take(len(line))
        if fence := _FENCE.match(line.rstrip("\n")):
            self._fence = fence[1]
            self._may_indent = True
            return self._take(len(line))
        if whole and not line.strip():
            self._may_indent = True
            return self._take(len(line))
        if line.startswith(("    ", "\t")) and self._may_indent and not self._in_list:
            return self._take(len(line)) if whole else None
        if not line.startswith(("    ", "\t")):
            self._in_list = bool(_ITEM.match(line)) or (self._in_list and not self._may_indent)
        self._may_indent, self._line_start = False, False
        return ""

    def _inline(self, last: bool) -> str | None:
        """The next piece of prose: plain text, a citation, inline code. None when more must be known."""
        left = self._left
        if left[0] == "\n":
            return self._take(1)
        if left[0] == "\\":
            return None if len(left) == 1 and not last else self._take(1 if left[1:2] == "\n" else 2)
        if left[0] == "`":
            return self._ticks(last)
        if found := _CITATION.match(left):
            return self._cited(found)
        if begun := _BEGUN.fullmatch(left):
            return None if not last else self._take(begun.end())
        plain = _PLAIN.match(left)
        return self._take(plain.end() if plain else 1)

    def _cited(self, found: re.Match[str]) -> str:
        number = int(found[1])
        taken = self._take(found.end())
        self._line_start = False
        if number not in self.known:
            self.dropped += [number] if number not in self.dropped else []
            return ""
        self.used += [number] if number not in self.used else []
        return taken

    def _ticks(self, last: bool) -> str | None:
        """Inline code up to the same number of backticks in the same paragraph; without them, backticks are signs."""
        opened = _TICKS.match(self._left)
        assert opened is not None
        if opened.end() == len(self._left) and not last:
            return None
        end = _PARAGRAPH_END.search(self._left)
        within = self._left[: end.start()] if end else self._left
        for closing in _TICKS.finditer(within, opened.end()):
            if closing.end() == len(self._left) and not last:
                return None
            if len(closing[0]) == len(opened[0]):
                return self._take_code(closing.end())
        if end is None and not last:
            return None
        return self._take(opened.end())

    def _take_code(self, size: int) -> str:
        taken = self._take(size)
        self._line_start = False
        return taken


def cited(text: str, known: frozenset[int]) -> tuple[str, Citations]:
    """A whole text without the citations of numbers that are not known, and what was met."""
    citations = Citations(known)
    shown = citations.feed(text)
    return shown + citations.finish(), citations
