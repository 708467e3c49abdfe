"""Caches in SQLite files: answers by everything they depend on."""

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
from assay.store.index import Index
from assay.system.database import SIBLINGS, Guarded, check_schema, connect, was_interrupted
from assay.system.files import UnsafeFolder, check_folder, owners

_OPENING = ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=OFF")


class DiskCache:
    """Tables in a SQLite file that can vanish at any time: reading then finds nothing, writing does nothing.

    A file or folder that is a link or another user's is left alone, and there is no cache. `tables` are its CREATE statements, and
    perhaps pragmas; a file with anything else in it is thrown away like a damaged one. `patience` is how many seconds it waits for other processes.
    """

    def __init__(self, path: Path | None, tables: tuple[str, ...], patience: float = 10) -> None:
        self._connection: Guarded | None = None
        self._path = path
        if path is None:
            return
        for _ in range(2):  # a damaged file is thrown away, so that there is a good one from now on
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                check_folder(path.parent, owners(path.parent))
                self._connection = connect(path, "rwc", patience)
                for statement in _OPENING + tables:
                    self._connection.execute(statement)
                check_schema(self._connection, tuple(one for one in tables if one.startswith("CREATE")))
                return
            except UnsafeFolder:
                return
            except (sqlite3.Error, OSError) as error:
                self._failed(error)

    def read(self, question: str, parameters: tuple[object, ...] = ()) -> list[Any]:
        """The rows of an answer; none when it cannot be had."""
        if self._connection is None:
            return []
        try:
            return self._connection.execute(question, parameters).fetchall()
        except sqlite3.Error as error:
            self._failed(error)
            return []

    def write(self, statement: str, rows: Sequence[tuple[object, ...]]) -> None:
        """Runs a statement for every row, all or none."""
        if self._connection is None or not rows:
            return
        try:
            self._connection.execute("BEGIN")
            self._connection.executemany(statement, rows)
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            self._failed(error)

    def close(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None

    def _failed(self, error: Exception) -> None:
        """Does without the cache; one that is damaged, not merely locked or out of reach, is removed."""
        self.close()
        damaged = isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError)
        if self._path is not None and (damaged or was_interrupted(error)):
            for suffix in ("", *SIBLINGS):
                with contextlib.suppress(OSError):
                    Path(f"{self._path}{suffix}").unlink(missing_ok=True)


# Answers remembered by everything they depend on, so that asking again costs no ranking. Beside the index, small,
# and free to vanish.

NAME = "packs.db"
MOST_ENTRIES = 200
MOST_BYTES = 16_000_000  # of all answers; a single one may take an eighth

_PATIENCE = 0.5  # seconds for other processes: ranking again is faster than waiting longer
_SETTINGS = "assay.toml"
# how names begin of what no ranking reads
_OF_NO_RANKING = (NAME, "runs.db", "lock", "parses.db", "vectors", "passages-", ".")
_TOUCHED = "-shm"  # of SQLite: whoever reads writes it, and it says nothing that the file and its log do not
_PACKAGE = Path(__file__).parents[1]
_TABLE = "CREATE TABLE IF NOT EXISTS packs (key BLOB PRIMARY KEY, text BLOB, code INTEGER, size INTEGER, sum INTEGER, used INTEGER) WITHOUT ROWID"
# the newest that together stay within both bounds
_KEPT = (
    "SELECT key FROM (SELECT key, row_number() OVER newest AS place, sum(size) OVER newest AS bytes FROM packs "
    "WINDOW newest AS (ORDER BY used DESC, key)) WHERE place <= ? AND bytes <= ?"
)


class Answer(NamedTuple):
    """What a command printed, and its exit code."""

    text: str
    code: int


class PackCache(DiskCache):
    """A dictionary from keys to answers on disk; the ones not asked for the longest go first."""

    def __init__(self, index: Index) -> None:
        first = index.parts[0].index  # answers of several are kept beside the first
        super().__init__(first.folder.parent.parent / NAME, (_TABLE,), _PATIENCE)

    def get(self, key: bytes) -> Answer | None:
        found = self.read("SELECT text, code, sum FROM packs WHERE key = ?", (key,))
        if not found:
            return None
        text, code, total = found[0]
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
        self.write(f"DELETE FROM packs WHERE key NOT IN ({_KEPT})", [(MOST_ENTRIES, MOST_BYTES)])


def key_of(index: Index, state: str, question: Iterable[object]) -> bytes:
    """What an answer depends on: this code, the index and what is kept beside it, the project's settings, the state of its files, and
    the question."""
    known = [text for part in index.parts for text in (part.label, *_known(part.index))]
    parts = [_code(), *known, state, *(repr(one) for one in question)]
    return blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _known(index: Index) -> list[str]:
    """One index, and what is kept beside it."""
    return [
        str(index.root),
        f"{index.folder.name} {index.meta.get('indexed_at')} {_stat(index.folder / catalogue.NAME)}",
        *(f"{path.name} {_stat(path)}" for path in _beside(index)),
        _stat(index.root / _SETTINGS),
        repr(user.stamp(index.root / _SETTINGS)),
    ]


def _beside(index: Index) -> list[Path]:
    """The history, and whatever else a ranking may come to read in the index folder."""
    with os.scandir(index.folder.parent.parent) as entries:
        found = [Path(entry.path) for entry in entries if entry.is_file(follow_symlinks=False)]
    return sorted(
        path for path in found if not path.name.startswith(_OF_NO_RANKING) and not path.name.endswith(_TOUCHED)
    )


@cache
def _code() -> str:
    """Changes with any file of this package: an answer of other code is no answer."""
    return repr(sorted(_files(str(_PACKAGE))))


def _files(folder: str) -> Iterator[tuple[str, int, int]]:
    for entry in os.scandir(folder):
        if entry.name.endswith((".py", ".json")):
            found = entry.stat()
            yield entry.path, found.st_size, found.st_mtime_ns
        elif entry.is_dir() and entry.name != "__pycache__":
            yield from _files(entry.path)


def _stat(path: Path) -> str:
    try:
        found = path.lstat()
    except (OSError, ValueError):
        return "-"
    return f"{found.st_size} {found.st_mtime_ns}"
