"""Ingest exported traces into the stores of one or several repositories: files, standard input, request bodies."""

from __future__ import annotations

import contextlib
import io
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import IO, Self

from assay.core.progress import Progress
from assay.errors import AssayError
from assay.index.enrich.otlp import LARGEST_BATCH, LARGEST_FILE, Batch, read_batches
from assay.index.enrich.traces import Resolver, chunks
from assay.store.index import Index
from assay.store.layout import Home
from assay.store.traces import counting
from assay.store.traces.calls import End
from assay.store.traces.counting import Observed, Stored
from assay.store.traces.database import NAME, CannotWrite, Unusable, opened
from assay.system.files import open_regular
from assay.system.inputs import BadInput, read_errors, unpacked

_LISTED_PROBLEMS = 10  # of a file
_MEGABYTE = 1_000_000
_READ = 1 << 20


@dataclass(slots=True)
class Ingested:
    """Counts of a file or request that was read."""

    name: str
    spans: int = 0  # counted now
    repeated: int = 0  # counted before
    calls: int = 0  # spans that are calls of a symbol or to a topic
    seconds: float = 0.0
    is_repeated: bool = False  # the same file was read to its end before
    problems: list[str] = field(default_factory=list)


class Ingestion:
    """Open stores to which traces are added. Use it as a context manager, in one thread."""

    def __init__(self, index: Index, homes: Mapping[str, Home]) -> None:
        """Prepare for an index and the folders of its repositories by label."""
        self._homes, self._resolver = homes, Resolver(index)
        self._stack, self._stores = contextlib.ExitStack(), dict[str, sqlite3.Connection]()

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as stack:
            for label, home in self._homes.items():
                home.check()
                home.refuse_tracked()
                self._stores[label] = stack.enter_context(opened(home.folder / NAME, write=True))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.__exit__(*error)  # type: ignore[arg-type]

    def files(self, paths: Sequence[Path], progress: Progress | None = None) -> Iterator[Ingested]:
        """Add files; one that cannot be read costs only itself."""
        progress = progress or Progress()
        progress.start("traces", sum(map(_size, paths)) // _MEGABYTE + 1)
        for path in paths:
            yield self._file(path, progress)

    def _file(self, path: Path, progress: Progress) -> Ingested:
        try:
            with read_errors(path), open_regular(path, follow=True) as file:
                digest = _digest(file)
                if all(counting.is_counted(store, digest) for store in self._stores.values()):
                    progress.advance(_size(path) // _MEGABYTE)
                    return Ingested(str(path), is_repeated=True)
                file.seek(0)
                ingested = self.stream(file, str(path), _advancing(file, progress))
                if not ingested.problems:
                    self._add([(digest, [])])
                return ingested
        except FileNotFoundError:
            return Ingested(str(path), problems=[f"{path}: no such file"])
        except (CannotWrite, Unusable):
            raise
        except AssayError as error:
            return Ingested(str(path), problems=[str(error)])

    def stream(self, file: IO[bytes], name: str, advance: Callable[[], None] = lambda: None) -> Ingested:
        """Add the traces of a stream, gzipped or not."""
        return self._stream(unpacked(file, name, LARGEST_FILE), name, advance)

    def body(self, data: bytes, name: str) -> Ingested:
        """Add the body of a request."""
        return self._stream(unpacked(io.BytesIO(data), name, LARGEST_BATCH), name)

    def _stream(self, file: io.BufferedReader, name: str, advance: Callable[[], None] = lambda: None) -> Ingested:
        ingested, started = Ingested(name), time.perf_counter()
        try:
            with read_errors(name):
                for chunk in chunks(_good_batches(file, name, ingested.problems), self._resolver):
                    self._add(chunk, ingested)
                    advance()
        except (CannotWrite, Unusable):
            raise
        except AssayError as error:
            ingested.problems.append(str(error))
        ingested.seconds = round(time.perf_counter() - started, 3)
        return ingested

    def _add(self, chunk: Sequence[tuple[int, Sequence[Observed]]], ingested: Ingested | None = None) -> None:
        """Count batches in every store; a store of several has only the calls of its own symbols."""
        results = [self._add_to(label, store, chunk) for label, store in self._stores.items()]
        if ingested:
            ingested.spans += max(stored.spans for stored in results)
            ingested.repeated += min(stored.repeated for stored in results)
            ingested.calls += sum(stored.calls for stored in results)

    def _add_to(self, label: str, store: sqlite3.Connection, chunk: Sequence[tuple[int, Sequence[Observed]]]) -> Stored:
        ends = self._resolver.ends
        if label:
            ends = [end._replace(repository="") if end.repository == label else end for end in ends]
            chunk = [(digest, [_without_foreign(span, ends) for span in spans]) for digest, spans in chunk]
        return counting.add(store, chunk, ends)


def _good_batches(file: io.BufferedReader, name: str, problems: list[str]) -> Iterator[Batch]:
    """Yield batches; the errors among them become problems, and what was read before one is counted all the same."""
    batches = read_batches(file, name)
    while True:
        try:
            batch = next(batches, None)
        except (AssayError, OSError, EOFError) as error:
            problems.append(
                str(error) if isinstance(error, AssayError) else f"{name}: cannot be read to its end ({error})"
            )
            return
        if batch is None:
            return
        if isinstance(batch, BadInput):
            if len(problems) < _LISTED_PROBLEMS:
                problems.append(str(batch))
        else:
            yield batch


def _without_foreign(span: Observed, ends: Sequence[End]) -> Observed:
    return span._replace(target=0) if ends[span.target].repository else span


def _digest(file: IO[bytes]) -> int:
    """Return the digest of a whole file, compressed or not; apart from those of batches."""
    digest = blake2b(b"file", digest_size=8)
    while data := file.read(_READ):
        digest.update(data)
    return int.from_bytes(digest.digest(), "big") >> 1


def _size(path: Path) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def _advancing(file: IO[bytes], progress: Progress) -> Callable[[], None]:
    """Return a function that reports how far a file was read."""
    done = 0

    def advance() -> None:
        nonlocal done
        here = file.tell() // _MEGABYTE
        progress.advance(here - done)
        done = here

    return advance
