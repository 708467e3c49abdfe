"""Indexing, from a folder to a new generation on disk. `index` is the whole story; each step is one call below it."""

from __future__ import annotations

import contextlib
import gc
import shutil
import sqlite3
import time
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from assay.core.edges import EDGE_TYPES, EXTERNAL, PROVENANCES
from assay.ingest import facts as F
from assay.ingest.cache import ParseCache, cache_path, content_hash
from assay.ingest.changes import changed_keys
from assay.ingest.dependencies import Dependencies, file_token
from assay.ingest.file import File
from assay.ingest.parse import Parsed, parse_files
from assay.ingest.resolve import CallCounts, Resolved, Resolver
from assay.ingest.resolve_all import EdgeRows, resolve_all
from assay.ingest.stored import StoredTable
from assay.ingest.table import FullTable
from assay.ingest.version import index_version
from assay.ingest.walk import Found, Scan, check_root, is_test_path, read_config, read_source, scan
from assay.store import catalogue as C
from assay.store import edges as E
from assay.store.index import Index, NoIndex, UnusableIndex
from assay.store.layout import Home

RACY_SECONDS = 2  # a file changed this shortly before it was indexed may have changed again within the same timestamp
REBUILD_SHARE = 0.3  # of the files to resolve again, above which starting afresh is faster

_PROVENANCE = {name: code for code, name in enumerate(PROVENANCES)}


class Progress:
    """What a caller may want to see while it waits. The default shows nothing."""

    def start(self, stage: str, total: int) -> None: ...
    def advance(self, count: int = 1) -> None: ...
    def waiting(self) -> None: ...


@dataclass(slots=True)
class Report:
    """What an indexing run did."""

    mode: str  # "full", "update" or "fresh": nothing had changed
    files: int = 0
    parsed: int = 0
    resolved: int = 0
    removed: int = 0
    seconds: float = 0.0
    reason: str = ""  # why an existing index was not used
    skipped: dict[str, str] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)  # files that were read with a remark


@dataclass(slots=True)
class Changes:
    """How the tree differs from what was indexed."""

    changed: list[str] = field(default_factory=list)  # new or different files
    removed: list[str] = field(default_factory=list)
    configs: bool = False
    skipped: bool = False

    def __bool__(self) -> bool:
        return bool(self.changed or self.removed or self.configs or self.skipped)


class _StartAfresh(Exception):
    """An update cannot be trusted; the reason is the message."""


