"""SQLite files that somebody else may have made: opened through no link, with a budget of work, and only with the tables we make.

A database is a program, too: a view can recur for ever, a trigger can run when something is written, and a damaged tree of pages can be
walked without end. So the schema is compared with the statements that make it, and every statement has a budget.
"""

from __future__ import annotations

import os
import sqlite3
from functools import cache
from pathlib import Path
from typing import Any

from assay.system.files import check_file

SIBLINGS = ("-wal", "-shm", "-journal")  # files that SQLite keeps next to a database

# Steps of SQLite's virtual machine between two looks at the budget: too few to be felt by a person, too many to cost anything.
_STEP = 1_000_000
# A statement may take this many steps (2 to 7 s) and one for every byte of the file. Scanning the symbols of a large repository
# takes 5 M; a count of steps, unlike a time, comes out the same on a busy machine.
_MOST_STEPS = 100_000_000


class Guarded(sqlite3.Connection):
    """A connection whose statements each have a budget; one that takes more ends with OperationalError (`interrupted`)."""

    _spent = 0

    def guard(self, size: int) -> None:
        """Begin to count, for a file of so many bytes."""
        most = (_MOST_STEPS + size) // _STEP

        def spend() -> bool:
            self._spent += 1
            return self._spent > most

        self.set_progress_handler(spend, _STEP)

    def execute(self, statement: str, parameters: Any = (), /) -> sqlite3.Cursor:
        self._spent = 0
        return super().execute(statement, parameters)

    def executemany(self, statement: str, parameters: Any, /) -> sqlite3.Cursor:
        self._spent = 0
        return super().executemany(statement, parameters)


def connect(path: Path, mode: str, wait: float = 5.0, any_thread: bool = False) -> Guarded:
    """Open a database as a URI's `mode` says. Raises UnsafeFolder for links and files of others, sqlite3.Error as SQLite does."""
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


def statements(script: str) -> tuple[str, ...]:
    """Return the statements of a script."""
    return tuple(filter(None, map(str.strip, script.split(";"))))


def check_schema(connection: sqlite3.Connection, made_by: tuple[str, ...]) -> None:
    """Compare the schema with the CREATE statements that make it; DatabaseError when it has anything else, or less."""
    expected = _expected(made_by)
    rows = connection.execute("SELECT type, name, sql FROM sqlite_master").fetchmany(2 * len(expected) + 20)
    stored = [_plain(sql) for _, _, sql in rows if isinstance(sql, str)]
    others = [name for kind, name, sql in rows if not isinstance(sql, str) and not _is_automatic(kind, name, sql)]
    if others or len(stored) != len(expected) or set(stored) != expected:
        raise sqlite3.DatabaseError("other tables than this version of assay makes")


def was_interrupted(error: Exception) -> bool:
    """Tell whether a statement was ended because it took more than its budget."""
    return getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT


@cache
def _expected(made_by: tuple[str, ...]) -> frozenset[str]:
    return frozenset(map(_plain, made_by))


def _plain(statement: str) -> str:
    """A statement as SQLite keeps it, with single spaces."""
    return " ".join(statement.replace("IF NOT EXISTS ", "", 1).split())


def _is_automatic(kind: object, name: object, sql: object) -> bool:
    """Recognise the index behind a PRIMARY KEY or UNIQUE."""
    return sql is None and kind == "index" and str(name).startswith("sqlite_autoindex_")


def _size(path: Path) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
