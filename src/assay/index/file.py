"""One file's facts with the look-ups that resolution needs, and the symbols in it."""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cached_property

import msgspec

from assay.core.items import TYPE_KINDS, item_id
from assay.index.facts import (
    FILE,
    IMPLEMENTS,
    Binding,
    FileFacts,
    Import,
    Reference,
    SymbolFact,
    decode_bindings,
    decode_references,
)
from assay.languages import Language, by_name

_TREE = re.compile(r"/(?:lib|libs|src|app|tests?|specs?|examples?|bin|benchmarks?|features|config|db|docs?)/")
_OWNING = TYPE_KINDS | {"module", "variable", "constant"}


class Sym(msgspec.Struct, frozen=True, gc=False, cache_hash=True):
    """A symbol of any file, as light as questions by name need it."""

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
    """One file's facts with the look-ups the resolver needs."""

    def __init__(self, path: str, facts: FileFacts, test: bool) -> None:
        self.path, self.facts, self.test = path, facts, test
        self.language: Language = by_name()[facts.language]
        self.folder = path.rpartition("/")[0]
        self._syms: dict[int, Sym] = {}
        self._type_keys: dict[int, tuple[str, ...]] = {}

    @cached_property
    def children(self) -> dict[int, dict[str, list[int]]]:
        """parent → name → symbols; members written outside their type's body stand under the type when it is in this file."""
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
        """Local name → the imports that bind it."""
        out: dict[str, list[Import]] = defaultdict(list)
        for row in self.facts.imports:
            name = row.alias or row.name or self._binds(row.module)
            if name and name != "*":
                out[name].append(row)
        return out

    def _binds(self, module: str) -> str:
        """The local name of a whole module: its first word, for Go the last without its version; including a file binds none."""
        if self.language.imports in ("ruby", "include", "bash"):
            return ""
        if self.language.binds == "last":
            return re.split(r"[.\\]", module)[-1]
        if self.language.imports != "go":
            return module.split(".")[0]
        words = [word for word in module.split("/") if not re.fullmatch(r"v\d+", word)] or [module]
        return re.sub(r"\.v\d+$|^go-", "", words[-1])

    @cached_property
    def stars(self) -> list[Import]:
        """Everything a module offers, imported under its own names; what is written twice says nothing new."""
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
        """`impl Trait for Type` blocks: the reference's literal names the type."""
        return [row for row in self.facts.supertypes if row.role == IMPLEMENTS and row.literal]

    def references(self) -> list[Reference]:
        """Everything the file names; decoded anew every time, as only resolving it takes them."""
        return decode_references(self.facts.references)

    def sym(self, index: int) -> Sym:
        found = self._syms.get(index)
        if found is None:
            found = self._syms[index] = self._sym(index)
        return found

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
        """Names that are a local somewhere in the file: what they mean depends on the line."""
        return frozenset(name for names in self.bindings.values() for name in names)

    @cached_property
    def project(self) -> str:
        """The folder that holds the file's source tree: what stands before `lib`, `test` and the like."""
        return _TREE.split(f"/{self.path}", maxsplit=1)[0]

    def full(self, index: int) -> str:
        """The name of a symbol with its package or namespaces, dots throughout."""
        fact = self.facts.symbols[index]
        name = fact.symbol.replace("::", ".")
        return f"{self.facts.namespace}.{name}" if self.facts.namespace else name

    def type_keys(self, index: int) -> tuple[str, ...]:
        """The keys under which members of this type may be filed: its own, and the loose one for members written elsewhere."""
        keys = self._type_keys.get(index)
        if keys is None:
            keys = self._type_keys[index] = self._keys_of(index)
        return keys

    def _keys_of(self, index: int) -> tuple[str, ...]:
        fact = self.facts.symbols[index]
        if self.language.identity == "namespace":
            return (f"{self.language.kin}:{self.full(index)}",)
        return (self._own_key(fact), self._loose_key(fact.name))

    def _own_key(self, fact: SymbolFact) -> str:
        return self._loose_key(fact.name) if self.language.identity == "directory" else f"{self.path}::{fact.symbol}"

    def _loose_key(self, name: str) -> str:
        """For Go the package folder, for Rust the crate, elsewhere the language: where a type's name is taken to be unique."""
        if self.language.identity == "directory":
            return f"{self.language.kin}:{self.folder}:{name}"
        crate = self._crate if self.language.imports == "rust" else ""
        return f"{self.language.kin}:{crate}:{name}"

    @property
    def _crate(self) -> str:
        """The folder of the file's crate, as far as its path tells."""
        if self.path.startswith("src/"):
            return ""
        head, found, _ = self.path.partition("/src/")
        return head if found else "/".join(self.folder.split("/")[:2])

    def owner_key(self, index: int) -> str:
        fact = self.facts.symbols[index]
        if fact.scope:
            own = self.types_here.get(fact.scope)
            if own is not None:
                return self.type_keys(own)[0]
            if self.language.identity == "namespace":
                return f"{self.language.kin}:{self.full(index).rpartition('.')[0]}"
            return self._loose_key(fact.scope)
        if self.language.identity == "namespace" and fact.kind in _OWNING and "::" in fact.symbol:
            return f"{self.language.kin}:{self.full(index).rpartition('.')[0]}"  # `class A::B` stands outside A's body
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
    """The file name without its extension."""
    name = path.rpartition("/")[2]
    return name.partition(".")[0] if not name.startswith(".") else name
