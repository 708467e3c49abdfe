"""Tables of Markdown, reStructuredText and AsciiDoc as rows of cells."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

_GRID = re.compile(r"\s*+\+(?:[-=]++\+)++\s*$")
_SIMPLE = re.compile(r"\s*+={2,}+(?: ++={2,}+)++\s*$")
_DASHES = re.compile(r"[ \t|:+-]*$")  # with two in a row, what stands below the header of Markdown
_LIST_TABLE = re.compile(r"(\s*)\.\. +list-table::")
_HEADER_ROWS = re.compile(r"\s*:header-rows:\s*[1-9]")
_FIRST_CELL = re.compile(r"\s*[*-] +-(?: +|$)")
_CELL = re.compile(r"\s*-(?: +|$)")
_ASCIIDOC = re.compile(r"\s*\|===\s*$")
_ASCIIDOC_CELL = re.compile(r"(?:^|(?<=\s))(?:\d{0,2}[.+*]{0,2}\d{0,2}[.+*<^>]{0,4}[aehlmsv]?)(?<!\\)\|")
_ESCAPED_PIPE = re.compile(r"(?<!\\)\|")
_MAX_LINES = 400  # of a table; the rest is read as the next one


class Row(NamedTuple):
    """A row with its first and last line, counted from 0."""

    first: int
    last: int
    cells: tuple[str, ...]
    is_header: bool = False

    @property
    def text(self) -> str:
        return " | ".join(cell for cell in self.cells if cell)


def read_table(lines: Sequence[str], at: int, markup: str = "") -> tuple[list[Row], int] | None:
    """Return the rows of the table that begins at a line, and the line after it; None if none begins there."""
    line, most = lines[at], min(len(lines), at + _MAX_LINES)
    if markup == "asciidoc":
        return _asciidoc(lines, at, most) if _ASCIIDOC.match(line) else None
    if _GRID.match(line):
        return _grid(lines, at, most)
    if _SIMPLE.match(line):
        return _simple(lines, at, most)
    if opening := _LIST_TABLE.match(line):
        return _list_table(lines, at, most, len(opening[1]))
    return _pipes(lines, at, most) if _is_between(line, "|") else None


def _is_between(line: str, signs: str) -> bool:
    """Return whether a line begins and ends with one of these signs."""
    bare = line.strip()
    return len(bare) > 1 and bare[0] in signs and bare[-1] in signs


def _is_rule(line: str) -> bool:
    return "--" in line and _DASHES.match(line) is not None


def _cells(line: str) -> tuple[str, ...]:
    return tuple(cell.strip().replace("\\|", "|") for cell in _ESCAPED_PIPE.split(line.strip().strip("|")))


def _pipes(lines: Sequence[str], at: int, most: int) -> tuple[list[Row], int]:
    """Read a table of Markdown, or a part of one without its header."""
    end = next((number for number in range(at, most) if not _is_between(lines[number], "|")), most)
    rules = {number for number in range(at, end) if _is_rule(lines[number])}
    rows = [
        Row(number, number, _cells(lines[number]), number + 1 in rules)
        for number in range(at, end)
        if number not in rules
    ]
    return rows, end


def _grid(lines: Sequence[str], at: int, most: int) -> tuple[list[Row], int]:
    """Read a grid table: rows between borders, of several lines each."""
    end = next((number for number in range(at, most) if not _is_between(lines[number], "|+")), most)
    rows: list[Row] = []
    for is_border, numbers in groupby(range(at, end), key=lambda number: bool(_GRID.match(lines[number]))):
        group = list(numbers)
        if is_border:
            if "=" in lines[group[0]]:
                rows = [row._replace(is_header=True) for row in rows]
        else:
            rows.append(Row(group[0], group[-1], _joined([_cells(lines[number]) for number in group])))
    return rows, end


def _joined(parts: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Join the lines of a row cell by cell."""
    width = max(map(len, parts))
    return tuple(" ".join(part[cell] for part in parts if cell < len(part) and part[cell]) for cell in range(width))


def _simple(lines: Sequence[str], at: int, most: int) -> tuple[list[Row], int] | None:
    """Read a simple table of reStructuredText: columns below a rule; a line without a first cell continues the row."""
    starts = [match.start() for match in re.finditer("=+", lines[at])]
    rules = [number for number in range(at, most) if _SIMPLE.match(lines[number])]
    end = next((number for number in rules[1:] if number + 1 >= len(lines) or not lines[number + 1].strip()), None)
    if end is None or len(rules) < 2:
        return None
    rows: list[Row] = []
    for number in range(at + 1, end):
        if number in rules:
            rows = [row._replace(is_header=True) for row in rows]
        elif lines[number].strip() and not _is_rule(lines[number]):
            spans = zip(starts, [*starts[1:], None], strict=True)
            cells = tuple(lines[number][start:stop].strip() for start, stop in spans)
            if cells[0] or not rows:
                rows.append(Row(number, number, cells))
            else:
                rows[-1] = Row(rows[-1].first, number, _joined([rows[-1].cells, cells]))
    return rows, end + 1


def _list_table(lines: Sequence[str], at: int, most: int, indent: int) -> tuple[list[Row], int]:
    """Read a table that is written as a list of lists."""
    end = at + 1
    while end < most and (not lines[end].strip() or len(lines[end]) - len(lines[end].lstrip()) > indent):
        end += 1
    has_header = False
    rows: list[list[list[str]]] = []
    spans: list[list[int]] = []
    for number in range(at + 1, end):
        line = lines[number]
        has_header = has_header or (not rows and bool(_HEADER_ROWS.match(line)))
        if opening := _FIRST_CELL.match(line):
            rows.append([[line[opening.end() :]]])
            spans.append([number, number])
        elif rows and line.strip():
            cell = _CELL.match(line)
            if cell:
                rows[-1].append([line[cell.end() :]])
            else:
                rows[-1][-1].append(line.strip())
            spans[-1][1] = number
    return [
        Row(first, last, tuple(" ".join(cell).strip() for cell in cells), has_header and place == 0)
        for place, (cells, (first, last)) in enumerate(zip(rows, spans, strict=True))
    ], end


def _asciidoc(lines: Sequence[str], at: int, most: int) -> tuple[list[Row], int]:
    """Read a table of AsciiDoc: a row per line, or per group of lines where each line has one cell."""
    end = next((number for number in range(at + 1, most) if _ASCIIDOC.match(lines[number])), most)
    rows: list[Row] = []
    for group in _groups(lines, at + 1, end):
        has_one = all(len(_asciidoc_cells(lines[number])) <= 1 for number in group)
        if has_one:
            cells = [cell for number in group for cell in _asciidoc_cells(lines[number]) or [lines[number].strip()]]
            rows.append(Row(group[0], group[-1], tuple(cells)))
            continue
        rows += [
            Row(number, number, tuple(_asciidoc_cells(lines[number]) or [lines[number].strip()])) for number in group
        ]
    if len(rows) > 1 and rows[0].last + 1 < end and not lines[rows[0].last + 1].strip() and rows[0].first == at + 1:
        rows[0] = rows[0]._replace(is_header=True)
    return rows, min(end + 1, len(lines))


def _groups(lines: Sequence[str], start: int, end: int) -> Iterator[list[int]]:
    for is_text, numbers in groupby(range(start, end), key=lambda number: bool(lines[number].strip())):
        if is_text:
            yield list(numbers)


def _asciidoc_cells(line: str) -> list[str]:
    """Return the cells of a line, which each begin with a pipe; what stands before the first continues a cell."""
    parts = _ASCIIDOC_CELL.split(line)
    return [part.strip() for part in parts[1:]]
