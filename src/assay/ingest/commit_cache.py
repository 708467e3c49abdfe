"""Commits remembered by id: what one says and touches never changes, on any branch or in any worktree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from assay.ingest.log import CommitFacts, Names
from assay.ingest.version import history_version
from assay.store.disk_cache import DiskCache
from assay.store.seal import code

_TABLES = ("commits", "names")  # messages and files of commits; names in their patches
_AT_ONCE = 500  # ids in one question: SQLite allows a thousand

_commit_decoder = msgspec.msgpack.Decoder(CommitFacts)
_names_decoder = msgspec.msgpack.Decoder(Names)


class CommitCache(DiskCache):
    """Two dictionaries on disk, from the id of a commit to its facts and to the names it touched."""

    def __init__(self, path: Path) -> None:
        tables = (
            f"CREATE TABLE IF NOT EXISTS {one} (key BLOB PRIMARY KEY, value BLOB, sum INTEGER) WITHOUT ROWID"
            for one in _TABLES
        )
        super().__init__(path, tuple(tables))

    def commits(self, ids: Sequence[str]) -> dict[str, CommitFacts]:
        return {one: _commit_decoder.decode(value) for one, value in self._values("commits", ids)}

    def names(self, ids: Sequence[str]) -> dict[str, Names]:
        return {one: _names_decoder.decode(value) for one, value in self._values("names", ids)}

    def put_commits(self, commits: Iterable[CommitFacts]) -> None:
        self._put("commits", {commit.id: commit for commit in commits})

    def put_names(self, names: Mapping[str, Names]) -> None:
        self._put("names", names)

    def _values(self, table: str, ids: Sequence[str]) -> Iterable[tuple[str, bytes]]:
        for start in range(0, len(ids), _AT_ONCE):
            keys = {_key(one): one for one in ids[start : start + _AT_ONCE]}
            marks = ",".join("?" * len(keys))
            for key, value, total in self.read(f"SELECT * FROM {table} WHERE key IN ({marks})", tuple(keys)):
                if total == code(key, value):
                    yield keys[key], value

    def _put(self, table: str, values: Mapping[str, object]) -> None:
        """Adds values; those of other versions go."""
        if not values:
            return
        version = history_version().encode()
        self.write(f"DELETE FROM {table} WHERE substr(key, 1, ?) != ?", [(len(version), version)])
        encoded = [(_key(one), msgspec.msgpack.encode(value)) for one, value in values.items()]
        rows = [(key, value, code(key, value)) for key, value in encoded]
        self.write(f"INSERT OR REPLACE INTO {table} VALUES (?, ?, ?)", rows)


def _key(one: str) -> bytes:
    return history_version().encode() + bytes.fromhex(one)
