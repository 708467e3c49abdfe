"""Disk caches in SQLite, and the cache of rendered answers keyed by everything they depend on."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

from assay.config import user
from assay.store import catalogue
from assay.store.generation import Generation
from assay.store.index import Index
from assay.store.traces.calls import HOUR
from assay.store.traces.database import NAME as TRACES
from assay.system.database import SIBLINGS, Guarded, check_schema, connect, was_interrupted
from assay.system.files import UnsafeFolder, check_folder, owners

_OPENING = ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=OFF")


class DiskCache:
    """SQLite file that may vanish at any time: reads then return nothing, writes do nothing.

    A link, or a file or folder of another user, is not touched; the cache is then disabled. `tables` are the CREATE
    statements and pragmas; a file with another schema is deleted like a damaged one. `patience` is the lock timeout in
    seconds.
    """

    def __init__(self, path: Path | None, tables: tuple[str, ...], patience: float = 10) -> None:
        self._connection: Guarded | None = None
        self._path = path
        if path is None:
            return
        for _ in range(2):  # a damaged file is deleted and created anew
            try:
                path.parent.mkdir(exist_ok=True)  # not its parents: a deleted repository stays deleted
                check_folder(path.parent, owners(path.parent))
                self._connection = connect(path, "rwc", patience)
                for statement in _OPENING + tables:
                    self._connection.execute(statement)
                check_schema(self._connection, tuple(table for table in tables if table.startswith("CREATE")))
                return
            except UnsafeFolder:
                return
            except (sqlite3.Error, OSError) as error:
                self._disable(error)

    def read(self, question: str, parameters: tuple[object, ...] = ()) -> list[Any]:
        """Return the rows of a query; none if the cache is unavailable."""
        if self._connection is None:
            return []
        try:
            return self._connection.execute(question, parameters).fetchall()
        except sqlite3.Error as error:
            self._disable(error)
            return []

    def write(self, statement: str, rows: Sequence[tuple[object, ...]]) -> None:
        """Run a statement for every row in one transaction."""
        if self._connection is None or not rows:
            return
        try:
            self._connection.execute("BEGIN")
            self._connection.executemany(statement, rows)
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            self._disable(error)

    def close(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None

    def _disable(self, error: Exception) -> None:
        """Disable the cache; delete the file if it is damaged, not merely locked or unreachable."""
        self.close()
        damaged = isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError)
        if self._path is not None and (damaged or was_interrupted(error)):
            for suffix in ("", *SIBLINGS):
                with contextlib.suppress(OSError):
                    Path(f"{self._path}{suffix}").unlink(missing_ok=True)


# Answer cache, in the index folder

NAME = "packs.db"
MOST_ENTRIES = 200
MOST_BYTES = 16_000_000  # of all answers; one may take an eighth

_PATIENCE = 0.5  # seconds to wait for a lock: ranking again is faster than waiting longer
_SETTINGS = "assay.toml"
# name prefixes of files that no ranking reads
_NOT_RANKED = (
    NAME,
    "runs.db",
    "lock",
    "contents.msgpack",
    "item-words.npz",
    "progress",
    "parses.db",
    "enrich",
    "vectors",
    "file-vectors",
    "item-words",
    "passages-",
    ".",
)
_SHARED_MEMORY = "-shm"  # of SQLite: written by every reader, adds nothing to the file and its log
_PACKAGE = Path(__file__).parents[1]
_TABLE = "CREATE TABLE IF NOT EXISTS packs (key BLOB PRIMARY KEY, text BLOB, code INTEGER, size INTEGER, sum INTEGER, used INTEGER) WITHOUT ROWID"
# the most recently used entries within both bounds
_RECENT = (
    "SELECT key FROM (SELECT key, row_number() OVER newest AS place, sum(size) OVER newest AS bytes FROM packs "
    "WINDOW newest AS (ORDER BY used DESC, key)) WHERE place <= ? AND bytes <= ?"
)


class Answer(NamedTuple):
    """Output and exit code of a command."""

    text: str
    code: int


class PackCache(DiskCache):
    """LRU cache of answers on disk."""

    def __init__(self, index: Index) -> None:
        first = index.parts[0].generation  # answers about several repositories are cached with the first
        super().__init__(first.home / NAME, (_TABLE,), _PATIENCE)

    def get(self, key: bytes) -> Answer | None:
        rows = self.read("SELECT text, code, sum FROM packs WHERE key = ?", (key,))
        if not rows:
            return None
        text, code, total = rows[0]
        if not isinstance(text, bytes) or zlib.crc32(text) != total:
            return None
        self.write("UPDATE packs SET used = ? WHERE key = ?", [(time.time_ns(), key)])
        return Answer(text.decode("utf-8", "replace"), int(code))

    def put(self, key: bytes, answer: Answer) -> None:
        text = answer.text.encode("utf-8", "replace")
        if len(text) > MOST_BYTES // 8:
            return
        row = (key, text, answer.code, len(text), zlib.crc32(text), time.time_ns())
        self.write("INSERT OR REPLACE INTO packs VALUES (?, ?, ?, ?, ?, ?)", [row])
        self.write(f"DELETE FROM packs WHERE key NOT IN ({_RECENT})", [(MOST_ENTRIES, MOST_BYTES)])


def key_of(index: Index, state: str, question: Iterable[object]) -> bytes:
    """Return the cache key: code version, indexes and sidecar files, settings, state of the files, and the query."""
    index_states = [text for part in index.parts for text in (part.label, *_index_state(part.generation))]
    parts = [code_fingerprint(), *index_states, state, *(repr(value) for value in question)]
    return blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _index_state(index: Generation) -> list[str]:
    """Describe one index, its sidecar files and its settings."""
    return [
        str(index.root),
        f"{index.folder.name} {index.meta.get('indexed_at')} {_stat(index.folder / catalogue.NAME)}",
        *(f"{path.name} {_stat(path)}" for path in _sidecars(index.home)),
        _hour_of_traces(index.home),
        _stat(index.root / _SETTINGS),
        repr(user.stamp(index.root / _SETTINGS)),
    ]


def _sidecars(home: Path) -> list[Path]:
    """Return the files beside the generations that a ranking may read, such as the history."""
    with os.scandir(home) as entries:
        paths = [Path(entry.path) for entry in entries if entry.is_file(follow_symlinks=False)]
    return sorted(
        path for path in paths if not path.name.startswith(_NOT_RANKED) and not path.name.endswith(_SHARED_MEMORY)
    )


def _hour_of_traces(home: Path) -> str:
    """Return the hour if there are traces: `in the last day` changes with time."""
    return str(int(time.time()) // HOUR) if (home / TRACES).exists() else "-"


@cache
def code_fingerprint() -> str:
    """Return a fingerprint of this package: answers of other code are stale."""
    return repr(sorted(_files(str(_PACKAGE))))


def _files(folder: str) -> Iterator[tuple[str, int, int]]:
    for entry in os.scandir(folder):
        if entry.name.endswith((".py", ".json")):
            status = entry.stat()
            yield entry.path, status.st_size, status.st_mtime_ns
        elif entry.is_dir() and entry.name != "__pycache__":
            yield from _files(entry.path)


def _stat(path: Path) -> str:
    try:
        status = path.lstat()
    except (OSError, ValueError):
        return "-"
    return f"{status.st_size} {status.st_mtime_ns}"
