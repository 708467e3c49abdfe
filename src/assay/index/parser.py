"""Parse source text into a syntax tree."""

from __future__ import annotations

from functools import cache

from tree_sitter import Node, Parser, Tree

from assay.languages import Language


@cache
def _parser(language: Language) -> Parser:
    return Parser(language.grammar_object)


def parse(source: bytes, language: Language) -> Tree:
    """Return the syntax tree of a text.

    Some inputs never terminate, so call this only in a worker that can be killed (see `parse_files`). The binding's
    progress callback, which could stop the parser, crashes (tree-sitter 0.26.0).
    """
    return _parser(language).parse(source)


def count_errors(root: Node) -> int:
    """Count the topmost error nodes; a file without errors costs one flag test."""
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
