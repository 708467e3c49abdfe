"""Full index: parse every file, resolve all references, write a new generation."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from assay.core.progress import Progress, Report
from assay.index.facts import decode_facts
from assay.index.file import File
from assay.index.parse import ParseCache, Parsed, parse_files
from assay.index.resolve.parallel import resolve_all
from assay.index.scan import Scan, read_configs
from assay.index.table import full_table
from assay.index.write import ImportedRow, accept, add_items, file_row, finish, imported_edges, symbol_rows, with_counts
from assay.languages.conventions import is_test_path
from assay.store import columns as column_store
from assay.store import postings
from assay.store.arrays import Array
from assay.store.catalogue import NAME as CATALOGUE_NAME
from assay.store.catalogue import Catalogue, FileRow
from assay.store.layout import Home


def build(
    root: Path, home: Home, scanned: Scan, cache: ParseCache, progress: Progress, imported: list[ImportedRow]
) -> tuple[Report, list[Parsed]]:
    """Parse (or load from cache) every file, resolve all references, and write a new generation.

    Documents are parsed in the same pass and returned.
    """
    report = Report("full", skipped=dict(scanned.skipped), problems=dict(scanned.problems))
    indexed_at = time.time_ns()
    started = time.monotonic()
    configs = read_configs(root, scanned)
    with home.new_generation() as folder:
        catalogue = Catalogue.create(folder / CATALOGUE_NAME)
        files: dict[str, File] = {}
        rows: dict[str, FileRow] = {}
        numbers: dict[str, int] = {}
        words: list[postings.Words] = []
        columns: list[Array] = []
        documents: list[Parsed] = []
        entries = {**scanned.files, **scanned.documents}
        progress.start("parsing", len(entries))
        largest_first = sorted(entries, key=lambda path: (-entries[path].size, path))
        for parsed in parse_files(root, largest_first, cache, progress.advance):
            if parsed.path in scanned.documents:
                documents.append(parsed)
                continue
            if not accept(parsed, report) or parsed.extracted is None:
                continue
            file = File(parsed.path, decode_facts(parsed.extracted.facts), is_test_path(parsed.path))
            files[parsed.path] = file
            rows[parsed.path] = file_row(len(rows) + 1, parsed, file, scanned)
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
        finish(folder, catalogue, edges, digests, scanned, configs, report, indexed_at, started)
    return report, documents
