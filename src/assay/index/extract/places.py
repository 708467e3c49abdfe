"""Positions of a file's references and definitions, for tools that are asked about positions.

The facts themselves keep lines only: columns are needed by `assay enrich` alone.
"""

from __future__ import annotations

import re
from bisect import bisect_right

import msgspec

from assay.index.chains import last
from assay.index.extract import read_captures
from assay.index.extract.collect import Captures
from assay.index.extract.nest import Nesting
from assay.index.extract.references import Span, build_references
from assay.index.extract.symbols import SymbolBuilder, build_bindings
from assay.index.facts import BASE, HINT, IMPLEMENTS, Reference
from assay.languages import Language

_SUPERTYPES = frozenset({BASE, IMPLEMENTS})


class Place(msgspec.Struct, array_like=True, gc=False, frozen=True):
    """The position of a name: line from 1, column from 0 in UTF-16 units (LSP) and in bytes (some SCIP indexers)."""

    line: int
    column: int
    byte: int


class Places(msgspec.Struct, array_like=True, gc=False):
    """Positions in one file. `references` has an entry per reference of its facts, in their order."""

    references: list[Place | None]  # of the last name of each chain; None for types and derived references
    symbols: list[Place | None]  # of the name of each symbol


def locate(source: bytes, language: Language) -> Places:
    """Return the positions of the references and symbols that `extract` finds in the same text."""
    captures = read_captures(source, language)[0]
    nesting = Nesting(captures)
    symbols = SymbolBuilder(captures, nesting).build()
    rows, spans = build_references(captures, nesting, build_bindings(captures, nesting, symbols))
    names: list[Place | None] = [None] * len(symbols)
    for definition in nesting.order:
        if definition.index >= 0:
            names[definition.index] = _place(captures, definition.name_start)
    references = [
        _reference(captures, row, span) for row, span in zip(rows, spans, strict=True) if row.role not in _SUPERTYPES
    ]
    return Places(references, names)


def _reference(captures: Captures, row: Reference, span: Span | None) -> Place | None:
    name = last(row.chain)
    if span is None or row.role == HINT or not name:
        return None
    start = _name_start(captures.source[slice(*span)], name.encode(), row.chain)
    return None if start is None else _place(captures, span[0] + start)


def _name_start(text: bytes, name: bytes, chain: str) -> int | None:
    """Return the offset of a chain's last name in its source text."""
    word = rb"(?<![\w$])" + re.escape(name) + rb"(?![\w$])"
    if chain.endswith(")"):  # a decorator with its arguments
        match = re.search(word + rb"\s*\(", text)
        return match.start() if match else None
    if text.endswith(b">"):  # type arguments
        text = text[: text.find(b"<")]
    matches = list(re.finditer(word, text))
    return matches[-1].start() if matches else None


def _place(captures: Captures, offset: int) -> Place:
    line = bisect_right(captures.line_starts, offset)
    before = captures.source[captures.line_starts[line - 1] : offset]
    column = len(before) if before.isascii() else len(before.decode("utf-8", "replace").encode("utf-16-le")) // 2
    return Place(line, column, len(before))
