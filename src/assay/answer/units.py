"""Units of a passage: sentences, list items, table rows and blocks of code, each with its lines."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from assay.text import blocks
from assay.text.blocks import NO_LABEL, Block, Label, Line
from assay.text.prose import sentences

SENTENCE, ITEM, ROW, CODE = "sentence", "item", "row", "code"
_MAX_CODE_LINES = 20  # longer blocks are split
_MAX_ITEM_WORDS = 60  # longer list items are split into sentences
_MAX_SENTENCE_WORDS = 80  # longer ones are not sentences
_NUMBERING = re.compile(r"^\s*(?:\d+(?:\.\d+)*\.?\s)?")


@dataclass(frozen=True, slots=True)
class Unit:
    """The smallest piece that is quoted whole. Lines count from 0 within the passage."""

    kind: str
    text: str
    first: int
    last: int
    block: int  # shared by the units of a paragraph or table
    label: Label = NO_LABEL
    header: str = ""  # of the table that a row belongs to


def units(text: str, headings: Sequence[str] = (), markup: str = "", code: bool = False) -> list[Unit]:
    """Split a passage into units in reading order, without its headings.

    `markup` is its document format; `code` marks it as source code.
    """
    titles = {_bare(heading) for heading in headings}
    lines = ["" if _bare(line) in titles else line for line in text.split("\n")]
    if code:
        numbered = [Line(number, line.expandtabs(4)) for number, line in enumerate(lines)]
        return [unit for block, part in enumerate(_parts(numbered)) for unit in _code(part, block, NO_LABEL)]
    return [unit for number, block in enumerate(blocks.blocks(lines, markup)) for unit in _units(block, number)]


def _bare(line: str) -> str:
    """Normalize a line for comparison with headings: in a PDF, a heading is a line like any other."""
    return _NUMBERING.sub("", line).strip(" #=*_").lower() or "\0"


def _units(block: Block, number: int) -> Iterator[Unit]:
    """Yield the units of a block; headings, terms, marks and most directives have none."""
    first, last = (block.lines[0].number, block.lines[-1].number) if block.lines else (0, 0)
    if block.kind == blocks.CODE:
        yield from _code(block.lines, number, block.label)
    elif block.kind == blocks.TABLE:
        header = next((row.text for row in block.rows if row.is_header), "")
        for row in block.rows:
            if row.text and not row.is_header:
                yield Unit(ROW, row.text, row.first, row.last, number, block.label, header)
    elif block.kind == blocks.ITEM and len(block.text.split()) <= _MAX_ITEM_WORDS:
        yield Unit(ITEM, block.text, first, last, number, block.label)
    elif block.kind in (blocks.PARAGRAPH, blocks.ITEM) or (
        block.kind == blocks.DIRECTIVE and block.name in blocks.ADMONITIONS
    ):
        yield from _prose(block.lines, number, block.label)


def _prose(lines: Sequence[Line], block: int, label: Label) -> Iterator[Unit]:
    """Yield the sentences of a paragraph with their lines; overlong ones (tables in PDFs) are split at line ends."""
    parts = [line.text.strip() for line in lines]
    text = " ".join(parts)
    starts = list(accumulate((len(part) + 1 for part in parts), initial=0))[:-1]
    for start, end in sentences(text):
        ends = [end]
        if len(text[start:end].split()) > _MAX_SENTENCE_WORDS:
            ends = [*(offset for offset in starts if start < offset < end), end]
        for stop in ends:
            first, last = bisect_right(starts, start) - 1, bisect_left(starts, stop) - 1
            yield Unit(SENTENCE, text[start:stop].strip(), lines[first].number, lines[last].number, block, label)
            start = stop


def _code(lines: Sequence[Line], block: int, label: Label) -> Iterator[Unit]:
    """Yield a block of code in parts short enough to quote; all keep the indentation they have in the block."""
    indent = min((line.indent for line in lines if not line.blank), default=0)
    for part in _parts(lines):
        for start in range(0, len(part), _MAX_CODE_LINES):
            chunk = part[start : start + _MAX_CODE_LINES]
            text = "\n".join(line.text[indent:].rstrip() for line in chunk)
            if text.strip():
                yield Unit(CODE, text, chunk[0].number, chunk[-1].number, block, label)


def _parts(lines: Sequence[Line]) -> list[list[Line]]:
    """Split long code at blank lines and rejoin neighbours while they stay short."""
    parts: list[list[Line]] = [[]]
    for line in lines:
        if line.blank:
            parts.append([])
        else:
            parts[-1].append(line)
    joined: list[list[Line]] = []
    for part in filter(None, parts):
        if joined and part[-1].number - joined[-1][0].number < _MAX_CODE_LINES:
            between = [line for line in lines if joined[-1][-1].number < line.number < part[0].number]
            joined[-1] += [*between, *part]
        else:
            joined.append(part)
    return joined
