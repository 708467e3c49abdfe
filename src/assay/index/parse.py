"""Parse source files and documents into facts on all cores, through the parse cache."""

from __future__ import annotations

import os
import re
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from assay.git import find_place
from assay.index.documents.facts import extract_passages, extract_sections
from assay.index.documents.formats import FORMATS, format_of
from assay.index.extract import extract
from assay.index.facts import Extracted, SymbolFact, decode_facts, decode_texts
from assay.index.scan import MAX_BYTES, read_document, read_source
from assay.index.version import extractor_version
from assay.languages import by_name, language_of
from assay.store.caches import DiskCache
from assay.store.layout import content_hash
from assay.store.seal import code
from assay.system.pool import Batch, Failure, Pool
from assay.text import chunk
from assay.text.chunk import Chunker

UNUSED_DAYS = 30  # unused parses are dropped after this

_PARSED = "CREATE TABLE IF NOT EXISTS parsed (key BLOB PRIMARY KEY, facts BLOB, texts BLOB, lines INTEGER, day INTEGER, sum INTEGER)"


def cache_path(root: Path, own_folder: Path, name: str = "parses.db") -> Path:
    """Return the path of a cache: shared by all worktrees of a repository, or in the index folder if unsafe."""
    place = find_place(root)
    shared = place.shared_folder() if place else None
    return (shared or own_folder) / name


