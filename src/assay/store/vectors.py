"""Vectors remembered by what was embedded and by whom, with the tables that were trained for it. One SQLite file beside the index.

Every portion is on disk as soon as it is made, so a killed run goes on where it was. Losing the file loses work, never an answer.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assay.store.caches import DiskCache

NAME = "vectors.db"
MOST_BYTES = 4_000_000_000  # of all vectors; beyond it those not asked for the longest go
UNUSED_DAYS = 60

_STATEMENTS = (
    "PRAGMA synchronous=NORMAL",  # vectors may have cost money: they survive a power cut
    "CREATE TABLE IF NOT EXISTS models (number INTEGER PRIMARY KEY, name TEXT UNIQUE, state BLOB, sum INTEGER, day INTEGER)",
    "CREATE TABLE IF NOT EXISTS vectors (model INTEGER, text BLOB, vector BLOB, sum INTEGER, PRIMARY KEY (model, text)) WITHOUT ROWID",
)
_ASKED = 500  # hashes in one question

Vector = NDArray[np.float32]


class VectorStore(DiskCache):
    """A dictionary from (model's name, hash of a text) to vectors, and from a model's name to its trained state."""

    def __init__(self, path: Path | None) -> None:
        super().__init__(path, _STATEMENTS)
        self._today = int(time.time() // 86_400)

    def vectors(self, model: str, texts: Sequence[bytes], dimensions: int) -> dict[bytes, Vector]:
        """The vectors there are of these texts, by hash; one that is damaged or of another length is not there."""
        number = self._number(model)
        found: dict[bytes, Vector] = {}
        for first in range(0, len(texts), _ASKED):
            part = texts[first : first + _ASKED]
            marks = ",".join("?" * len(part))
            question = f"SELECT text, vector, sum FROM vectors WHERE model = ? AND text IN ({marks})"
            for text, vector, total in self.read(question, (number, *part)):
                if len(vector) == 4 * dimensions and zlib.crc32(vector, zlib.crc32(text)) == total:
                    found[text] = np.frombuffer(vector, "<f4")
        return found

    def keep(self, model: str, vectors: Mapping[bytes, Vector]) -> None:
        """Adds vectors of a model, all or none."""
        number = self._number(model, new=True)
        rows = [(text, np.asarray(vector, "<f4").tobytes()) for text, vector in vectors.items()]
        self.write(
            "INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?)",
            [(number, text, data, zlib.crc32(data, zlib.crc32(text))) for text, data in rows],
        )

    def states(self, kind: str) -> list[bytes]:
        """The trained states of models whose names begin so, the newest first."""
        question = (
            "SELECT state, sum FROM models WHERE substr(name, 1, ?) = ? AND state IS NOT NULL ORDER BY number DESC"
        )
        return [state for state, total in self.read(question, (len(kind), kind)) if zlib.crc32(state) == total]

    def keep_state(self, model: str, state: bytes) -> None:
        self._number(model, new=True)
        self.write("UPDATE models SET state = ?, sum = ? WHERE name = ?", [(state, zlib.crc32(state), model)])

    def sweep(self, unneeded: Iterable[str] = ()) -> None:
        """Drops models that are not needed or were not asked for in a long time, then the oldest beyond the bound, each with its vectors."""
        self.write("DELETE FROM models WHERE name = ?", [(name,) for name in unneeded])
        self.write("DELETE FROM models WHERE day < ?", [(self._today - UNUSED_DAYS,)])
        sizes = self.read(
            "SELECT m.number, coalesce((SELECT sum(length(vector)) FROM vectors WHERE model = m.number), 0) FROM models m "
            "ORDER BY m.day DESC, m.number DESC"
        )
        total, beyond = 0, []
        for place, (number, size) in enumerate(sizes):
            total += size
            if total > MOST_BYTES and place > 0:
                beyond.append((number,))
        self.write("DELETE FROM models WHERE number = ?", beyond)
        self.write("DELETE FROM vectors WHERE model NOT IN (SELECT number FROM models)", [()])

    def _number(self, model: str, new: bool = False) -> int:
        """The number of a model; -1 when it has none. Asking notes the day, once a day."""
        if new:
            self.write("INSERT OR IGNORE INTO models (name, day) VALUES (?, ?)", [(model, self._today)])
        found = self.read("SELECT number, day FROM models WHERE name = ?", (model,))
        if not found:
            return -1
        if found[0][1] != self._today:
            self.write("UPDATE models SET day = ? WHERE name = ?", [(self._today, model)])
        return int(found[0][0])
