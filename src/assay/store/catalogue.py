"""The catalogue: files, symbols and their words in one SQLite file per generation."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from assay.system.database import check_schema, connect, statements

# Bump when the tables change: an index of another version is rebuilt.
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
# created after the rows: sorting once is cheaper than inserting in order
_INDEXES = """
CREATE UNIQUE INDEX symbols_id ON symbols (id);
CREATE INDEX symbols_name ON symbols (name);
CREATE INDEX symbols_lower ON symbols (lower);
CREATE INDEX symbols_owner ON symbols (owner, name) WHERE owner != '';
CREATE INDEX symbols_file ON symbols (file, ordinal);
"""
_ALL_STATEMENTS = (*statements(_SCHEMA), *statements(_INDEXES))
_MAX_ROW_BYTES = 256_000_000  # a file's text is smaller


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


def _placeholders(row: type) -> str:
    return ", ".join("?" * len(row._fields))  # type: ignore[attr-defined]


class Catalogue:
    """An open catalogue. Writers create or copy it; readers open it immutable."""

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
        """Open a private copy for changes; it is discarded on failure, so it needs no journal."""
        connection = connect(path, "rw")
        connection.executescript("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE;")
        connection.execute("BEGIN")
        return cls(connection)

    @classmethod
    def read(cls, path: Path) -> Catalogue:
        """Open a finished catalogue. Raises sqlite3.DatabaseError for another schema, views or triggers."""
        connection = connect(path, "ro&immutable=1", any_thread=True)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_ROW_BYTES)
        try:
            check_schema(connection, _ALL_STATEMENTS)
        except BaseException:
            connection.close()
            raise
        return cls(connection)

    def finish(self, path: Path) -> None:
        """Commit, close, and record the size of the file, so that truncation is detected."""
        self.connection.execute("COMMIT")
        self.connection.close()
        size = path.stat().st_size
        finished = Catalogue.edit(path)
        finished.connection.execute("UPDATE meta SET value = ? WHERE key = 'catalogue_bytes'", (f"{size:012d}",))
        finished.connection.execute("COMMIT")
        finished.close()

    def close(self) -> None:
        self.connection.close()

    # writing

    def set_meta(self, values: dict[str, str]) -> None:
        self.connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", values.items())

    def add_files(self, rows: Iterable[FileRow]) -> None:
        self.connection.executemany(f"INSERT OR REPLACE INTO files VALUES ({_placeholders(FileRow)})", rows)

    def add_symbols(self, rows: Iterable[SymbolRow]) -> None:
        """Add symbols with their name in lower case by Python's rules: SQLite folds ASCII only."""
        with_lower = ((*row, row.name.lower()) for row in rows)
        self.connection.executemany(f"INSERT INTO symbols VALUES ({_placeholders(SymbolRow)}, ?)", with_lower)

    def add_indexes(self) -> None:
        """Create the indexes on symbols; call it when all rows are in."""
        for statement in statements(_INDEXES):
            self.connection.execute(statement)

    def add_texts(self, rows: Iterable[TextRow]) -> None:
        self.connection.executemany(f"INSERT INTO texts VALUES ({_placeholders(TextRow)})", rows)

    def add_externals(self, rows: Iterable[tuple[int, str]]) -> None:
        self.connection.executemany("INSERT INTO externals VALUES (?, ?)", rows)

    def external(self, name: str) -> int:
        """Return the number of an external name, adding it if needed."""
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
        """Delete a file's symbols and texts and return their numbers by id; the file's row stays for the caller."""
        removed = dict(self.connection.execute("SELECT id, number FROM symbols WHERE file = ?", (number,)).fetchall())
        self.connection.executemany("DELETE FROM texts WHERE number = ?", [(symbol,) for symbol in removed.values()])
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
        """Return the numbers of the ids that exist."""
        out = {}
        for id in ids:
            row = self.connection.execute("SELECT number FROM symbols WHERE id = ?", (id,)).fetchone()
            if row:
                out[id] = row[0]
        return out