class ParseCache(DiskCache):
    """On-disk cache from (content hash, language) to `Extracted`, extracted with the repository's flag patterns."""

    def __init__(self, path: Path | None, flags: tuple[str, ...] = ()) -> None:
        super().__init__(path, (_PARSED,))
        self.flags = flags
        self._today = int(time.time() // 86400)

    def _key(self, digest: bytes, language: str) -> bytes:
        own = f"+{','.join(self.flags)}" if self.flags else ""
        return digest + f"{language}{own}:{extractor_version()}".encode()

    def get(self, digest: bytes, language: str) -> Extracted | None:
        key = self._key(digest, language)
        rows = self.read("SELECT facts, texts, lines, day, sum FROM parsed WHERE key = ?", (key,))
        if not rows:
            return None
        facts, texts, lines, day, checksum = rows[0]
        if day != self._today:
            self.read("UPDATE parsed SET day = ? WHERE key = ?", (self._today, key))
        return Extracted(facts, texts, lines) if checksum == code(key, facts, texts, lines) else None

    def put_all(self, rows: list[tuple[bytes, str, Extracted]]) -> None:
        values = [
            (key, e.facts, e.texts, e.lines, self._today, code(key, e.facts, e.texts, e.lines))
            for key, e in ((self._key(digest, language), e) for digest, language, e in rows)
        ]
        self.write("INSERT OR REPLACE INTO parsed VALUES (?, ?, ?, ?, ?, ?)", values)

    def prune(self) -> None:
        """Delete entries unused for UNUSED_DAYS and those of other extractor versions."""
        suffix = f":{extractor_version()}".encode()
        self.write(
            "DELETE FROM parsed WHERE day < ? OR substr(key, -?) != ?",
            [(self._today - UNUSED_DAYS, len(suffix), suffix)],
        )


# Parsing

BATCH_BYTES = 200_000  # per task of a worker
AHEAD = 3  # queued batches per worker: keeps workers busy without loading the whole repository
# processor time limit per file: code is parsed at 1 MB/s or more; documents are compressed or paged
SECONDS, SECONDS_PER_BYTE, MOST_SECONDS = 2.0, 1e-5, 20.0
PUT_BYTES = 16_000_000  # per write to the cache


class Parsed(NamedTuple):
    """A file read and parsed; if `extracted` is None, `skip` or `problem` is the reason."""

    path: str
    digest: bytes
    extracted: Extracted | None
    note: str = ""
    skip: str = ""
    problem: str = ""


class _Task(NamedTuple):
    path: str
    language: str  # or document format; to split it into passages, followed by a slash and the chunker's identity
    data: bytes
    digest: bytes
    note: str
    flags: tuple[str, ...] = ()


_Result = tuple[_Task, Extracted | str]  # str: the reason of a failure


def parse_files(
    root: Path, paths: Iterable[str], cache: ParseCache, tick: Callable[[int], None], chunker: Chunker | None = None
) -> Iterator[Parsed]:
    """Read and parse files; `tick` receives the number of files finished.

    Pass large files first to keep all cores busy. With a chunker, documents are split into passages instead of
    sections.
    """
    fresh: list[tuple[bytes, str, Extracted]] = []
    size = 0
    for outcome in _parse_all(_tasks(root, paths, cache, chunker)):
        tick(1)
        if isinstance(outcome, Parsed):
            yield outcome
            continue
        task, result = outcome
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
    """Yield the files to parse as tasks; cached and unreadable ones as results."""
    for path in paths:
        form = format_of(path)
        language = language_of(path) or form
        assert language is not None
        source = read_document(root, path, form) if language is form else read_source(root, path)
        target = f"{language.name}/{chunker.identity}" if chunker else language.name
        if source.skip or source.problem:
            yield Parsed(path, b"", None, "", source.skip, source.problem)
            continue
        digest = content_hash(source.data)
        cached = cache.get(digest, target)
        if cached is not None:
            yield Parsed(path, digest, cached, source.note)
        else:
            yield _Task(path, target, source.data, digest, source.note, cache.flags)


def _parse_all(tasks: Iterator[_Task | Parsed]) -> Iterator[_Result | Parsed]:
    """Parse tasks on all cores, always in other processes: a file that hangs or crashes the parser affects only itself.

    The order depends on the tasks alone. Finished results are passed through.
    """
    workers = worker_count()
    with Pool(_parse_one, _seconds, workers, _compile_query) as pool:
        pending: deque[Batch[_Task, Extracted | str]] = deque()
        for batch in _batches(tasks):
            if isinstance(batch, Parsed):
                yield batch
                continue
            # a single batch, after an edit for example: compile here, once per process; workers inherit it
            if not pending and sum(len(task.data) for task in batch) < BATCH_BYTES:
                for task in batch:
                    _compile_query(task)
            pending.append(pool.submit(batch))
            if len(pending) > AHEAD * workers:
                yield from _results(pending.popleft())
        while pending:
            yield from _results(pending.popleft())


_ANONYMOUS = re.compile(r"(^|\W)\$\d+")


class TextParser:
    """Parses source texts that are not files of the tree, such as old versions, in a worker; a context manager."""

    def __init__(self) -> None:
        self._pool = Pool(_parse_one, _seconds, 1, _compile_query)

    def __enter__(self) -> TextParser:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop the worker; the next text starts another."""
        self._pool.close()

    def extract(self, path: str, data: bytes) -> Extracted | None:
        """Return the facts of a text; None if `path` has no known language or parsing fails."""
        language = language_of(path)
        if language is None or len(data) > MAX_BYTES:
            return None
        result = self._pool.run(_Task(path, language.name, data, b"", ""))
        return None if isinstance(result, (Failure, str)) else result


def outline(parser: TextParser, path: str, text: str) -> list[tuple[SymbolFact, str]]:
    """Return the named definitions of a source text with their documentation, using the indexing extractor."""
    extracted = parser.extract(path, text.encode())
    if extracted is None:
        return []
    symbols, texts = decode_facts(extracted.facts).symbols, decode_texts(extracted.texts).texts
    return [
        (fact, words.doc)
        for fact, words in zip(symbols, texts, strict=False)  # the last text is the file's
        if not _ANONYMOUS.search(fact.symbol)
    ]


def _results(batch: Batch[_Task, Extracted | str]) -> Iterator[_Result]:
    for task, result in batch.results():
        yield task, describe_failure(result) if isinstance(result, Failure) else result


def describe_failure(failure: Failure) -> str:
    """Return why a worker ended, for the report."""
    if failure.kind == "slow":
        return f"takes too long to parse (more than {failure.limit:.2g} s)"
    if failure.kind == "memory":
        return f"needs too much memory to parse (more than {failure.limit / 1e6:.0f} MB)"
    return "crashes the parser or needs too much memory"


def worker_count() -> int:
    """Return the number of workers: one per core available to this process, at most 16."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, 16))


def _batches(tasks: Iterable[_Task | Parsed]) -> Iterator[list[_Task] | Parsed]:
    """Group tasks into batches by size; pass results through."""
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
    return language and language.grammar and language.query_objects


def _parse_one(task: _Task) -> Extracted | str:
    try:
        name, _, chunker = task.language.partition("/")
        form = FORMATS.get(name)
        if form is None:
            return extract(task.data, by_name()[name], task.flags)
        if chunker:
            return extract_passages(task.data, form, chunk.parse(chunker.partition("@")[0]))
        return extract_sections(task.data, form)
    except MemoryError:
        raise  # the worker is out of memory
    except Exception as error:  # a failure is limited to its file
        return f"cannot be parsed: {type(error).__name__}{f': {error}' if str(error) else ''}"
