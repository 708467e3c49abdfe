"""Parses remembered by content: the same text in the same language is never parsed twice, on any branch or in any worktree.

One SQLite file in the repository's shared git folder, or in `.assay/` outside git. It is only ever a shortcut: when it cannot be
opened, read or written, everything is parsed again and nothing is lost.
"""

from __future__ import annotations

import contextlib
import sqlite3
import subprocess
import time
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from assay.ingest.facts import Extracted
from assay.ingest.version import extractor_version

UNUSED_DAYS = 30  # parses not asked for in this long are dropped

_OPENING = ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=OFF")
_PARSED = "CREATE TABLE IF NOT EXISTS parsed (key BLOB PRIMARY KEY, facts BLOB, texts BLOB, lines INTEGER, day INTEGER, sum INTEGER)"


def cache_path(root: Path, own_folder: Path) -> Path:
    """Shared by all worktrees of a repository."""
    try:
        command = ["git", "-C", str(root), "rev-parse", "--path-format=absolute", "--git-common-dir"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0 and done.stdout.strip():
            return Path(done.stdout.strip()) / "assay" / "parses.db"
    except OSError:
        pass
    return own_folder / "parses.db"


class DiskCache:
    """Tables in a SQLite file that can vanish at any time: reading then finds nothing, writing does nothing."""

    def __init__(self, path: Path | None, tables: tuple[str, ...]) -> None:
        self._connection: sqlite3.Connection | None = None
        self._path = path
        if path is None:
            return
        for _ in range(2):  # a damaged file is thrown away, so that there is a good one from now on
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                self._connection = sqlite3.connect(path, timeout=10, isolation_level=None)
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
            for suffix in ("", "-wal", "-shm"):
                with contextlib.suppress(OSError):
                    Path(f"{self._path}{suffix}").unlink(missing_ok=True)


class ParseCache(DiskCache):
    """A dictionary from (content hash, language) to `Extracted` on disk."""

    def __init__(self, path: Path | None) -> None:
        super().__init__(path, (_PARSED,))
        self._today = int(time.time() // 86400)

    @staticmethod
    def _key(digest: bytes, language: str) -> bytes:
        return digest + f"{language}:{extractor_version()}".encode()

    def get(self, digest: bytes, language: str) -> Extracted | None:
        key = self._key(digest, language)
        found = self.read("SELECT facts, texts, lines, day, sum FROM parsed WHERE key = ?", (key,))
        if not found:
            return None
        facts, texts, lines, day, total = found[0]
        if day != self._today:
            self.read("UPDATE parsed SET day = ? WHERE key = ?", (self._today, key))
        return Extracted(facts, texts, lines) if total == _sum(facts, texts) else None

    def put_all(self, rows: list[tuple[bytes, str, Extracted]]) -> None:
        values = [
            (self._key(digest, language), e.facts, e.texts, e.lines, self._today, _sum(e.facts, e.texts))
            for digest, language, e in rows
        ]
        self.write("INSERT OR REPLACE INTO parsed VALUES (?, ?, ?, ?, ?, ?)", values)

    def prune(self) -> None:
        """Drops what no index asked for in UNUSED_DAYS, and everything of other extractor versions."""
        suffix = f":{extractor_version()}".encode()
        self.write(
            "DELETE FROM parsed WHERE day < ? OR substr(key, -?) != ?",
            [(self._today - UNUSED_DAYS, len(suffix), suffix)],
        )


def _sum(facts: bytes, texts: bytes) -> int:
    return zlib.crc32(texts, zlib.crc32(facts))
