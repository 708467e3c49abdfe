"""Parses remembered by content: the same text in the same language is never parsed twice, on any branch or in any worktree.

One SQLite file in the repository's shared git folder, or in `.assay/` outside git. It is only ever a shortcut: when it cannot be
opened, read or written, everything is parsed again and nothing is lost.
"""

from __future__ import annotations

import time
from pathlib import Path

from assay.git import find_place
from assay.ingest.facts import Extracted
from assay.ingest.version import extractor_version
from assay.store.disk_cache import DiskCache
from assay.store.seal import code

UNUSED_DAYS = 30  # parses not asked for in this long are dropped

_PARSED = "CREATE TABLE IF NOT EXISTS parsed (key BLOB PRIMARY KEY, facts BLOB, texts BLOB, lines INTEGER, day INTEGER, sum INTEGER)"


def cache_path(root: Path, own_folder: Path, name: str = "parses.db") -> Path:
    """Return a cache's file: shared by all worktrees of a repository, or the index's own where that is not safe."""
    place = find_place(root)
    shared = place.shared_folder() if place else None
    return (shared or own_folder) / name


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
        return Extracted(facts, texts, lines) if total == code(key, facts, texts, lines) else None

    def put_all(self, rows: list[tuple[bytes, str, Extracted]]) -> None:
        values = [
            (key, e.facts, e.texts, e.lines, self._today, code(key, e.facts, e.texts, e.lines))
            for key, e in ((self._key(digest, language), e) for digest, language, e in rows)
        ]
        self.write("INSERT OR REPLACE INTO parsed VALUES (?, ?, ?, ?, ?, ?)", values)

    def prune(self) -> None:
        """Drops what no index asked for in UNUSED_DAYS, and everything of other extractor versions."""
        suffix = f":{extractor_version()}".encode()
        self.write(
            "DELETE FROM parsed WHERE day < ? OR substr(key, -?) != ?",
            [(self._today - UNUSED_DAYS, len(suffix), suffix)],
        )
