"""Parsing: source text → syntax tree, with a limit on the time one file may take."""

from __future__ import annotations

from functools import cache
from time import monotonic

from tree_sitter import Node, Parser, Tree

from assay.ingest.languages import Language

PARSE_SECONDS = 20.0  # a file that takes longer is left out: it is data, not code
LARGE = 200_000  # bytes; smaller files cannot take that long
PIECE = 8192  # bytes handed to the parser at once, between two looks at the clock


class ParseTimeout(Exception):
    """The parser did not finish in PARSE_SECONDS."""


@cache
def _parser(language: Language) -> Parser:
    return Parser(language.grammar_object)


def parse(source: bytes, language: Language) -> Tree:
    parser = _parser(language)
    if len(source) < LARGE:
        return parser.parse(source)
    deadline = monotonic() + PARSE_SECONDS
    # handing the text out piece by piece is the only way to stop: the binding's progress callback crashes (tree-sitter 0.26.0)
    tree = parser.parse(lambda at, _: source[at : at + PIECE] if monotonic() < deadline else b"")
    if monotonic() >= deadline:
        raise ParseTimeout
    return tree


def count_errors(root: Node) -> int:
    """Top-most error nodes; a clean file costs one flag test."""
    if not root.has_error:
        return 0
    errors, cursor = 0, root.walk()
    while True:
        node = cursor.node
        assert node is not None
        if node.is_error or node.is_missing:
            errors += 1
        elif node.has_error and cursor.goto_first_child():
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return max(errors, 1)
