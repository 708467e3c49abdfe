"""Merging a SCIP index: what a compiler knows about references becomes edges of provenance `scip`.

SCIP names symbols its own way; ours are found by where they are defined. An edge lives as long as the file it was read from is unchanged.
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
from assay.ingest.imported import ImportedRow, imported_edges, imported_rows
from assay.ingest.protobuf import Malformed, fields, packed
from assay.ingest.rows import seal
from assay.store import catalogue as C
from assay.store import edges as E
from assay.store.index import Index
from assay.store.layout import Home

# field numbers of scip.proto
_INDEX_DOCUMENTS, _DOCUMENT_PATH, _DOCUMENT_OCCURRENCES, _DOCUMENT_SYMBOLS = 2, 1, 2, 3
_OCCURRENCE_RANGE, _OCCURRENCE_SYMBOL, _OCCURRENCE_ROLES = 1, 2, 3
_SYMBOL_NAME, _SYMBOL_RELATIONSHIPS = 1, 4
_RELATIONSHIP_SYMBOL, _RELATIONSHIP_IMPLEMENTATION = 1, 3
_ROLE_DEFINITION, _ROLE_IMPORT = 1, 2

CONFIDENCE = 1.0
_DESCRIPTOR = re.compile(r"([\w$+-]+|`[^`]*`)(?:\(\w*\)\.|[#./:!])?$|([\w$+-]+)\(\w*\)\.$")


@dataclass(slots=True)
class Merged:
    """What came of a SCIP file."""

    documents: int = 0
    edges: int = 0
    new_edges: int = 0  # pairs no other provenance had found
    missing: list[str] = field(default_factory=list)  # documents that are not in the index


@dataclass(slots=True)
class _Document:
    path: str
    occurrences: list[tuple[int, str, int]]  # line, symbol, roles
    implementations: list[tuple[str, str]]


def merge(root: Path, home: Home, file: Path) -> Merged:
    """Adds the edges of a SCIP file to a new generation of the index, in place of what was merged for its documents before."""
    documents = _read(file)
    Index.open(root, home).close()  # nothing is made where there is no index
    with home.writing():
        index = Index.open(root, home)
        try:
            return _merge(home, index, documents)
        finally:
            index.close()


def _merge(home: Home, index: Index, documents: list[_Document]) -> Merged:
    merged = Merged(documents=len(documents), missing=[d.path for d in documents if d.path not in index.files])
    rows = _edges(index, [d for d in documents if d.path in index.files])
    merged.edges = len(rows)
    connection = index.catalogue.connection
    numbers = dict(connection.execute("SELECT id, number FROM symbols").fetchall())
    known = {(int(e["source"]), int(e["target"])) for e in index.edges.all if e["file"] > 0}
    merged.new_edges = sum((numbers[row[0]], numbers[row[1]]) not in known for row in rows)
    with home.new_generation() as folder:
        for path in index.folder.iterdir():
            shutil.copyfile(path, folder / path.name)
        catalogue = C.Catalogue.edit(folder / C.NAME)
        catalogue.connection.executemany(
            "DELETE FROM imported WHERE provenance = 'scip' AND path = ?", [(d.path,) for d in documents]
        )
        catalogue.add_imported(rows)
        imported = imported_edges(imported_rows(catalogue), numbers, index.files)
        edges = np.concatenate([index.edges.all[index.edges.all["file"] > 0], imported])
        catalogue.set_meta({"edges": E.write(folder, edges)})
        catalogue.finish()
        seal(folder / C.NAME)
    return merged


def _read(file: Path) -> list[_Document]:
    try:
        data = file.read_bytes()
    except OSError as error:
        raise AssayError(f"{file}: cannot be read ({error.strerror or error})") from None
    try:
        documents = [
            _document(value)
            for number, value in fields(data)
            if number == _INDEX_DOCUMENTS and isinstance(value, bytes)
        ]
    except (Malformed, UnicodeDecodeError) as error:
        raise AssayError(
            f"{file}: not a SCIP index ({error}). Make one with a SCIP indexer such as scip-python or scip-typescript"
        ) from None
    if not documents:
        raise AssayError(f"{file}: holds no documents; is it a SCIP index?")
    return documents


def _document(data: bytes) -> _Document:
    out = _Document("", [], [])
    for number, value in fields(data):
        if not isinstance(value, bytes):
            continue
        if number == _DOCUMENT_PATH:
            out.path = value.decode()
        elif number == _DOCUMENT_OCCURRENCES:
            place: list[int] = []
            symbol, roles = "", 0
            for inner, content in fields(value):
                if inner == _OCCURRENCE_RANGE:
                    place += packed(content)
                elif inner == _OCCURRENCE_SYMBOL and isinstance(content, bytes):
                    symbol = content.decode()
                elif inner == _OCCURRENCE_ROLES and isinstance(content, int):
                    roles = content
            if symbol and place:
                out.occurrences.append((place[0] + 1, symbol, roles))
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


def _edges(index: Index, documents: list[_Document]) -> list[ImportedRow]:
    """Definitions first, to know which item each SCIP symbol is; then every other occurrence is an edge from the item around it."""
    spans = _Spans(index)
    items: dict[str, C.SymbolRow] = {}
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
            source: C.SymbolRow,
            target: C.SymbolRow,
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
                add(source, target, "imports" if roles & _ROLE_IMPORT else _kind(target), line)
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


def _kind(target: C.SymbolRow) -> str:
    if target.kind in CALLABLE_KINDS:
        return "calls"
    if target.kind in ("field", "property"):
        return "accesses_field"
    return "references"


def _last_name(symbol: str) -> str:
    """`scip-python python pkg 0.1 `shop.cart`/Cart#total().` → total."""
    match = _DESCRIPTOR.search(symbol)
    return (match.group(1) or match.group(2) or "").strip("`") if match else ""


class _Spans:
    """Items by place."""

    def __init__(self, index: Index) -> None:
        paths = {row.number: row.path for row in index.files.values()}
        self._by_path: dict[str, list[C.SymbolRow]] = defaultdict(list)
        for row in index.catalogue.symbols():
            self._by_path[paths[row.file]].append(row)
        for rows in self._by_path.values():
            rows.sort(key=lambda r: (r.start, -r.end))
        self._starts = {path: [row.start for row in rows] for path, rows in self._by_path.items()}

    def around(self, path: str, line: int) -> C.SymbolRow | None:
        """The innermost item on whose lines this one is."""
        rows = self._by_path.get(path, [])
        for row in reversed(rows[: bisect_right(self._starts.get(path, []), line)]):
            if row.end >= line or row.ordinal < 0:
                return row
        return None

    def defined(self, path: str, line: int, name: str) -> C.SymbolRow | None:
        """The item called `name` whose definition includes the line, innermost first."""
        rows = self._by_path.get(path, [])
        for row in reversed(rows[: bisect_right(self._starts.get(path, []), line)]):
            if row.name == name and row.end >= line:
                return row
        return None
