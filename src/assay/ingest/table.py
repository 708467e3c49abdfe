"""The table of all names: what the resolver may ask about files other than the one at hand.

Every question is written down in `reads`. An edited file changes the answers to some questions (`changed_keys`); exactly the files that
asked one of those are resolved again. That is why an incremental index equals a full one.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

from assay.core.items import TYPE_KINDS, item_id
from assay.ingest import facts as F
from assay.ingest.languages import Language, by_name

T = TypeVar("T")

_TREE = re.compile(r"/(?:lib|libs|src|app|tests?|specs?|examples?|bin|benchmarks?|features|config|db|docs?)/")
_OWNING = TYPE_KINDS | {"module", "variable", "constant"}


class Sym(NamedTuple):
    """A symbol of any file, as light as questions by name need it."""

    path: str
    index: int  # type: ignore[assignment]  # in its file's facts; FILE for the file itself (hides tuple.index)
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

    def __init__(self, path: str, facts: F.FileFacts, test: bool) -> None:
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
                inside = f"{self.facts.symbols[parent].symbol}." if parent != F.FILE else ""
                parent = types.get(inside + symbol.scope, types.get(symbol.scope, -2))
            out[parent][symbol.name].append(index)
        return out

    @cached_property
    def top(self) -> dict[str, list[int]]:
        return self.children[F.FILE]

    @cached_property
    def bindings(self) -> dict[int, dict[str, list[F.Binding]]]:
        out: dict[int, dict[str, list[F.Binding]]] = defaultdict(lambda: defaultdict(list))
        for binding in self.facts.bindings:
            out[binding.source][binding.name].append(binding)
        return out

    @cached_property
    def imported(self) -> dict[str, list[F.Import]]:
        """Local name → the imports that bind it."""
        out: dict[str, list[F.Import]] = defaultdict(list)
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
    def stars(self) -> list[F.Import]:
        return [row for row in self.facts.imports if row.name == "*" and not row.alias]

    @cached_property
    def bases(self) -> dict[int, list[F.Reference]]:
        out: dict[int, list[F.Reference]] = defaultdict(list)
        for row in self.facts.references:
            if row.role in (F.BASE, F.IMPLEMENTS) and not row.literal:
                out[row.source].append(row)
        return out

    @cached_property
    def impls(self) -> list[F.Reference]:
        """`impl Trait for Type` blocks: the reference's literal names the type."""
        return [row for row in self.facts.references if row.role == F.IMPLEMENTS and row.literal]

    def sym(self, index: int) -> Sym:
        found = self._syms.get(index)
        if found is None:
            found = self._syms[index] = self._sym(index)
        return found

    def _sym(self, index: int) -> Sym:
        if index == F.FILE:
            return Sym(self.path, F.FILE, self.path, "file", "", 1, "", self.language.kin, self.test, self.path)
        fact = self.facts.symbols[index]
        return Sym(
            self.path, index, fact.name, fact.kind, fact.symbol, fact.nth, self.owner_key(index),
            self.language.kin, self.test or fact.test, item_id(self.path, fact.symbol, fact.nth),
        )  # fmt: skip

    @cached_property
    def local_names(self) -> frozenset[str]:
        """Names that are a local somewhere in the file: what they mean depends on the line."""
        return frozenset(binding.name for binding in self.facts.bindings)

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

    def _own_key(self, fact: F.SymbolFact) -> str:
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
            own = self._types_here.get(fact.scope)
            if own is not None:
                return self.type_keys(own)[0]
            if self.language.identity == "namespace":
                return f"{self.language.kin}:{self.full(index).rpartition('.')[0]}"
            return self._loose_key(fact.scope)
        if self.language.identity == "namespace" and fact.kind in _OWNING and "::" in fact.symbol:
            return f"{self.language.kin}:{self.full(index).rpartition('.')[0]}"  # `class A::B` stands outside A's body
        if fact.parent != F.FILE and self.facts.symbols[fact.parent].kind in _OWNING:
            return self.type_keys(fact.parent)[0]
        return ""

    @cached_property
    def _types_here(self) -> dict[str, int]:
        """Types by bare and by qualified name; the first definition wins."""
        out: dict[str, int] = {}
        for index, fact in enumerate(self.facts.symbols):
            if fact.kind in _OWNING or fact.kind == "function":  # JavaScript's functions may have members
                out.setdefault(fact.name, index)
                out.setdefault(fact.symbol, index)
        return out


