"""The catalogue: files, symbols and their words in one SQLite file per generation."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from assay.core.items import EDGE_NAMES, KINDS, PROVENANCES
from assay.system.database import check_schema, connect, statements

# Bump when the tables change: an index of another version is rebuilt.
SCHEMA_VERSION = 3

NAME = "catalogue.db"
STAGE = "stage"  # key of `meta`: NAMES while calls and history are still to come, else COMPLETE


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


_INTEGER = "typeof({0}) = 'integer' AND {0} BETWEEN"
# column types: SQL type, and the condition that every value satisfies. SQLite enforces none of them.
_TYPES = {
    "NUMBER": ("INTEGER", f"{_INTEGER} 1 AND 2147483647"),
    "FILE": ("INTEGER", "{0} IN (SELECT number FROM files)"),
    "SYMBOL": ("INTEGER", "{0} IN (SELECT number FROM symbols)"),
    "ORDINAL": ("INTEGER", f"{_INTEGER} -1 AND 2147483647"),
    "COUNT": ("INTEGER", f"{_INTEGER} 0 AND 2147483647"),
    "FLAG": ("INTEGER", f"{_INTEGER} 0 AND 1"),
    "SIZE": ("INTEGER", f"{_INTEGER} -1 AND {1 << 53}"),
    "TIME": ("INTEGER", "typeof({0}) = 'integer'"),
    "SHARE": ("REAL", "typeof({0}) = 'real' AND {0} BETWEEN 0 AND 1"),
    "TEXT": ("TEXT", "typeof({0}) = 'text'"),
    "KIND": ("TEXT", f"{{0}} IN ({_quoted(sorted(KINDS))})"),
    "EDGE": ("TEXT", f"{{0}} IN ({_quoted(EDGE_NAMES)})"),
    "PROVENANCE": ("TEXT", f"{{0}} IN ({_quoted(PROVENANCES)})"),
    "HASH": ("BLOB", "typeof({0}) = 'blob' AND length({0}) = 16"),
    "FACT": ("TEXT", "typeof({0}) = 'text' AND CASE key WHEN 'seconds' THEN {0} = printf('%.3f', {0})"
             " WHEN 'indexed_at' THEN {0} GLOB '[0-9]*' AND {0} = printf('%d', {0}) ELSE 1 END"),
}  # fmt: skip
_COLUMN = re.compile(rf"(\w+) ({'|'.join(_TYPES)})\b")
_DECLARED = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value FACT) WITHOUT ROWID;
CREATE TABLE files (
    number NUMBER PRIMARY KEY, path TEXT NOT NULL UNIQUE, language TEXT, size SIZE, mtime TIME, hash HASH, test FLAG,
    lines COUNT, errors COUNT, note TEXT, resolved COUNT, candidates COUNT, external COUNT, unresolved COUNT, everyday COUNT
);
CREATE TABLE symbols (
    number NUMBER PRIMARY KEY, file FILE NOT NULL, ordinal ORDINAL NOT NULL, id TEXT NOT NULL, name TEXT NOT NULL, kind KIND NOT NULL,
    symbol TEXT NOT NULL, nth COUNT, owner TEXT, kin TEXT, start COUNT, end COUNT, test FLAG,
    lower TEXT NOT NULL
);
CREATE TABLE texts (number SYMBOL PRIMARY KEY, signature TEXT, doc TEXT, identifiers TEXT, literals TEXT);
CREATE TABLE externals (number NUMBER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE skipped (path TEXT PRIMARY KEY, reason TEXT, problem FLAG, size SIZE, mtime TIME) WITHOUT ROWID;
CREATE TABLE configs (path TEXT PRIMARY KEY, size SIZE, mtime TIME, text TEXT) WITHOUT ROWID;
CREATE TABLE imported (source TEXT, target TEXT, type EDGE, provenance PROVENANCE, confidence SHARE, line COUNT, path TEXT, hash HASH);
"""
_SCHEMA = _COLUMN.sub(lambda column: f"{column[1]} {_TYPES[column[2]][0]}", _DECLARED)
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

    def verify(self) -> None:
        """Raise DatabaseError unless every value is as declared."""
        result = self.connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        if result != "ok":
            raise sqlite3.DatabaseError(" ".join(result.split()))
        for table in statements(_DECLARED):
            name = table.split()[2]
            conditions = (
                (column[1], _TYPES[column[2]][1].format(f'"{column[1]}"')) for column in _COLUMN.finditer(table)
            )
            wrong = " ".join(f"WHEN ({condition}) IS NOT TRUE THEN '{column}'" for column, condition in conditions)
            query = f"SELECT CASE {wrong} END AS wrong FROM {name} WHERE wrong IS NOT NULL LIMIT 1"
            for (column,) in self.connection.execute(query):
                raise sqlite3.DatabaseError(f"{name}.{column}: not a possible value")

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

    def replace_externals(self, names: Iterable[str]) -> None:
        """Number external names from 1."""
        self.connection.execute("DELETE FROM externals")
        self.connection.executemany("INSERT INTO externals VALUES (?, ?)", enumerate(names, 1))

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

    def descriptions(
        self, characters: int, where: str = "1", parameters: Sequence[object] = ()
    ) -> Iterator[tuple[int, int, str, str]]:
        """Yield number, file, name and text of symbols: qualified name twice, signature and opening of the comment.

        `characters` of the comment count. In the order of files and of places in them.
        """
        rows = self.connection.execute(
            "SELECT s.number, s.file, s.name, s.symbol, coalesce(t.signature, ''), substr(coalesce(t.doc, ''), 1, ?) "
            f"FROM symbols s LEFT JOIN texts t ON t.number = s.number WHERE {where} ORDER BY s.file, s.ordinal",
            (characters, *parameters),
        )
        for number, file, name, symbol, signature, comment in rows:
            yield number, file, name, f"{symbol} {symbol} {signature} {comment}"

    def numbers(self, ids: Iterable[str]) -> dict[str, int]:
        """Return the numbers of the ids that exist."""
        out = {}
        for id in ids:
            row = self.connection.execute("SELECT number FROM symbols WHERE id = ?", (id,)).fetchone()
            if row:
                out[id] = row[0]
        return out
