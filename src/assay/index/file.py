"""A file's facts with the lookups that name resolution needs, and the symbols of all files by name and by owner."""

from __future__ import annotations

import re
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Protocol

import msgspec

from assay.core.items import TYPE_KINDS, item_id
from assay.index.facts import (
    FILE,
    IMPLEMENTS,
    Binding,
    FileFacts,
    Import,
    Reference,
    decode_bindings,
    decode_references,
)
from assay.index.imports import STYLES
from assay.languages import Language, by_name

_TREE = re.compile(r"/(?:lib|libs|src|app|tests?|specs?|examples?|bin|benchmarks?|features|config|db|docs?)/")
_VERSION = re.compile(r"v\d+")
_OWNING = TYPE_KINDS | {"module", "variable", "constant"}


def _package_name(module: str) -> str:
    """Return the name of a Go package: the last segment of its path, without versions."""
    segments = [segment for segment in module.split("/") if not _VERSION.fullmatch(segment)] or [module]
    return re.sub(r"\.v\d+$|^go-", "", segments[-1])


# local name of an imported module, by `Language.binds`
_BOUND_NAMES: dict[str, Callable[[str], str]] = {
    "first": lambda module: module.split(".")[0],
    "last": lambda module: re.split(r"[.\\]", module)[-1],
    "package": _package_name,
    "nothing": lambda module: "",
}


class Sym(msgspec.Struct, frozen=True, gc=False, cache_hash=True):
    """A symbol of any file, with the fields that lookups by name need."""

    path: str
    index: int  # in its file's facts; FILE for the file itself
    name: str
    kind: str
    symbol: str
    nth: int
    owner: str  # key of the type it is a member of, or ""
    kin: str
    test: bool
    id: str


