"""Databases of runs and feedback: one interface, an SQLite file for a person and PostgreSQL for a team.

    .assay/runs.db, .assay/learned.db    SQLite: one file, one writer at a time (`sqlite.py`)
    postgresql://…?project=NAME          PostgreSQL: a team's store, many writers (`postgres.py`)

`evaluate` and `feedback` have the meaning of the rows and all queries; a database has what differs between the two:
opening, transactions, bulk writes, errors. The tables have the same names and columns in both. PostgreSQL adds the
columns `project` and, for feedback, `repository`, which the queries never mention because row-level security does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from assay.errors import AssayError, install

LOCK_TIMEOUT = 10.0  # seconds to wait for another writer

# primary or unique keys: what `insert` leaves alone, and `replace` and `merge` change
KEYS = {
    "eval_golden": ("golden",),
    "eval_runs": ("run_id",),
    "eval_query_results": ("run_id", "position"),
    "eval_judged": ("run_id", "matching", "name"),
    "eval_baselines": ("name",),
    "eval_experiments": ("number",),
    "symbols": ("id", "text"),
    "vocabulary": ("term", "symbol"),
    "sessions": ("name",),
    "pending": ("session", "symbol"),
    "accesses": (),
}

Row = tuple[Any, ...]


class StoreError(AssayError):
    """A store cannot be used; the message says which and why."""


class StoreInUse(StoreError):
    """Another process is writing to the store; retrying later helps."""


class StoreUnreachable(StoreError):
    """The server of a store does not answer."""


class NotPermitted(StoreError):
    """The login may not do this in the store."""


class Damaged(Exception):
    """A stored value that this version of assay would not write."""


class Database(Protocol):
    """Connection to the tables of a store. Statements have `?` for each parameter."""

    place: str  # file or address without secrets, for messages
    member: str  # login of a team's store; empty in a file, which is one person's
    sequence: str  # column that orders rows by insertion
    same: str  # operator for equality that also holds between NULLs

    def rows(self, statement: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """Return all rows of a query."""

    def stream(self, statement: str, parameters: Sequence[Any] = ()) -> Iterator[Row]:
        """Yield the rows of a query that may have many."""

    def change(self, statement: str, parameters: Sequence[Any] = ()) -> int:
        """Run an UPDATE or DELETE and return the number of rows it changed."""

    def change_each(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run an UPDATE or DELETE with the parameters of every row."""

    def insert(self, table: str, columns: Sequence[str], row: Sequence[Any]) -> bool:
        """Insert a row; return False, and change nothing, if its key exists."""

    def replace(self, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Insert rows in bulk, all or none; those of an existing key replace it."""

    def merge(self, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], changes: Changes) -> None:
        """Insert a few rows of different keys; where a key exists, set columns to expressions of `old` and `new`."""

    def transaction(self) -> AbstractContextManager[None]:
        """Group statements: all take effect, or none."""

    def exclusive(self) -> None:
        """Wait until no other process changes the feedback of this repository, until the end of the transaction."""

    def size(self) -> int:
        """Return the bytes of the store on disk."""

    def close(self) -> None: ...


Changes = dict[str, str]  # columns with what they become, such as {"count": "old.count + new.count"}


def merge_statement(table: str, columns: Sequence[str], key: Sequence[str], changes: Changes) -> str:
    """Return the statement that merges a row, in the dialect that both databases share."""
    updates = ", ".join(f"{column} = {value.replace('new.', 'excluded.')}" for column, value in changes.items())
    return (
        f"INSERT INTO {table} AS old ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))}) "
        f"ON CONFLICT ({', '.join(key)}) DO " + (f"UPDATE SET {updates}" if updates else "NOTHING")
    )


def require_driver() -> None:
    """Raise AssayError unless psycopg, an extra, is installed and finds its libraries."""
    try:
        import psycopg  # noqa: F401
    except ImportError as error:
        raise AssayError(f"a store in PostgreSQL needs psycopg ({error}): {install('postgres')}") from None
