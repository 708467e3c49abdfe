"""Run file: an SQLite database for one person. Opened for reading it never writes, so it works on a read-only disk."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from assay.errors import AssayError
from assay.evaluate.storage import LOCK_TIMEOUT, Row, RunsInUse, no_runs_error
from assay.evaluate.storage.encoding import Damaged
from assay.system.database import check_schema, connect, connect_in_memory, statements, was_interrupted
from assay.system.files import FOLDER, UnsafeFolder, check_folder, make_folder, owners

SCHEMA_VERSION = 1

_SCHEMA = """
CREATE TABLE eval_golden (golden TEXT PRIMARY KEY, digest TEXT, path TEXT, format TEXT, queries BLOB);
CREATE TABLE eval_runs (
    run_id TEXT PRIMARY KEY, created TEXT, finished TEXT, status TEXT, label TEXT, golden_hash TEXT, golden TEXT, system TEXT, config TEXT,
    matching TEXT, level TEXT, k INTEGER, depth INTEGER, budget INTEGER, repeat INTEGER, answers INTEGER, corpus TEXT,
    index_fingerprint TEXT, chunker_version TEXT, versions TEXT, environment TEXT, warnings TEXT,
    aggregate_json TEXT
);
CREATE TABLE eval_query_results (
    run_id TEXT, position INTEGER, query_id TEXT, hits BLOB, answer BLOB, trace BLOB, config BLOB, tokens INTEGER, latency_ms REAL, error TEXT,
    unstable INTEGER,
    PRIMARY KEY (run_id, position)
) WITHOUT ROWID;
CREATE TABLE eval_judged (
    run_id TEXT, matching TEXT, version INTEGER, name TEXT, kind TEXT, data BLOB, PRIMARY KEY (run_id, matching, name)
) WITHOUT ROWID;
"""
_SCHEMA_STATEMENTS = statements(_SCHEMA)


class SQLite:
    """The `Database` of a run file."""

    sequence = "rowid"
    same = "IS"

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.place, self._path, self._db = str(path), path, connection

    def prepare(self, write: bool) -> None:
        """Create the tables of an empty file if `write`; raise AssayError for anything but a run file."""
        if not write:
            _roll_back_journal(self._path)
        if self._version() == 0 and not self._tables():
            if not write:
                raise no_runs_error(self._path)
            with self.transaction():
                if not self._tables():  # no other process created it meanwhile
                    for statement in _SCHEMA_STATEMENTS:
                        self._db.execute(statement)
                    self._db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        version = self._version()
        if version == 0:
            raise AssayError(
                f"{self._path}: an SQLite database, but not a run file. Give another file with --runs FILE."
            )
        if version != SCHEMA_VERSION:
            raise AssayError(
                f"{self._path}: the run file has format {version}, this version of assay reads {SCHEMA_VERSION}. "
                "Use the assay that wrote it, or give another file with --runs FILE."
            )
        check_schema(self._db, _SCHEMA_STATEMENTS)

    def _version(self) -> int:
        return int(self._db.execute("PRAGMA user_version").fetchone()[0])

    def _tables(self) -> int:
        return int(self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])

    def rows(self, statement: str, parameters: Sequence[Any] = ()) -> list[Row]:
        return self._db.execute(statement, parameters).fetchall()

    def stream(self, statement: str, parameters: Sequence[Any] = ()) -> Iterator[Row]:
        yield from self._db.execute(statement, parameters)

    def change(self, statement: str, parameters: Sequence[Any] = ()) -> int:
        with self.transaction():
            return self._db.execute(statement, parameters).rowcount

    def insert(self, table: str, columns: Sequence[str], row: Sequence[Any]) -> bool:
        with self.transaction():
            return self._db.execute(_insert("IGNORE", table, columns), row).rowcount > 0

    def replace(self, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        with self.transaction():
            self._db.executemany(_insert("REPLACE", table, columns), rows)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        if self._db.in_transaction:  # part of the one around it
            yield
            return
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            if self._db.in_transaction:  # a full disk has already ended the transaction
                self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    def size(self) -> int:
        return self._path.stat().st_size

    def close(self) -> None:
        self._db.close()


@contextlib.contextmanager
def opened(path: Path, write: bool, wait: float) -> Iterator[SQLite]:
    """Open a run file, creating it if `write`; wait up to `wait` seconds for another writer."""
    try:
        if path.parent.name == FOLDER:
            check_folder(path.parent, owners())
            from assay.git import refuse_tracked

            refuse_tracked(path.parent, again=False)
            if write:
                make_folder(path.parent)
        elif write:
            path.parent.mkdir(parents=True, exist_ok=True)
        if not write and not path.exists():
            raise no_runs_error(path)
        connection = connect(path, "rwc" if write else "ro", wait, any_thread=True)
    except UnsafeFolder as error:
        raise AssayError(f"{error.problem}. {error.remedy}, or give another file with --runs FILE.") from None
    except (OSError, sqlite3.Error) as error:
        raise _unusable_file_error(path, error) from None
    try:
        database = SQLite(path, connection)
        database.prepare(write)
        yield database
    except (sqlite3.Error, Damaged) as error:
        raise _unusable_file_error(path, error) from None
    finally:
        connection.close()


def in_memory() -> SQLite:
    """Return an empty database that ends with the process."""
    database = SQLite(Path(":memory:"), connect_in_memory())
    database.prepare(write=True)
    return database


def _insert(conflict: str, table: str, columns: Sequence[str]) -> str:
    places = ", ".join("?" * len(columns))
    return f"INSERT OR {conflict} INTO {table} ({', '.join(columns)}) VALUES ({places})"


def _roll_back_journal(path: Path) -> None:
    """Roll back what a killed writer left: a read-only connection cannot, and would refuse the file."""
    if path.with_name(f"{path.name}-journal").exists():
        with (
            contextlib.suppress(sqlite3.Error),
            contextlib.closing(sqlite3.connect(path, timeout=LOCK_TIMEOUT)) as connection,
        ):
            connection.execute("SELECT count(*) FROM sqlite_master")


def _unusable_file_error(path: Path, error: Exception) -> AssayError:
    message = str(error)
    if "locked" in message:
        return RunsInUse(
            f"{path}: another process is writing to the run file. Try again when it is done, or give --runs FILE."
        )
    if "readonly" in message or "unable to open" in message or isinstance(error, OSError):
        return AssayError(
            f"{path}: cannot write or open the run file ({message}). Give another place with --runs FILE."
        )
    if "not a database" in message or "malformed" in message or "other tables" in message or was_interrupted(error):
        return AssayError(
            f"{path}: not a run file, or damaged ({message}). Move it away, or give another with --runs FILE."
        )
    return AssayError(f"{path}: the run file cannot be used ({message})")
