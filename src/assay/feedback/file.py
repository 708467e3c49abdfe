"""Feedback file: an SQLite database next to the index's generations; indexing keeps it and an evaluation never opens it."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from assay.database import Damaged
from assay.database.sqlite import SQLite
from assay.errors import AssayError
from assay.store.layout import LEARNED, Home
from assay.system.database import SIBLINGS, check_schema, connect, statements, was_interrupted

SCHEMA_VERSION = 1
WAIT = 5.0  # seconds to wait for another writer's lock

_SCHEMA = """
CREATE TABLE symbols (
    key INTEGER PRIMARY KEY, id TEXT NOT NULL, text BLOB NOT NULL, file BLOB NOT NULL, gone BLOB NOT NULL DEFAULT x'',
    useful INTEGER NOT NULL DEFAULT 0, not_useful INTEGER NOT NULL DEFAULT 0, time REAL NOT NULL, UNIQUE (id, text)
);
CREATE TABLE vocabulary (
    term TEXT NOT NULL, symbol INTEGER NOT NULL REFERENCES symbols ON DELETE CASCADE,
    word TEXT NOT NULL, count INTEGER NOT NULL DEFAULT 0, UNIQUE (term, symbol)
);
CREATE INDEX vocabulary_symbol ON vocabulary (symbol);
CREATE TABLE sessions (name TEXT PRIMARY KEY, words TEXT NOT NULL, watched INTEGER NOT NULL DEFAULT 0, time REAL NOT NULL);
CREATE TABLE pending (
    session TEXT NOT NULL REFERENCES sessions ON DELETE CASCADE, symbol INTEGER NOT NULL REFERENCES symbols ON DELETE CASCADE,
    used INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (session, symbol)
);
CREATE INDEX pending_symbol ON pending (symbol);
CREATE TABLE accesses (
    session TEXT NOT NULL REFERENCES sessions ON DELETE CASCADE, symbol INTEGER NOT NULL REFERENCES symbols ON DELETE CASCADE,
    time REAL NOT NULL
);
CREATE INDEX accesses_of ON accesses (session, symbol);
CREATE INDEX accesses_symbol ON accesses (symbol);
"""
_STATEMENTS = statements(_SCHEMA)


class Unusable(AssayError):
    """The file is damaged or of another format."""


class CannotWrite(AssayError):
    """The file cannot be written: read-only folder, full disk, or a lock held by another process."""


def path_in(home: Home) -> Path:
    """Return the path of the store in a checked index folder."""
    home.check()
    return home.folder / LEARNED


@contextlib.contextmanager
def opened(path: Path, write: bool) -> Iterator[SQLite]:
    """Open the file; create it for writing, use an empty in-memory database to read a missing one."""
    try:
        connection = _open(path, write)
    except sqlite3.Error as error:
        raise _error_for(path, error) from None
    try:
        yield SQLite(path, connection, write)
    except sqlite3.Error as error:
        if not isinstance(error, sqlite3.OperationalError) and _is_intact(connection):
            raise  # the index is damaged, not this file
        raise _error_for(path, error) from None
    except Damaged as error:
        raise _damaged(path, error) from None
    finally:
        connection.close()


def remove(path: Path) -> None:
    """Delete the file and its siblings, whatever their state."""
    try:
        for suffix in ("", *SIBLINGS):
            Path(f"{path}{suffix}").unlink(missing_ok=True)
    except OSError as error:
        raise CannotWrite(f"{path}: cannot be deleted ({error.strerror})") from None


def _open(path: Path, write: bool) -> sqlite3.Connection:
    exists = path.exists() and path.stat().st_size > 0  # a full disk leaves an empty file behind
    connection = connect(path, _mode(path, write), WAIT) if exists or write else _in_memory()
    try:
        if exists and not write and _is_empty(connection):  # another process is creating it
            connection.close()
            connection, exists = _in_memory(), False
        if write:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA foreign_keys = ON")
        if write or not exists:
            _make_tables(path, connection)
        _check(path, connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _in_memory() -> sqlite3.Connection:
    return sqlite3.connect(":memory:", isolation_level=None)


def _mode(path: Path, write: bool) -> str:
    """Return the SQLite open mode; a reader of a read-only folder needs no lock and could not create one."""
    if write:
        return "rwc"
    return "ro" if os.access(path.parent, os.W_OK) else "ro&immutable=1"


def _make_tables(path: Path, connection: sqlite3.Connection) -> None:
    """Create the tables of a new file."""
    if _version(connection) == 0:
        with SQLite(path, connection).transaction():
            if _is_empty(connection):  # no other process was faster
                for statement in _STATEMENTS:
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _check(path: Path, connection: sqlite3.Connection) -> None:
    if _version(connection) != SCHEMA_VERSION:
        raise Unusable(
            f"{path}: what was learned is in format {_version(connection)}, this version of assay reads {SCHEMA_VERSION}. "
            "Start afresh with: assay feedback forget --all"
        )
    check_schema(connection, _STATEMENTS)


def _is_empty(connection: sqlite3.Connection) -> bool:
    return _version(connection) == 0 and not connection.execute("SELECT 1 FROM sqlite_master").fetchone()


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _is_intact(connection: sqlite3.Connection) -> bool:
    try:
        return bool(connection.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok")
    except sqlite3.Error:
        return False


def _error_for(path: Path, error: sqlite3.Error) -> AssayError:
    damaged = was_interrupted(error) or not isinstance(error, sqlite3.OperationalError)
    if not damaged and "malformed" not in str(error) and "no such" not in str(error):
        return CannotWrite(f"{path}: cannot be opened or written ({error}), so nothing was learned or forgotten")
    return _damaged(path, error)


def _damaged(path: Path, error: Exception) -> Unusable:
    return Unusable(
        f"{path}: what was learned is damaged ({error}). Start afresh with: assay feedback forget --all"
        " (or delete the file; the index does not need it)"
    )
