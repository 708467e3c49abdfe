"""Parse source text into a syntax tree, and fragments of it: imports, type names, strings."""

from __future__ import annotations

import re
from functools import cache

from tree_sitter import Node, Parser, Tree

from assay.languages import Language

_OPENING = re.compile(r"^[rRbBuUfF]{0,2}(\"\"\"|'''|\"|')")
_CLOSING = re.compile(r"(\"\"\"|'''|\"|')$")
_TYPE_ARGUMENTS = re.compile(r"<.*>|\[.*\]", re.S)
_BETWEEN_NAMES = re.compile(r"::|\.|\s+")


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
    """Count the topmost error nodes below the root; a file without errors costs one flag test."""
    if not root.has_error:
        return 0
    errors, cursor = 0, root.walk()
    if not cursor.goto_first_child():
        return 1
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


def place_in(node: Node, pattern: Node, value: Node) -> str:
    """Return the position of a name in a destructured tuple, as `.1` for the second; empty if there is only one."""
    names = [name for name in pattern.named_children if name.start_byte != value.start_byte]
    if len(names) == 1 and len(pattern.named_children) == 1:
        return ""
    return next(
        (f".{position}" for position, name in enumerate(names) if name.start_byte <= node.start_byte < name.end_byte),
        "",
    )


def import_tree(text: str, prefix: str = "") -> list[tuple[str, str, str]]:
    """Expand `a::{self, b as c, d::*}` into (module, name, alias) rows."""
    head, brace, group = text.partition("{")
    if brace:
        out, depth, start = list[tuple[str, str, str]](), 0, 0
        inner = group.rstrip().removesuffix("}") + ","
        for at, letter in enumerate(inner):
            depth += (letter == "{") - (letter == "}")
            if letter == "," and not depth:
                out += import_tree(inner[start:at], prefix + head.strip())
                start = at + 1
        return out
    path, _, alias = (prefix + text.strip()).partition(" as ")
    module, _, name = path.strip().removeprefix("::").rpartition("::")
    if name == "self":
        return [(module, "", alias.strip() or module.rpartition("::")[2])]
    return [(module, name, alias.strip())] if module else [(name, "", alias.strip())] if name else []


def strip_quotes(text: str) -> str:
    text = _CLOSING.sub("", _OPENING.sub("", text.strip()))
    return "\n".join(line.strip() for line in text.strip().splitlines())


def type_name(text: str) -> str:
    """Return the bare name of a type expression: `*Router[T]` → Router, `a::Searcher<'s, M>` → Searcher."""
    if not text or text.isidentifier():
        return text
    return _BETWEEN_NAMES.split(_TYPE_ARGUMENTS.sub("", text).strip("()&* \t\n"))[-1].strip("*&()")
