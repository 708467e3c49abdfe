"""The catalogue: files, symbols and their words in one SQLite file per generation."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from assay.system.database import check_schema, connect, statements

# Bump when the tables change: an index of another version is rebuilt, never guessed at.
SCHEMA_VERSION = 3

NAME = "catalogue.db"

_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE files (
    number INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, language TEXT, size INTEGER, mtime INTEGER, hash BLOB, test INTEGER,
    lines INTEGER, errors INTEGER, note TEXT, resolved INTEGER, candidates INTEGER, external INTEGER, unresolved INTEGER, everyday INTEGER
);
CREATE TABLE symbols (
    number INTEGER PRIMARY KEY, file INTEGER NOT NULL, ordinal INTEGER NOT NULL, id TEXT NOT NULL, name TEXT NOT NULL, kind TEXT NOT NULL,
    symbol TEXT NOT NULL, nth INTEGER, owner TEXT, kin TEXT, start INTEGER, end INTEGER, test INTEGER,
    lower TEXT NOT NULL
);
CREATE TABLE texts (number INTEGER PRIMARY KEY, signature TEXT, doc TEXT, identifiers TEXT, literals TEXT);
CREATE TABLE externals (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE skipped (path TEXT PRIMARY KEY, reason TEXT, problem INTEGER, size INTEGER, mtime INTEGER) WITHOUT ROWID;
CREATE TABLE configs (path TEXT PRIMARY KEY, size INTEGER, mtime INTEGER, text TEXT) WITHOUT ROWID;
CREATE TABLE imported (source TEXT, target TEXT, type TEXT, provenance TEXT, confidence REAL, line INTEGER, path TEXT, hash BLOB);
"""
# made after the rows are in: sorting once is cheaper than keeping sorted
_INDEXES = """
CREATE UNIQUE INDEX symbols_id ON symbols (id);
CREATE INDEX symbols_name ON symbols (name);
CREATE INDEX symbols_lower ON symbols (lower);
CREATE INDEX symbols_owner ON symbols (owner, name) WHERE owner != '';
CREATE INDEX symbols_file ON symbols (file, ordinal);
"""
_MADE_BY = (*statements(_SCHEMA), *statements(_INDEXES))
_MOST_LENGTH = 256_000_000  # bytes of a row; a file's text is smaller


class FileRow(NamedTuple):
    """A file as indexed."""

    number: int
    path: str
    language: str
    size: int
    mtime: int
    hash: bytes
    test: int
    lines: int
    errors: int
    note: str
    resolved: int
    candidates: int
    external: int
    unresolved: int
    everyday: int


class SymbolRow(NamedTuple):
    """A symbol as indexed; `ordinal` is its position in its file's facts, -1 for the file itself."""

    number: int
    file: int
    ordinal: int
    id: str
    name: str
    kind: str
    symbol: str
    nth: int
    owner: str
    kin: str
    start: int
    end: int
    test: int


class TextRow(NamedTuple):
    number: int
    signature: str
    doc: str
    identifiers: str
    literals: str


def _marks(row: type) -> str:
    return ", ".join("?" * len(row._fields))  # type: ignore[attr-defined]


