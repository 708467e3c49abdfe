"""Resolve all files of a repository on all cores.

The result for a file depends only on its recorded lookups, so files can be resolved in any order and in any process.
The table is built once; forked workers share its memory and return arrays. If a worker dies (out of memory, for
example), its slice is bisected in separate processes until the file that causes it is found.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.context import ForkContext
from typing import Any, NamedTuple, TypeVar

import numpy as np

from assay.core.items import EDGE_TYPES, EXTERNAL, PROVENANCES
from assay.index.parse import worker_count
from assay.index.resolve import CallCounts, Resolved, Resolver, outline
from assay.index.table import Dependencies, Table, file_token
from assay.store import edges as edge_store
from assay.store.arrays import Array
from assay.system.pool import begin_worker

ALONE = 150  # files; for fewer, starting workers costs more than it saves
SLICE = 40  # files per task

T = TypeVar("T")

_PROVENANCE = {name: code for code, name in enumerate(PROVENANCES)}
_TYPE = {name: row.code for name, row in EDGE_TYPES.items()}


class ResolvedFiles(NamedTuple):
    """Result for a set of files: edges by item number, with external targets as -1 - index into `externals`."""

    edges: Array
    externals: list[str]
    calls: dict[str, CallCounts]
    dependencies: Dependencies
    problems: dict[str, str]  # path → reason, for files that could not be resolved


class EdgeRows:
    """Collects edges between ids as numbered rows; external names are numbered in order of appearance."""

    def __init__(self, numbers: dict[str, int], files: dict[str, int]) -> None:
        self.externals: dict[str, int] = {}
        self._rows: list[tuple[int, int, int, int, float, int, int]] = []
        self._numbers, self._files = numbers, files

    def add(self, path: str, resolved: Resolved) -> None:
        numbers, file = self._numbers, self._files[path]
        for (kind, source, target), (provenance, confidence, line) in resolved.edges.items():
            if target.startswith(EXTERNAL):
                number = -1 - self.externals.setdefault(target[len(EXTERNAL) :], len(self.externals))
            else:
                number = numbers[target]
            self._rows.append((numbers[source], number, _TYPE[kind], _PROVENANCE[provenance], confidence, line, file))

    def array(self) -> Array:
        return edge_store.from_rows(self._rows)


class _Work(NamedTuple):
    resolver: Resolver
    numbers: dict[str, int]
    files: dict[str, int]


_work: _Work | None = None  # set before forking; inherited by workers
_other_work: Callable[[], Any] | None = None  # likewise


def resolve_all(
    table: Table,
    paths: list[str],
    numbers: dict[str, int],
    files: dict[str, int],
    tick: Callable[[int], None],
    meanwhile: Callable[[], None] = lambda: None,
) -> ResolvedFiles:
    """Resolve `paths`. `numbers` and `files` map ids and paths to numbers; `meanwhile` runs while workers resolve."""
    global _work
    _work = _Work(Resolver(table), numbers, files)
    try:
        workers = worker_count()
        if len(paths) < ALONE or workers == 1 or "fork" not in multiprocessing.get_all_start_methods():
            meanwhile()
            return _collect([_resolve_slice(paths, tick)])
        slices = [paths[at : at + SLICE] for at in range(0, len(paths), SLICE)]
        fork = multiprocessing.get_context("fork")
        results: list[ResolvedFiles] = []
        with ProcessPoolExecutor(workers, mp_context=fork, initializer=begin_worker) as pool:
            futures = [pool.submit(_resolve_slice, piece) for piece in slices]
            meanwhile()
            for piece, future in zip(slices, futures, strict=True):
                try:
                    results.append(future.result())
                except BrokenProcessPool:
                    results += _resolve_isolated(piece, fork)
                tick(len(piece))
        return _collect(results)
    finally:
        _work = None


def run_beside(work: Callable[[], T], meanwhile: Callable[[], None], files: int) -> T | None:
    """Return the result of `work` on some files, done in a forked process while `meanwhile` runs here; None if that dies."""
    global _other_work
    if files < ALONE or worker_count() == 1 or "fork" not in multiprocessing.get_all_start_methods():
        meanwhile()
        return work()
    _other_work = work
    try:
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork"), initializer=begin_worker) as pool:
            future = pool.submit(_do_other_work)
            meanwhile()
            result: T = future.result()
            return result
    except BrokenProcessPool:
        return None
    finally:
        _other_work = None


def _do_other_work() -> Any:
    assert _other_work is not None
    return _other_work()


def _resolve_isolated(paths: list[str], fork: ForkContext) -> list[ResolvedFiles]:
    """Resolve files in a separate process, bisecting them if it dies, until the file that causes it is isolated."""
    try:
        with ProcessPoolExecutor(1, mp_context=fork, initializer=begin_worker) as pool:
            return [pool.submit(_resolve_slice, paths).result()]
    except BrokenProcessPool:
        if len(paths) == 1:
            return [_resolve_slice(paths, resolve=_give_up)]
        half = len(paths) // 2
        return _resolve_isolated(paths[:half], fork) + _resolve_isolated(paths[half:], fork)


def _resolve(path: str) -> Resolved:
    assert _work is not None
    return _work.resolver.resolve(path)


def _give_up(path: str) -> Resolved:
    assert _work is not None
    _work.resolver.table.begin_file()
    return outline(_work.resolver.table, path, "its process ended, perhaps for lack of memory")


def _resolve_slice(
    paths: list[str], tick: Callable[[int], None] = lambda _: None, resolve: Callable[[str], Resolved] = _resolve
) -> ResolvedFiles:
    assert _work is not None
    table = _work.resolver.table
    table.behind = {}  # answers memoized earlier are reported by the slice that computed them
    rows = EdgeRows(_work.numbers, _work.files)
    reads: dict[str, set[str]] = {}
    calls, problems = {}, {}
    for path in paths:
        resolved = resolve(path)
        rows.add(path, resolved)
        reads[file_token(path)] = resolved.reads
        calls[path] = resolved.calls
        if resolved.problem:
            problems[path] = resolved.problem
        tick(1)
    return ResolvedFiles(rows.array(), list(rows.externals), calls, Dependencies.of(reads | table.behind), problems)


def _collect(parts: list[ResolvedFiles]) -> ResolvedFiles:
    """Merge results; external names get common numbers."""
    externals: dict[str, int] = {}
    arrays = []
    for part in parts:
        common = np.array([externals.setdefault(name, len(externals)) for name in part.externals], dtype="<i4")
        edges = part.edges
        is_external = edges["target"] < 0
        edges["target"][is_external] = -1 - common[-1 - edges["target"][is_external]]
        arrays.append(edges)
    return ResolvedFiles(
        np.concatenate(arrays) if arrays else edge_store.from_rows([]),
        list(externals),
        {path: counts for part in parts for path, counts in part.calls.items()},
        Dependencies.joined([part.dependencies for part in parts]),
        {path: problem for part in parts for path, problem in part.problems.items()},
    )