def index(root: Path, home: Home, rebuild: bool = False, progress: Progress | None = None) -> Report:
    """Brings the index of `root` up to date and says what was done."""
    progress = progress or Progress()
    started = time.monotonic()
    check_root(root)
    with _no_collection(), home.writing(progress.waiting):
        found = scan(root)
        previous, reason = _previous(root, home)
        cache = ParseCache(cache_path(root, home.folder))
        try:
            report = None
            if previous is not None and not reason and not rebuild:
                try:
                    report = _continue(root, home, found, previous, cache, progress)
                except _StartAfresh as why:
                    reason = str(why)
                except sqlite3.DatabaseError as error:
                    reason = f"{previous.folder}: the index is damaged ({error})"
            if report is None:
                report = _build(root, home, found, cache, progress, _imported(previous))
                report.reason = "a rebuild was asked for" if rebuild else reason
        finally:
            cache.close()
            if previous is not None:
                previous.close()
    report.seconds = time.monotonic() - started
    return report


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """Indexing makes millions of objects and no cycles; looking for them would take a fifth of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _previous(root: Path, home: Home) -> tuple[Index | None, str]:
    """The index there is, and why it cannot be built on."""
    try:
        previous = Index.open(root, home)
    except NoIndex:
        return None, ""
    except UnusableIndex as error:
        return None, str(error).partition(". Rebuild")[0]
    if damage := previous.damage():
        previous.close()
        return None, f"{previous.folder}: the index is damaged ({damage})"
    if previous.meta.get("version") != index_version():
        return previous, "the index was made by another version of assay"
    return previous, ""


def _continue(
    root: Path, home: Home, found: Scan, previous: Index, cache: ParseCache, progress: Progress
) -> Report | None:
    """Updates an index, or leaves it when nothing changed; None when so much did that starting afresh is faster."""
    changes = compare(root, found, previous)
    if not changes:
        report = Report("fresh", files=len(previous.files), skipped=dict(found.skipped), problems=dict(found.problems))
        _keep_passed(previous, found, {}, report)
        return report
    if changes.configs or len(changes.changed) > REBUILD_SHARE * len(found.files) + 5:
        return None
    return _update(root, home, found, changes, previous, cache, progress)


def compare(root: Path, found: Scan, previous: Index | None) -> Changes:
    """What differs between the tree and an index: by stat first, by content where the stat is in doubt."""
    if previous is None:
        return Changes(changed=sorted(found.files))
    indexed_at = int(previous.meta.get("indexed_at", "0"))
    passed = {
        path: (reason, size, mtime)
        for path, reason, size, mtime in previous.catalogue.connection.execute(
            "SELECT path, reason, size, mtime FROM skipped WHERE size >= 0"
        )
    }
    changes = Changes()
    for path, file in found.files.items():
        known = previous.files.get(path)
        if known is not None:
            same_stat = known.size == file.size and known.mtime == file.mtime
            if same_stat and file.mtime < indexed_at - RACY_SECONDS * 10**9:
                continue
            source = read_source(root, path)
            if source.skip or source.problem or content_hash(source.data) != known.hash:
                changes.changed.append(path)
        elif path in passed:
            if passed[path][1:] != (file.size, file.mtime):
                changes.changed.append(path)
        else:
            changes.changed.append(path)
    changes.removed = sorted((set(previous.files) | set(passed)) - set(found.files))
    configs = {
        row[0]: row[1:] for row in previous.catalogue.connection.execute("SELECT path, size, mtime FROM configs")
    }
    changes.configs = configs != {path: (c.size, c.mtime) for path, c in found.configs.items()}
    return changes


# -- from scratch ------------------------------------------------------------------------------------------------------


def _build(
    root: Path, home: Home, found: Scan, cache: ParseCache, progress: Progress, imported: list[ImportedRow]
) -> Report:
    """Parses (or recalls) every file, resolves all of them, writes a new generation."""
    report = Report("full", skipped=dict(found.skipped), problems=dict(found.problems))
    indexed_at = time.time_ns()
    started = time.monotonic()
    configs = _read_configs(root, found)
    with home.new_generation() as folder:
        catalogue = C.Catalogue.create(folder / C.NAME)
        files: dict[str, File] = {}
        rows: dict[str, C.FileRow] = {}
        numbers: dict[str, int] = {}
        progress.start("parsing", len(found.files))
        for parsed in parse_files(root, sorted(found.files), cache, progress.advance):
            if not _accept(parsed, report) or parsed.extracted is None:
                continue
            file = File(parsed.path, F.decode_facts(parsed.extracted.facts), is_test_path(parsed.path))
            files[parsed.path] = file
            rows[parsed.path] = _file_row(len(rows) + 1, parsed, file, found)
            fresh = _symbol_rows(file, rows[parsed.path].number, numbers, len(numbers) + 1)
            catalogue.add_symbols(fresh)
            catalogue.add_texts(_text_rows(parsed.extracted, fresh))
        cache.prune()
        progress.start("resolving", len(files))
        table = FullTable(files, configs)
        done = resolve_all(
            table, sorted(files), numbers, {path: row.number for path, row in rows.items()}, progress.advance
        )
        done.dependencies.save(folder)
        report.files = report.parsed = report.resolved = len(files)
        catalogue.add_files(_with_counts(row, done.calls[path]) for path, row in rows.items())
        catalogue.add_externals(enumerate(done.externals, 1))
        carried = [
            row for row in imported if row[6] in rows and rows[row[6]].hash == row[7]
        ]  # as long as their file is unchanged
        catalogue.add_imported(carried)
        edges = np.concatenate([done.edges, imported_edges(carried, numbers, rows)])
        _finish(folder, catalogue, edges, found, configs, report, indexed_at, started, new=True)
    return report


def _accept(parsed: Parsed, report: Report) -> bool:
    """Files a parse result under what became of it; True when there is something to index."""
    if parsed.problem:
        report.problems[parsed.path] = parsed.problem
    elif parsed.skip:
        report.skipped[parsed.path] = parsed.skip
    elif parsed.note:
        report.notes[parsed.path] = parsed.note
    return parsed.extracted is not None


def _read_configs(root: Path, found: Scan) -> dict[str, str]:
    return {path: read_config(root, path) for path in found.configs}


def _file_row(number: int, parsed: Parsed, file: File, found: Scan) -> C.FileRow:
    stat = found.files[parsed.path]
    lines = parsed.extracted.lines if parsed.extracted else 0
    return C.FileRow(
        number, parsed.path, file.facts.language, stat.size, stat.mtime, parsed.digest, int(file.test),
        lines, file.facts.errors, parsed.note, 0, 0, 0, 0, 0,
    )  # fmt: skip


def _symbol_rows(file: File, file_number: int, numbers: dict[str, int], next_number: int) -> list[C.SymbolRow]:
    """Rows for a file's item and its symbols; ids that have a number keep it."""
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
            C.SymbolRow(
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


def _text_rows(extracted: F.Extracted, symbols: list[C.SymbolRow]) -> list[C.TextRow]:
    texts = F.decode_texts(extracted.texts)
    ordered = [texts[-1], *texts[:-1]]  # the file's own words are last in the facts, first among the rows
    return [
        C.TextRow(row.number, t.signature, t.doc, t.identifiers, t.literals)
        for row, t in zip(symbols, ordered, strict=True)
    ]


def _with_counts(row: C.FileRow, calls: CallCounts) -> C.FileRow:
    return row._replace(**calls._asdict())


def _finish(
    folder: Path, catalogue: C.Catalogue, edges: E.Array, found: Scan, configs: dict[str, str],
    report: Report, indexed_at: int, started: float, new: bool,
) -> None:  # fmt: skip
    """Writes what is left and seals the generation with the counts a reader checks."""
    stats = found.files
    passed = [(p, r, 0, *_stat(stats, p)) for p, r in report.skipped.items()] + [
        (p, r, 1, *_stat(stats, p)) for p, r in report.problems.items()
    ]
    catalogue.replace_scan(
        passed, [(p, found.configs[p].size, found.configs[p].mtime, text) for p, text in configs.items()]
    )
    catalogue.set_meta(
        {
            "schema": str(C.SCHEMA_VERSION), "version": index_version(), "indexed_at": str(indexed_at),
            "edges": E.write(folder, edges), "seconds": f"{time.monotonic() - started:.3f}", "mode": report.mode,
            "others": str(found.others), "catalogue_bytes": "0" * 12,
        }
    )  # fmt: skip
    catalogue.finish(new)
    seal(folder / C.NAME)


def seal(path: Path) -> None:
    """Records the size of the file, so that a truncated one is noticed."""
    size = path.stat().st_size
    sealed = C.Catalogue.edit(path)
    sealed.connection.execute("UPDATE meta SET value = ? WHERE key = 'catalogue_bytes'", (f"{size:012d}",))
    sealed.finish(new=False)


def _stat(files: dict[str, Found], path: str) -> tuple[int, int]:
    found = files.get(path)
    return (found.size, found.mtime) if found is not None else (-1, -1)


# -- imported edges (SCIP) -----------------------------------------------------------------------------------------------


ImportedRow = tuple[str, str, str, str, float, int, str, bytes]


def _imported(previous: Index | None) -> list[ImportedRow]:
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


# -- updating ----------------------------------------------------------------------------------------------------------


def _update(
    root: Path, home: Home, found: Scan, changes: Changes, previous: Index, cache: ParseCache, progress: Progress
) -> Report:
    """Replaces the changed files in a copy of the last generation and resolves again whatever asked about what they changed."""
    report = Report("update", skipped=dict(found.skipped), problems=dict(found.problems))
    indexed_at = time.time_ns()
    started = time.monotonic()
    progress.start("parsing", len(changes.changed))
    parsed = {p.path: p for p in parse_files(root, changes.changed, cache, progress.advance)}
    fresh = {
        p.path: File(p.path, F.decode_facts(p.extracted.facts), is_test_path(p.path))
        for p in parsed.values()
        if _accept(p, report) and p.extracted is not None
    }
    _keep_passed(previous, found, parsed, report)
    rows = previous.files.copy()
    gone = [path for path in [*changes.removed, *(p for p in parsed if p not in fresh)] if path in rows]
    keys: set[str] = set()
    for path in [*fresh, *gone]:
        keys |= changed_keys(path, _recall(rows.get(path), cache), fresh.get(path))
    configs = _read_configs(root, found)
    with home.new_generation() as folder:
        shutil.copyfile(previous.folder / C.NAME, folder / C.NAME)
        catalogue = C.Catalogue.edit(folder / C.NAME)
        _replace_files(catalogue, rows, fresh, gone, parsed, found)
        dependencies = _dependencies(previous)
        affected = sorted(set(fresh) | dependencies.affected(keys, rows))
        if len(affected) > REBUILD_SHARE * len(rows) + 20:
            catalogue.close()
            raise _StartAfresh("")
        table = StoredTable(catalogue.connection, rows, _loader(root, rows, fresh, cache), configs)
        progress.start("resolving", len(affected))
        resolver, resolved = Resolver(table), {}
        for path in affected:
            resolved[path] = resolver.resolve(path)
            rows[path] = _with_counts(rows[path], resolved[path].calls)
            progress.advance()
        asked = {file_token(path): result.reads for path, result in resolved.items()} | table.behind
        dependencies.replaced(Dependencies.of(asked), map(file_token, gone)).save(folder)
        edges = _merge_edges(previous, catalogue, rows, resolved, gone)
        catalogue.add_files(rows[path] for path in affected)
        report.files, report.parsed, report.resolved, report.removed = len(rows), len(fresh), len(affected), len(gone)
        _finish(folder, catalogue, edges, found, configs, report, indexed_at, started, new=False)
    return report


def _dependencies(previous: Index) -> Dependencies:
    try:
        return Dependencies.load(previous.folder)
    except (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise _StartAfresh(f"{previous.folder}: the index is damaged ({error})") from None


def _keep_passed(previous: Index, found: Scan, parsed: dict[str, Parsed], report: Report) -> None:
    """Files that were passed over after a look inside, or read with a remark, are not looked at again while their stat stays the same."""
    for path, reason, problem in previous.catalogue.connection.execute(
        "SELECT path, reason, problem FROM skipped WHERE size >= 0"
    ):
        if path in found.files and path not in parsed:
            (report.problems if problem else report.skipped)[path] = reason
    report.notes |= {
        path: row.note
        for path, row in previous.files.items()
        if row.note and path in found.files and path not in parsed
    }


def _recall(row: C.FileRow | None, cache: ParseCache) -> File | None:
    """The facts a file had when it was last indexed."""
    if row is None:
        return None
    known = cache.get(row.hash, row.language)
    if known is None:
        raise _StartAfresh("the parse cache is gone")
    return File(row.path, F.decode_facts(known.facts), bool(row.test))


def _loader(
    root: Path, rows: dict[str, C.FileRow], fresh: dict[str, File], cache: ParseCache
) -> Callable[[str], File | None]:
    def load(path: str) -> File | None:
        if path in fresh:
            return fresh[path]
        return _recall(rows.get(path), cache)

    return load


def _replace_files(
    catalogue: C.Catalogue,
    rows: dict[str, C.FileRow],
    fresh: dict[str, File],
    gone: list[str],
    parsed: dict[str, Parsed],
    found: Scan,
) -> None:
    """Writes the new symbols of changed files; ids that still exist keep their numbers."""
    numbers: dict[str, int] = {}
    next_number = catalogue.connection.execute("SELECT coalesce(max(number), 0) + 1 FROM symbols").fetchone()[0]
    next_file = max((row.number for row in rows.values()), default=0) + 1
    for path in gone:
        catalogue.remove_file(rows[path].number)
        catalogue.connection.execute("DELETE FROM files WHERE number = ?", (rows.pop(path).number,))
    for path in sorted(fresh):
        known = rows.get(path)
        if known is not None:
            old = {row.id: row.number for row in catalogue.symbols("file = ?", (known.number,))}
            numbers |= old
            catalogue.remove_file(known.number)
        number = known.number if known is not None else next_file
        next_file += known is None
        rows[path] = _file_row(number, parsed[path], fresh[path], found)
        symbols = _symbol_rows(fresh[path], number, numbers, next_number)
        next_number = max(next_number, max(row.number for row in symbols) + 1)
        extracted = parsed[path].extracted
        assert extracted is not None
        catalogue.add_files([rows[path]])
        catalogue.add_symbols(symbols)
        catalogue.add_texts(_text_rows(extracted, symbols))


def _merge_edges(
    previous: Index, catalogue: C.Catalogue, rows: dict[str, C.FileRow], resolved: dict[str, Resolved], gone: list[str]
) -> E.Array:
    """The edges of files that were not touched, with those of the files that were."""
    old = previous.edges.all
    replaced = [rows[path].number for path in resolved] + [previous.files[path].number for path in gone]
    kept = old[(old["file"] > 0) & ~np.isin(old["file"], replaced)]
    imported = imported_rows(catalogue)
    ids = {i for r in resolved.values() for e in r.edges for i in (e.source, e.target) if not i.startswith(EXTERNAL)}
    numbers = catalogue.numbers(ids | {i for row in imported for i in row[:2]})
    fresh = EdgeRows(numbers, {path: row.number for path, row in rows.items()})
    for path, result in resolved.items():
        fresh.add(path, result)
    edges = fresh.array()
    outside = edges["target"] < 0
    common = np.array([catalogue.external(name) for name in fresh.externals], dtype="<i4")
    edges["target"][outside] = -common[-1 - edges["target"][outside]]
    return np.concatenate([kept, edges, imported_edges(imported, numbers, rows)])