class Catalogue:
    """One open catalogue. Writers create or copy it; readers open it immutable."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    @classmethod
    def create(cls, path: Path) -> Catalogue:
        connection = sqlite3.connect(path, isolation_level=None)
        connection.executescript(
            "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE; PRAGMA cache_size=-65536;"
        )
        connection.executescript(_SCHEMA)
        connection.execute("BEGIN")
        return cls(connection)

    @classmethod
    def edit(cls, path: Path) -> Catalogue:
        """A private copy that is being changed; it is thrown away if anything fails, so it needs no journal."""
        connection = connect(path, "rw")
        connection.executescript("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE;")
        connection.execute("BEGIN")
        return cls(connection)

    @classmethod
    def read(cls, path: Path) -> Catalogue:
        """A finished catalogue; sqlite3.DatabaseError when it has other tables than ours, views or triggers."""
        connection = connect(path, "ro&immutable=1", any_thread=True)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MOST_LENGTH)
        try:
            check_schema(connection, _MADE_BY)
        except BaseException:
            connection.close()
            raise
        return cls(connection)

    def finish(self) -> None:
        self.connection.execute("COMMIT")
        self.connection.close()

    def close(self) -> None:
        self.connection.close()

    # writing

    def set_meta(self, values: dict[str, str]) -> None:
        self.connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", values.items())

    def add_files(self, rows: Iterable[FileRow]) -> None:
        self.connection.executemany(f"INSERT OR REPLACE INTO files VALUES ({_marks(FileRow)})", rows)

    def add_symbols(self, rows: Iterable[SymbolRow]) -> None:
        """Adds symbols, each also by its name in lower case, as Python sees it: SQLite knows only English letters."""
        found = ((*row, row.name.lower()) for row in rows)
        self.connection.executemany(f"INSERT INTO symbols VALUES ({_marks(SymbolRow)}, ?)", found)

    def add_indexes(self) -> None:
        """Of the symbols, when all of them are in."""
        for statement in statements(_INDEXES):
            self.connection.execute(statement)

    def add_texts(self, rows: Iterable[TextRow]) -> None:
        self.connection.executemany(f"INSERT INTO texts VALUES ({_marks(TextRow)})", rows)

    def add_externals(self, rows: Iterable[tuple[int, str]]) -> None:
        self.connection.executemany("INSERT INTO externals VALUES (?, ?)", rows)

    def external(self, name: str) -> int:
        """The number of an external name, a new one if it is new."""
        row = self.connection.execute("SELECT number FROM externals WHERE name = ?", (name,)).fetchone()
        if row:
            return int(row[0])
        return int(self.connection.execute("INSERT INTO externals (name) VALUES (?)", (name,)).lastrowid or 0)

    def replace_scan(
        self, skipped: Iterable[tuple[str, str, int, int, int]], configs: Iterable[tuple[str, int, int, str]]
    ) -> None:
        self.connection.execute("DELETE FROM skipped")
        self.connection.executemany("INSERT INTO skipped VALUES (?, ?, ?, ?, ?)", skipped)
        self.connection.execute("DELETE FROM configs")
        self.connection.executemany("INSERT INTO configs VALUES (?, ?, ?, ?)", configs)

    def add_imported(self, rows: Iterable[tuple[str, str, str, str, float, int, str, bytes]]) -> None:
        self.connection.executemany("INSERT INTO imported VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)

    def remove_file(self, number: int) -> dict[str, int]:
        """Drops a file's symbols and texts and returns their numbers by id; its own row stays for the caller to replace or delete."""
        removed = dict(self.connection.execute("SELECT id, number FROM symbols WHERE file = ?", (number,)).fetchall())
        self.connection.executemany("DELETE FROM texts WHERE number = ?", [(one,) for one in removed.values()])
        self.connection.execute("DELETE FROM symbols WHERE file = ?", (number,))
        return removed

    # reading

    def meta(self) -> dict[str, str]:
        return dict(self.connection.execute("SELECT key, value FROM meta").fetchall())

    def files(self) -> dict[str, FileRow]:
        rows = self.connection.execute("SELECT * FROM files ORDER BY path")
        return {row.path: row for row in map(FileRow._make, rows)}

    def file(self, path: str) -> FileRow | None:
        row = self.connection.execute("SELECT * FROM files WHERE path = ?", (path,)).fetchone()
        return FileRow(*row) if row else None

    def symbols(self, where: str = "1", parameters: tuple[object, ...] = ()) -> list[SymbolRow]:
        rows = self.connection.execute(f"SELECT {', '.join(SymbolRow._fields)} FROM symbols WHERE {where}", parameters)
        return [SymbolRow(*row) for row in rows]

    def numbers(self, ids: Iterable[str]) -> dict[str, int]:
        """The numbers of those ids that exist."""
        out = {}
        for one in ids:
            row = self.connection.execute("SELECT number FROM symbols WHERE id = ?", (one,)).fetchone()
            if row:
                out[one] = row[0]
        return out
