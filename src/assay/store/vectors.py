"""Vector cache by embedder and text hash, and the states of trained embedders. One SQLite file in the index folder.

Every batch is written as soon as it is embedded, so that a killed run resumes. Losing the file loses work, never an
answer.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assay.store.caches import DiskCache

NAME = "vectors.db"
MOST_BYTES = 4_000_000_000  # of all vectors; beyond it the least recently used go
UNUSED_DAYS = 60
MOST_STATES = 8  # trained tables: a sweep over chunk sizes has one for each

_STATEMENTS = (
    "PRAGMA synchronous=NORMAL",  # vectors may have cost money, so they must survive a power cut
    "CREATE TABLE IF NOT EXISTS models (number INTEGER PRIMARY KEY, name TEXT UNIQUE, state BLOB, sum INTEGER, day INTEGER)",
    "CREATE TABLE IF NOT EXISTS vectors (model INTEGER, text BLOB, vector BLOB, sum INTEGER, PRIMARY KEY (model, text)) WITHOUT ROWID",
)
_BATCH = 500  # hashes per query

Vector = NDArray[np.float32]


class VectorStore(DiskCache):
    """Maps (model name, text hash) to vectors, and model names to trained states."""

    def __init__(self, path: Path | None) -> None:
        super().__init__(path, _STATEMENTS)
        self._today = int(time.time() // 86_400)

    def vectors(self, model: str, texts: Sequence[bytes], dimensions: int) -> dict[bytes, Vector]:
        """Return the cached vectors by hash; damaged ones and those of another length are misses."""
        number = self._number(model)
        cached: dict[bytes, Vector] = {}
        for first in range(0, len(texts), _BATCH):
            part = texts[first : first + _BATCH]
            placeholders = ",".join("?" * len(part))
            query = f"SELECT text, vector, sum FROM vectors WHERE model = ? AND text IN ({placeholders})"
            for text, vector, total in self.read(query, (number, *part)):
                if len(vector) == 4 * dimensions and zlib.crc32(vector, zlib.crc32(text)) == total:
                    cached[text] = np.frombuffer(vector, "<f4")
        return cached

    def keep(self, model: str, vectors: Mapping[bytes, Vector]) -> None:
        """Add vectors of a model in one transaction."""
        number = self._number(model, new=True)
        rows = [(text, np.asarray(vector, "<f4").tobytes()) for text, vector in vectors.items()]
        self.write(
            "INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?)",
            [(number, text, data, zlib.crc32(data, zlib.crc32(text))) for text, data in rows],
        )

    def state(self, model: str) -> bytes | None:
        """Return the newest trained state whose model's name begins so; None without one, or with a damaged one."""
        query = "SELECT state, sum FROM models WHERE substr(name, 1, ?) = ? AND state IS NOT NULL ORDER BY number DESC"
        for state, total in self.read(f"{query} LIMIT 1", (len(model), model)):
            return state if zlib.crc32(state) == total else None
        return None

    def keep_state(self, model: str, state: bytes) -> None:
        """Store a trained state; of all, the MOST_STATES newest are kept."""
        self._number(model, new=True)
        self.write("UPDATE models SET state = ?, sum = ? WHERE name = ?", [(state, zlib.crc32(state), model)])
        newest = "SELECT number FROM models WHERE state IS NOT NULL ORDER BY number DESC LIMIT ?"
        self.write(f"DELETE FROM models WHERE state IS NOT NULL AND number NOT IN ({newest})", [(MOST_STATES,)])
        self.sweep()

    def sweep(self) -> None:
        """Drop models unused for UNUSED_DAYS and the oldest beyond MOST_BYTES, with their vectors."""
        self.write("DELETE FROM models WHERE day < ?", [(self._today - UNUSED_DAYS,)])
        sizes = self.read(
            "SELECT m.number, coalesce((SELECT sum(length(vector)) FROM vectors WHERE model = m.number), 0) FROM models m "
            "ORDER BY m.day DESC, m.number DESC"
        )
        total, excess = 0, []
        for place, (number, size) in enumerate(sizes):
            total += size
            if total > MOST_BYTES and place > 0:
                excess.append((number,))
        self.write("DELETE FROM models WHERE number = ?", excess)
        self.write("DELETE FROM vectors WHERE model NOT IN (SELECT number FROM models)", [()])

    def _number(self, model: str, new: bool = False) -> int:
        """Return the number of a model, -1 if unknown, and record the day of use."""
        if new:
            self.write("INSERT OR IGNORE INTO models (name, day) VALUES (?, ?)", [(model, self._today)])
        rows = self.read("SELECT number, day FROM models WHERE name = ?", (model,))
        if not rows:
            return -1
        if rows[0][1] != self._today:
            self.write("UPDATE models SET day = ? WHERE name = ?", [(self._today, model)])
        return int(rows[0][0])
