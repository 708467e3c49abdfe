"""Many files, source or documents → their facts, on all cores, through the parse cache."""

from __future__ import annotations

import multiprocessing
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from assay.ingest.cache import ParseCache
from assay.ingest.documents.facts import extract_passages, extract_sections
from assay.ingest.documents.formats import FORMATS, format_of
from assay.ingest.documents.opened import TooSlow, in_time
from assay.ingest.extract import extract
from assay.ingest.facts import Extracted
from assay.ingest.languages import by_name, language_of
from assay.ingest.parser import ParseTimeout
from assay.ingest.walk import read_document, read_source
from assay.store.files import content_hash
from assay.system.workers import begin_worker
from assay.text import chunk
from assay.text.chunk import Chunker

ALONE_BYTES = 400_000  # less than this is parsed in this process: starting others would take longer
BATCH_BYTES = 200_000  # handed to a worker at once
AHEAD = 3  # batches per worker under way or waiting: no worker is idle, and a large repository is never in memory whole
PUT_BYTES = 16_000_000  # of parses handed to the cache at once


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
    language: str  # or the format of a document; to divide it into passages, with a slash and the identity of the chunker behind it
    data: bytes
    digest: bytes
    note: str


_Result = tuple[_Task, Extracted | str]  # what came of it, or why nothing did


def parse_files(
    root: Path, paths: Iterable[str], cache: ParseCache, tick: Callable[[int], None], chunker: Chunker | None = None
) -> Iterator[Parsed]:
    """Reads and parses files; `tick` is told how many more are done. Large ones should come first: then no core waits at the end.

    With a chunker documents are divided into passages instead of sections.
    """
    fresh: list[tuple[bytes, str, Extracted]] = []
    size = 0
    for one in _parse_all(_tasks(root, paths, cache, chunker)):
        tick(1)
        if isinstance(one, Parsed):
            yield one
            continue
        task, result = one
        if isinstance(result, str):
            yield Parsed(task.path, task.digest, None, problem=result)
            continue
        yield Parsed(task.path, task.digest, result, task.note)
        fresh.append((task.digest, task.language, result))
        size += len(result.facts) + len(result.texts)
        if size > PUT_BYTES:
            cache.put_all(fresh)
            fresh, size = [], 0
    cache.put_all(fresh)


def _tasks(root: Path, paths: Iterable[str], cache: ParseCache, chunker: Chunker | None) -> Iterator[_Task | Parsed]:
    """What has to be parsed; what the cache knows and what cannot be read is done already."""
    for path in paths:
        form = format_of(path)
        language = language_of(path) or form
        assert language is not None
        source = read_document(root, path, form) if language is form else read_source(root, path)
        wanted = f"{language.name}/{chunker.identity}" if chunker else language.name
        if source.skip or source.problem:
            yield Parsed(path, b"", None, "", source.skip, source.problem)
            continue
        digest = content_hash(source.data)
        known = cache.get(digest, wanted)
        if known is not None:
            yield Parsed(path, digest, known, source.note)
        else:
            yield _Task(path, wanted, source.data, digest, source.note)


def _parse_all(tasks: Iterator[_Task | Parsed]) -> Iterator[_Result | Parsed]:
    """Parses tasks in the order they come: a few in this process, many on all cores. What is done is passed on."""
    first: list[_Task] = []
    size = 0
    while size < ALONE_BYTES:
        task = next(tasks, None)
        if task is None:
            yield from zip(first, map(_parse_one, first), strict=True)
            return
        if isinstance(task, Parsed):
            yield task
            continue
        first.append(task)
        size += len(task.data)
    batches = _batches(chain(first, tasks))
    while True:
        waiting: deque[list[_Task]] = deque()
        try:
            yield from _parse_on_all_cores(batches, waiting)
            return
        except BrokenProcessPool:
            # a file killed its worker (out of memory, a crash in a grammar): it is found by giving each a process of its own
            for batch in waiting:
                yield from zip(batch, map(_parse_isolated, batch), strict=True)


def _parse_on_all_cores(
    batches: Iterator[list[_Task] | Parsed], waiting: deque[list[_Task]]
) -> Iterator[_Result | Parsed]:
    """Keeps all workers busy; `waiting` are the batches that were begun and not given yet."""
    workers = worker_count()
    with ProcessPoolExecutor(workers, mp_context=_context(), initializer=begin_worker) as pool:
        begun: deque[Future[list[Extracted | str]]] = deque()
        try:
            for batch in batches:
                if isinstance(batch, Parsed):
                    yield batch
                    continue
                waiting.append(batch)
                begun.append(pool.submit(_parse_batch, batch))
                if len(begun) > AHEAD * workers:
                    yield from _oldest(waiting, begun)
            while begun:
                yield from _oldest(waiting, begun)
        finally:
            for future in begun:
                future.cancel()


def _oldest(waiting: deque[list[_Task]], begun: deque[Future[list[Extracted | str]]]) -> Iterable[_Result]:
    results = begun[0].result()
    begun.popleft()
    return zip(waiting.popleft(), results, strict=True)


def worker_count() -> int:
    """One worker per core this process may use, within reason."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, 16))


def _context() -> multiprocessing.context.BaseContext:
    """Fork where it exists: the workers need what is already loaded, and start at once."""
    return multiprocessing.get_context("fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn")


def _batches(tasks: Iterable[_Task | Parsed]) -> Iterator[list[_Task] | Parsed]:
    """Tasks in batches of some size, and between them what is done."""
    batch: list[_Task] = []
    size = 0
    for task in tasks:
        if isinstance(task, Parsed):
            yield task
            continue
        batch.append(task)
        size += len(task.data)
        if size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _parse_batch(tasks: list[_Task]) -> list[Extracted | str]:
    return [_parse_one(task) for task in tasks]


def _parse_one(task: _Task) -> Extracted | str:
    try:
        name, _, chunker = task.language.partition("/")
        form = FORMATS.get(name)
        if form is None:
            return extract(task.data, by_name()[name])
        with in_time():
            if chunker:
                return extract_passages(task.data, form, chunk.parse(chunker.partition("@")[0]))
            return extract_sections(task.data, form)
    except (ParseTimeout, TooSlow):
        return "takes too long to parse"
    except (RecursionError, MemoryError) as error:
        return f"cannot be parsed: {type(error).__name__}"


def _parse_isolated(task: _Task) -> Extracted | str:
    try:
        with ProcessPoolExecutor(1, mp_context=_context(), initializer=begin_worker) as pool:
            return pool.submit(_parse_one, task).result()
    except BrokenProcessPool:
        return "crashes the parser"
