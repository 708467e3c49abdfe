"""A document opened: its lines as text, its headings, its pages. What cannot be opened says why."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from assay.ingest.documents.outline import Outline

_FRONT = {"---": ("---", "..."), "+++": ("+++",)}  # how front matter begins, and how it ends
_MOST_FRONT = 200  # lines of front matter; a rule that is never closed is no front matter
_TITLE = re.compile(r"title\s*[:=](.*)")


class Unreadable(Exception):
    """Why a document is passed over: a few words, and more of them in brackets."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A document's lines and outline. `numbers` are the lines of the file where they differ from those of the text, from 1."""

    lines: list[str]
    outline: Outline = field(default_factory=Outline)
    title: str = ""
    start: int = 0  # the line after the front matter
    pages: tuple[int, ...] = ()  # the lines at which pages, or cells, begin
    numbers: tuple[int, ...] = ()

    def number(self, line: int) -> int:
        """The line of the file, from 1, that a line of the text, from 0, comes from."""
        return self.numbers[line] if self.numbers else line + 1


def lines_of(text: str) -> list[str]:
    """The lines of a text, as they are counted everywhere; the end of the last line begins no other."""
    lines = text.replace("\r\n", "\n").split("\n")
    return lines if lines[-1] else lines[:-1]


def open_text(data: bytes, outline: Callable[[Sequence[str], int], Outline]) -> Opened:
    """A text as it is; front matter may give its title."""
    lines = lines_of(data.decode())
    title, start = _front_matter(lines)
    return Opened(lines, outline(lines, start), title, start)


def _front_matter(lines: Sequence[str]) -> tuple[str, int]:
    """The title that front matter gives, and the line after it."""
    closing = _FRONT.get(lines[0].rstrip()) if lines else None
    title = ""
    for number in range(1, min(len(lines), _MOST_FRONT)) if closing else ():
        if closing and lines[number].rstrip() in closing:
            return title, number + 1
        if not title and (found := _TITLE.match(lines[number])):
            title = _unquoted(found[1].strip())
    return "", 0


def _unquoted(text: str) -> str:
    text = text[1:] if text[:1] in ('"', "'") else text
    return text[:-1] if text[-1:] in ('"', "'") else text
