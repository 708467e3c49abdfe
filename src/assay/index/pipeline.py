"""Index a folder in two stages. `index` is the entry point.

scan → parse → write definitions, words and documents: the first generation, which answers questions
     → resolve, read history and project files: the complete generation, whose bytes do not depend on the first's fate
"""

from __future__ import annotations

import contextlib
import gc
import shutil
import sqlite3
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from assay.core.progress import COMPLETE, NAMES, Progress, Report, overall_share
from assay.errors import AssayError
from assay.git import Git
from assay.index.contents import Contents
from assay.index.enrich.statements import update_statements
from assay.index.facts import decode_facts
from assay.index.file import File
from assay.index.freshness import compare, is_full_index_faster
from assay.index.history import update_history
from assay.index.parse import ParseCache, Parsed, cache_path, parse_files
from assay.index.resolve.names import resolve_by_name
from assay.index.resolve.parallel import resolve_all, run_beside
from assay.index.scan import Scan, check_root, read_configs, scan
from assay.index.sections import update_sections
from assay.index.table import FullIndexNeeded, Table, full_table
from assay.index.update import carry_over_skips, update
from assay.index.version import index_version
from assay.index.write import (
    ImportedRow,
    accept,
    add_items,
    file_row,
    finish,
    imported_edges,
    imported_rows,
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


@dataclass(frozen=True)
class _Run:
    """One run: the tree as scanned, the caches, and what it may do."""

    root: Path
    home: Home
    scanned: Scan
    contents: Contents
    cache: ParseCache
    progress: Progress
    wait: bool  # for the complete index
    history: bool  # read that of commits, too

    def is_small(self) -> bool:
        """Return whether completing the index takes about as long as starting a process for that."""
        if len(self.scanned.files) > _SMALL_FILES:
            return False
        try:
            commits = Git(self.root).ask("rev-list", "--count", f"--max-count={_SMALL_HISTORY + 1}", "HEAD")
        except AssayError:
            return True  # no history
        return int(commits or 0) <= _SMALL_HISTORY


_SMALL_FILES, _SMALL_HISTORY = 60, 500  # files and commits


def index(
    root: Path,
    home: Home,
    rebuild: bool = False,
    progress: Progress | None = None,
    anywhere: bool = False,
    history: bool = True,
    wait: bool = True,
    scanned: Scan | None = None,
) -> Report:
    """Update the index of `root` and report what was done; without `history`, that of commits stays as it is.

    `scanned` is the state of the tree if it was just scanned.
    Without `wait`, a first index ends when it can answer questions, and a later run completes it; a small one is
    complete at once. Raises TooWide for the first index of a home directory or a file system's root, unless `anywhere`
    is set.
    """
    progress = _SharedProgress(progress or Progress(), home)
    started = time.monotonic()
    check_root(root)
    if home.named() is None and not anywhere:
        check_extent(root)
    with _gc_disabled(), home.writing(progress.waiting), _parse_cache(root, home) as cache:
        try:
            scanned = scanned or scan(root)
            contents = Contents(root, home.folder, scanned)
            cache.flags = scanned.flags
            report = _index_code(_Run(root, home, scanned, contents, cache, progress, wait, history), rebuild)
            contents.save()
            if history and report.stage == COMPLETE and (report.mode != "fresh" or not is_stored(home)):
                update_item_words(root, home)
        finally:
            home.forget_progress()
    report.warnings = list(dict.fromkeys([*scanned.warnings, *report.warnings]))
    report.documents = len(scanned.documents)
    report.seconds = time.monotonic() - started
    return report


class _SharedProgress(Progress):
    """Passes progress on, and records it for other processes."""

    def __init__(self, inner: Progress, home: Home) -> None:
        self._inner, self._home = inner, home
        self.waiting, self.answering = inner.waiting, inner.answering  # type: ignore[method-assign]
        self._step, self._total, self._done, self._noted = "", 0, 0, 0.0

    def start(self, stage: str, total: int) -> None:
        self._step, self._total, self._done = stage, total, 0
        self._inner.start(stage, total)

    def advance(self, count: int = 1) -> None:
        self._done += count
        if (now := time.monotonic()) - self._noted > 1:
            self._noted = now
            self._home.note_progress(overall_share(self._step, self._done / (self._total or 1)))
        self._inner.advance(count)


def _index_code(run: _Run, rebuild: bool) -> Report:
    """Update the previous generation or build a new one."""
    previous, reason = _open_previous(run.root, run.home, run.scanned.flags)
    try:
        if previous is not None and not reason and not rebuild:
            try:
                if report := _update(run, previous):
                    return report
            except FullIndexNeeded as why:
                reason = str(why)
            except sqlite3.DatabaseError as error:
                reason = f"{previous.folder}: the index is damaged ({error})"
        report = _build(run, previous)
        report.reason = "rebuild requested" if rebuild else reason
        return report
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


def _update(run: _Run, previous: Generation) -> Report | None:
    """Update an index, complete it, or keep it if nothing changed; None if a full index is needed or faster."""
    root, home, scanned = run.root, run.home, run.scanned
    changes = compare(scanned, previous, run.contents)
    incomplete = previous.stage == NAMES
    # an incomplete index from elsewhere was verified, but not against its files
    if is_full_index_faster(changes, scanned) or (incomplete and (changes or not previous.sealed)):
        return None
    if changes:
        report = update(root, home, scanned, changes, previous, run.cache, run.progress)
    else:
        if not previous.sealed:
            seal(previous.folder)  # an index from elsewhere that was verified completely
        skipped, problems = dict(scanned.skipped), dict(scanned.problems)
        report = Report("fresh", previous.stage, len(previous.files), skipped=skipped, problems=problems)
        carry_over_skips(previous, scanned, {}, report)
        if incomplete and run.wait:
            first = _stored_first(run, previous)
            if first is None:
                return None
            report.mode = "full"
            _complete(run, first, report)
    report.skipped |= _read_documents(run, [])
    if report.stage == COMPLETE and report.mode != "full":
        _read_project_files(run, report)
        _read_history(run, report)
    return report


def _read_documents(run: _Run, parsed: list[Parsed]) -> dict[str, str]:
    return update_sections(run.root, run.home, run.scanned, run.contents, run.cache, run.progress, parsed)


def _read_project_files(run: _Run, report: Report) -> None:
    report.notes |= update_statements(run.root, run.home, run.scanned, run.contents)


def _read_history(run: _Run, report: Report) -> None:
    if run.history:
        report.warnings += update_history(run.root, run.home, run.progress)


# Full index, stage one: definitions, words and documents


@dataclass(frozen=True)
class _First:
    """A generation whose references are not resolved yet."""

    folder: Path
    table: Table
    rows: dict[str, FileRow]
    numbers: dict[str, int]  # of items, by id
    started: float  # monotonic

    @property
    def file_numbers(self) -> dict[str, int]:
        return {path: row.number for path, row in self.rows.items()}


def _build(run: _Run, previous: Generation | None) -> Report:
    """Parse (or load from cache) every file and write a new index: first what needs no resolution, then all of it.

    A previous complete index stays in use until the new one is complete.
    """
    report = Report("full", skipped=dict(run.scanned.skipped), problems=dict(run.scanned.problems))
    answers_first = (previous is None or previous.stage == NAMES) and not run.is_small()
    with run.home.new_generation() as folder:
        first, unreadable = _write_first(run, folder, previous_imports(previous), report)
        if not answers_first:
            _resolve(run, first, folder, report)
    if answers_first:
        published = run.home.current()
        assert published is not None
        report.stage, report.seconds = NAMES, time.monotonic() - first.started
        if run.wait:
            run.progress.answering(report)
            _complete(run, replace(first, folder=published), report)
    report.skipped |= unreadable
    return report


def _write_first(run: _Run, folder: Path, imported: list[ImportedRow], report: Report) -> tuple[_First, dict[str, str]]:
    """Parse all files and documents in one pass; return the generation, and why documents could not be read."""
    started, scanned = time.monotonic(), run.scanned
    configs = read_configs(run.root, scanned)
    catalogue = Catalogue.create(folder / CATALOGUE_NAME)
    files: dict[str, File] = {}
    rows: dict[str, FileRow] = {}
    numbers: dict[str, int] = {}
    words: list[postings.Words] = []
    columns: list[Array] = []
    documents: list[Parsed] = []
    entries = {**scanned.files, **scanned.documents}
    run.progress.start("parsing", len(entries))
    largest_first = sorted(entries, key=lambda path: (-entries[path].size, path))
    for parsed in parse_files(run.root, largest_first, run.cache, run.progress.advance):
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
    run.cache.prune()
    report.files = report.parsed = len(files)
    table = full_table(files, configs)
    first = _First(folder, table, rows, numbers, started)
    digests: dict[str, str] = {}

    def write_what_needs_no_edges() -> None:
        digests["words"] = postings.joined(words).write(folder)
        digests["columns"] = column_store.Columns.of(columns).write(folder)
        catalogue.add_indexes()
        catalogue.add_files(rows.values())
        # merged edges whose file is unchanged
        catalogue.add_imported(row for row in imported if row[6] in rows and rows[row[6]].hash == row[7])

    join = partial(resolve_by_name, table.without_answers(), files, numbers, first.file_numbers)
    named = run_beside(join, write_what_needs_no_edges, len(files))
    edges = imported_edges(imported_rows(catalogue), numbers, rows)
    if named is not None:  # else the next generation has all edges
        edges = np.concatenate([named, edges])
    finish(folder, catalogue, edges, digests, scanned, configs, report, started, NAMES)
    return first, _read_documents(run, documents)


def _stored_first(run: _Run, previous: Generation) -> _First | None:
    """Return an unchanged first generation to complete; None if facts of its files are not in the parse cache."""
    files: dict[str, File] = {}
    for path, row in previous.files.items():
        extracted = run.cache.get(row.hash, row.language)
        if extracted is None:
            return None
        files[path] = File(path, decode_facts(extracted.facts), bool(row.test))
    numbers = dict(previous.catalogue.connection.execute("SELECT id, number FROM symbols").fetchall())
    table = full_table(files, read_configs(run.root, run.scanned))
    started = time.monotonic() - float(previous.meta["seconds"])
    return _First(previous.folder, table, previous.files, numbers, started)


# Stage two: calls, history and what project files state


def _complete(run: _Run, first: _First, report: Report) -> None:
    """Write the complete generation beside the first one, which answers questions meanwhile."""
    with run.home.new_generation() as folder:
        for path in first.folder.iterdir():
            if path.suffix != ".json":  # the seal
                shutil.copyfile(path, folder / path.name)
        _resolve(run, first, folder, report)


def _resolve(run: _Run, first: _First, folder: Path, report: Report) -> None:
    """Resolve all references of a first generation in `folder`, and read history meanwhile."""
    rows, paths = first.rows, sorted(first.rows)

    def read_meanwhile() -> None:
        _read_history(run, report)
        run.progress.start("resolving", len(paths))

    _read_project_files(run, report)
    resolved = resolve_all(
        first.table,
        paths,
        first.numbers,
        first.file_numbers,
        run.progress.advance,
        read_meanwhile,
    )
    resolved.dependencies.save(folder)
    report.problems |= resolved.problems
    report.resolved, report.stage = len(paths), COMPLETE
    catalogue = Catalogue.edit(folder / CATALOGUE_NAME)
    catalogue.add_files(with_counts(rows[path], resolved.calls[path]) for path in paths)
    catalogue.replace_externals(resolved.externals)
    edges = np.concatenate([resolved.edges, imported_edges(imported_rows(catalogue), first.numbers, rows)])
    finish(folder, catalogue, edges, {}, run.scanned, first.table.configs, report, first.started)
