"""Observed calls: traces of running services, aggregated by caller, callee and hour, in one SQLite file.

    ends     symbols in the version in which they were observed, topics and services
    calls    number, errors, latencies, first and last time of calls from an end to another, by hour, later by day
    spans    the newest spans: parents of spans that are still to come, and spans whose parent has not come yet
    batches  digests of export requests that were counted

Nothing else is stored: no name, url, attribute or id of a span. A batch is counted in one transaction with its digest,
so that a killed process loses at most what it had not stored, and reading a file again counts nothing twice.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from assay.errors import AssayError
from assay.system.database import SIBLINGS, check_schema, connect, statements, was_interrupted

NAME = "traces.db"
FILES = (NAME, f"{NAME}-wal")  # change whenever something was added
SCHEMA_VERSION = 1
_WAIT = 60.0  # seconds to wait for another writer: one holds the lock for less than a second at a time

_SCHEMA = """
CREATE TABLE ends (
    number INTEGER PRIMARY KEY AUTOINCREMENT, repository TEXT NOT NULL, id TEXT NOT NULL, text BLOB NOT NULL,
    file BLOB NOT NULL, UNIQUE (repository, id, text)
);
CREATE TABLE calls (
    target INTEGER NOT NULL, source INTEGER NOT NULL, type INTEGER NOT NULL, hour INTEGER NOT NULL, count INTEGER NOT NULL,
    errors INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, durations BLOB NOT NULL,
    PRIMARY KEY (target, source, type, hour)
) WITHOUT ROWID;
CREATE TABLE spans (
    key INTEGER PRIMARY KEY, parent INTEGER NOT NULL, target INTEGER NOT NULL, caller INTEGER NOT NULL, service INTEGER NOT NULL,
    remote INTEGER NOT NULL, missing INTEGER NOT NULL, source INTEGER NOT NULL, type INTEGER NOT NULL, time INTEGER NOT NULL, micros INTEGER NOT NULL,
    error INTEGER NOT NULL, place INTEGER NOT NULL
);
CREATE INDEX spans_missing ON spans (missing) WHERE missing != 0;
CREATE TABLE batches (digest INTEGER PRIMARY KEY, place INTEGER NOT NULL);
"""
_STATEMENTS = statements(_SCHEMA)


class Unusable(AssayError):
    """The file is damaged or of another format."""


class CannotWrite(AssayError):
    """The file cannot be written: read-only folder, full disk, or a lock held by another process."""


class _BeingCreated(Exception):
    """Another process has opened the file and not yet made its tables."""


@contextlib.contextmanager
def opened(path: Path, write: bool) -> Iterator[sqlite3.Connection]:
    """Open the store; create it for writing. Reading a missing one raises FileNotFoundError."""
    if not write and not (path.exists() and path.stat().st_size):
        raise FileNotFoundError(path)
    try:
        connection = _open(path, write)
    except sqlite3.Error as error:
        raise _error_for(path, error) from None
    except _BeingCreated:
        raise FileNotFoundError(path) from None
    try:
        yield connection
    except sqlite3.Error as error:
        raise _error_for(path, error) from None
    finally:
        connection.close()


def _open(path: Path, write: bool) -> sqlite3.Connection:
    connection = connect(path, "rwc" if write else _reading_mode(path), _WAIT)
    try:
        if write:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            if not _version(connection):
                _make_tables(connection)
        if not _version(connection) and not connection.execute("SELECT 1 FROM sqlite_master").fetchone():
            raise _BeingCreated
        if _version(connection) != SCHEMA_VERSION:
            raise Unusable(
                f"{path}: traces in format {_version(connection)}, this version of assay reads {SCHEMA_VERSION}. "
                "Start afresh with: assay ingest-otlp --forget"
            )
        check_schema(connection, (*_STATEMENTS, "CREATE TABLE sqlite_sequence(name,seq)"))
    except BaseException:
        connection.close()
        raise
    return connection


def _reading_mode(path: Path) -> str:
    """Return the mode of a reader; one of a read-only folder needs no lock and could not create one."""
    return "ro" if os.access(path.parent, os.W_OK) else "ro&immutable=1"


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _make_tables(connection: sqlite3.Connection) -> None:
    with transaction(connection):
        if not _version(connection):  # no other process was faster
            for statement in _STATEMENTS:
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Run a block as the one writer."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # a full disk has already ended it
            connection.execute("ROLLBACK")
        raise


def _error_for(path: Path, error: sqlite3.Error) -> AssayError:
    damaged = was_interrupted(error) or not isinstance(error, sqlite3.OperationalError)
    if not damaged and "malformed" not in str(error) and "no such" not in str(error):
        return CannotWrite(
            f"{path}: cannot be opened or written ({error}). What was counted before is kept; free some space or "
            "wait for the other process, then ingest the same files again: nothing is counted twice"
        )
    return Unusable(f"{path}: the traces are damaged ({error}). Start afresh with: assay ingest-otlp --forget")


def remove(path: Path) -> None:
    """Delete the file and its siblings, whatever their state."""
    try:
        for suffix in ("", *SIBLINGS):
            Path(f"{path}{suffix}").unlink(missing_ok=True)
    except OSError as error:
        raise CannotWrite(f"{path}: cannot be deleted ({error.strerror})") from None
