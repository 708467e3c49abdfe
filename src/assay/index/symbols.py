"""Symbols by name and by owner: in memory for a full index, in the catalogue for an update."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterable
from typing import Protocol

import msgspec

from assay.index.file import File, Sym

_SYM = (
    "SELECT f.path, s.ordinal, s.name, s.kind, s.symbol, s.nth, s.owner, s.kin, s.test, s.id "
    "FROM symbols s JOIN files f ON f.number = s.file WHERE "
)
_ORDER = " AND s.ordinal >= 0 ORDER BY f.path, s.ordinal"


class Symbols(Protocol):
    """All symbols of a repository. The lists are shared and may be long: read only."""

    def named(self, name: str, kin: str) -> list[Sym]:
        """Return every symbol of this name in a language family."""
        ...

    def member(self, owner: str, name: str) -> list[Sym]:
        """Return the members of this name of the type with the key `owner`."""
        ...

    def members(self, owner: str) -> list[Sym]:
        """Return all members of the type with the key `owner`."""
        ...

    def interfaces(self, kin: str) -> list[Sym]:
        """Return every interface of a language family."""
        ...


class MemorySymbols:
    """The symbols of files that are all in memory."""

    def __init__(self, files: Iterable[File]) -> None:
        self._by_name: dict[tuple[str, str], list[Sym]] = defaultdict(list)
        self._by_owner: dict[str, dict[str, list[Sym]]] = defaultdict(dict)
        self._interfaces: dict[str, list[Sym]] = defaultdict(list)
        for file in sorted(files, key=lambda file: file.path):
            for index in range(len(file.facts.symbols)):
                sym = file.sym(index)
                self._by_name[sym.name, sym.kin].append(sym)
                if sym.owner:
                    self._by_owner[sym.owner].setdefault(sym.name, []).append(sym)
                if sym.kind == "interface":
                    self._interfaces[sym.kin].append(sym)

    def named(self, name: str, kin: str) -> list[Sym]:
        return self._by_name.get((name, kin), [])

    def member(self, owner: str, name: str) -> list[Sym]:
        members = self._by_owner.get(owner)
        return members.get(name, []) if members else []

    def members(self, owner: str) -> list[Sym]:
        members = (sym for syms in self._by_owner.get(owner, {}).values() for sym in syms)
        return sorted(members, key=lambda sym: (sym.path, sym.index))

    def interfaces(self, kin: str) -> list[Sym]:
        return self._interfaces[kin]


class StoredSymbols:
    """The symbols of a catalogue whose changed files are already replaced. Query results are cached."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._results: dict[tuple[object, ...], list[Sym]] = {}

    def _query(self, where: str, *parameters: object) -> list[Sym]:
        key = (where, *parameters)
        if key not in self._results:
            rows = self._connection.execute(_SYM + where + _ORDER, parameters)
            self._results[key] = [msgspec.structs.replace(Sym(*row), test=bool(row[8])) for row in rows]
        return self._results[key]

    def named(self, name: str, kin: str) -> list[Sym]:
        return self._query("s.name = ? AND s.kin = ?", name, kin)

    def member(self, owner: str, name: str) -> list[Sym]:
        return self._query("s.owner = ? AND s.owner != '' AND s.name = ?", owner, name)

    def members(self, owner: str) -> list[Sym]:
        return self._query("s.owner = ? AND s.owner != ''", owner)

    def interfaces(self, kin: str) -> list[Sym]:
        return self._query("s.kind = 'interface' AND s.kin = ?", kin)
