"""A cache in one SQLite file: only ever a shortcut, so nothing that goes wrong with it is an error."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_OPENING = ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=OFF")


class DiskCache:
    """Tables in a SQLite file that can vanish at any time: reading then finds nothing, writing does nothing.

    `patience` is how many seconds it waits for other processes.
    """

    def __init__(self, path: Path | None, tables: tuple[str, ...], patience: float = 10) -> None:
        self._connection: sqlite3.Connection | None = None
        self._path = path
        if path is None:
            return
        if any(map(os.path.islink, (path.parent, *self._files()))):
            return  # SQLite would write to wherever the link leads
        for _ in range(2):  # a damaged file is thrown away, so that there is a good one from now on
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                self._connection = sqlite3.connect(path, timeout=patience, isolation_level=None)
                for statement in _OPENING + tables:
                    self._connection.execute(statement)
                return
            except (sqlite3.Error, OSError) as error:
                self._failed(error)

    def read(self, question: str, parameters: tuple[object, ...] = ()) -> list[Any]:
        """The rows of an answer; none when it cannot be had."""
        if self._connection is None:
            return []
        try:
            return self._connection.execute(question, parameters).fetchall()
        except sqlite3.Error as error:
            self._failed(error)
            return []

    def write(self, statement: str, rows: Sequence[tuple[object, ...]]) -> None:
        """Runs a statement for every row, all or none."""
        if self._connection is None or not rows:
            return
        try:
            self._connection.execute("BEGIN")
            self._connection.executemany(statement, rows)
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            self._failed(error)

    def close(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None

    def _failed(self, error: Exception) -> None:
        """Does without the cache; one that is damaged, not merely locked or out of reach, is removed."""
        self.close()
        if (
            self._path is not None
            and isinstance(error, sqlite3.DatabaseError)
            and not isinstance(error, sqlite3.OperationalError)
        ):
            for file in self._files():
                with contextlib.suppress(OSError):
                    file.unlink(missing_ok=True)

    def _files(self) -> list[Path]:
        """The database, and what SQLite keeps beside it."""
        return [Path(f"{self._path}{suffix}") for suffix in ("", "-wal", "-shm", "-journal")]
