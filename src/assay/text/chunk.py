"""Chunkers: a text → the passages it is searched and cited by.

Each chunker is named, sized and versioned; its identity is part of every cache key.
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
from assay.text.terms import nearest

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


# Dividing a text into pieces of limited size at the best places: what belongs together stays together as long as it
# fits.

Cuts = Sequence[int]  # lines before which a text may be cut, in order
_LITTLE = 0.1  # of an even share


class _Piece(NamedTuple):
    start: int
    end: int
    cost: int


def divided(text: Text, hard: Iterable[int], levels: Sequence[Cuts], limit: int) -> list[Span]:
    """Spans of at most `limit` tokens that cover the text. It is cut at every hard place; at places of a level only where those before it do not
    suffice; inside a line as a last resort. Neighbours that fit together become one."""
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
    return _joined(pieces, limit, whole.cost / ceil(whole.cost / limit))


def _joined(pieces: Iterable[_Piece], limit: int, even: float) -> list[_Piece]:
    """Neighbours as one, as near as can be to an even share of the whole, so that little is left over at the end; what is little joins if it fits."""
    out: list[_Piece] = []
    for piece in pieces:
        wanted = out and (out[-1].cost + piece.cost / 2 <= even or piece.cost < even * _LITTLE)
        if wanted and out[-1].cost + piece.cost <= limit:
            out[-1] = _Piece(out[-1].start, piece.end, out[-1].cost + piece.cost)
        else:
            out.append(piece)
    return out


def _windows(whole: str, start: int, end: int, limit: int) -> Iterator[_Piece]:
    """A line in pieces of as many tokens as fit."""
    return (_Piece(first, last, cost) for first, last, cost in windows(whole[start:end], limit, 0, start))


def windows(text: str, limit: int, overlap: int, offset: int = 0) -> Iterator[tuple[int, int, int]]:
    """Windows of as many tokens as fit, each with the last `overlap` tokens of the one before; start, end and cost."""
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


# The chunkers there are, by name: a table of functions from a text to spans of it.

_SMALLEST, _LARGEST = 16, 100_000  # tokens of a passage
_STUB = 24  # tokens: a section that says less than this goes with the one after it


def by_tokens(text: Text, size: int, overlap: int) -> list[Span]:
    """Windows of equal size, wherever they end."""
    return [(start, end) for start, end, _ in windows(text.whole, size, overlap)]


def by_structure(text: Text, size: int, overlap: int) -> list[Span]:
    """Sections, one or several passages each: paragraphs as long as they fit, code blocks whole. Nothing crosses a page."""
    lines, code = text.lines, text.code
    inside = {line for line in code if line - 1 in code}
    after_blank = [n for n in range(1, len(lines)) if lines[n].strip() and not lines[n - 1].strip()]
    paragraphs = [n for n in after_blank if not lines[n][0].isspace() and n not in code]
    levels = (
        paragraphs,
        [n for n in after_blank if n not in inside],
        [n for n in range(1, len(lines)) if n not in inside],
        after_blank,
    )
    return divided(text, {*_sections(text), *text.pages}, levels, size)


def by_symbols(text: Text, size: int, overlap: int) -> list[Span]:
    """Definitions, one passage each; a long one is cut where another begins inside it, then at blank lines. `parts` are the definitions."""
    lines = text.lines
    starts = sorted({part.line for part in text.parts})
    outer = [part.line for part in text.parts if len(part.headings) <= 1]
    after_blank = [n for n in range(1, len(lines)) if lines[n].strip() and not lines[n - 1].strip()]
    return divided(text, outer, (starts, after_blank), size)


def _sections(text: Text) -> list[int]:
    """The lines at which sections begin; a heading with nothing below it belongs to what follows."""
    out: list[int] = []
    for part in text.parts:
        if not out or text.costs[part.line] - text.costs[out[-1]] >= _STUB:
            out.append(part.line)
    return out


class _Kind(NamedTuple):
    spans: Callable[[Text, int, int], list[Span]]
    version: int  # raised with every change of what it gives
    overlaps: bool = False


CHUNKERS = {
    "structure": _Kind(by_structure, 1),
    "tokens": _Kind(by_tokens, 1, overlaps=True),
    "symbols": _Kind(by_symbols, 1),
}
_SPEC = re.compile(r"(\w+)(?::(\d{1,6}))?(?::(\d{1,6}))?")


@dataclass(frozen=True, slots=True)
class Chunker:
    """A chunker with its size and overlap in tokens; prints as it is written: `structure:512`, `tokens:1024:128`."""

    name: str = "structure"
    size: int = 512
    overlap: int = 0

    def __str__(self) -> str:
        return f"{self.name}:{self.size}" + (f":{self.overlap}" if self.overlap else "")

    @property
    def identity(self) -> str:
        """What tells its passages from those of any other chunker, or of another version of it."""
        return f"{self}@{CHUNKERS[self.name].version}"

    def chunks(self, text: Text) -> list[Chunk]:
        """The passages of a text, in order; blank ones are none."""
        spans = CHUNKERS[self.name].spans(text, self.size, self.overlap) if text.lines else []
        return [text.chunk(span) for span in spans if not text.is_blank(span)]


DEFAULT = Chunker()


def parse(spec: str) -> Chunker:
    """`structure`, `structure:512`, `tokens:1024:128` → a chunker."""
    found = _SPEC.fullmatch(spec.strip())
    name = found[1] if found else spec
    if not found or name not in CHUNKERS:
        near = nearest(name, CHUNKERS, 1)
        hint = f"did you mean {near[0]}?" if near else f"write {', '.join(CHUNKERS)}"
        raise AssayError(f"no chunker '{spec}'; {hint} with a size and an overlap in tokens, as in tokens:1024:128")
    size, overlap = int(found[2] or DEFAULT.size), int(found[3] or 0)
    if not _SMALLEST <= size <= _LARGEST:
        raise AssayError(f"chunker '{spec}': a passage may have {_SMALLEST} to {_LARGEST:,} tokens, not {size}")
    if overlap and not CHUNKERS[name].overlaps:
        raise AssayError(f"chunker '{spec}': passages of {name} do not overlap; leave out :{overlap}")
    if overlap > size // 2:
        raise AssayError(f"chunker '{spec}': the overlap may be half the size at most, {size // 2}")
    return Chunker(name, size, overlap)


# Chunkers: a text → the passages it is searched and cited by. Each is named, sized and versioned; its name is part
# of a passage's identity.

__all__ = ["CHUNKERS", "DEFAULT", "Chunk", "Chunker", "Part", "Text", "parse"]
