"""Databases of the run store: the interface, its two implementations by address, and their common errors.

    .assay/runs.db, or any path          SQLite: one file, one writer at a time (`sqlite.py`)
    postgresql://…?project=NAME          PostgreSQL: a team's store, many writers (`postgres.py`)

`RunStore` has the meaning of a run and all queries; a database has what differs between the two: opening, transactions,
bulk writes, errors. The tables have the same names and columns in both; PostgreSQL adds the column `project`, which the
queries never mention because row-level security does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from assay.errors import AssayError, install
from assay.evaluate.storage.address import Address, is_postgres

LOCK_TIMEOUT = 10.0  # seconds to wait for another writer

# primary keys: what `insert` leaves alone and `replace` replaces
KEYS = {
    "eval_golden": ("golden",),
    "eval_runs": ("run_id",),
    "eval_query_results": ("run_id", "position"),
    "eval_judged": ("run_id", "matching", "name"),
}

Row = tuple[Any, ...]


class NoSuchRun(AssayError):
    """No run matches the name; the message lists the nearest."""


class RunsInUse(AssayError):
    """Another process is writing to the run store; retrying later helps."""


class Database(Protocol):
    """Connection to the tables of a run store. Statements have `?` for each parameter."""

    place: str  # file or address without secrets, for messages
    sequence: str  # column that orders rows by insertion
    same: str  # operator for equality that also holds between NULLs

    def rows(self, statement: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """Return all rows of a query."""

    def stream(self, statement: str, parameters: Sequence[Any] = ()) -> Iterator[Row]:
        """Yield the rows of a query that may have many."""

    def change(self, statement: str, parameters: Sequence[Any] = ()) -> int:
        """Run an UPDATE or DELETE and return the number of rows it changed."""

    def insert(self, table: str, columns: Sequence[str], row: Sequence[Any]) -> bool:
        """Insert a row; return False, and change nothing, if its key exists."""

    def replace(self, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Insert rows in bulk, all or none; those of an existing key replace it."""

    def transaction(self) -> AbstractContextManager[None]:
        """Group statements: all take effect, or none."""

    def size(self) -> int:
        """Return the bytes of the store on disk."""

    def close(self) -> None: ...


def open_database(address: Path | str, write: bool, wait: float) -> AbstractContextManager[Database]:
    """Open the database of an address, creating a missing file if `write`. Errors are raised as AssayError."""
    if isinstance(address, str) and is_postgres(address):
        require_driver()
        from assay.evaluate.storage.postgres import opened as opened_postgres

        return opened_postgres(Address.parse(address), write, wait)
    from assay.evaluate.storage.sqlite import opened as opened_sqlite

    return opened_sqlite(Path(address), write, wait)


def open_in_memory() -> Database:
    """Return an empty database that ends with the process."""
    from assay.evaluate.storage.sqlite import in_memory

    return in_memory()


def require_driver() -> None:
    """Raise AssayError unless psycopg, an extra, is installed and finds its libraries."""
    try:
        import psycopg  # noqa: F401
    except ImportError as error:
        raise AssayError(f"a store in PostgreSQL needs psycopg ({error}): {install('postgres')}") from None


def no_runs_error(place: object) -> NoSuchRun:
    return NoSuchRun(f"{place}: no runs yet. Make one with: assay eval run --golden PATH --system SPEC")
