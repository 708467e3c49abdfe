"""Read a SCIP index: references resolved by a compiler become edges of provenance `scip`.

SCIP symbols are matched to items by the position of their definition. An edge is kept as long as the file it was read
from is unchanged.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from assay.core.items import CALLABLE_KINDS
from assay.core.progress import Progress
from assay.errors import AssayError
from assay.index.enrich.answers import LOCAL, OUTSIDE, Targets
from assay.index.enrich.merge import CONFIDENCE, edge_type, write_edges
from assay.index.enrich.places import Tree
from assay.index.write import ImportedRow
from assay.store.catalogue import SymbolRow
from assay.store.generation import Generation
from assay.store.layout import Home
from assay.system.files import read_regular
from assay.system.protobuf import Malformed, fields, packed

# field numbers of scip.proto
_INDEX_DOCUMENTS, _DOCUMENT_PATH, _DOCUMENT_OCCURRENCES, _DOCUMENT_SYMBOLS, _DOCUMENT_ENCODING = 2, 1, 2, 3, 6
_ENCODING_UTF8 = 1  # columns in bytes; the other encodings differ from UTF-16 outside the BMP only
_OCCURRENCE_RANGE, _OCCURRENCE_SYMBOL, _OCCURRENCE_ROLES = 1, 2, 3
_SYMBOL_NAME, _SYMBOL_RELATIONSHIPS = 1, 4
_RELATIONSHIP_SYMBOL, _RELATIONSHIP_IMPLEMENTATION = 1, 3
_ROLE_DEFINITION, _ROLE_IMPORT = 1, 2

_MAX_FILE_BYTES = 512_000_000
_MAX_OCCURRENCES = 5_000_000  # of all documents: 600 MB at worst
_MAX_SYMBOL = 2_000  # characters; real ones have a few hundred
_LAST_LINE, _LAST_ROLE = 2**31 - 2, 2**31 - 1  # int32 limits of scip.proto
_RANGE = 4  # numbers in the range of an occurrence
_NAMES = {"<constructor>": "constructor"}  # names of items that indexers call otherwise
# anchored at the start of a name, so that a search takes linear time
_DESCRIPTOR = re.compile(r"((?<![\w$+-])[\w$+-]+|`[^`]*`)(?:\(\w*\)\.|[#./:!])?$|(?<![\w$+-])([\w$+-]+)\(\w*\)\.$")


@dataclass(slots=True)
class Merged:
    """Counts of a merge."""

    documents: int = 0
    edges: int = 0
    new_edges: int = 0  # pairs without an edge of another provenance
    missing: list[str] = field(default_factory=list)  # documents that are not in the index


@dataclass(slots=True)
class Document:
    """A file as the indexer saw it."""

    path: str
    occurrences: list[tuple[int, int, str, int]]  # line, column, symbol, roles
    implementations: list[tuple[str, str]]
    in_bytes: bool = False  # columns count bytes, not UTF-16 units


def merge(root: Path, home: Home, file: Path, progress: Progress | None = None) -> Merged:
    """Add the edges of a SCIP file to a new generation of the index, replacing earlier ones of its documents."""
    documents = read(file)
    index = Generation.open(root, home)  # fails before anything is written if there is no index
    try:
        indexed = [document for document in documents if document.path in index.files]
        languages = {index.files[document.path].language for document in indexed}
        tree = Tree.read(root, home, index, languages, progress or Progress())
        merged = Merged(documents=len(documents), missing=[d.path for d in documents if d.path not in index.files])
        rows = edges(tree, indexed)
    finally:
        index.close()
    merged.edges, merged.new_edges = write_edges(root, home, "scip", [document.path for document in indexed], rows)
    return merged


def read(file: Path) -> list[Document]:
    """Read the documents of a SCIP file. Raises AssayError if it is none, or too large."""
    try:
        data = read_regular(file, _MAX_FILE_BYTES)
    except OSError as error:
        raise AssayError(f"{file}: cannot be read ({error.strerror or error})") from None
    documents: list[Document] = []
    symbols: dict[str, str] = {}  # interned: each occurs often
    occurrences = 0
    try:
        for number, value in fields(data):
            if number == _INDEX_DOCUMENTS and isinstance(value, bytes):
                documents.append(_document(value, symbols))
                occurrences += len(documents[-1].occurrences) + len(documents[-1].implementations) + 1
                if occurrences > _MAX_OCCURRENCES:
                    raise AssayError(
                        f"{file}: more than {_MAX_OCCURRENCES:,} occurrences (the limit); "
                        "index each part of the repository separately and merge them one by one"
                    )
    except (Malformed, UnicodeDecodeError) as error:
        raise AssayError(
            f"{file}: not a SCIP index ({error}). Make one with a SCIP indexer such as scip-python or scip-typescript"
        ) from None
    if not documents:
        raise AssayError(f"{file}: contains no documents; is it a SCIP index?")
    return documents


def _document(data: bytes, symbols: dict[str, str]) -> Document:
    out = Document("", [], [])
    for number, value in fields(data):
        if number == _DOCUMENT_ENCODING:
            out.in_bytes = value == _ENCODING_UTF8
        if not isinstance(value, bytes):
            continue
        if number == _DOCUMENT_PATH:
            out.path = value.decode()
        elif number == _DOCUMENT_OCCURRENCES:
            position: list[int] = []
            symbol, roles = "", 0
            for inner, content in fields(value):
                if inner == _OCCURRENCE_RANGE:
                    position += packed(content, _RANGE - len(position))
                elif inner == _OCCURRENCE_SYMBOL and isinstance(content, bytes):
                    symbol = content.decode()
                elif inner == _OCCURRENCE_ROLES and isinstance(content, int):
                    roles = content
            if symbol and position and len(symbol) <= _MAX_SYMBOL:
                if max(position) > _LAST_LINE or roles > _LAST_ROLE:
                    raise Malformed("a number is too large")
                if len(out.occurrences) > _MAX_OCCURRENCES:
                    raise Malformed(f"more than {_MAX_OCCURRENCES:,} occurrences in a document")
                column = position[1] if len(position) > 1 else 0
                out.occurrences.append((position[0] + 1, column, symbols.setdefault(symbol, symbol), roles))
        elif number == _DOCUMENT_SYMBOLS:
            out.implementations += _implementations(value)
    return out


def _implementations(data: bytes) -> list[tuple[str, str]]:
    name, related = "", []
    for number, value in fields(data):
        if number == _SYMBOL_NAME and isinstance(value, bytes):
            name = value.decode()
        elif number == _SYMBOL_RELATIONSHIPS and isinstance(value, bytes):
            parts = dict(fields(value))
            target = parts.get(_RELATIONSHIP_SYMBOL)
            if parts.get(_RELATIONSHIP_IMPLEMENTATION) and isinstance(target, bytes):
                related.append(target.decode())
    return [(name, target) for target in related]


def edges(tree: Tree, documents: list[Document]) -> list[ImportedRow]:
    """Return the edges of documents: from the innermost item around each reference to the item it refers to."""
    spans = _Spans(tree.index)
    items = _defined_items(spans, documents)
    out: dict[tuple[str, str, str], ImportedRow] = {}

    def add(source: SymbolRow, target: SymbolRow, kind: str, line: int, document: Document) -> None:
        if kind == "decorates":
            source, target = target, source
        if source.id != target.id:
            row = (
                source.id,
                target.id,
                kind,
                "scip",
                CONFIDENCE,
                line,
                document.path,
                tree.index.files[document.path].hash,
            )
            out.setdefault((kind, source.id, target.id), row)

    for document in documents:
        roles = _roles(tree, document)
        for line, column, symbol, roles_of in document.occurrences:
            target = items.get(_key(symbol, document))
            if target is None or roles_of & _ROLE_DEFINITION:
                continue
            source = spans.around(document.path, line)
            if source is None:
                continue
            role = roles.get((line, column))
            kind = (
                _edge_type(target) if role is None else edge_type(role, target.kind, tree.files[document.path].language)
            )
            if kind:
                add(source, target, "imports" if roles_of & _ROLE_IMPORT else kind, line, document)
        for name, base in document.implementations:
            source, target = items.get(_key(name, document)), items.get(_key(base, document))
            if source is not None and target is not None:
                add(source, target, _relationship(source, target), source.start, document)
    return [out[key] for key in sorted(out)]


def answers(tree: Tree, documents: list[Document]) -> dict[str, Targets]:
    """Return the targets of the references that our extractor recorded, by file and number of the reference."""
    items = _defined_items(_Spans(tree.index), documents)
    defined = {
        symbol for document in documents for _, _, symbol, roles in document.occurrences if roles & _ROLE_DEFINITION
    }
    out: dict[str, Targets] = {}
    for document in documents:
        places = tree.places.get(document.path)
        if places is None:
            continue
        symbols = {
            (line, column): symbol
            for line, column, symbol, roles in document.occurrences
            if not roles & _ROLE_DEFINITION
        }
        targets: Targets = []
        for number, place in enumerate(places.references):
            symbol = symbols.get((place.line, place.byte if document.in_bytes else place.column)) if place else None
            if symbol is not None:
                item = items.get(_key(symbol, document))
                elsewhere = LOCAL if symbol.startswith("local ") or symbol in defined else OUTSIDE
                targets.append((number, [elsewhere if item is None else item.id]))
        out[document.path] = targets
    return out


def _defined_items(spans: _Spans, documents: list[Document]) -> dict[str, SymbolRow]:
    """Map SCIP symbols to items by their definitions."""
    items: dict[str, SymbolRow] = {}
    for document in documents:
        for line, _, symbol, roles in document.occurrences:
            if roles & _ROLE_DEFINITION and not symbol.startswith("local "):
                item = spans.defined(document.path, line, _last_name(symbol))
                if item is not None:
                    items[_key(symbol, document)] = item
    return items


def _roles(tree: Tree, document: Document) -> Mapping[tuple[int, int], int]:
    """Return the roles of the references of a file by position."""
    places = tree.places.get(document.path)
    if places is None:
        return {}
    return {
        (place.line, place.byte if document.in_bytes else place.column): reference.role
        for reference, place in zip(tree.references[document.path], places.references, strict=True)
        if place is not None
    }


def _relationship(source: SymbolRow, target: SymbolRow) -> str:
    if source.kind in CALLABLE_KINDS:
        return "overrides"
    return "implements" if target.kind in ("interface", "trait") else "extends"


def _key(symbol: str, document: Document) -> str:
    return f"{document.path}\0{symbol}" if symbol.startswith("local ") else symbol


def _edge_type(target: SymbolRow) -> str:
    if target.kind in CALLABLE_KINDS:
        return "calls"
    if target.kind in ("field", "property"):
        return "accesses_field"
    return "references"


def _last_name(symbol: str) -> str:
    """Return the last name of a symbol: `scip-python python pkg 0.1 `shop.cart`/Cart#total().` → total."""
    match = _DESCRIPTOR.search(symbol)
    name = (match.group(1) or match.group(2) or "").strip("`") if match else ""
    return _NAMES.get(name, name)


class _Spans:
    """Items by position."""

    def __init__(self, index: Generation) -> None:
        paths = {row.number: row.path for row in index.files.values()}
        self._by_path: dict[str, list[SymbolRow]] = defaultdict(list)
        for row in index.catalogue.symbols():
            self._by_path[paths[row.file]].append(row)
        for rows in self._by_path.values():
            rows.sort(key=lambda r: (r.start, -r.end))
        self._starts = {path: [row.start for row in rows] for path, rows in self._by_path.items()}
        self._ends = {path: max(row.end for row in rows) for path, rows in self._by_path.items()}
        self._named: dict[tuple[str, str], list[SymbolRow]] = defaultdict(list)
        for path, rows in self._by_path.items():
            for row in rows:
                self._named[path, row.name].append(row)
        self._around: dict[tuple[str, int], SymbolRow | None] = {}

    def around(self, path: str, line: int) -> SymbolRow | None:
        """Return the innermost item that contains the line."""
        key = (path, min(line, self._ends.get(path, 0) + 1))  # all lines after the end are equivalent
        if key not in self._around:
            self._around[key] = self._find_around(*key)
        return self._around[key]

    def _find_around(self, path: str, line: int) -> SymbolRow | None:
        rows = self._by_path.get(path, [])
        for at in range(bisect_right(self._starts.get(path, []), line) - 1, -1, -1):
            if rows[at].end >= line or rows[at].ordinal < 0:
                return rows[at]
        return None

    def defined(self, path: str, line: int, name: str) -> SymbolRow | None:
        """Return the innermost item called `name` whose definition includes the line."""
        for row in reversed(self._named.get((path, name), [])):
            if row.start <= line <= row.end:
                return row
        return None
