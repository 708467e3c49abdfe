"""Full index: parse every file, resolve all references, write a new generation."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

import numpy as np

from assay.core.items import EDGE_TYPES, PROVENANCES
from assay.core.progress import Progress, Report
from assay.index.facts import decode_facts
from assay.index.file import File
from assay.index.parse import ParseCache, Parsed, parse_files
from assay.index.resolve.parallel import resolve_all
from assay.index.rows import accept, add_items, file_row, finish, read_configs, symbol_rows, with_counts
from assay.index.scan import Scan, is_test_path
from assay.index.table import full_table
from assay.store import columns as column_store
from assay.store import edges as edge_store
from assay.store import postings
from assay.store.catalogue import NAME as CATALOGUE_NAME
from assay.store.catalogue import Catalogue, FileRow
from assay.store.index import Index
from assay.store.layout import Home

_PROVENANCE = {name: code for code, name in enumerate(PROVENANCES)}


ImportedRow = tuple[str, str, str, str, float, int, str, bytes]


def previous_imports(previous: Index | None) -> list[ImportedRow]:
    """Return the edges merged into the last index. They survive a rebuild, but not a damaged catalogue."""
    try:
        return imported_rows(previous.catalogue) if previous is not None else []
    except sqlite3.DatabaseError:
        return []


def imported_rows(catalogue: Catalogue) -> list[ImportedRow]:
    return catalogue.connection.execute("SELECT * FROM imported").fetchall()


def imported_edges(rows: list[ImportedRow], numbers: dict[str, int], files: dict[str, FileRow]) -> edge_store.Array:
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


# Build


def build(
    root: Path, home: Home, found: Scan, cache: ParseCache, progress: Progress, imported: list[ImportedRow]
) -> tuple[Report, list[Parsed]]:
    """Parse (or load from cache) every file, resolve all references, and write a new generation.

    Documents are parsed in the same pass and returned.
    """
    report = Report("full", skipped=dict(found.skipped), problems=dict(found.problems))
    indexed_at = time.time_ns()
    started = time.monotonic()
    configs = read_configs(root, found)
    with home.new_generation() as folder:
        catalogue = Catalogue.create(folder / CATALOGUE_NAME)
        files: dict[str, File] = {}
        rows: dict[str, FileRow] = {}
        numbers: dict[str, int] = {}
        words: list[postings.Words] = []
        columns: list[column_store.Array] = []
        documents: list[Parsed] = []
        entries = {**found.files, **found.documents}
        progress.start("parsing", len(entries))
        largest_first = sorted(entries, key=lambda path: (-entries[path].size, path))
        for parsed in parse_files(root, largest_first, cache, progress.advance):
            if parsed.path in found.documents:
                documents.append(parsed)
                continue
            if not accept(parsed, report) or parsed.extracted is None:
                continue
            file = File(parsed.path, decode_facts(parsed.extracted.facts), is_test_path(parsed.path))
            files[parsed.path] = file
            rows[parsed.path] = file_row(len(rows) + 1, parsed, file, found)
            symbols = symbol_rows(file, rows[parsed.path].number, numbers, len(numbers) + 1)
            words += add_items(catalogue, symbols, parsed.path, parsed.extracted)
            columns.append(column_store.describe_symbols(symbols))
        digests: dict[str, str] = {}

        def write_what_needs_no_edges() -> None:
            digests.update(
                words=postings.joined(words).write(folder), columns=column_store.Columns.of(columns).write(folder)
            )
            words.clear()
            catalogue.add_indexes()
            cache.prune()

        progress.start("resolving", len(files))
        table = full_table(files, configs)
        resolved = resolve_all(
            table,
            sorted(files),
            numbers,
            {path: row.number for path, row in rows.items()},
            progress.advance,
            write_what_needs_no_edges,
        )
        resolved.dependencies.save(folder)
        report.problems |= resolved.problems
        report.files = report.parsed = report.resolved = len(files)
        catalogue.add_files(with_counts(row, resolved.calls[path]) for path, row in rows.items())
        catalogue.add_externals(enumerate(resolved.externals, 1))
        # merged edges whose file is unchanged
        carried = [row for row in imported if row[6] in rows and rows[row[6]].hash == row[7]]
        catalogue.add_imported(carried)
        edges = np.concatenate([resolved.edges, imported_edges(carried, numbers, rows)])
        finish(folder, catalogue, edges, digests, found, configs, report, indexed_at, started)
    return report, documents
