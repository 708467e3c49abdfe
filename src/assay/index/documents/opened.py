"""An opened document: its lines and outline, divided into sections."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from assay.index.documents.outline import Outline
from assay.text.chunk import Part, Text

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


# A document → sections: every line belongs to exactly one.

LONG = 6_000  # characters after which a section is split at the next paragraph


@dataclass(frozen=True, slots=True)
class Span:
    """Where a section stands: the headings above it, outermost first, and its first and last line of the text, from 1."""

    headings: tuple[str, ...]
    first: int
    last: int


def split(document: Opened) -> list[Span]:
    """The sections of a document in order, long ones in pieces."""
    lines, parts = document.lines, parts_of(document)
    ends = [*(part.line for part in parts[1:]), len(lines)]
    return (
        []
        if not lines
        else [
            Span(part.headings, first + 1, last)
            for part, end in zip(parts, ends, strict=True)
            for first, last in _pieces(lines, part.line, end, document.outline.code)
        ]
    )


def parts_of(document: Opened) -> list[Part]:
    """Where sections begin. What stands before the first heading is one of its own, unless it is blank."""
    if not document.lines:
        return []
    base = (document.title,) if document.title else ()
    parts = [Part(0, base)]
    above: list[tuple[int, str]] = []
    for heading in document.outline.headings:
        above = [(level, text) for level, text in above if level < heading.level] + [(heading.level, heading.title)]
        part = Part(heading.line, base + tuple(text for _, text in above if text))
        if parts[-1].line == heading.line:  # two bookmarks of one page
            parts.pop()
        parts.append(part)
    if len(parts) > 1 and not any(line.strip() for line in document.lines[document.start : parts[1].line]):
        parts[:2] = [Part(0, parts[1].headings)]
    return parts


def as_text(document: Opened) -> Text:
    """A document as chunkers read it."""
    return Text(
        document.lines,
        tuple(parts_of(document)) or (Part(0),),
        document.outline.code,
        document.pages,
        document.numbers,
    )


def _pieces(lines: Sequence[str], start: int, end: int, code: set[int]) -> Iterator[tuple[int, int]]:
    """A section in pieces, split where a paragraph begins: after a blank line, at the margin, outside code blocks."""
    size = 0
    for number in range(start, end):
        line = lines[number]
        begins = line[:1].strip() and number > start and not lines[number - 1].strip() and number not in code
        if size >= LONG and begins:
            yield start, number
            start, size = number, 0
        size += len(line) + 1
    yield start, end
