"""Index a folder: scan, parse, resolve, write a new generation. `index` is the entry point."""

from __future__ import annotations

import contextlib
import gc
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from assay.core.progress import Progress, Report
from assay.index.enrich.statements import update_statements
from assay.index.facts import decode_facts
from assay.index.file import File
from assay.index.freshness import compare, is_full_index_faster
from assay.index.history import update_history
from assay.index.parse import ParseCache, Parsed, cache_path, parse_files
from assay.index.resolve.parallel import resolve_all
from assay.index.scan import Scan, check_root, read_configs, scan
from assay.index.sections import update_sections
from assay.index.table import FullIndexNeeded, full_table
from assay.index.update import carry_over_skips, update
from assay.index.version import index_version
from assay.index.write import (
    ImportedRow,
    accept,
    add_items,
    file_row,
    finish,
    imported_edges,
    previous_imports,
    symbol_rows,
    with_counts,
)
from assay.languages.conventions import is_test_path
from assay.store import columns as column_store
from assay.store import postings
from assay.store.arrays import Array
from assay.store.catalogue import NAME as CATALOGUE_NAME
from assay.store.catalogue import Catalogue, FileRow
from assay.store.generation import Generation, NoIndex, UnusableIndex
from assay.store.item_words import is_stored, update_item_words
from assay.store.layout import Home
from assay.store.seal import seal
from assay.system.files import check_extent


def index(
    root: Path,
    home: Home,
    rebuild: bool = False,
    progress: Progress | None = None,
    anywhere: bool = False,
    history: bool = True,
) -> Report:
    """Update the index of `root` and report what was done; without `history`, that of commits stays as it is.

    Raises TooWide for the first index of a home directory or a file system's root, unless `anywhere` is set.
    """
    progress = progress or Progress()
    started, since = time.monotonic(), time.time_ns()
    check_root(root)
    if home.named() is None and not anywhere:
        check_extent(root)
    with _gc_disabled(), home.writing(progress.waiting), _parse_cache(root, home) as cache:
        scanned = scan(root)
        cache.flags = scanned.flags
        report, documents = _index_code(root, home, scanned, cache, progress, rebuild)
        report.skipped |= update_sections(root, home, scanned, cache, progress, documents, since)
        report.notes |= update_statements(root, home, scanned, since)
        history_warnings = update_history(root, home, progress) if history else []
        report.warnings = list(dict.fromkeys([*scanned.warnings, *history_warnings]))
        if report.mode != "fresh" or not is_stored(home):
            update_item_words(root, home)
    report.documents = len(scanned.documents)
    report.seconds = time.monotonic() - started
    return report


def _index_code(
    root: Path, home: Home, scanned: Scan, cache: ParseCache, progress: Progress, rebuild: bool
) -> tuple[Report, list[Parsed]]:
    """Update the previous generation or build a new one; return the documents that were parsed on the way."""
    previous, reason = _open_previous(root, home, scanned.flags)
    try:
        if previous is not None and not reason and not rebuild:
            try:
                if report := _try_update(root, home, scanned, previous, cache, progress):
                    return report, []
            except FullIndexNeeded as why:
                reason = str(why)
            except sqlite3.DatabaseError as error:
                reason = f"{previous.folder}: the index is damaged ({error})"
        report, documents = build(root, home, scanned, cache, progress, previous_imports(previous))
        report.reason = "rebuild requested" if rebuild else reason
        return report, documents
    finally:
        if previous is not None:
            previous.close()


@contextlib.contextmanager
def _parse_cache(root: Path, home: Home) -> Iterator[ParseCache]:
    """Open the parse cache. A failed first index deletes it again; an interrupted one keeps it to resume."""
    path = cache_path(root, home.folder)
    is_first = home.named() is None and not path.exists()
    cache = ParseCache(path)
    try:
        yield cache
    except Exception:
        if is_first and home.named() is None:
            cache.close()
            for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
                with contextlib.suppress(OSError):
                    path.with_name(name).unlink()
        raise
    finally:
        cache.close()


@contextlib.contextmanager
def _gc_disabled() -> Iterator[None]:
    """Disable garbage collection, which would take a fifth of the time: indexing creates no cycles."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _open_previous(root: Path, home: Home, flags: tuple[str, ...]) -> tuple[Generation | None, str]:
    """Return the existing index and the reason if it cannot be updated."""
    try:
        previous = Generation.open(root, home)
    except NoIndex:
        return None, ""
    except UnusableIndex as error:
        return None, str(error).partition(". Rebuild")[0]
    if previous.meta.get("version") != index_version():
        return previous, "the index was made by another version of assay"
    if previous.meta.get("flags", "") != ",".join(flags):
        return previous, "the flag patterns of assay.toml changed"
    return previous, ""


def _try_update(
    root: Path, home: Home, scanned: Scan, previous: Generation, cache: ParseCache, progress: Progress
) -> Report | None:
    """Update an index, or keep it if nothing changed; None if a full index is faster."""
    changes = compare(root, scanned, previous)
    if is_full_index_faster(changes, scanned):
        return None
    if changes:
        return update(root, home, scanned, changes, previous, cache, progress)
    if not previous.sealed:
        seal(previous.folder)  # an index from elsewhere that was verified completely
    report = Report("fresh", files=len(previous.files), skipped=dict(scanned.skipped), problems=dict(scanned.problems))
    carry_over_skips(previous, scanned, {}, report)
    return report


# Full index


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
