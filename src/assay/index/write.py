"""Write a generation: facts as catalogue rows, edges merged from elsewhere, and the metadata that readers verify."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

from assay.core.items import EDGE_TYPES, PROVENANCES
from assay.core.progress import COMPLETE, Report
from assay.index.extract.texts import place_words
from assay.index.facts import Extracted, decode_texts
from assay.index.file import File
from assay.index.parse import Parsed
from assay.index.resolve import CallCounts
from assay.index.scan import Scan, ScannedFile
from assay.index.version import index_version
from assay.store import edges as edge_store
from assay.store import postings
from assay.store.arrays import Array
from assay.store.catalogue import NAME as CATALOGUE_NAME
from assay.store.catalogue import SCHEMA_VERSION, STAGE, Catalogue, FileRow, SymbolRow, TextRow
from assay.store.generation import Generation


def accept(parsed: Parsed, report: Report) -> bool:
    """Record a parse result in the report; return True if there is something to index."""
    if parsed.problem:
        report.problems[parsed.path] = parsed.problem
    elif parsed.skip:
        report.skipped[parsed.path] = parsed.skip
    elif parsed.note:
        report.notes[parsed.path] = parsed.note
    return parsed.extracted is not None


def note_problem(path: str, problem: str, report: Report) -> None:
    """Record why a file could not be resolved; a resolved file is removed from the problems."""
    if problem:
        report.problems[path] = problem
    else:
        report.problems.pop(path, None)


def file_row(number: int, parsed: Parsed, file: File, scanned: Scan) -> FileRow:
    stat = scanned.files[parsed.path]
    lines = parsed.extracted.lines if parsed.extracted else 0
    return FileRow(
        number, parsed.path, file.facts.language, stat.size, stat.mtime, parsed.digest, int(file.test),
        lines, file.facts.errors, parsed.note, 0, 0, 0, 0, 0,
    )  # fmt: skip


def symbol_rows(file: File, file_number: int, numbers: dict[str, int], next_number: int) -> list[SymbolRow]:
    """Return the rows of a file's item and its symbols; ids that have a number keep it."""
    out = []
    last = max((s.end for s in file.facts.symbols), default=1)
    for ordinal in range(-1, len(file.facts.symbols)):
        sym = file.sym(ordinal)
        fact = file.facts.symbols[ordinal] if ordinal >= 0 else None
        if sym.id not in numbers:
            numbers[sym.id] = next_number
            next_number += 1
        name = sym.name.rpartition("/")[2] if ordinal < 0 else sym.name
        start, end = (fact.start, fact.end) if fact else (1, last)
        out.append(
            SymbolRow(
                numbers[sym.id],
                file_number,
                ordinal,
                sym.id,
                name,
                sym.kind,
                sym.symbol,
                sym.nth,
                sym.owner,
                sym.kin,
                start,
                end,
                int(sym.test),
            )
        )
    return out


def add_items(catalogue: Catalogue, symbols: list[SymbolRow], path: str, extracted: Extracted) -> list[postings.Words]:
    """Write a file's symbols and their texts; return their term counts."""
    decoded = decode_texts(extracted.texts)
    texts = [decoded.texts[-1], *decoded.texts[:-1]]  # the file itself is last in the facts, first among the rows
    catalogue.add_symbols(symbols)
    catalogue.add_texts(
        TextRow(row.number, t.signature, t.doc, t.identifiers, t.literals)
        for row, t in zip(symbols, texts, strict=True)
    )
    return place_words(decoded.words, path, [row.number for row in symbols[1:]] + [symbols[0].number])


def with_counts(row: FileRow, calls: CallCounts) -> FileRow:
    return row._replace(**calls._asdict())


def finish(
    folder: Path, catalogue: Catalogue, edges: Array, digests: dict[str, str], scanned: Scan, configs: dict[str, str],
    report: Report, started: float, stage: str = COMPLETE,
) -> None:  # fmt: skip
    """Write the remaining data and seal the generation with the metadata that readers verify.

    `digests` are checksums of the files written before.
    """
    stats = scanned.files
    skipped = [(p, r, 0, *_stat(stats, p)) for p, r in report.skipped.items()] + [
        (p, r, 1, *_stat(stats, p)) for p, r in report.problems.items()
    ]
    manifests = [(p, scanned.configs[p].size, scanned.configs[p].mtime, text) for p, text in configs.items()]
    catalogue.replace_scan(sorted(skipped), sorted(manifests))  # the bytes of a table depend on the order of insertion
    catalogue.set_meta(
        {
            "schema": str(SCHEMA_VERSION), "version": index_version(), "indexed_at": str(scanned.at),
            "edges": edge_store.write(folder, edges), "seconds": f"{time.monotonic() - started:.3f}", "mode": report.mode,
            "others": str(scanned.others), "flags": ",".join(scanned.flags), STAGE: stage, "catalogue_bytes": "0" * 12, **digests,
        }
    )  # fmt: skip
    catalogue.finish(folder / CATALOGUE_NAME)


def _stat(files: dict[str, ScannedFile], path: str) -> tuple[int, int]:
    file = files.get(path)
    return (file.size, file.mtime) if file is not None else (-1, -1)


# Edges merged from elsewhere: kept in the catalogue, so that they survive an update and a rebuild

_PROVENANCE = {name: code for code, name in enumerate(PROVENANCES)}


ImportedRow = tuple[str, str, str, str, float, int, str, bytes]


def previous_imports(previous: Generation | None) -> list[ImportedRow]:
    """Return the edges merged into the last index. They survive a rebuild, but not a damaged catalogue."""
    try:
        return imported_rows(previous.catalogue) if previous is not None else []
    except sqlite3.DatabaseError:
        return []


def imported_rows(catalogue: Catalogue) -> list[ImportedRow]:
    return catalogue.connection.execute("SELECT * FROM imported").fetchall()


def imported_edges(rows: list[ImportedRow], numbers: dict[str, int], files: dict[str, FileRow]) -> Array:
    """Convert merged edges to rows; those whose file changed or whose items are gone are dropped."""
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
    return edge_store.from_rows(out)
