"""Index a folder: scan, parse, resolve, write a new generation. `index` is the entry point."""

from __future__ import annotations

import contextlib
import gc
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

from assay.core.progress import Progress, Report
from assay.index.build import build
from assay.index.freshness import compare
from assay.index.history import update_history
from assay.index.parse import ParseCache, Parsed, cache_path
from assay.index.scan import Scan, check_root, scan
from assay.index.sections import update_sections
from assay.index.table import FullIndexNeeded
from assay.index.update import REBUILD_SHARE, carry_over_skips, update
from assay.index.version import index_version
from assay.index.write import previous_imports
from assay.store.generation import Generation, NoIndex, UnusableIndex
from assay.store.layout import Home
from assay.store.seal import seal
from assay.system.files import check_extent


def index(
    root: Path, home: Home, rebuild: bool = False, progress: Progress | None = None, anywhere: bool = False
) -> Report:
    """Update the index of `root` and report what was done.

    Raises TooWide for the first index of a home directory or a file system's root, unless `anywhere` is set.
    """
    progress = progress or Progress()
    started, since = time.monotonic(), time.time_ns()
    check_root(root)
    if home.named() is None and not anywhere:
        check_extent(root)
    with _gc_disabled(), home.writing(progress.waiting), _parse_cache(root, home) as cache:
        scanned = scan(root)
        report, documents = _index_code(root, home, scanned, cache, progress, rebuild)
        report.skipped |= update_sections(root, home, scanned, cache, progress, documents, since)
        report.warnings = list(dict.fromkeys([*scanned.warnings, *update_history(root, home, progress)]))
    report.documents = len(scanned.documents)
    report.seconds = time.monotonic() - started
    return report


def _index_code(
    root: Path, home: Home, scanned: Scan, cache: ParseCache, progress: Progress, rebuild: bool
) -> tuple[Report, list[Parsed]]:
    """Update the previous generation or build a new one; return the documents that were parsed on the way."""
    previous, reason = _open_previous(root, home)
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


def _open_previous(root: Path, home: Home) -> tuple[Generation | None, str]:
    """Return the existing index and the reason if it cannot be updated."""
    try:
        previous = Generation.open(root, home)
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


def _try_update(
    root: Path, home: Home, scanned: Scan, previous: Generation, cache: ParseCache, progress: Progress
) -> Report | None:
    """Update an index, or keep it if nothing changed; None if a full index is faster."""
    changes = compare(root, scanned, previous)
    if changes.configs or len(changes.changed) > REBUILD_SHARE * len(scanned.files) + 5:
        return None
    if changes:
        return update(root, home, scanned, changes, previous, cache, progress)
    if not previous.sealed:
        seal(previous.folder)  # an index from elsewhere that was verified completely
    report = Report("fresh", files=len(previous.files), skipped=dict(scanned.skipped), problems=dict(scanned.problems))
    carry_over_skips(previous, scanned, {}, report)
    return report
