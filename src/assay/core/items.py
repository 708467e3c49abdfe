"""Items (symbols and passages), the edges between them, and the definitions that lines belong to.

Plain values without I/O. Ids are readable and stable: `src/app.py::Flask.run`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Generic, NamedTuple, Protocol, TypeVar

# Kinds, grouped by their role in name resolution. docs/graph.md defines each.
TYPE_KINDS = frozenset({"class", "struct", "interface", "trait", "enum", "type"})
SPACE_KINDS = frozenset({"file", "module", "namespace"})
CALLABLE_KINDS = frozenset({"function", "method", "constructor", "macro"})
DATA_KINDS = frozenset({"field", "property", "constant", "variable"})
KINDS = TYPE_KINDS | SPACE_KINDS | CALLABLE_KINDS | DATA_KINDS


@dataclass(frozen=True, slots=True)
class Item:
    """A definition, as stored in the index."""

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
    repository: str = ""  # label, in a multi-repository index


def item_id(path: str, symbol: str, nth: int = 1) -> str:
    """Return the id of the `nth` item named `symbol` in `path`; a file's own item has no symbol part."""
    if not symbol:
        return path
    return f"{path}::{symbol}" if nth == 1 else f"{path}::{symbol}~{nth}"


# Edges


@dataclass(frozen=True, slots=True)
class EdgeType:
    """A row of the edge type table. `code` is stored in the index: append, never renumber."""

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
    # never stored as edges: links, and derived from sections and commits (docs/graph.md)
    EdgeType(18, "documents", "documented_by"),
    EdgeType(19, "mentions", "mentioned_by"),
    EdgeType(20, "co_changed", "co_changed"),
    EdgeType(21, "consumes_endpoint", "consumed_by"),
    EdgeType(22, "implements_rpc", "rpc_implemented_by"),
    EdgeType(23, "consumes_rpc", "rpc_consumed_by"),
    EdgeType(24, "gated_by_flag", "gates"),
    EdgeType(25, "depends_on", "dependency_of"),
    EdgeType(26, "deployed_by", "deploys"),
    EdgeType(27, "owned_by", "owns"),
    EdgeType(28, "authored_by", "authored"),
)
EDGE_TYPES: dict[str, EdgeType] = {row.name: row for row in _TYPES}
EDGE_NAMES: tuple[str, ...] = tuple(row.name for row in _TYPES)

# Evidence for an edge, weakest first; the index stores the position.
PROVENANCES = ("inferred", "resolved", "parsed", "lsp", "scip", "runtime")

EXTERNAL = "external:"  # prefix of targets outside the repository


class Edge(NamedTuple):
    """An edge between two items, by id, or from an item to an external name."""

    source: str
    target: str
    type: str
    provenance: str
    confidence: float
    line: int


class Link(NamedTuple):
    """A statement about items from outside the code: manifests, owners, other repositories, production.

    The ends are item ids, or names such as `dependency:requests`, `deployment:deploy/web.yaml#Deployment/web`,
    `team:@shop/payments`. `path` and `line` are where it is stated, if anywhere.
    """

    source: str
    target: str
    type: str
    provenance: str
    confidence: float
    path: str = ""
    line: int = 0
    detail: str = ""  # in words: `called 1,204 times in the last day, p95 12 ms`


# Passages

_NOT_IN_SLUG = re.compile(r"[^\w]+")
_PASSAGE_ID = re.compile(r"#[^#]*:[0-9a-f]{8}(?:~\d+)?$")
_MAX_SLUG = 40  # characters of a heading in an id
_CELLS = frozenset({"notebook"})  # formats with cells instead of pages


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage, as stored in the index. Lines count from 1, characters of the document's text from 0."""

    number: int
    id: str
    path: str
    language: str  # document format
    headings: tuple[str, ...]
    first: int
    last: int
    start: int
    end: int
    page: int  # 0: the document has no pages
    text: str
    repository: str = ""  # label, in a multi-repository index

    @property
    def place(self) -> str:
        """Human-readable location: `docs/config.md:120-164`, or `manual.pdf, page 12`."""
        if self.page:
            return f"{self.path}, {'cell' if self.language in _CELLS else 'page'} {self.page}"
        return f"{self.path}:{self.first}-{self.last}"


def passage_id(path: str, headings: tuple[str, ...], text: str, chunker: str, nth: int = 1) -> str:
    """Return an id such as `docs/config.md#loading/from-a-file:3f2a91c4`: location and hash of text and chunker.

    Changes elsewhere in the file do not affect it. `nth` distinguishes equal passages under the same headings.
    """
    location = heading_slug(headings)
    digest = blake2b(f"{chunker}\n{text}".encode("utf-8", "replace"), digest_size=4).hexdigest()
    return f"{path}#{location}:{digest}" + (f"~{nth}" if nth > 1 else "")


def heading_slug(headings: tuple[str, ...]) -> str:
    """Return the heading path of a section as it stands in ids: `loading/from-a-file`."""
    return "/".join(_NOT_IN_SLUG.sub("-", heading.lower()).strip("-")[:_MAX_SLUG] for heading in headings)


def is_passage_id(id: str) -> bool:
    """Return whether an id belongs to a passage, not to an item."""
    return _PASSAGE_ID.search(id) is not None


# Definitions by line

_CONTAINERS = frozenset({"file", "namespace"})  # enclose everything, so they say nothing
_NONE = -1


class Spanned(Protocol):
    """A definition with first and last line, from 1, inclusive."""

    @property
    def kind(self) -> str: ...
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...


Definition = TypeVar("Definition", bound=Spanned)


class Outline(Generic[Definition]):
    """The nested definitions of a text: maps each line to its innermost definition, if any."""

    def __init__(self, definitions: Iterable[Definition]) -> None:
        self._definitions: list[Definition] = []
        self._parents: list[int] = []
        self._owners: list[int] = []  # innermost definition by line
        for definition in sorted(definitions, key=lambda d: (d.start, -d.end)):
            if definition.kind not in _CONTAINERS:
                self._add(definition)

    def __bool__(self) -> bool:
        return bool(self._definitions)

    def _add(self, definition: Definition) -> None:
        parent = self._innermost(definition.start, definition.end)
        if parent != _NONE and definition.kind in DATA_KINDS and self._definitions[parent].kind in CALLABLE_KINDS:
            return  # local variables belong to their function
        number = len(self._definitions)
        self._definitions.append(definition)
        self._parents.append(parent)
        self._owners += [_NONE] * (definition.end + 1 - len(self._owners))
        self._owners[definition.start : definition.end + 1] = [number] * (definition.end + 1 - definition.start)

    def _innermost(self, first: int, last: int) -> int:
        number = self._owners[first] if first < len(self._owners) else _NONE
        while number != _NONE and self._definitions[number].end < last:
            number = self._parents[number]
        return number

    def enclosing(self, line: int) -> Iterator[Definition]:
        """Yield the definitions around a line, innermost first."""
        number = self._innermost(line, line)
        while number != _NONE:
            yield self._definitions[number]
            number = self._parents[number]

    def touched(self, places: Iterable[tuple[int, int]]) -> list[Definition]:
        """Return the innermost definitions around line ranges, in text order."""
        numbers = {self._innermost(first, last) for first, last in places} - {_NONE}
        return [self._definitions[number] for number in sorted(numbers)]
