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
from pathlib import Path

from assay.ingest.facts import Extracted
from assay.ingest.version import extractor_version

UNUSED_DAYS = 30  # parses not asked for in this long are dropped


_OPENING = (
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=OFF",
    "CREATE TABLE IF NOT EXISTS parsed (key BLOB PRIMARY KEY, facts BLOB, texts BLOB, lines INTEGER, day INTEGER, sum INTEGER)",
)


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


class ParseCache:
    """A dictionary from (content hash, language) to `Extracted` on disk."""

    def __init__(self, path: Path | None) -> None:
        self._connection: sqlite3.Connection | None = None
        self._today = int(time.time() // 86400)
        self._path = path
        if path is None:
            return
        for _ in range(2):  # a damaged file is thrown away, so that there is a good one from now on
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                self._connection = sqlite3.connect(path, timeout=10, isolation_level=None)
                for statement in _OPENING:
                    self._connection.execute(statement)
                return
            except (sqlite3.Error, OSError) as error:
                self._failed(error)

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

    @staticmethod
    def _key(digest: bytes, language: str) -> bytes:
        return digest + f"{language}:{extractor_version()}".encode()

    def get(self, digest: bytes, language: str) -> Extracted | None:
        if self._connection is None:
            return None
        key = self._key(digest, language)
        try:
            row = self._connection.execute(
                "SELECT facts, texts, lines, day, sum FROM parsed WHERE key = ?", (key,)
            ).fetchone()
            if row and row[3] != self._today:
                self._connection.execute("UPDATE parsed SET day = ? WHERE key = ?", (self._today, key))
        except sqlite3.Error as error:
            self._failed(error)
            return None
        if row is None or row[4] != _sum(row[0], row[1]):
            return None
        return Extracted(row[0], row[1], row[2])

    def put_all(self, rows: list[tuple[bytes, str, Extracted]]) -> None:
        if self._connection is None or not rows:
            return
        values = [
            (self._key(digest, language), e.facts, e.texts, e.lines, self._today, _sum(e.facts, e.texts))
            for digest, language, e in rows
        ]
        try:
            self._connection.execute("BEGIN")
            self._connection.executemany("INSERT OR REPLACE INTO parsed VALUES (?, ?, ?, ?, ?, ?)", values)
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            self._failed(error)

    def prune(self) -> None:
        """Drops what no index asked for in UNUSED_DAYS, and everything of other extractor versions."""
        if self._connection is None:
            return
        try:
            suffix = f":{extractor_version()}".encode()
            self._connection.execute(
                "DELETE FROM parsed WHERE day < ? OR substr(key, -?) != ?",
                (self._today - UNUSED_DAYS, len(suffix), suffix),
            )
        except sqlite3.Error as error:
            self._failed(error)

    def close(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None


def _sum(facts: bytes, texts: bytes) -> int:
    return zlib.crc32(texts, zlib.crc32(facts))
