"""The chunkers there are, by name: a table of functions from a text to spans of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from assay.errors import AssayError
from assay.text.chunk.divide import divided, windows
from assay.text.chunk.text import Chunk, Span, Text
from assay.text.identifiers import nearest

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
