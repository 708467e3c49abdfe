"""Answers remembered by everything they depend on, so that asking again costs no ranking. Beside the index, small, and free to vanish."""

from __future__ import annotations

import os
import time
import zlib
from collections.abc import Iterable, Iterator
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from assay.config import user
from assay.store import catalogue
from assay.store.disk_cache import DiskCache
from assay.store.index import Index

NAME = "packs.db"
MOST_ENTRIES = 200
MOST_BYTES = 16_000_000  # of all answers; a single one may take an eighth

_PATIENCE = 0.5  # seconds for other processes: ranking again is faster than waiting longer
_SETTINGS = "assay.toml"
# how names begin of what no ranking reads
_OF_NO_RANKING = (NAME, "runs.db", "lock", "parses.db", "vectors", "passages-", ".")
_TOUCHED = "-shm"  # of SQLite: whoever reads writes it, and it says nothing that the file and its log do not
_PACKAGE = Path(__file__).parents[1]
_TABLE = "CREATE TABLE IF NOT EXISTS packs (key BLOB PRIMARY KEY, text BLOB, code INTEGER, size INTEGER, sum INTEGER, used INTEGER) WITHOUT ROWID"
# the newest that together stay within both bounds
_KEPT = (
    "SELECT key FROM (SELECT key, row_number() OVER newest AS place, sum(size) OVER newest AS bytes FROM packs "
    "WINDOW newest AS (ORDER BY used DESC, key)) WHERE place <= ? AND bytes <= ?"
)


class Answer(NamedTuple):
    """What a command printed, and its exit code."""

    text: str
    code: int


class PackCache(DiskCache):
    """A dictionary from keys to answers on disk; the ones not asked for the longest go first."""

    def __init__(self, index: Index) -> None:
        first = index.parts[0].index  # answers of several are kept beside the first
        super().__init__(first.folder.parent.parent / NAME, (_TABLE,), _PATIENCE)

    def get(self, key: bytes) -> Answer | None:
        found = self.read("SELECT text, code, sum FROM packs WHERE key = ?", (key,))
        if not found:
            return None
        text, code, total = found[0]
        if not isinstance(text, bytes) or zlib.crc32(text) != total:
            return None
        self.write("UPDATE packs SET used = ? WHERE key = ?", [(time.time_ns(), key)])
        return Answer(text.decode("utf-8", "replace"), int(code))

    def put(self, key: bytes, answer: Answer) -> None:
        text = answer.text.encode("utf-8", "replace")
        if len(text) > MOST_BYTES // 8:
            return
        row = (key, text, answer.code, len(text), zlib.crc32(text), time.time_ns())
        self.write("INSERT OR REPLACE INTO packs VALUES (?, ?, ?, ?, ?, ?)", [row])
        self.write(f"DELETE FROM packs WHERE key NOT IN ({_KEPT})", [(MOST_ENTRIES, MOST_BYTES)])


def key_of(index: Index, state: str, question: Iterable[object]) -> bytes:
    """What an answer depends on: this code, the index and what is kept beside it, the project's settings, the state of its files, and
    the question."""
    known = [text for part in index.parts for text in (part.label, *_known(part.index))]
    parts = [_code(), *known, state, *(repr(one) for one in question)]
    return blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _known(index: Index) -> list[str]:
    """One index, and what is kept beside it."""
    return [
        str(index.root),
        f"{index.folder.name} {index.meta.get('indexed_at')} {_stat(index.folder / catalogue.NAME)}",
        *(f"{path.name} {_stat(path)}" for path in _beside(index)),
        _stat(index.root / _SETTINGS),
        repr(user.stamp(index.root / _SETTINGS)),
    ]


def _beside(index: Index) -> list[Path]:
    """The history, and whatever else a ranking may come to read in the index folder."""
    with os.scandir(index.folder.parent.parent) as entries:
        found = [Path(entry.path) for entry in entries if entry.is_file(follow_symlinks=False)]
    return sorted(
        path for path in found if not path.name.startswith(_OF_NO_RANKING) and not path.name.endswith(_TOUCHED)
    )


@cache
def _code() -> str:
    """Changes with any file of this package: an answer of other code is no answer."""
    return repr(sorted(_files(str(_PACKAGE))))


def _files(folder: str) -> Iterator[tuple[str, int, int]]:
    for entry in os.scandir(folder):
        if entry.name.endswith((".py", ".json")):
            found = entry.stat()
            yield entry.path, found.st_size, found.st_mtime_ns
        elif entry.is_dir() and entry.name != "__pycache__":
            yield from _files(entry.path)


def _stat(path: Path) -> str:
    try:
        found = path.lstat()
    except (OSError, ValueError):
        return "-"
    return f"{found.st_size} {found.st_mtime_ns}"
