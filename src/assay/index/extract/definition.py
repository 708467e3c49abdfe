"""Definitions while their file is being read, and helpers to parse fragments of source text."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tree_sitter import Node

from assay.index.facts import FILE

_OPENING = re.compile(r"^[rRbBuUfF]{0,2}(\"\"\"|'''|\"|')")
_CLOSING = re.compile(r"(\"\"\"|'''|\"|')$")
_TYPE_ARGUMENTS = re.compile(r"<.*>|\[.*\]", re.S)
_BETWEEN_NAMES = re.compile(r"::|\.|\s+")


@dataclass(slots=True)
class Definition:
    """A definition or a bare scope (an impl block) while its file is being read. Offsets are bytes."""

    start: int
    end: int
    kind: str
    name: str
    name_start: int
    body: int
    type: str = ""
    value: str = ""
    receiver: str = ""
    hoisted: bool = False
    bound: bool = False  # becomes a symbol only where a variable would
    test: bool = False
    trait: str = ""
    parent: int = FILE
    index: int = FILE  # index of its symbol; FILE for scopes and locals
    children: list[tuple[int, int]] = field(default_factory=list)


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
