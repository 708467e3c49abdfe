"""Indexing from scratch."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from assay.ingest import facts as F
from assay.ingest.cache import ParseCache
from assay.ingest.file import File
from assay.ingest.imported import ImportedRow, imported_edges
from assay.ingest.parse import Parsed, parse_files
from assay.ingest.report import Progress, Report
from assay.ingest.resolve_all import resolve_all
from assay.ingest.rows import accept, add_items, file_row, finish, read_configs, symbol_rows, with_counts
from assay.ingest.table import FullTable
from assay.ingest.walk import Scan, is_test_path
from assay.store import catalogue as C
from assay.store import columns as K
from assay.store import postings as P
from assay.store.layout import Home


def build(
    root: Path, home: Home, found: Scan, cache: ParseCache, progress: Progress, imported: list[ImportedRow]
) -> tuple[Report, list[Parsed]]:
    """Parses (or recalls) every file, resolves all of them, writes a new generation. Documents are read along and given back."""
    report = Report("full", skipped=dict(found.skipped), problems=dict(found.problems))
    indexed_at = time.time_ns()
    started = time.monotonic()
    configs = read_configs(root, found)
    with home.new_generation() as folder:
        catalogue = C.Catalogue.create(folder / C.NAME)
        files: dict[str, File] = {}
        rows: dict[str, C.FileRow] = {}
        numbers: dict[str, int] = {}
        words: list[P.Words] = []
        columns: list[K.Array] = []
        documents: list[Parsed] = []
        everything = {**found.files, **found.documents}
        progress.start("parsing", len(everything))
        largest_first = sorted(everything, key=lambda path: (-everything[path].size, path))
        for parsed in parse_files(root, largest_first, cache, progress.advance):
            if parsed.path in found.documents:
                documents.append(parsed)
                continue
            if not accept(parsed, report) or parsed.extracted is None:
                continue
            file = File(parsed.path, F.decode_facts(parsed.extracted.facts), is_test_path(parsed.path))
            files[parsed.path] = file
            rows[parsed.path] = file_row(len(rows) + 1, parsed, file, found)
            fresh = symbol_rows(file, rows[parsed.path].number, numbers, len(numbers) + 1)
            words += add_items(catalogue, fresh, parsed.path, parsed.extracted)
            columns.append(K.described(fresh))
        digests: dict[str, str] = {}

        def write_what_needs_no_edges() -> None:
            digests.update(words=P.joined(words).write(folder), columns=K.Columns.of(columns).write(folder))
            words.clear()
            catalogue.add_indexes()
            cache.prune()

        progress.start("resolving", len(files))
        table = FullTable(files, configs)
        done = resolve_all(
            table,
            sorted(files),
            numbers,
            {path: row.number for path, row in rows.items()},
            progress.advance,
            write_what_needs_no_edges,
        )
        done.dependencies.save(folder)
        report.problems |= done.problems
        report.files = report.parsed = report.resolved = len(files)
        catalogue.add_files(with_counts(row, done.calls[path]) for path, row in rows.items())
        catalogue.add_externals(enumerate(done.externals, 1))
        carried = [
            row for row in imported if row[6] in rows and rows[row[6]].hash == row[7]
        ]  # as long as their file is unchanged
        catalogue.add_imported(carried)
        edges = np.concatenate([done.edges, imported_edges(carried, numbers, rows)])
        finish(folder, catalogue, edges, digests, found, configs, report, indexed_at, started)
    return report, documents
