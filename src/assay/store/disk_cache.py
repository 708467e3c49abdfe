"""A cache in one SQLite file: only ever a shortcut, so nothing that goes wrong with it is an error."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from assay.system.database import SIBLINGS, Guarded, check_schema, connect, was_interrupted
from assay.system.owned import UnsafeFolder, check_folder, owners

_OPENING = ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=OFF")


class DiskCache:
    """Tables in a SQLite file that can vanish at any time: reading then finds nothing, writing does nothing.

    A file or folder that is a link or another user's is left alone, and there is no cache. `tables` are its CREATE statements, and
    perhaps pragmas; a file with anything else in it is thrown away like a damaged one. `patience` is how many seconds it waits for other processes.
    """

    def __init__(self, path: Path | None, tables: tuple[str, ...], patience: float = 10) -> None:
        self._connection: Guarded | None = None
        self._path = path
        if path is None:
            return
        for _ in range(2):  # a damaged file is thrown away, so that there is a good one from now on
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                check_folder(path.parent, owners(path.parent))
                self._connection = connect(path, "rwc", patience)
                for statement in _OPENING + tables:
                    self._connection.execute(statement)
                check_schema(self._connection, tuple(one for one in tables if one.startswith("CREATE")))
                return
            except UnsafeFolder:
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
        damaged = isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError)
        if self._path is not None and (damaged or was_interrupted(error)):
            for suffix in ("", *SIBLINGS):
                with contextlib.suppress(OSError):
                    Path(f"{self._path}{suffix}").unlink(missing_ok=True)
