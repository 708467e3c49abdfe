"""Symbol table backed by the catalogue, for updating an index without loading all of it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable

import msgspec

from assay.index.file import File, Sym
from assay.index.table import Table

_SYM = (
    "SELECT f.path, s.ordinal, s.name, s.kind, s.symbol, s.nth, s.owner, s.kin, s.test, s.id "
    "FROM symbols s JOIN files f ON f.number = s.file WHERE "
)
_ORDER = " AND s.ordinal >= 0 ORDER BY f.path, s.ordinal"


class FullIndexNeeded(Exception):
    """An incremental update is not possible; the message is the reason."""


class StoredTable(Table):
    """Symbol table over a catalogue whose changed files are already replaced. Query results are cached."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        paths: Iterable[str],
        load: Callable[[str], File | None],
        configs: dict[str, str],
    ) -> None:
        super().__init__(paths, load, configs)
        self._connection = connection
        self._results: dict[tuple[object, ...], list[Sym]] = {}

    def _query(self, where: str, *parameters: object) -> list[Sym]:
        key = (where, *parameters)
        if key not in self._results:
            rows = self._connection.execute(_SYM + where + _ORDER, parameters)
            self._results[key] = [msgspec.structs.replace(Sym(*row), test=bool(row[8])) for row in rows]
        return self._results[key]

    def _named(self, name: str, kin: str) -> list[Sym]:
        return self._query("s.name = ? AND s.kin = ?", name, kin)

    def _member(self, owner: str, name: str) -> list[Sym]:
        return self._query("s.owner = ? AND s.owner != '' AND s.name = ?", owner, name)

    def _members(self, owner: str) -> list[Sym]:
        return self._query("s.owner = ? AND s.owner != ''", owner)

    def _interfaces(self, kin: str) -> list[Sym]:
        return self._query("s.kind = 'interface' AND s.kin = ?", kin)
