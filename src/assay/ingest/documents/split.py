"""A document's lines → sections: every line belongs to exactly one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from assay.ingest.documents.formats import Format

LONG = 6_000  # characters after which a section is split at the next paragraph
_FRONT = {"---": ("---", "..."), "+++": ("+++",)}  # how front matter begins, and how it ends
_MOST_FRONT = 200  # lines of front matter; a rule that is never closed is no front matter
_TITLE = re.compile(r"""title\s*[:=]\s*["']?(.*?)["']?\s*$""")


@dataclass(frozen=True, slots=True)
class Span:
    """Where a section stands: the headings above it, outermost first, and its first and last line, from 1."""

    headings: tuple[str, ...]
    first: int
    last: int


def lines_of(text: str) -> list[str]:
    """The lines of a text, as they are counted everywhere; the end of the last line begins no other."""
    lines = text.replace("\r\n", "\n").split("\n")
    return lines if lines[-1] else lines[:-1]


def split(lines: Sequence[str], form: Format) -> list[Span]:
    """The sections of a document in order. What stands before the first heading is one of its own, unless it is blank."""
    if not lines:
        return []
    title, start = _front_matter(lines)
    outline = form.outline(lines, start)
    base = (title,) if title else ()
    starts: list[tuple[int, tuple[str, ...]]] = [(0, base)]
    above: list[tuple[int, str]] = []
    for heading in outline.headings:
        above = [(level, text) for level, text in above if level < heading.level] + [(heading.level, heading.title)]
        starts.append((heading.line, base + tuple(text for _, text in above if text)))
    if len(starts) > 1 and not any(line.strip() for line in lines[start : starts[1][0]]):
        starts[:2] = [(0, starts[1][1])]
    ends = [at for at, _ in starts[1:]] + [len(lines)]
    return [
        Span(headings, first + 1, last)
        for (at, headings), end in zip(starts, ends, strict=True)
        for first, last in _pieces(lines, at, end, outline.code)
    ]


def _front_matter(lines: Sequence[str]) -> tuple[str, int]:
    """The title that front matter gives, and the line after it."""
    closing = _FRONT.get(lines[0].rstrip())
    title = ""
    for number in range(1, min(len(lines), _MOST_FRONT)) if closing else ():
        if closing and lines[number].rstrip() in closing:
            return title, number + 1
        if not title and (found := _TITLE.match(lines[number])):
            title = found[1]
    return "", 0


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
