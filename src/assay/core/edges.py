"""Edges: typed, directed relations between items, each with its provenance and confidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class EdgeType:
    """One row of the table of edge types. `code` is what the index stores: append, never renumber."""

    code: int
    name: str
    reverse: str = ""


_TYPES = (
    EdgeType(0, "contains", "member_of"),
    EdgeType(1, "imports", "imported_by"),
    EdgeType(2, "calls", "called_by"),
    EdgeType(3, "references", "referenced_by"),
    EdgeType(4, "accesses_field", "accessed_by"),
    EdgeType(5, "type_hint_of", "hinted_by"),
    EdgeType(6, "extends", "extended_by"),
    EdgeType(7, "implements", "implemented_by"),
    EdgeType(8, "overrides", "overridden_by"),
    EdgeType(9, "inherits", "inherited_by"),
    EdgeType(10, "decorates", "decorated_by"),
    EdgeType(11, "throws", "thrown_by"),
    EdgeType(12, "tests", "tested_by"),
    EdgeType(13, "co_tested_with", "co_tested_with"),
    EdgeType(14, "handles_route", "handled_by"),
    EdgeType(15, "reads_env", "read_by"),
    EdgeType(16, "executes_process", "executed_by"),
    EdgeType(17, "similar_to", "similar_to"),
    # planned: filled by the document and history issues
    EdgeType(18, "documents", "documented_by"),
    EdgeType(19, "mentions", "mentioned_by"),
    EdgeType(20, "co_changed", "co_changed"),
)
EDGE_TYPES: dict[str, EdgeType] = {row.name: row for row in _TYPES}
EDGE_NAMES: tuple[str, ...] = tuple(row.name for row in _TYPES)

# How an edge is known, weakest first; the position is what the index stores.
PROVENANCES = ("inferred", "resolved", "parsed", "lsp", "scip", "runtime")

EXTERNAL = "external:"  # prefix of targets outside the repository


class Edge(NamedTuple):
    """One edge between two items, by their ids, or from an item to an external name."""

    source: str
    target: str
    type: str
    provenance: str
    confidence: float
    line: int
