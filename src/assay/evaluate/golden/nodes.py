"""YAML and JSON alike, with the line of everything: scalars, lists and mappings."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scalar:
    """A single value as it is written, and what it looks like."""

    line: int
    text: str
    kind: str = "text"  # text, integer, number, flag, nothing
    plain: bool = False  # an unquoted YAML scalar: where text is wanted, `no`, `1e3` or a date are taken as written

    @property
    def is_text(self) -> bool:
        return self.kind in ("text", "integer") or (self.plain and self.kind != "nothing")


@dataclass(frozen=True, slots=True)
class Items:
    """A list."""

    line: int
    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Fields:
    """A mapping: its values, and the line of each name."""

    line: int
    values: dict[str, Node]
    lines: dict[str, int]


Node = Scalar | Items | Fields

_SPOKEN = {"text": "text", "integer": "a number", "number": "a number", "flag": "true or false", "nothing": "nothing"}


def spoken(node: Node) -> str:
    """What a node is, for a message."""
    if isinstance(node, Scalar):
        shown = node.text if len(node.text) <= 30 else node.text[:29] + "…"
        return _SPOKEN[node.kind] if node.kind == "nothing" else f"`{shown}`" if shown else "empty text"
    return "a list" if isinstance(node, Items) else "a mapping"
