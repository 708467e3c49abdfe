"""SQLite files that somebody else may have written: no links, a step budget, and only the expected schema.

A database is a program, too: a view can recurse forever, a trigger can run on a write, and a damaged page tree can have
cycles. The schema is therefore compared with its CREATE statements, and every statement has a budget.
"""

from __future__ import annotations

import os
import sqlite3
from functools import cache
from pathlib import Path
from typing import Any

from assay.system.files import check_file

SIBLINGS = ("-wal", "-shm", "-journal")  # suffixes of SQLite's own files next to a database

# Virtual machine steps between two budget checks: short enough not to be noticed, long enough to cost nothing.
_STEP = 1_000_000
# Steps allowed per statement (2 to 7 s), plus one for every byte of the file. Scanning the symbols of a large repository
# takes 5 M. Steps, unlike seconds, do not depend on the load of the machine.
_MAX_STEPS = 100_000_000


class Guarded(sqlite3.Connection):
    """Connection with a step budget per statement; exceeding it raises OperationalError (`interrupted`)."""

    _spent = 0

    def guard(self, size: int) -> None:
        """Start counting steps, for a file of `size` bytes."""
        budget = (_MAX_STEPS + size) // _STEP

        def spend() -> bool:
            self._spent += 1
            return self._spent > budget

        self.set_progress_handler(spend, _STEP)

    def execute(self, statement: str, parameters: Any = (), /) -> sqlite3.Cursor:
        self._spent = 0
        return super().execute(statement, parameters)

    def executemany(self, statement: str, parameters: Any, /) -> sqlite3.Cursor:
        self._spent = 0
        return super().executemany(statement, parameters)


def connect(path: Path, mode: str, wait: float = 5.0, any_thread: bool = False) -> Guarded:
    """Open a database with a URI `mode`.

    Raises UnsafeFolder for links and foreign files, sqlite3.Error as SQLite does.
    """
    check_file(path, SIBLINGS)
    connection = sqlite3.connect(
        f"{Path(os.path.abspath(path)).as_uri()}?mode={mode}",
        uri=True, timeout=wait, isolation_level=None, check_same_thread=not any_thread, factory=Guarded,
    )  # fmt: skip
    try:
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        connection.execute("PRAGMA trusted_schema=OFF")
        connection.execute("PRAGMA cell_size_check=ON")
        connection.guard(_size(path))
    except BaseException:
        connection.close()
        raise
    return connection


def connect_in_memory() -> Guarded:
    """Open an empty database that lives as long as the connection, for any thread."""
    return sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False, factory=Guarded)


def statements(script: str) -> tuple[str, ...]:
    """Split a script into statements."""
    return tuple(filter(None, map(str.strip, script.split(";"))))


def check_schema(connection: sqlite3.Connection, made_by: tuple[str, ...]) -> None:
    """Raise DatabaseError unless the schema consists of exactly these CREATE statements."""
    expected = _expected(made_by)
    rows = connection.execute("SELECT type, name, sql FROM sqlite_master").fetchmany(2 * len(expected) + 20)
    stored = [_normalized(sql) for _, _, sql in rows if isinstance(sql, str)]
    unexpected = [name for kind, name, sql in rows if not isinstance(sql, str) and not _is_automatic(kind, name, sql)]
    if unexpected or len(stored) != len(expected) or set(stored) != expected:
        raise sqlite3.DatabaseError("unexpected schema")


def was_interrupted(error: Exception) -> bool:
    """Return whether a statement exceeded its budget."""
    return getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT


@cache
def _expected(made_by: tuple[str, ...]) -> frozenset[str]:
    return frozenset(map(_normalized, made_by))


def _normalized(statement: str) -> str:
    """Normalize a statement: single spaces, without IF NOT EXISTS."""
    return " ".join(statement.replace("IF NOT EXISTS ", "", 1).split())


def _is_automatic(kind: object, name: object, sql: object) -> bool:
    """Return whether a row is the automatic index of a PRIMARY KEY or UNIQUE."""
    return sql is None and kind == "index" and str(name).startswith("sqlite_autoindex_")


def _size(path: Path) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
