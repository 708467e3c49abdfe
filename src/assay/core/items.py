"""Items: what can be retrieved. Their ids are names that people and agents already hold."""

from __future__ import annotations

from dataclasses import dataclass

# Kinds, grouped by the role they play when names are resolved. docs/graph.md defines each.
TYPE_KINDS = frozenset({"class", "struct", "interface", "trait", "enum", "type"})
SPACE_KINDS = frozenset({"file", "module", "namespace"})
CALLABLE_KINDS = frozenset({"function", "method", "constructor", "macro"})
DATA_KINDS = frozenset({"field", "property", "constant", "variable"})
KINDS = TYPE_KINDS | SPACE_KINDS | CALLABLE_KINDS | DATA_KINDS


@dataclass(frozen=True, slots=True)
class Item:
    """One definition of the repository, as the index holds it."""

    number: int
    id: str  # "src/app.py::Flask.before_request"
    kind: str
    name: str  # "before_request"
    symbol: str  # "Flask.before_request": the qualified name without its path
    path: str
    start: int  # first line, 1-based
    end: int  # last line, inclusive
    signature: str
    doc: str
    test: bool
    repository: str = ""  # its label, where several are asked as one


def item_id(path: str, symbol: str, nth: int = 1) -> str:
    """The id of the `nth` item called `symbol` in `path`; a file's own item has no symbol part."""
    if not symbol:
        return path
    return f"{path}::{symbol}" if nth == 1 else f"{path}::{symbol}~{nth}"
