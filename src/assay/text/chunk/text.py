"""What chunkers read and what they give: a text with the places that matter in it, and spans of it that know where they stand."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Set
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate

from assay.text import tokens

Span = tuple[int, int]  # of characters, the end not included


@dataclass(frozen=True, slots=True)
class Part:
    """A section or a definition: its first line, from 0, and the titles above it, outermost first."""

    line: int
    headings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Text:
    """A document's lines and what is known about them; numbers of lines count from 0.

    `code` are lines of blocks that are kept whole, `pages` the lines at which pages begin, `numbers` the lines of the file where those differ.
    """

    lines: list[str]
    parts: tuple[Part, ...] = (Part(0),)
    code: Set[int] = field(default_factory=frozenset)
    pages: tuple[int, ...] = ()
    numbers: tuple[int, ...] = ()

    @cached_property
    def whole(self) -> str:
        return "".join(line + "\n" for line in self.lines)

    @cached_property
    def starts(self) -> list[int]:
        """Where each line begins, and where the last ends."""
        return list(accumulate((len(line) + 1 for line in self.lines), initial=0))

    @cached_property
    def costs(self) -> list[int]:
        """The tokens before each line, and all of them: no token crosses the end of a line."""
        return list(accumulate((tokens.count(line + "\n") for line in self.lines), initial=0))

    def line_of(self, place: int) -> int:
        return min(bisect_right(self.starts, place) - 1, len(self.lines) - 1)

    def chunk(self, span: Span) -> Chunk:
        """A span without blank lines around it, and where it stands. It belongs to the part its middle is in."""
        start, end = span
        text = self.whole[start:end]
        start += len(text) - len(text.lstrip("\n"))
        end -= len(text) - len(text.rstrip())
        first, last, middle = (self.line_of(place) for place in (start, max(end - 1, start), (start + end) // 2))
        part = self.parts[max(bisect_right(self.parts, middle, key=lambda part: part.line) - 1, 0)]
        page = bisect_right(self.pages, first)
        return Chunk(self.whole[start:end], part.headings, self._number(first), self._number(last), start, end, page)

    def _number(self, line: int) -> int:
        return self.numbers[line] if self.numbers else line + 1

    def is_blank(self, span: Span) -> bool:
        return not self.whole[span[0] : span[1]].strip()


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage of a text: what it says, the titles above it, its lines from 1, its characters from 0, its page from 1 (0: there are none)."""

    text: str
    headings: tuple[str, ...]
    first: int
    last: int
    start: int
    end: int
    page: int
