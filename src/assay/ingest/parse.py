"""Many files, source or documents → their facts, on all cores, through the parse cache."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import NamedTuple

from assay.ingest.cache import ParseCache
from assay.ingest.documents.facts import extract_sections
from assay.ingest.documents.formats import FORMATS, format_of
from assay.ingest.extract import extract
from assay.ingest.facts import Extracted
from assay.ingest.languages import by_name, language_of
from assay.ingest.parser import ParseTimeout
from assay.ingest.walk import Source, read_source
from assay.store.files import content_hash

ALONE_BYTES = 400_000  # less than this is parsed in this process: starting others would take longer
BATCH_BYTES = 200_000  # handed to a worker at once


class Parsed(NamedTuple):
    """One file read and parsed; `extracted` is None when it was left out, and `skip` or `problem` says why."""

    path: str
    digest: bytes
    extracted: Extracted | None
    note: str = ""
    skip: str = ""
    problem: str = ""


class _Task(NamedTuple):
    path: str
    language: str  # or the format of a document
    data: bytes


def parse_files(root: Path, paths: Iterable[str], cache: ParseCache, tick: Callable[[int], None]) -> Iterator[Parsed]:
    """Reads and parses files; `tick` is told after each how many are done."""
    waiting: list[tuple[_Task, Source]] = []
    for path in paths:
        language = language_of(path) or format_of(path)
        assert language is not None
        source = read_source(root, path, whole=language.name in FORMATS)
        if source.skip or source.problem:
            tick(1)
            yield Parsed(path, b"", None, "", source.skip, source.problem)
            continue
        digest = content_hash(source.data)
        known = cache.get(digest, language.name)
        if known is not None:
            tick(1)
            yield Parsed(path, digest, known, source.note)
        else:
            waiting.append((_Task(path, language.name, source.data), source))
    fresh: list[tuple[bytes, str, Extracted]] = []
    notes = {task.path: source.note for task, source in waiting}
    languages = {task.path: task.language for task, source in waiting}
    for path, digest, result in _run([task for task, _ in waiting], tick):
        if isinstance(result, str):
            yield Parsed(path, digest, None, problem=result)
        else:
            fresh.append((digest, languages[path], result))
            yield Parsed(path, digest, result, notes[path])
    cache.put_all(fresh)


def _run(tasks: list[_Task], tick: Callable[[int], None]) -> Iterator[tuple[str, bytes, Extracted | str]]:
    if sum(len(task.data) for task in tasks) < ALONE_BYTES:
        for task in tasks:
            yield _parse_one(task)
            tick(1)
        return
    batches = _batches(tasks)
    try:
        with ProcessPoolExecutor(worker_count(), mp_context=_context(), initializer=begin_worker) as pool:
            for results in pool.map(_parse_batch, batches):
                yield from results
                tick(len(results))
                batches[0] = []
                batches.pop(0)
    except BrokenProcessPool:
        # a file killed its worker (out of memory, a crash in a grammar): find it by parsing what is left one process at a time
        for batch in batches:
            for task in batch:
                yield _parse_isolated(task)
                tick(1)


def worker_count() -> int:
    """One worker per core this process may use, within reason."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, 16))


def _context() -> multiprocessing.context.BaseContext:
    """Fork where it exists: the workers need what is already loaded, and start at once."""
    return multiprocessing.get_context("fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn")


def begin_worker() -> None:
    """Workers leave Ctrl-C to the process that started them, and end when it is gone: they share its hold on the writer's lock."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()


def _end_with(sentinel: int) -> None:
    multiprocessing.connection.wait([sentinel])
    os._exit(1)


def _batches(tasks: list[_Task]) -> list[list[_Task]]:
    """Tasks in batches of some size, the large ones first so that no core is left waiting at the end."""
    out: list[list[_Task]] = []
    size = BATCH_BYTES
    for task in sorted(tasks, key=lambda t: (-len(t.data), t.path)):
        if size >= BATCH_BYTES:
            out.append([])
            size = 0
        out[-1].append(task)
        size += len(task.data)
    return out


def _parse_batch(tasks: list[_Task]) -> list[tuple[str, bytes, Extracted | str]]:
    return [_parse_one(task) for task in tasks]


def _parse_one(task: _Task) -> tuple[str, bytes, Extracted | str]:
    digest = content_hash(task.data)
    try:
        form = FORMATS.get(task.language)
        return (
            task.path,
            digest,
            extract_sections(task.data, form) if form else extract(task.data, by_name()[task.language]),
        )
    except ParseTimeout:
        return task.path, digest, "takes too long to parse"
    except (RecursionError, MemoryError) as error:
        return task.path, digest, f"cannot be parsed: {type(error).__name__}"


def _parse_isolated(task: _Task) -> tuple[str, bytes, Extracted | str]:
    try:
        with ProcessPoolExecutor(1, mp_context=_context(), initializer=begin_worker) as pool:
            return pool.submit(_parse_one, task).result()
    except BrokenProcessPool:
        return task.path, content_hash(task.data), "crashes the parser"
