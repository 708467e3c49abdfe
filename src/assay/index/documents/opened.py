"""An opened document: its lines and outline, split into sections."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from assay.text.chunk import Part, Text
from assay.text.markup import Outline, front_matter, outline


class Unreadable(Exception):
    """Reason why a document is skipped: a few words, with details in parentheses."""


@dataclass(frozen=True, slots=True)
class OpenedDocument:
    """A document's lines and outline. `numbers` are file line numbers from 1, if they differ from those of the text."""

    lines: list[str]
    outline: Outline = field(default_factory=Outline)
    title: str = ""
    start: int = 0  # the line after the front matter
    pages: tuple[int, ...] = ()  # first line of each page or notebook cell
    numbers: tuple[int, ...] = ()

    def number(self, line: int) -> int:
        """Return the file line number, from 1, of a text line, from 0."""
        return self.numbers[line] if self.numbers else line + 1


def lines_of(text: str) -> list[str]:
    """Split a text into lines; a final newline does not start another line."""
    lines = text.replace("\r\n", "\n").split("\n")
    return lines if lines[-1] else lines[:-1]


def open_text(data: bytes, markup: str) -> OpenedDocument:
    """Open a text as is; front matter may set its title."""
    return open_lines(lines_of(data.decode()), markup)


def open_lines(lines: list[str], markup: str) -> OpenedDocument:
    """Open the lines of a text in a markup language."""
    title, start = front_matter(lines)
    return OpenedDocument(lines, outline(lines, markup, start), title, start)


# Splitting into sections: every line belongs to exactly one

LONG = 6_000  # characters; longer sections are split at the next paragraph


@dataclass(frozen=True, slots=True)
class Span:
    """A section: its headings, outermost first, and its first and last text line, from 1."""

    headings: tuple[str, ...]
    first: int
    last: int


def split(document: OpenedDocument) -> list[Span]:
    """Return the sections of a document in order, long ones split."""
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


def parts_of(document: OpenedDocument) -> list[Part]:
    """Return the starts of sections. Text before the first heading is a section of its own, unless it is blank."""
    if not document.lines:
        return []
    base = (document.title,) if document.title else ()
    parts = [Part(0, base)]
    ancestors: list[tuple[int, str]] = []
    for heading in document.outline.headings:
        ancestors = [(level, text) for level, text in ancestors if level < heading.level] + [
            (heading.level, heading.title)
        ]
        part = Part(heading.line, base + tuple(text for _, text in ancestors if text))
        if parts[-1].line == heading.line:  # two bookmarks of one page
            parts.pop()
        parts.append(part)
    if len(parts) > 1 and not any(line.strip() for line in document.lines[document.start : parts[1].line]):
        parts[:2] = [Part(0, parts[1].headings)]
    return parts


def as_text(document: OpenedDocument) -> Text:
    """Convert a document to the input of chunkers."""
    return Text(
        document.lines,
        tuple(parts_of(document)) or (Part(0),),
        document.outline.code,
        document.pages,
        document.numbers,
    )


def _pieces(lines: Sequence[str], start: int, end: int, code: set[int]) -> Iterator[tuple[int, int]]:
    """Split a section where paragraphs start: after a blank line, unindented, outside code blocks."""
    size = 0
    for number in range(start, end):
        line = lines[number]
        starts_paragraph = line[:1].strip() and number > start and not lines[number - 1].strip() and number not in code
        if size >= LONG and starts_paragraph:
            yield start, number
            start, size = number, 0
        size += len(line) + 1
    yield start, end
