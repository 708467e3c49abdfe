"""Run files: SQLite databases of one person. Opened for reading they are never written, so a read-only disk will do.

An older file is brought up to date when it is opened for writing; a reader sees its new tables as empty.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from assay.database import LOCK_TIMEOUT, Damaged, StoreInUse
from assay.database.sqlite import SQLite
from assay.errors import AssayError
from assay.system.database import Guarded, check_schema, connect, connect_in_memory, statements, was_interrupted
from assay.system.files import FOLDER, UnsafeFolder, check_folder, make_folder, owners

_FIRST = """
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
_SECOND = """
CREATE TABLE eval_baselines (name TEXT PRIMARY KEY, run_id TEXT NOT NULL, created TEXT NOT NULL, author TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE eval_experiments (
    number INTEGER PRIMARY KEY, created TEXT NOT NULL, author TEXT NOT NULL, title TEXT NOT NULL, hypothesis TEXT NOT NULL,
    what TEXT NOT NULL, before TEXT NOT NULL, after TEXT NOT NULL, result TEXT NOT NULL, conclusion TEXT NOT NULL
);
"""
# A migration never changes; the next one is appended.
MIGRATIONS = tuple(map(statements, (_FIRST, _SECOND)))


class NoSuchRun(AssayError):
    """No run matches the name; the message lists the nearest."""


def no_runs_error(place: object) -> NoSuchRun:
    return NoSuchRun(f"{place}: no runs yet. Make one with: assay eval run --golden PATH --system SPEC")


def _prepare(path: Path, connection: Guarded, write: bool) -> SQLite:
    """Create or update the tables if `write`; raise AssayError for anything but a run file."""
    database = SQLite(path, connection, write)
    if not write:
        _roll_back_journal(path)
    if _is_empty(connection) and not write:
        raise no_runs_error(path)
    if write and (_is_empty(connection) or 0 < _version(connection) < len(MIGRATIONS)):
        with database.transaction():
            if _is_empty(connection) or _version(connection):  # no other process created something else meanwhile
                _migrate(connection)
    version = _version(connection)
    if version == 0:
        raise AssayError(f"{path}: an SQLite database, but not a run file. Give another file with --runs FILE.")
    if version > len(MIGRATIONS):
        raise AssayError(
            f"{path}: the run file has format {version}, this version of assay reads {len(MIGRATIONS)}. "
            "Use the assay that wrote it, or give another file with --runs FILE."
        )
    check_schema(connection, _statements(0, version))
    for statement in _statements(version, len(MIGRATIONS)):
        connection.execute(statement.replace("CREATE TABLE", "CREATE TEMPORARY TABLE", 1))
    return database


def _migrate(connection: Guarded) -> None:
    version = _version(connection)
    if version:
        check_schema(connection, _statements(0, version))
    for statement in _statements(version, len(MIGRATIONS)):
        connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {max(version, len(MIGRATIONS))}")


def _statements(after: int, version: int) -> tuple[str, ...]:
    """Return the statements of the migrations from one version to another."""
    return tuple(statement for migration in MIGRATIONS[after:version] for statement in migration)


def _is_empty(connection: Guarded) -> bool:
    tables = int(connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])
    return _version(connection) == 0 and not tables


def _version(connection: Guarded) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


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
        yield _prepare(path, connection, write)
    except (sqlite3.Error, Damaged) as error:
        raise _unusable_file_error(path, error) from None
    finally:
        connection.close()


def in_memory() -> SQLite:
    """Return an empty database that ends with the process."""
    return _prepare(Path(":memory:"), connect_in_memory(), write=True)


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
        return StoreInUse(
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
