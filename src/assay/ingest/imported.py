"""Edges from outside (SCIP): they outlive updates and rebuilds as long as the file they were read from is unchanged."""

from __future__ import annotations

import sqlite3

from assay.core.edges import EDGE_TYPES, PROVENANCES
from assay.store import catalogue as C
from assay.store import edges as E
from assay.store.index import Index

_PROVENANCE = {name: code for code, name in enumerate(PROVENANCES)}


ImportedRow = tuple[str, str, str, str, float, int, str, bytes]


def known_imports(previous: Index | None) -> list[ImportedRow]:
    """What was merged into the last index: it outlives a rebuild, but not damage."""
    try:
        return imported_rows(previous.catalogue) if previous is not None else []
    except sqlite3.DatabaseError:
        return []


def imported_rows(catalogue: C.Catalogue) -> list[ImportedRow]:
    return catalogue.connection.execute("SELECT * FROM imported").fetchall()


def imported_edges(rows: list[ImportedRow], numbers: dict[str, int], files: dict[str, C.FileRow]) -> E.Array:
    out = []
    for source, target, kind, provenance, confidence, line, path, digest in rows:
        file = files.get(path)
        if file and file.hash == digest and source in numbers and target in numbers:
            out.append(
                (
                    numbers[source],
                    numbers[target],
                    EDGE_TYPES[kind].code,
                    _PROVENANCE[provenance],
                    confidence,
                    line,
                    -file.number,
                )
            )
    return E.from_rows(out)
