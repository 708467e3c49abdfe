"""Merge a SCIP index: references resolved by a compiler become edges of provenance `scip`.

SCIP symbols are matched to items by the position of their definition. An edge is kept as long as the file it was read
from is unchanged.
"""

from __future__ import annotations

import re
import shutil
from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from assay.core.items import CALLABLE_KINDS
from assay.errors import AssayError
from assay.index.write import ImportedRow, imported_edges, imported_rows
from assay.store import edges as edge_store
from assay.store.catalogue import NAME as CATALOGUE_NAME
from assay.store.catalogue import Catalogue, SymbolRow
from assay.store.generation import Generation
from assay.store.layout import Home
from assay.system.files import read_regular
from assay.system.protobuf import Malformed, fields, packed

# Merging

# field numbers of scip.proto
_INDEX_DOCUMENTS, _DOCUMENT_PATH, _DOCUMENT_OCCURRENCES, _DOCUMENT_SYMBOLS = 2, 1, 2, 3
_OCCURRENCE_RANGE, _OCCURRENCE_SYMBOL, _OCCURRENCE_ROLES = 1, 2, 3
_SYMBOL_NAME, _SYMBOL_RELATIONSHIPS = 1, 4
_RELATIONSHIP_SYMBOL, _RELATIONSHIP_IMPLEMENTATION = 1, 3
_ROLE_DEFINITION, _ROLE_IMPORT = 1, 2

CONFIDENCE = 1.0
_MAX_FILE_BYTES = 512_000_000
_MAX_OCCURRENCES = 5_000_000  # of all documents: 600 MB at worst
_MAX_SYMBOL = 2_000  # characters; real ones have a few hundred
_LAST_LINE, _LAST_ROLE = 2**31 - 2, 2**31 - 1  # int32 limits of scip.proto
_RANGE = 4  # numbers in the range of an occurrence
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
class _Document:
    path: str
    occurrences: list[tuple[int, str, int]]  # line, symbol, roles
    implementations: list[tuple[str, str]]


def merge(root: Path, home: Home, file: Path) -> Merged:
    """Add the edges of a SCIP file to a new generation of the index, replacing earlier ones of its documents."""
    documents = _read(file)
    Generation.open(root, home).close()  # fail before writing anything if there is no index
    with home.writing():
        index = Generation.open(root, home)
        try:
            return _merge(home, index, documents)
        finally:
            index.close()


def _merge(home: Home, index: Generation, documents: list[_Document]) -> Merged:
    merged = Merged(documents=len(documents), missing=[d.path for d in documents if d.path not in index.files])
    rows = _edges(index, [d for d in documents if d.path in index.files])
    merged.edges = len(rows)
    connection = index.catalogue.connection
    numbers = dict(connection.execute("SELECT id, number FROM symbols").fetchall())
    existing = {(int(e["source"]), int(e["target"])) for e in index.edges.all if e["file"] > 0}
    merged.new_edges = sum((numbers[row[0]], numbers[row[1]]) not in existing for row in rows)
    with home.new_generation() as folder:
        for path in index.folder.iterdir():
            shutil.copyfile(path, folder / path.name)
        catalogue = Catalogue.edit(folder / CATALOGUE_NAME)
        catalogue.connection.executemany(
            "DELETE FROM imported WHERE provenance = 'scip' AND path = ?", [(d.path,) for d in documents]
        )
        catalogue.add_imported(rows)
        imported = imported_edges(imported_rows(catalogue), numbers, index.files)
        edges = np.concatenate([index.edges.all[index.edges.all["file"] > 0], imported])
        catalogue.set_meta({"edges": edge_store.write(folder, edges)})
        catalogue.finish(folder / CATALOGUE_NAME)
    return merged


def _read(file: Path) -> list[_Document]:
    try:
        data = read_regular(file, _MAX_FILE_BYTES)
    except OSError as error:
        raise AssayError(f"{file}: cannot be read ({error.strerror or error})") from None
    documents: list[_Document] = []
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


def _document(data: bytes, symbols: dict[str, str]) -> _Document:
    out = _Document("", [], [])
    for number, value in fields(data):
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
                if position[0] > _LAST_LINE or roles > _LAST_ROLE:
                    raise Malformed("a number is too large")
                if len(out.occurrences) > _MAX_OCCURRENCES:
                    raise Malformed(f"more than {_MAX_OCCURRENCES:,} occurrences in a document")
                out.occurrences.append((position[0] + 1, symbols.setdefault(symbol, symbol), roles))
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


def _edges(index: Generation, documents: list[_Document]) -> list[ImportedRow]:
    """Return the edges of documents: map SCIP symbols to items by their definitions, then link each reference.

    The source of an edge is the innermost item around the reference.
    """
    spans = _Spans(index)
    items: dict[str, SymbolRow] = {}
    for document in documents:
        for line, symbol, roles in document.occurrences:
            if roles & _ROLE_DEFINITION and not symbol.startswith("local "):
                item = spans.defined(document.path, line, _last_name(symbol))
                if item is not None:
                    items[_key(symbol, document)] = item
    out: dict[tuple[str, str, str], ImportedRow] = {}
    for document in documents:
        digest = index.files[document.path].hash

        def add(
            source: SymbolRow,
            target: SymbolRow,
            kind: str,
            line: int,
            path: str = document.path,
            digest: bytes = digest,
        ) -> None:
            if source.id != target.id:
                out.setdefault(
                    (kind, source.id, target.id), (source.id, target.id, kind, "scip", CONFIDENCE, line, path, digest)
                )

        for line, symbol, roles in document.occurrences:
            target = items.get(_key(symbol, document))
            if target is None or roles & _ROLE_DEFINITION:
                continue
            source = spans.around(document.path, line)
            if source is not None:
                add(source, target, "imports" if roles & _ROLE_IMPORT else _edge_type(target), line)
        for name, base in document.implementations:
            source, target = items.get(_key(name, document)), items.get(_key(base, document))
            if source is not None and target is not None:
                kind = (
                    "overrides"
                    if source.kind in CALLABLE_KINDS
                    else "implements"
                    if target.kind in ("interface", "trait")
                    else "extends"
                )
                add(source, target, kind, source.start)
    return [out[key] for key in sorted(out)]


def _key(symbol: str, document: _Document) -> str:
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
    return (match.group(1) or match.group(2) or "").strip("`") if match else ""


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
