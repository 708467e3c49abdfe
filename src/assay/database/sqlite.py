"""SQLite as a `Database`: a connection to a file of one person, which its owner opens and checks."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from assay.database import KEYS, Changes, Row, merge_statement


class SQLite:
    """The `Database` of an SQLite file. A reader's transaction is a snapshot, a writer's excludes other writers."""

    member = ""
    sequence = "rowid"
    same = "IS"

    def __init__(self, path: Path, connection: sqlite3.Connection, write: bool = True) -> None:
        self.place, self._path, self._db = str(path), path, connection
        self._begin = "BEGIN IMMEDIATE" if write else "BEGIN"

    def rows(self, statement: str, parameters: Sequence[Any] = ()) -> list[Row]:
        return self._db.execute(statement, parameters).fetchall()

    def stream(self, statement: str, parameters: Sequence[Any] = ()) -> Iterator[Row]:
        yield from self._db.execute(statement, parameters)

    def change(self, statement: str, parameters: Sequence[Any] = ()) -> int:
        with self.transaction():
            return self._db.execute(statement, parameters).rowcount

    def change_each(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        with self.transaction():
            self._db.executemany(statement, rows)

    def insert(self, table: str, columns: Sequence[str], row: Sequence[Any]) -> bool:
        with self.transaction():
            return self._db.execute(_insert("INSERT OR IGNORE", table, columns), row).rowcount > 0

    def replace(self, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        self.change_each(_insert("INSERT OR REPLACE", table, columns), rows)

    def merge(self, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], changes: Changes) -> None:
        self.change_each(merge_statement(table, columns, KEYS[table], changes), rows)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        if self._db.in_transaction:  # part of the one around it
            yield
            return
        self._db.execute(self._begin)
        try:
            yield
        except BaseException:
            if self._db.in_transaction:  # a full disk has already ended the transaction
                self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    def exclusive(self) -> None:
        """Do nothing: a writer's transaction is exclusive."""

    def size(self) -> int:
        return self._path.stat().st_size

    def close(self) -> None:
        self._db.close()


def _insert(verb: str, table: str, columns: Sequence[str]) -> str:
    places = ", ".join("?" * len(columns))
    return f"{verb} INTO {table} ({', '.join(columns)}) VALUES ({places})"
