"""Many files, source or documents → their facts, on all cores, through the parse cache."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from assay.git import find_place
from assay.index.documents.facts import extract_passages, extract_sections
from assay.index.documents.formats import FORMATS, format_of
from assay.index.extract import extract
from assay.index.facts import Extracted
from assay.index.scan import MAX_BYTES, read_document, read_source
from assay.index.version import extractor_version
from assay.languages import by_name, language_of
from assay.store.caches import DiskCache
from assay.store.layout import content_hash
from assay.store.seal import code
from assay.system.pool import Batch, Failure, Pool
from assay.text import chunk
from assay.text.chunk import Chunker

UNUSED_DAYS = 30  # parses not asked for in this long are dropped

_PARSED = "CREATE TABLE IF NOT EXISTS parsed (key BLOB PRIMARY KEY, facts BLOB, texts BLOB, lines INTEGER, day INTEGER, sum INTEGER)"


def cache_path(root: Path, own_folder: Path, name: str = "parses.db") -> Path:
    """Return a cache's file: shared by all worktrees of a repository, or the index's own where that is not safe."""
    place = find_place(root)
    shared = place.shared_folder() if place else None
    return (shared or own_folder) / name


class ParseCache(DiskCache):
    """A dictionary from (content hash, language) to `Extracted` on disk."""

    def __init__(self, path: Path | None) -> None:
        super().__init__(path, (_PARSED,))
        self._today = int(time.time() // 86400)

    @staticmethod
    def _key(digest: bytes, language: str) -> bytes:
        return digest + f"{language}:{extractor_version()}".encode()

    def get(self, digest: bytes, language: str) -> Extracted | None:
        key = self._key(digest, language)
        found = self.read("SELECT facts, texts, lines, day, sum FROM parsed WHERE key = ?", (key,))
        if not found:
            return None
        facts, texts, lines, day, total = found[0]
        if day != self._today:
            self.read("UPDATE parsed SET day = ? WHERE key = ?", (self._today, key))
        return Extracted(facts, texts, lines) if total == code(key, facts, texts, lines) else None

    def put_all(self, rows: list[tuple[bytes, str, Extracted]]) -> None:
        values = [
            (key, e.facts, e.texts, e.lines, self._today, code(key, e.facts, e.texts, e.lines))
            for key, e in ((self._key(digest, language), e) for digest, language, e in rows)
        ]
        self.write("INSERT OR REPLACE INTO parsed VALUES (?, ?, ?, ?, ?, ?)", values)

    def prune(self) -> None:
        """Drops what no index asked for in UNUSED_DAYS, and everything of other extractor versions."""
        suffix = f":{extractor_version()}".encode()
        self.write(
            "DELETE FROM parsed WHERE day < ? OR substr(key, -?) != ?",
            [(self._today - UNUSED_DAYS, len(suffix), suffix)],
        )


# Many files, source or documents → their facts, on all cores, through the parse cache.

BATCH_BYTES = 200_000  # handed to a worker at once
AHEAD = 3  # batches per worker under way or waiting: no worker is idle, and a large repository is never in memory whole
# processor time that a file may take: code is parsed at 1 MB/s or more; documents are packed, or made of pages
SECONDS, SECONDS_PER_BYTE, MOST_SECONDS = 2.0, 1e-5, 20.0
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
    """Parse tasks on all cores, always in other processes: a file that hangs or crashes its parser costs that file.

    The order depends on the tasks alone. What is done already is passed on at once.
    """
    workers = worker_count()
    with Pool(_parse_one, _seconds, workers, _compile_query) as pool:
        begun: deque[Batch[_Task, Extracted | str]] = deque()
        for batch in _batches(tasks):
            if isinstance(batch, Parsed):
                yield batch
                continue
            if (
                not begun and sum(len(task.data) for task in batch) < BATCH_BYTES
            ):  # an only batch, of an edit for example
                for task in batch:
                    _compile_query(task)  # here: a process that stays compiles once, and its workers inherit it
            begun.append(pool.submit(batch))
            if len(begun) > AHEAD * workers:
                yield from _results(begun.popleft())
        while begun:
            yield from _results(begun.popleft())


class TextParser:
    """Parses source texts that are no files of the tree, such as old versions, in a worker of its own; a context manager."""

    def __init__(self) -> None:
        self._pool = Pool(_parse_one, _seconds, 1, _compile_query)

    def __enter__(self) -> TextParser:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the worker; the next text starts another."""
        self._pool.close()

    def extract(self, path: str, data: bytes) -> Extracted | None:
        """Return the facts of a text; None when `path` names no language, or the text cannot be parsed."""
        language = language_of(path)
        if language is None or len(data) > MAX_BYTES:
            return None
        result = self._pool.run(_Task(path, language.name, data, b"", ""))
        return None if isinstance(result, (Failure, str)) else result


def _results(batch: Batch[_Task, Extracted | str]) -> Iterator[_Result]:
    for task, result in batch.results():
        yield task, _problem(result) if isinstance(result, Failure) else result


def _problem(failure: Failure) -> str:
    if failure.kind == "slow":
        return f"takes too long to parse (more than {failure.limit:.2g} s)"
    if failure.kind == "memory":
        return f"needs too much memory to parse (more than {failure.limit / 1e6:.0f} MB)"
    return "crashes the parser or needs too much memory"


def worker_count() -> int:
    """One worker per core this process may use, within reason."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, 16))


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


def _seconds(task: _Task) -> float:
    form = FORMATS.get(task.language.partition("/")[0])
    if form is not None and form.binary:
        return MOST_SECONDS
    return min(MOST_SECONDS, SECONDS + SECONDS_PER_BYTE * len(task.data))


def _compile_query(task: _Task) -> object:
    """Compile the query of a task's language, which takes up to 2 s the first time (Swift)."""
    language = by_name().get(task.language)
    return language and language.query_objects


def _parse_one(task: _Task) -> Extracted | str:
    try:
        name, _, chunker = task.language.partition("/")
        form = FORMATS.get(name)
        if form is None:
            return extract(task.data, by_name()[name])
        if chunker:
            return extract_passages(task.data, form, chunk.parse(chunker.partition("@")[0]))
        return extract_sections(task.data, form)
    except MemoryError:
        raise  # this worker has no more of it
    except Exception as error:  # whatever a file does to us, the others are indexed
        return f"cannot be parsed: {type(error).__name__}{f': {error}' if str(error) else ''}"
