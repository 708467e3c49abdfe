"""Feedback store: SQLite rows next to the index's generations; indexing keeps it and an evaluation never opens it.

symbols      versioned symbols with their useful and not-useful counts
vocabulary   task words → symbols that were used for them
sessions     the words of each session's last task, and whether its usage is reported
pending      the symbols each session received last, and whether it used them
accesses     times at which each session received a symbol
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from assay.errors import AssayError
from assay.feedback.marks import Mark
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
def connected(path: Path, write: bool) -> Iterator[sqlite3.Connection]:
    """Open the store; create it for writing, use an empty in-memory database to read a missing one."""
    try:
        connection = _open(path, write)
    except sqlite3.Error as error:
        raise _error_for(path, error) from None
    try:
        yield connection
    except sqlite3.Error as error:
        if not isinstance(error, sqlite3.OperationalError) and _is_intact(connection):
            raise  # the index is damaged, not this file
        raise _error_for(path, error) from None
    finally:
        connection.close()


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection, write: bool = True) -> Iterator[None]:
    """Run a block as one transaction: a single writer, or a consistent snapshot for readers."""
    connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
    try:
        yield
    except BaseException:
        if connection.in_transaction:  # a full disk has already ended it
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


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
            _make_tables(connection)
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


def _make_tables(connection: sqlite3.Connection) -> None:
    """Create the tables of a new file."""
    if _version(connection) == 0:
        with transaction(connection):
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
    return Unusable(
        f"{path}: what was learned is damaged ({error}). Start afresh with: assay feedback forget --all"
        " (or delete the file; the index does not need it)"
    )


# Session recency: a boost with a half-life of three minutes.

HALF_LIFE = 180.0  # seconds: agents query every 30 to 90
CAP = 2.0  # a symbol in every answer must not crowd out the others
NEGLIGIBLE = 0.01
KEPT_TIMES = 20  # accesses per symbol
FORGOTTEN = 3600.0  # seconds: by then even twenty accesses sum to less than NEGLIGIBLE


def boost(times: Iterable[float], now: float) -> float:
    """Return the decayed sum of accesses, from 0 to CAP; times in the future count at most 1 each."""
    newest = sorted(times, reverse=True)[:KEPT_TIMES]
    total = math.fsum(0.5 ** (max(0.0, now - time) / HALF_LIFE) for time in newest)
    return min(total, CAP) if total >= NEGLIGIBLE else 0.0


def nearness(times: Iterable[float], now: float) -> float:
    """Return the boost relative to CAP."""
    return boost(times, now) / CAP


# Rows

# all rows are read for every task; symbols never useful are dropped first, then the oldest
KEPT_SYMBOLS, KEPT_ASSOCIATIONS = 2_000, 20_000
KEPT_SESSIONS = 86_400.0  # seconds: an agent that returns the next day starts anew

_RETAINED = "SELECT key FROM symbols ORDER BY useful > 0 DESC, time DESC, key DESC LIMIT ?"
_UNREFERENCED = (
    "useful = 0 AND not_useful = 0 AND key NOT IN (SELECT symbol FROM pending UNION SELECT symbol FROM accesses"
    " UNION SELECT symbol FROM vocabulary)"
)
_NEWEST_ACCESSES = "SELECT rowid FROM accesses WHERE session = ? AND symbol = ? ORDER BY time DESC LIMIT ?"


class Record(NamedTuple):
    """Feedback on one version of a symbol."""

    key: int
    mark: Mark
    useful: int
    not_useful: int
    time: float


class Store:
    """The rows of one file, in one transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection

    @classmethod
    @contextlib.contextmanager
    def open(cls, path: Path, write: bool) -> Iterator[Store]:
        """Open the store in one transaction, committed if the block ends without an error."""
        with connected(path, write) as connection, transaction(connection, write):
            yield cls(connection)

    # symbols

    def keep(self, marks: Iterable[Mark], now: float) -> dict[str, int]:
        """Insert or refresh rows for symbol versions; return their keys by id."""
        keys = {}
        for mark in marks:
            self._db.execute(
                "INSERT INTO symbols (id, text, file, time) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (id, text) DO UPDATE SET time = excluded.time",
                (mark.id, mark.text, mark.file, now),
            )
            row = self._db.execute("SELECT key FROM symbols WHERE id = ? AND text = ?", (mark.id, mark.text))
            keys[mark.id] = int(row.fetchone()[0])
        return keys

    def records(self) -> list[Record]:
        """Return the records of all symbols."""
        rows = self._db.execute("SELECT key, id, text, file, gone, useful, not_useful, time FROM symbols")
        return [Record(row[0], Mark(*row[1:5]), *row[5:]) for row in rows]

    def count(self, keys: Iterable[int], useful: bool) -> None:
        """Increment the useful or not-useful count of symbols."""
        column = "useful" if useful else "not_useful"
        self._db.executemany(f"UPDATE symbols SET {column} = {column} + 1 WHERE key = ?", [(key,) for key in keys])

    def place(self, standing: Mapping[int, bytes], gone: Mapping[int, bytes]) -> None:
        """Record the files that hold symbols unchanged, and those that hold them with another text."""
        for column, files in (("file", standing), ("gone", gone)):
            rows = [(file, key) for key, file in files.items()]
            self._db.executemany(f"UPDATE symbols SET {column} = ? WHERE key = ?", rows)

    def drop(self, keys: Iterable[int]) -> None:
        """Delete symbols and all rows that reference them."""
        self._db.executemany("DELETE FROM symbols WHERE key = ?", [(key,) for key in keys])

    def drop_everything(self) -> int:
        """Delete all rows; return the number of symbols that had any."""
        self._db.execute("DELETE FROM sessions")
        symbols = int(self._db.execute("SELECT count(DISTINCT id) FROM symbols").fetchone()[0])
        self._db.execute("DELETE FROM symbols")
        return symbols

    # vocabulary

    def associate(self, words: Mapping[str, str], keys: Iterable[int], times: int = 1) -> None:
        """Add `times` to the association count of every word (by stem) with every symbol; negative lowers it."""
        self._db.executemany(
            "INSERT INTO vocabulary (term, symbol, word, count) VALUES (?, ?, ?, ?)"
            " ON CONFLICT (term, symbol) DO UPDATE SET count = count + excluded.count",
            [(term, key, word, times) for key in keys for term, word in words.items()],
        )

    def associations(self, terms: Iterable[str] | None, least: int) -> dict[int, dict[str, int]]:
        """Return symbol → word → count for counts of at least `least`, of these stems or of all."""
        condition = "" if terms is None else "AND term IN (SELECT value FROM json_each(?))"
        parameters = (least,) if terms is None else (least, json.dumps(sorted(terms)))
        counts: dict[int, dict[str, int]] = defaultdict(dict)
        rows = self._db.execute(
            f"SELECT symbol, word, count FROM vocabulary WHERE count >= ? {condition} ORDER BY count DESC, word",
            parameters,
        )
        for key, word, count in rows:
            counts[key][word] = count
        return dict(counts)

    # sessions

    def begin(self, session: str, words: Mapping[str, str], keys: Iterable[int], now: float) -> None:
        """Replace the pending symbols and task words of a session, and record the accesses."""
        self._db.execute(
            "INSERT INTO sessions (name, words, time) VALUES (?, ?, ?)"
            " ON CONFLICT (name) DO UPDATE SET words = excluded.words, time = excluded.time",
            (session, json.dumps(words), now),
        )
        rows = [(session, key) for key in dict.fromkeys(keys)]
        self._db.execute("DELETE FROM pending WHERE session = ?", (session,))
        self._db.executemany("INSERT INTO pending (session, symbol) VALUES (?, ?)", rows)
        self._db.executemany("INSERT INTO accesses VALUES (?, ?, ?)", [(*row, now) for row in rows])
        self._db.executemany(
            f"DELETE FROM accesses WHERE session = ? AND symbol = ? AND rowid NOT IN ({_NEWEST_ACCESSES})",
            [(*row, *row, KEPT_TIMES) for row in rows],
        )

    def watch(self, session: str) -> dict[str, str]:
        """Mark a session's usage as reported; return the words of its task."""
        self._db.execute("UPDATE sessions SET watched = 1 WHERE name = ?", (session,))
        row = self._db.execute("SELECT words FROM sessions WHERE name = ?", (session,)).fetchone()
        return dict(json.loads(row[0])) if row else {}

    def watched(self, session: str) -> bool:
        row = self._db.execute("SELECT watched FROM sessions WHERE name = ?", (session,)).fetchone()
        return bool(row and row[0])

    def unused(self, session: str) -> dict[str, int]:
        """Return the pending symbols a session has not used yet: ids with their keys."""
        rows = self._db.execute(
            "SELECT s.id, s.key FROM pending p JOIN symbols s ON s.key = p.symbol WHERE p.session = ? AND NOT p.used",
            (session,),
        )
        return dict(rows.fetchall())

    def use(self, session: str, keys: Iterable[int]) -> None:
        self._db.executemany(
            "UPDATE pending SET used = 1 WHERE session = ? AND symbol = ?", [(session, key) for key in keys]
        )

    def accesses(self, session: str) -> dict[int, list[float]]:
        """Return the access times of each symbol in a session."""
        times: dict[int, list[float]] = defaultdict(list)
        for key, time in self._db.execute("SELECT symbol, time FROM accesses WHERE session = ?", (session,)):
            times[key].append(time)
        return dict(times)

    # limits

    def tidy(self, now: float) -> None:
        """Delete rows that are too old or exceed the limits; a time far ahead comes from a clock that was set back."""
        self._db.execute("DELETE FROM accesses WHERE abs(? - time) > ?", (now, FORGOTTEN))
        self._db.execute("DELETE FROM sessions WHERE abs(? - time) > ?", (now, KEPT_SESSIONS))
        self._db.execute(f"DELETE FROM symbols WHERE {_UNREFERENCED}")
        if self._rows("symbols") > KEPT_SYMBOLS:
            self._db.execute(f"DELETE FROM symbols WHERE key NOT IN ({_RETAINED})", (KEPT_SYMBOLS,))
        if self._rows("vocabulary") > KEPT_ASSOCIATIONS:
            self._db.execute(
                "DELETE FROM vocabulary WHERE rowid NOT IN (SELECT rowid FROM vocabulary ORDER BY count DESC, rowid DESC LIMIT ?)",
                (KEPT_ASSOCIATIONS,),
            )

    def _rows(self, table: str) -> int:
        return int(self._db.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
