"""Chunkers: split a text into the passages that are searched and cited.

Each has a name, a size and a version; its identity is part of every cache key.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, pairwise
from math import ceil
from typing import NamedTuple

from assay.errors import AssayError
from assay.text import tokens
from assay.text.suggest import hint

Span = tuple[int, int]  # character offsets, end exclusive


@dataclass(frozen=True, slots=True)
class Part:
    """A section or definition: its first line, from 0, and its headings, outermost first."""

    line: int
    headings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Text:
    """The lines of a document and their structure; line numbers count from 0.

    `code` are lines of blocks that stay whole, `pages` the first lines of pages, `numbers` the file's line numbers if
    different.
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
        """Offset of each line, and of the end."""
        return list(accumulate((len(line) + 1 for line in self.lines), initial=0))

    @cached_property
    def costs(self) -> list[int]:
        """Cumulative token counts before each line; no token crosses a line end."""
        return list(accumulate((tokens.count(line + "\n") for line in self.lines), initial=0))

    def line_of(self, place: int) -> int:
        return min(bisect_right(self.starts, place) - 1, len(self.lines) - 1)

    def chunk(self, span: Span) -> Chunk:
        """Return a span without surrounding blank lines, with its location. It belongs to the part of its middle."""
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
    """A passage: text, headings, lines from 1, character offsets from 0, page from 1 (0: no pages)."""

    text: str
    headings: tuple[str, ...]
    first: int
    last: int
    start: int
    end: int
    page: int


# Splitting at the best places

Cuts = Sequence[int]  # candidate cut lines, ascending
_TINY = 0.1  # relative to an even share


class _Piece(NamedTuple):
    start: int
    end: int
    cost: int


def divided(text: Text, hard: Iterable[int], levels: Sequence[Cuts], limit: int) -> list[Span]:
    """Split a text into spans of at most `limit` tokens.

    It is cut at every hard line; at the lines of a level only if those of earlier levels do not suffice; inside a line
    as a last resort. Neighbours that fit together are merged.
    """
    borders = sorted({0, *hard, len(text.lines)})
    return [
        (piece.start, piece.end)
        for low, high in pairwise(borders)
        for piece in _divide(text, low, high, [*levels, range(len(text.lines))], limit)
    ]


def _divide(text: Text, low: int, high: int, levels: Sequence[Cuts], limit: int) -> list[_Piece]:
    whole = _Piece(text.starts[low], text.starts[high], text.costs[high] - text.costs[low])
    if whole.cost <= limit:
        return [whole]
    if high - low == 1:
        return list(_windows(text.whole, whole.start, whole.end, limit))
    cuts = levels[0][bisect_right(levels[0], low) : bisect_left(levels[0], high)]
    parts = pairwise([low, *cuts, high])
    pieces = [piece for part in parts for piece in _divide(text, *part, levels[1:] or levels, limit)]
    return _merge_pieces(pieces, limit, whole.cost / ceil(whole.cost / limit))


def _merge_pieces(pieces: Iterable[_Piece], limit: int, target: float) -> list[_Piece]:
    """Merge neighbours towards an even share of the whole, so that no small remainder is left.

    Tiny pieces are merged if they fit.
    """
    out: list[_Piece] = []
    for piece in pieces:
        should_merge = out and (out[-1].cost + piece.cost / 2 <= target or piece.cost < target * _TINY)
        if should_merge and out[-1].cost + piece.cost <= limit:
            out[-1] = _Piece(out[-1].start, piece.end, out[-1].cost + piece.cost)
        else:
            out.append(piece)
    return out


def _windows(whole: str, start: int, end: int, limit: int) -> Iterator[_Piece]:
    """Split a line into pieces of as many tokens as fit."""
    return (_Piece(first, last, cost) for first, last, cost in windows(whole[start:end], limit, 0, start))


def windows(text: str, limit: int, overlap: int, offset: int = 0) -> Iterator[tuple[int, int, int]]:
    """Yield start, end and cost of windows of `limit` tokens that overlap by `overlap` tokens."""
    places, costs = [0], [0]
    for end, cost in tokens.ends(text):
        places.append(end)
        costs.append(costs[-1] + cost)
    first = 0
    while first < len(places) - 1:
        last = bisect_right(costs, costs[first] + limit) - 1
        yield offset + places[first], offset + places[last], costs[last] - costs[first]
        if last == len(places) - 1:
            return
        first = max(bisect_left(costs, costs[last] - overlap), first + 1)


# Chunkers by name

_MIN_SIZE, _MAX_SIZE = 16, 100_000  # tokens of a passage
_STUB = 24  # tokens: a shorter section is joined with the next


def by_tokens(text: Text, size: int, overlap: int) -> list[Span]:
    """Chunk into windows of equal size, regardless of structure."""
    return [(start, end) for start, end, _ in windows(text.whole, size, overlap)]