class Frame:
    """What the asker at hand already knows: answers that, asked again, add nothing to its reads; and which locals it is evaluating."""

    def __init__(self) -> None:
        self.answers: dict[Any, Any] = {}
        self.busy: set[tuple[str, int]] = set()


class Table:
    """All files by path and all symbols by name. `load` fetches a file's facts when they are first asked for."""

    def __init__(self, paths: Iterable[str], load: Callable[[str], File | None], configs: dict[str, str]) -> None:
        self.paths = set(paths)
        self.configs = configs  # manifests such as go.mod, by path
        self._load = load
        self._files: dict[str, File | None] = {}
        self.reads: set[str] = set()
        self.frame = Frame()
        self.behind: dict[str, set[str]] = {}  # remembered answer → the questions it took
        self._remembered: dict[str, Any] = {}
        self.places: dict[tuple[str, str, str], tuple[Any, frozenset[str]]] = {}  # of imports, see modules.locate

    @cached_property
    def by_stem(self) -> dict[str, list[str]]:
        """File stem → paths, for finding modules by the end of their path."""
        out: dict[str, list[str]] = defaultdict(list)
        for path in sorted(self.paths):
            out[stem(path)].append(path)
        return out

    @cached_property
    def folders(self) -> dict[str, list[str]]:
        """Folder → the source files directly in it."""
        out: dict[str, list[str]] = defaultdict(list)
        for path in sorted(self.paths):
            out[path.rpartition("/")[0]].append(path)
        return out

    @cached_property
    def all_folders(self) -> set[str]:
        """Every folder with source files somewhere below it."""
        out: set[str] = set()
        for folder in self.folders:
            while folder not in out:
                out.add(folder)
                folder = folder.rpartition("/")[0]
        return out

    def file(self, path: str) -> File | None:
        if path not in self._files:
            self._files[path] = self._load(path) if path in self.paths else None
        return self._files[path]

    def remembered(self, token: str, answer: Callable[[], T]) -> T:
        """An answer that takes questions of its own, worked out once. Whoever uses it depends on `token`, and through it on those."""
        self.reads.add(token)
        if token not in self._remembered:
            outer, frame = self.reads, self.frame
            self.reads, self.frame = set(), Frame()
            try:
                self._remembered[token] = answer()
                self.behind[token] = self.reads
            finally:
                self.reads, self.frame = outer, frame
        value: T = self._remembered[token]
        return value

    # the questions; each is recorded

    def named(self, name: str, kin: str) -> list[Sym]:
        """Every symbol of this name in languages that see each other."""
        self.reads.add(name)
        return [s for s in self._named(name) if s.kin == kin]

    def member(self, owner: str, name: str) -> list[Sym]:
        self.reads.add(name)
        return self._member(owner, name)

    def members(self, owner: str) -> list[Sym]:
        self.reads.add(f"members:{owner}")
        return self._members(owner)

    def interfaces(self, kin: str) -> list[Sym]:
        """Every interface, for languages in which types satisfy them without saying so."""
        self.reads.add(f"interfaces:{kin}")
        return self._interfaces(kin)

    def scope(self, path: str) -> File | None:
        """Another file's imports and top-level names."""
        self.reads.add(f"imports:{path}")
        return self.file(path)

    def located(self, name: str) -> None:
        """Records that a file or folder of this name was looked for."""
        self.reads.add(f"file:{name}")

    # where the answers come from; see FullTable and store-backed tables

    def _named(self, name: str) -> list[Sym]:
        raise NotImplementedError

    def _member(self, owner: str, name: str) -> list[Sym]:
        raise NotImplementedError

    def _members(self, owner: str) -> list[Sym]:
        raise NotImplementedError

    def _interfaces(self, kin: str) -> list[Sym]:
        raise NotImplementedError


