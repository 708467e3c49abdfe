"""A document → sections: every line belongs to exactly one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from assay.ingest.documents.opened import Opened
from assay.text.chunk import Part, Text

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