def by_structure(text: Text, size: int, overlap: int) -> list[Span]:
    """Chunk by sections: paragraphs while they fit, code blocks whole. Chunks do not cross pages.

    Text that is indented further than the line above it, as below a term or an option, stays with that line if it fits.
    """
    lines, code = text.lines, text.code
    inside = {line for line in code if line - 1 in code}
    after_blank = [n for n in range(1, len(lines)) if lines[n].strip() and not lines[n - 1].strip()]
    deeper = _deeper_lines(lines)
    levels = (
        [n for n in after_blank if not lines[n][0].isspace() and n not in code],
        [n for n in after_blank if n not in inside and n not in deeper],
        [n for n in after_blank if n not in inside],
        [n for n in range(1, len(lines)) if lines[n][:1].strip() and n not in inside],
        [n for n in range(1, len(lines)) if n not in inside],
        after_blank,
    )
    return divided(text, {*_sections(text), *text.pages}, levels, size)


def _deeper_lines(lines: Sequence[str]) -> set[int]:
    """Return the lines that are indented further than the line above them, apart from blank ones."""
    deeper, above = set[int](), 0
    for number, line in enumerate(lines):
        if line.strip():
            indent = len(line) - len(line.lstrip())
            if indent > above:
                deeper.add(number)
            above = indent
    return deeper


def by_symbols(text: Text, size: int, overlap: int) -> list[Span]:
    """Chunk by definition (`parts`); a long one is cut at nested definitions, then at blank lines."""
    lines = text.lines
    starts = sorted({part.line for part in text.parts})
    outer = [part.line for part in text.parts if len(part.headings) <= 1]
    after_blank = [n for n in range(1, len(lines)) if lines[n].strip() and not lines[n - 1].strip()]
    return divided(text, outer, (starts, after_blank), size)


def _sections(text: Text) -> list[int]:
    """Return the first lines of sections; a heading with almost nothing below it belongs to what follows.

    It never joins a section of a higher level: that would put the end of a chapter under the title of the next.
    """
    out: list[int] = []
    depth = 0
    for part in text.parts:
        if not out or text.costs[part.line] - text.costs[out[-1]] >= _STUB or len(part.headings) < depth:
            out.append(part.line)
            depth = len(part.headings)
    return out


class _Kind(NamedTuple):
    spans: Callable[[Text, int, int], list[Span]]
    version: int  # bump with every change of its output
    overlaps: bool = False


CHUNKERS = {
    "structure": _Kind(by_structure, 3),
    "tokens": _Kind(by_tokens, 1, overlaps=True),
    "symbols": _Kind(by_symbols, 1),
}
_SPEC = re.compile(r"(\w+)(?::(\d{1,6}))?(?::(\d{1,6}))?")


@dataclass(frozen=True, slots=True)
class Chunker:
    """A chunker with size and overlap in tokens; prints as it parses: `structure:512`, `tokens:1024:128`."""

    name: str = "structure"
    size: int = 512
    overlap: int = 0

    def __str__(self) -> str:
        return f"{self.name}:{self.size}" + (f":{self.overlap}" if self.overlap else "")

    @property
    def identity(self) -> str:
        """Unique name of the passages it produces, including its version."""
        return f"{self}@{CHUNKERS[self.name].version}"

    def chunks(self, text: Text) -> list[Chunk]:
        """Return the passages of a text, in order, without blank ones."""
        spans = CHUNKERS[self.name].spans(text, self.size, self.overlap) if text.lines else []
        return [text.chunk(span) for span in spans if not text.is_blank(span)]


DEFAULT = Chunker()


def parse(spec: str) -> Chunker:
    """Parse a spec: `structure`, `structure:512`, `tokens:1024:128`. Raises AssayError if it is invalid."""
    match = _SPEC.fullmatch(spec.strip())
    name = match[1] if match else spec
    if not match or name not in CHUNKERS:
        example = "with a size and an overlap in tokens, as in tokens:1024:128"
        raise AssayError(f"no chunker '{spec}'.{hint(name, CHUNKERS)}; {example}")
    size, overlap = int(match[2] or DEFAULT.size), int(match[3] or 0)
    if not _MIN_SIZE <= size <= _MAX_SIZE:
        raise AssayError(f"chunker '{spec}': a passage may have {_MIN_SIZE} to {_MAX_SIZE:,} tokens, not {size}")
    if overlap and not CHUNKERS[name].overlaps:
        raise AssayError(f"chunker '{spec}': passages of {name} do not overlap; leave out :{overlap}")
    if overlap > size // 2:
        raise AssayError(f"chunker '{spec}': the overlap may be half the size at most, {size // 2}")
    return Chunker(name, size, overlap)


__all__ = ["CHUNKERS", "DEFAULT", "Chunk", "Chunker", "Part", "Text", "parse"]