class FullTable(Table):
    """All symbols in memory: for indexing from scratch."""

    def __init__(self, files: dict[str, File], configs: dict[str, str]) -> None:
        super().__init__(files, files.get, configs)
        self._by_name: dict[str, list[Sym]] = defaultdict(list)
        self._by_owner: dict[str, dict[str, list[Sym]]] = defaultdict(dict)
        self._by_kin: dict[str, list[Sym]] = defaultdict(list)
        for path in sorted(files):
            file = files[path]
            for index in range(len(file.facts.symbols)):
                sym = file.sym(index)
                self._by_name[sym.name].append(sym)
                if sym.owner:
                    self._by_owner[sym.owner].setdefault(sym.name, []).append(sym)
                if sym.kind == "interface":
                    self._by_kin[sym.kin].append(sym)

    def _named(self, name: str) -> list[Sym]:
        return self._by_name.get(name, [])

    def _member(self, owner: str, name: str) -> list[Sym]:
        members = self._by_owner.get(owner)
        return members.get(name, []) if members else []

    def _members(self, owner: str) -> list[Sym]:
        return sorted(
            (sym for syms in self._by_owner.get(owner, {}).values() for sym in syms), key=lambda s: (s.path, s.index)
        )

    def _interfaces(self, kin: str) -> list[Sym]:
        return self._by_kin[kin]


def stem(path: str) -> str:
    """The file name without its extension."""
    name = path.rpartition("/")[2]
    return name.partition(".")[0] if not name.startswith(".") else name


def changed_keys(path: str, old: File | None, new: File | None) -> set[str]:
    """The keys of all questions whose answer may differ between two versions of a file (None: absent)."""
    keys: set[str] = set()
    before, after = _answers(old), _answers(new)
    for key in before.keys() | after.keys():
        if before.get(key) != after.get(key):
            keys.add(key)
    if old is None or new is None:
        folder = path.rpartition("/")[0]
        keys |= {f"file:{stem(path)}", f"file:{folder.rpartition('/')[2]}", f"imports:{path}"}
    return keys


def _answers(file: File | None) -> dict[str, list[object]]:
    """Everything other files can learn from this one, by the key under which they ask."""
    out: dict[str, list[object]] = defaultdict(list)
    if file is None:
        return out
    bases = {index: [(r.role, r.chain) for r in rows] for index, rows in file.bases.items()}
    for index, fact in enumerate(file.facts.symbols):
        sym = file.sym(index)
        holder = file.facts.symbols[fact.parent].symbol if fact.parent != F.FILE else ""
        # positions in the file are not part of any answer: they shift with every line above
        record: tuple[object, ...] = (
            *sym._replace(index=0),
            holder,
            file.facts.namespace,
            fact.scope,
            fact.type,
            fact.values,
            fact.arity,
            fact.stub,
        )
        record += (fact.optional, fact.variadic, fact.static, _type_parameters(file, index))
        out[sym.name].append((*record, bases.get(index), _locals_behind(file, index)))
        if sym.owner:
            out[f"members:{sym.owner}"].append((sym.name, sym.kind, sym.id))
        if sym.kind == "interface":
            out[f"interfaces:{sym.kin}"].append(sym.id)
    for row in file.impls:
        out[row.literal].append(("impl", row.chain))
    rows = [(r.module, r.name, r.alias, r.export, file.sym(r.source).symbol) for r in file.facts.imports]
    out[f"imports:{file.path}"] = [file.facts.namespace, rows]
    if file.language.visible == "package":
        out[f"imports:{file.path}"].append(sorted(file.top))
    return out


def _type_parameters(file: File, index: int) -> list[tuple[str, str]]:
    """The bounds of a symbol's type parameters, and the type that an extension method extends."""
    return [
        (b.name, b.type) for name, rows in file.bindings.get(index, {}).items() if name.startswith("<") for b in rows
    ]


def _locals_behind(file: File, index: int) -> list[object]:
    """The locals that may decide the type of what a function returns, when no result type is declared."""
    fact = file.facts.symbols[index]
    if fact.type or not fact.values:
        return []
    out: list[object] = []
    if fact.kind == "field":  # assigned in a function of its type, from what that function binds
        heads = {value.partition(".")[0].rstrip("()[]{}") for value in fact.values}
        for at, names in file.bindings.items():
            if at != F.FILE and file.facts.symbols[at].parent == fact.parent and heads & names.keys():
                out += [(b.name, b.type, b.value) for rows in names.values() for b in rows]
    at = index
    while at != F.FILE:
        start = file.facts.symbols[at].start
        out += [
            (b.name, b.type, b.value, b.line - start, b.until and b.until - start)
            for rows in file.bindings.get(at, {}).values()
            for b in rows
        ]
        at = file.facts.symbols[at].parent
    return out