class File:
    """A file's facts with the lookups that the resolver needs."""

    def __init__(self, path: str, facts: FileFacts, test: bool) -> None:
        self.path, self.facts, self.test = path, facts, test
        self.language: Language = by_name()[facts.language]
        self.style = STYLES[self.language.imports]
        self.folder = path.rpartition("/")[0]
        self._syms: dict[int, Sym] = {}
        self._type_keys: dict[int, tuple[str, ...]] = {}

    @cached_property
    def children(self) -> dict[int, dict[str, list[int]]]:
        """Map parent → name → symbols. Members defined outside their type's body are listed under the type."""
        out: dict[int, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
        types = {
            s.symbol: i
            for i, s in reversed(list(enumerate(self.facts.symbols)))
            if s.kind in _OWNING or s.kind == "function"
        }
        for index, symbol in enumerate(self.facts.symbols):
            parent = symbol.parent
            if symbol.scope:
                inside = f"{self.facts.symbols[parent].symbol}." if parent != FILE else ""
                parent = types.get(inside + symbol.scope, types.get(symbol.scope, -2))
            out[parent][symbol.name].append(index)
        return out

    @cached_property
    def top(self) -> dict[str, list[int]]:
        return self.children[FILE]

    @cached_property
    def bindings(self) -> dict[int, dict[str, list[Binding]]]:
        out: dict[int, dict[str, list[Binding]]] = defaultdict(lambda: defaultdict(list))
        for binding in decode_bindings(self.facts.bindings):
            out[binding.source][binding.name].append(binding)
        return out

    @cached_property
    def imported(self) -> dict[str, list[Import]]:
        """Map each local name to the imports that bind it."""
        out: dict[str, list[Import]] = defaultdict(list)
        for row in self.facts.imports:
            name = row.alias or row.name or _BOUND_NAMES[self.language.binds](row.module)
            if name and name != "*":
                out[name].append(row)
        return out

    @cached_property
    def stars(self) -> list[Import]:
        """Star imports, without duplicates."""
        rows = (row for row in self.facts.imports if row.name == "*" and not row.alias)
        return list({(row.module, row.export, row.source): row for row in rows}.values())

    @cached_property
    def bases(self) -> dict[int, list[Reference]]:
        out: dict[int, list[Reference]] = defaultdict(list)
        for row in self.facts.supertypes:
            if not row.literal:
                out[row.source].append(row)
        return out

    @cached_property
    def impls(self) -> list[Reference]:
        """References of `impl Trait for Type` blocks; their literal is the type."""
        return [row for row in self.facts.supertypes if row.role == IMPLEMENTS and row.literal]

    def references(self) -> list[Reference]:
        """Decode the file's references. Not cached: they are needed once, to resolve the file."""
        return decode_references(self.facts.references)

    def sym(self, index: int) -> Sym:
        sym = self._syms.get(index)
        if sym is None:
            sym = self._syms[index] = self._sym(index)
        return sym

    def _sym(self, index: int) -> Sym:
        if index == FILE:
            return Sym(self.path, FILE, self.path, "file", "", 1, "", self.language.kin, self.test, self.path)
        fact = self.facts.symbols[index]
        return Sym(
            self.path, index, fact.name, fact.kind, fact.symbol, fact.nth, self.owner_key(index),
            self.language.kin, self.test or fact.test, item_id(self.path, fact.symbol, fact.nth),
        )  # fmt: skip

    @cached_property
    def local_names(self) -> frozenset[str]:
        """Names bound as a local anywhere in the file; their meaning depends on the line."""
        return frozenset(name for names in self.bindings.values() for name in names)

    @cached_property
    def project(self) -> str:
        """Folder that contains the file's source tree: the path before `lib`, `test` and the like."""
        return _TREE.split(f"/{self.path}", maxsplit=1)[0]

    def full(self, index: int) -> str:
        """Return a symbol's name with its package or namespaces, separated by dots."""
        fact = self.facts.symbols[index]
        name = fact.symbol.replace("::", ".")
        return f"{self.facts.namespace}.{name}" if self.facts.namespace else name

    def type_keys(self, index: int) -> tuple[str, ...]:
        """Return the owner keys of a type's members: its own key, and the loose key for members defined elsewhere."""
        keys = self._type_keys.get(index)
        if keys is None:
            keys = self._type_keys[index] = self._keys_of(index)
        return keys

    def _keys_of(self, index: int) -> tuple[str, ...]:
        fact = self.facts.symbols[index]
        if self.language.open_types:
            return (f"{self.language.kin}:{self.full(index)}",)
        loose = self._loose_key(fact.name)
        return (loose if self.language.visible.folder else f"{self.path}::{fact.symbol}", loose)

    def _loose_key(self, name: str) -> str:
        """Return the key of a type by name alone, in the unit where it is taken as unique."""
        return f"{self.language.kin}:{self.style.type_unit(self)}:{name}"

    def _outer_key(self, index: int) -> str:
        """Return the key of the type whose full name precedes a symbol's."""
        return f"{self.language.kin}:{self.full(index).rpartition('.')[0]}"

    def owner_key(self, index: int) -> str:
        """Return the key of the type that a symbol is a member of; empty for none."""
        fact, open_types = self.facts.symbols[index], self.language.open_types
        if fact.scope:
            type_index = self.types_here.get(fact.scope)
            if type_index is not None:
                return self.type_keys(type_index)[0]
            return self._outer_key(index) if open_types else self._loose_key(fact.scope)
        if open_types and fact.kind in _OWNING and "::" in fact.symbol:
            return self._outer_key(index)  # `class A::B` is written outside A's body
        if fact.parent != FILE and self.facts.symbols[fact.parent].kind in _OWNING:
            return self.type_keys(fact.parent)[0]
        return ""

    @cached_property
    def types_here(self) -> dict[str, int]:
        """Types by bare and by qualified name; the first definition wins."""
        out: dict[str, int] = {}
        for index, fact in enumerate(self.facts.symbols):
            if fact.kind in _OWNING or fact.kind == "function":  # JavaScript's functions may have members
                out.setdefault(fact.name, index)
                out.setdefault(fact.symbol, index)
        return out


def stem(path: str) -> str:
    """Return the file name without its extension."""
    name = path.rpartition("/")[2]
    return name.partition(".")[0] if not name.startswith(".") else name


# Symbols by name and by owner: in memory for a full index, in the catalogue for an update

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
