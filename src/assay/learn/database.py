"""The file that holds what was learned: opening it, sharing it between processes, and saying what is wrong with it."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from assay.errors import AssayError
from assay.store.layout import LEARNED, Home
from assay.system.database import SIBLINGS, check_schema, connect, statements, was_interrupted

SCHEMA_VERSION = 1
WAIT = 5.0  # seconds to wait for another writer

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
_MADE_BY = statements(_SCHEMA)


class Unusable(AssayError):
    """The file is damaged or of another format."""


class CannotWrite(AssayError):
    """The file cannot be written: a read-only place, a full disk, another process that does not let go."""


def path_in(home: Home) -> Path:
    """The file beside an index, in a folder that was checked."""
    home.check()
    return home.folder / LEARNED


@contextlib.contextmanager
def connected(path: Path, write: bool) -> Iterator[sqlite3.Connection]:
    """The file, made when it is to be written and does not exist; when it is only to be read, an empty one stands for it."""
    try:
        connection = _open(path, write)
    except sqlite3.Error as error:
        raise _complaint(path, error) from None
    try:
        yield connection
    except sqlite3.Error as error:
        if not isinstance(error, sqlite3.OperationalError) and _is_whole(connection):
            raise  # it is the index that is damaged
        raise _complaint(path, error) from None
    finally:
        connection.close()


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection, write: bool = True) -> Iterator[None]:
    """All or nothing, one writer at a time; a reader sees one state throughout."""
    connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
    try:
        yield
    except BaseException:
        if connection.in_transaction:  # a full disk has ended it already
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def remove(path: Path) -> None:
    """Deletes the file, whatever state it is in."""
    try:
        for suffix in ("", *SIBLINGS):
            Path(f"{path}{suffix}").unlink(missing_ok=True)
    except OSError as error:
        raise CannotWrite(f"{path}: cannot be deleted ({error.strerror})") from None


def _open(path: Path, write: bool) -> sqlite3.Connection:
    known = path.exists() and path.stat().st_size > 0  # a full disk leaves an empty file behind
    connection = connect(path, _mode(path, write), WAIT) if known or write else _empty()
    try:
        if known and not write and _is_empty(connection):  # somebody is just making it
            connection.close()
            connection, known = _empty(), False
        if write:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA foreign_keys = ON")
        if write or not known:
            _make_tables(connection)
        _check(path, connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _empty() -> sqlite3.Connection:
    return sqlite3.connect(":memory:", isolation_level=None)


def _mode(path: Path, write: bool) -> str:
    """How SQLite is to open it: a reader of a folder that nobody can write needs no lock, and could not make one."""
    if write:
        return "rwc"
    return "ro" if os.access(path.parent, os.W_OK) else "ro&immutable=1"


def _make_tables(connection: sqlite3.Connection) -> None:
    """Makes the tables of a new file."""
    if _version(connection) == 0:
        with transaction(connection):
            if _is_empty(connection):  # nobody was faster
                for statement in _MADE_BY:
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _check(path: Path, connection: sqlite3.Connection) -> None:
    if _version(connection) != SCHEMA_VERSION:
        raise Unusable(
            f"{path}: what was learned is in format {_version(connection)}, this version of assay reads {SCHEMA_VERSION}. "
            "Start afresh with: assay feedback forget --all"
        )
    check_schema(connection, _MADE_BY)


def _is_empty(connection: sqlite3.Connection) -> bool:
    return _version(connection) == 0 and not connection.execute("SELECT 1 FROM sqlite_master").fetchone()


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _is_whole(connection: sqlite3.Connection) -> bool:
    try:
        return bool(connection.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok")
    except sqlite3.Error:
        return False


def _complaint(path: Path, error: sqlite3.Error) -> AssayError:
    damaged = was_interrupted(error) or not isinstance(error, sqlite3.OperationalError)
    if not damaged and "malformed" not in str(error) and "no such" not in str(error):
        return CannotWrite(f"{path}: cannot be opened or written ({error}), so nothing was learned or forgotten")
    return Unusable(
        f"{path}: what was learned is damaged ({error}). Start afresh with: assay feedback forget --all"
        " (or delete the file; the index does not need it)"
    )
