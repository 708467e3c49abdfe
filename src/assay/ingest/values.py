"""Evaluating chains: which item, type or module an expression stands for, as far as names and declared types tell.

A `Value` is what an expression denotes. Evaluation follows the language's scopes, imports (through re-exports), declared types, assigned
values and inheritance. It never guesses: what it cannot tell is None. Guessing by name is the resolver's business, and marked as such.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from assay.core.items import CALLABLE_KINDS, TYPE_KINDS
from assay.ingest import facts as F
from assay.ingest import modules
from assay.ingest.chains import bare, chain
from assay.ingest.table import File, Sym, Table

_DATA = frozenset({"variable", "constant", "field", "property"})
_TYPE_LIKE = TYPE_KINDS | {"module"}
_HEAD = re.compile(r"[\w$.:\\]+")
_IDENTIFIER = re.compile(r"[^\W\d][\w$]*")
MAX_ANCESTORS = 60  # of one type; deeper hierarchies are cut
MAX_LOOKUPS = 12  # type expressions inside one another


class Value(NamedTuple):
    """What an expression denotes.

    item: the symbol itself. instance: an object of type `sym`. file/folder/space: a module, package folder or namespace called `name`.
    outside: something of a library, by dotted `name`. object: an object of library type `name`. local: a local whose value cannot be told.
    """

    kind: str
    sym: Sym | None = None
    name: str = ""
    arguments: str = ""  # type arguments as written, for elements of collections
    path: str = ""  # the file in whose scope the arguments are to be read


LOCAL = Value("local")
_CYCLE = Value("cycle")  # met again while being evaluated: contagious, so that no answer depends on where evaluation began


class Ancestry(NamedTuple):
    """A type and its ancestors, nearest first, and whether some of them lie outside the repository."""

    types: tuple[Sym, ...]
    outside: tuple[str, ...]


class Evaluator:
    """Evaluates chains against a table of names. Answers about symbols are remembered with the questions they took."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self._types: dict[tuple[str, int], tuple[Value | None, frozenset[str]]] = {}
        self._ancestries: dict[tuple[str, int], tuple[Ancestry, frozenset[str]]] = {}
        self._exports: dict[tuple[str, str], tuple[Value | None, frozenset[str]]] = {}
        self._busy: set[tuple[str, int]] = set()

    # -- names ---------------------------------------------------------------------------------------------------

    def lookup(self, name: str, file: File, at: int, line: int = 0, own_members: bool = True) -> Value | None:
        """What a bare name means inside symbol `at` of a file; None when nothing in the repository is known by it."""
        self.table.reads.add(name)
        symbols = file.facts.symbols
        language = file.language
        inner = True
        while at != F.FILE:
            fact = symbols[at]
            rows = file.bindings.get(at, {}).get(name) if at in file.bindings else None
            if rows:
                return self._bound(rows, file, at, line)
            if fact.kind in _TYPE_LIKE:
                if own_members and (inner or language.implicit_self):
                    found = self._first(file, file.children[at].get(name, ()))
                    if found is None and language.implicit_self and fact.kind != "namespace":
                        members = self.member(file.sym(at), name)
                        found = members[0] if members else None
                    if found is not None and (found.kind not in ("method", "constructor") or language.implicit_self or inner):
                        return Value("item", found)
                elif fact.kind == "module" or fact.kind == "type":
                    found = self._first(file, file.children[at].get(name, ()))
                    if found:
                        return Value("item", found)
                if name == fact.name and fact.kind != "module":
                    return Value("item", file.sym(at))
            elif at in file.children and name in file.children[at]:
                found = self._first(file, file.children[at][name])
                if found:
                    return Value("item", found)
            elif fact.kind == "namespace" and at in file.children:
                found = self._first(file, file.children[at].get(name, ()))
                if found:
                    return Value("item", found)
            if fact.scope and language.implicit_self:
                owner = self._scope_type(file, at)
                members = self.member(owner, name) if owner else []
                if members:
                    return Value("item", members[0])
            if fact.kind not in _DATA:
                inner = False
            at = fact.parent
        if F.FILE in file.bindings and name in file.bindings[F.FILE] and name not in file.top:
            return self._bound(file.bindings[F.FILE][name], file, F.FILE, line)
        found = self._first(file, file.top.get(name, ()))
        if found:
            return Value("item", found)
        return self._from_outside(name, file, at)

    def _first(self, file: File, indexes: Iterable[int]) -> Sym | None:
        """The definition a name refers to: the last one, as later definitions replace earlier ones, but types first."""
        syms = [file.sym(i) for i in indexes]
        if not syms:
            return None
        return next((s for s in syms if s.kind in TYPE_KINDS), syms[0])

    def _bound(self, rows: list[F.Binding], file: File, at: int, line: int) -> Value:
        """The value of a local: a declared type first, then the nearest assignment above that can be evaluated."""
        before = [r for r in rows if r.line <= line or not line] or rows
        for row in (*before, *rows):
            if row.type:
                value = self.type_value(row.type, file, at)
                if value:
                    return value
        for row in reversed(before):
            if row.value:
                value = self._evaluate_binding(row, file, at)
                if value is not None and value.kind != "local":
                    return value
        return LOCAL

    def _evaluate_binding(self, row: F.Binding, file: File, at: int) -> Value | None:
        key = (f"{file.path}\0{row.name}\0{row.line}", at)
        if key in self._busy:
            return _CYCLE
        self._busy.add(key)
        try:
            return self.evaluate(row.value, file, at, row.line)
        finally:
            self._busy.discard(key)

    def _from_outside(self, name: str, file: File, at: int) -> Value | None:
        """A name that is not defined here: imported, of the same package or namespace, star-imported, or global."""
        rows = file.imported.get(name)
        if rows:
            for row in rows:
                value = self.imported(row, file)
                if value and value.kind != "outside":
                    return value
            return self.imported(rows[0], file)
        visible = file.language.visible
        if visible == "directory":
            here = [s for s in self.table.named(name, file.language.kin) if s.path.rpartition("/")[0] == file.folder and _top_level(s)]
            if here:
                return Value("item", _prefer(here, file))
        elif visible in ("package", "namespace", "global"):
            found = self._in_spaces(name, file, at)
            if found:
                return found
        for row in file.stars:
            place = modules.locate(row.module, file, self.table)
            if place.kind == "file":
                value = self.export(place.name, name)
                if value:
                    return value
        if visible == "global":
            here = [s for s in self.table.named(name, file.language.kin) if _top_level(s)]
            if here and (len(here) == 1 or all(s.symbol == here[0].symbol for s in here)):
                return Value("item", _prefer(here, file))
        return None

    def _in_spaces(self, name: str, file: File, at: int) -> Value | None:
        """Full-name look-up in the packages and namespaces the file sees, its own first."""
        candidates = self.table.named(name, file.language.kin)
        if not candidates:
            return None
        full: dict[str, list[Sym]] = {}
        for sym in candidates:
            if sym.kind in _DATA and file.language.visible == "global":
                continue
            other = self.table.file(sym.path)
            if other and sym.index != F.FILE:
                full.setdefault(other.full(sym.index), []).append(sym)
        for space in self._spaces(file, at):
            found = full.get(f"{space}.{name}" if space else name)
            if found:
                return Value("item", _prefer(found, file))
        return None

    def _spaces(self, file: File, at: int) -> list[str]:
        """The namespaces whose names are visible at a symbol, innermost first, then the imported ones."""
        spaces: list[str] = []
        while at != F.FILE:
            if file.facts.symbols[at].kind not in CALLABLE_KINDS:
                full = file.full(at)
                spaces += [full, *self._outer(full)]
            at = file.facts.symbols[at].parent
        if not spaces and file.language.visible == "namespace":
            for fact in file.facts.symbols:
                if fact.kind == "namespace":
                    full = fact.symbol.replace("::", ".")
                    spaces += [full, *self._outer(full)]
                    break
        if file.facts.namespace:
            spaces.append(file.facts.namespace)
        spaces += [row.module.replace("\\", ".") for row in file.stars]
        if file.language.visible == "namespace":
            spaces += [row.module.replace("\\", ".") for row in file.facts.imports if not row.alias]
        spaces.append("")
        return list(dict.fromkeys(spaces))

    @staticmethod
    def _outer(full: str) -> list[str]:
        out = []
        while "." in full:
            full = full.rpartition(".")[0]
            out.append(full)
        return out

    # -- imports -------------------------------------------------------------------------------------------------

    def imported(self, row: F.Import, file: File, seen: frozenset[tuple[str, str]] = frozenset()) -> Value | None:
        """What an import brings: the item after following re-exports, the module itself, or something outside."""
        if not row.module and row.name:  # `export { x as y }`: another name for something of this file
            found = self._first(file, file.top.get(row.name, ()))
            if found:
                return Value("item", found)
            rows = [r for r in file.imported.get(row.name, ()) if r is not row and r.module]
            return self.imported(rows[0], file, seen) if rows else None
        if file.language.imports == "rust":
            return self._rust_path([*re.split(r"::", row.module), *([row.name] if row.name else [])], file, seen)
        if file.language.imports == "namespace":
            return self._full_name(row, file)
        module = row.module
        if not row.alias and not row.name and file.language.imports == "python":
            module = module.partition(".")[0]  # `import a.b` binds a
        place = modules.locate(module, file, self.table)
        dotted = f"{row.module}.{row.name}" if row.name and row.name != "default" else row.module
        if file.language.imports == "python" and row.name and place.kind in ("file", "folder"):
            return self._python_name(row, place, file, seen)
        if place.kind == "file":
            if row.name and row.name != "*":
                return self.export(place.name, row.name, seen) or (Value("file", name=place.name) if row.name == "default" else None)
            return Value("file", name=place.name)
        if place.kind == "folder":
            return Value("folder", name=place.name)
        if not row.alias and not row.name and file.language.imports == "python":
            dotted = row.module.partition(".")[0]
        return Value("outside", name=dotted.lstrip("."))

    def _python_name(self, row: F.Import, place: modules.Place, file: File, seen: frozenset[tuple[str, str]]) -> Value | None:
        """`from a import b`: a name of a, or its submodule b."""
        if place.kind == "file":
            value = self.export(place.name, row.name, seen)
            if value:
                return value
        dots = row.module if row.module.endswith(".") else row.module + "."
        inner = modules.locate(dots + row.name, file, self.table)
        return Value(inner.kind, name=inner.name) if inner.kind in ("file", "folder") else None

    def export(self, path: str, name: str, seen: frozenset[tuple[str, str]] = frozenset()) -> Value | None:
        """What `name` means to those who import the file at `path`, through any chain of re-exports."""
        key = (path, name)
        if key in seen:
            return None
        if not seen and key in self._exports:
            value, reads = self._exports[key]
            self.table.reads |= reads
            return value
        outer, self.table.reads = self.table.reads, set()
        value = self._export(path, name, seen | {key})
        if not seen:
            self._exports[key] = (value, frozenset(self.table.reads))
        self.table.reads |= outer
        return value

    def _export(self, path: str, name: str, seen: frozenset[tuple[str, str]]) -> Value | None:
        self.table.reads.add(name)
        file = self.table.scope(path)
        if file is None:
            return None
        found = self._first(file, file.top.get(name, ()))
        if found:
            return Value("item", found)
        reexports = file.language.imports == "python"
        for row in file.imported.get(name, ()):
            if reexports or row.export:
                value = self.imported(row, file, seen)
                if value:
                    return value
        if file.language.imports == "rust":
            inner = modules.rust_submodule(path, name, self.table)
            if inner:
                return Value("file", name=inner)
        if file.language.imports == "python" and path.endswith("__init__.py"):
            inner_place = modules.locate(f".{name}", file, self.table)
            if inner_place.kind == "file":
                return Value("file", name=inner_place.name)
        for row in file.stars:
            if reexports or row.export:
                value = self._star(row, file, name, seen)
                if value:
                    return value
        return None

    def _star(self, row: F.Import, file: File, name: str, seen: frozenset[tuple[str, str]]) -> Value | None:
        if file.language.imports == "rust":
            target = self._rust_path(re.split(r"::", row.module), file, seen)
            return self.attribute(target, name, file, seen) if target else None
        place = modules.locate(row.module, file, self.table)
        return self.export(place.name, name, seen) if place.kind == "file" else None

    def _rust_path(self, parts: list[str], file: File, seen: frozenset[tuple[str, str]]) -> Value | None:
        """`crate::a::B`, `super::x`, `other_crate::y`, or a path that starts at a module or type seen from here."""
        parts = [p.strip() for p in parts if p.strip()]
        if not parts:
            return None
        place = modules.locate(parts[0], file, self.table)
        value: Value | None
        if place.kind == "file":
            value = Value("file", name=place.name)
        else:
            inner = modules.rust_submodule(file.path, parts[0], self.table)
            found = self._first(file, file.top.get(parts[0], ()))
            if inner:
                value = Value("file", name=inner)
            elif found:
                value = Value("item", found)
            elif len(parts) > 1 and (rows := [r for r in file.imported.get(parts[0], ()) if r.module]):
                key = (file.path, "use " + parts[0])
                value = None if key in seen else self.imported(rows[0], file, seen | {key})
            else:
                return Value("outside", name=".".join(parts))
        for part in parts[1:]:
            if part == "self":
                continue
            if part == "super" and value and value.kind == "file":
                above = self.table.file(value.name)
                up = modules.locate("super", above, self.table) if above else modules.OUTSIDE
                value = Value("file", name=up.name) if up.kind == "file" else None
                continue
            value = self.attribute(value, part, file, seen) if value else None
        return value

    def _full_name(self, row: F.Import, file: File) -> Value | None:
        """`import a.b.C` or `use A\\B\\C`: the item of that full name; a prefix of full names is a namespace."""
        dotted = ".".join(p for p in (row.module.replace("\\", "."), row.name) if p and p != "*").strip(".")
        found = self._named_fully(dotted, file)
        if found:
            return Value("item", found)
        head, _, name = dotted.rpartition(".")  # a member of a type: static imports, nested types
        owner = self._named_fully(head, file) if head else None
        if owner:
            members = self.member(owner, name)
            if members:
                return Value("item", members[0])
        return Value("outside", name=dotted)

    def _named_fully(self, dotted: str, file: File) -> Sym | None:
        found = []
        for sym in self.table.named(dotted.rpartition(".")[2], file.language.kin):
            other = self.table.file(sym.path)
            if other and other.full(sym.index) == dotted:
                found.append(sym)
        return _prefer(found, file) if found else None

    # -- types ---------------------------------------------------------------------------------------------------

    def type_value(self, text: str, file: File, at: int, depth: int = 0) -> Value | None:
        """An object of a declared type: `Optional[Cart]`, `&mut Vec<Cart>`, `Cart | None`, `[]Cart`."""
        text = text.strip().strip("\"'").lstrip(":").strip()
        text = re.sub(r"^(?:->|:)\s*", "", text)
        text = re.sub(r"^(?:&?'?\w*\s*&?\s*(?:mut|dyn|impl|const|final|readonly|out|ref|in|params|async|unique)\s+)+", "", text)
        text = text.lstrip("&*?@ ").removeprefix("mut ").removeprefix("dyn ").removeprefix("impl ").strip()
        if not text or depth > MAX_LOOKUPS:
            return None
        if text.startswith("[]") or text.startswith("map["):
            return Value("object", name="[]", arguments=text.partition("]")[2], path=file.path)
        if text.endswith("[]"):
            return Value("object", name="[]", arguments=text[:-2], path=file.path)
        if text.startswith("(") and text.endswith(")"):
            return self.type_value(text[1:-1].split(",")[0], file, at, depth + 1)
        match = _HEAD.match(text)
        if not match:
            return None
        head, rest = match.group().rstrip(":"), text[match.end() :].strip()
        language = file.language
        arguments = _inside(rest)
        if head.rpartition(".")[2].rpartition(":")[2] in language.wrappers and arguments:
            for part in _split_arguments(arguments):
                value = self.type_value(part, file, at, depth + 1)
                if value and value.kind == "instance":
                    return value
            return self.type_value(_split_arguments(arguments)[0], file, at, depth + 1)
        if head in language.self_names or head == "Self" or head == "static":
            owner = self.enclosing_type(file, at)
            return Value("instance", owner) if owner else None
        named = self.evaluate(head.replace("::", ".").replace("\\", "."), file, at)
        if named and named.kind == "item" and named.sym:
            if named.sym.kind in _TYPE_LIKE:
                return self._through_alias(named.sym, arguments, file, at, depth)
            return None
        if "|" in rest and not arguments:
            return next((v for v in (self.type_value(p, file, at, depth + 1) for p in rest.split("|")) if v and v.kind == "instance"), None)
        if named is None and (bound := self._type_parameter(head, file, at)):
            return self.type_value(bound, file, at, depth + 1)
        if named and named.kind == "local":
            return None
        name = named.name if named and named.kind == "outside" else head.replace("::", ".")
        return Value("object", name=name, arguments=arguments, path=file.path)

    def _type_parameter(self, name: str, file: File, at: int) -> str:
        """The bound of a type parameter, which the query files record as a typed local."""
        while at != F.FILE:
            rows = file.bindings.get(at, {}).get(f"<{name}>")
            if rows:
                return rows[0].type
            at = file.facts.symbols[at].parent
        return ""

    def _through_alias(self, sym: Sym, arguments: str, file: File, at: int, depth: int) -> Value | None:
        """An alias stands for its target."""
        if sym.kind == "type":
            other = self.table.scope(sym.path)
            fact = other.facts.symbols[sym.index] if other else None
            if other and fact and fact.type and not self._members_of(sym):
                value = self.type_value(fact.type, other, sym.index, depth + 1)
                if value and value.kind == "instance":
                    return value
        return Value("instance", sym, arguments=arguments, path=file.path)

    def _members_of(self, sym: Sym) -> bool:
        other = self.table.file(sym.path)
        return bool(other and any(self.table.members(key) for key in other.type_keys(sym.index)))

    def type_of(self, sym: Sym) -> Value | None:
        """What a variable, field or property holds, or a function returns. Remembered; a cycle has no answer."""
        key = (sym.path, sym.index)
        self.table.reads.add(sym.name)
        if key in self._busy:
            return _CYCLE
        if key not in self._types:
            outer, self.table.reads = self.table.reads, set()
            self._busy.add(key)
            try:
                value = self._type_of(sym)
            finally:
                self._busy.discard(key)
            self._types[key] = (value, frozenset(self.table.reads))
            self.table.reads |= outer
        value, reads = self._types[key]
        self.table.reads |= reads
        return value

    def _type_of(self, sym: Sym) -> Value | None:
        file = self.table.scope(sym.path)
        if file is None or sym.index == F.FILE:
            return None
        fact = file.facts.symbols[sym.index]
        at = sym.index if sym.kind in CALLABLE_KINDS or sym.kind == "property" else fact.parent
        if fact.type:
            return self.type_value(fact.type, file, at)
        inner = sym.index if sym.kind in CALLABLE_KINDS or sym.kind == "property" else self._assigning(file, sym)
        for expression in fact.values:
            value = self.evaluate(expression, file, inner)
            if value is _CYCLE:
                return _CYCLE
            if value and value.kind not in ("local",):
                return value
        return None

    def _assigning(self, file: File, sym: Sym) -> int:
        """Where a field's value was written: the function on whose lines it stands, else its container."""
        fact = file.facts.symbols[sym.index]
        best = fact.parent
        for index, other in enumerate(file.facts.symbols):
            if other.kind in CALLABLE_KINDS and other.start <= fact.start and fact.end <= other.end and other.parent == fact.parent:
                best = index
        return best

    def ancestry(self, sym: Sym) -> Ancestry:
        """A type and everything it inherits from, depth first."""
        key = (sym.path, sym.index)
        self.table.reads.add(sym.name)
        if key not in self._ancestries:
            outer, self.table.reads = self.table.reads, set()
            types: list[Sym] = [sym]
            outside: list[str] = []
            self._climb(sym, types, outside)
            self._ancestries[key] = (Ancestry(tuple(types), tuple(outside)), frozenset(self.table.reads))
            self.table.reads |= outer
        found, reads = self._ancestries[key]
        self.table.reads |= reads
        return found

    def _climb(self, sym: Sym, types: list[Sym], outside: list[str]) -> None:
        for base in self.direct_bases(sym):
            if base.kind == "item" and base.sym:
                if base.sym not in types and len(types) < MAX_ANCESTORS:
                    types.append(base.sym)
                    self._climb(base.sym, types, outside)
            elif base.kind == "outside":
                outside.append(base.name)

    def direct_bases(self, sym: Sym) -> list[Value]:
        """Base types as written on any part of a type, resolved; names that lead nowhere are outside."""
        out: list[Value] = []
        for part in self._parts(sym):
            self.table.reads.add(part.name)
            file = self.table.scope(part.path)
            if file is None:
                continue
            rows = [(row.chain, part.index) for row in file.bases.get(part.index, ())]
            for expression, at in rows:
                out.append(self._base(expression, file, file.facts.symbols[at].parent if at != F.FILE else at))
            for row in file.impls:
                if row.literal == part.name:
                    out.append(self._base(row.chain, file, row.source))
        return [value for value in dict.fromkeys(out) if value.sym != sym]

    def _base(self, expression: str, file: File, at: int) -> Value:
        expression = re.sub(r"[()\[\]{}]+", "", expression)
        value = self.evaluate(expression, file, at)
        if value and value.kind == "instance" and value.sym:
            value = Value("item", value.sym)
        if value and value.kind == "item" and value.sym and value.sym.kind in _TYPE_LIKE:
            return Value("item", value.sym)
        if value and value.kind in ("variable", "item") and value.sym and value.sym.kind in _DATA:
            inner = self.type_of(value.sym)
            if inner and inner.kind == "item" and inner.sym and inner.sym.kind in _TYPE_LIKE:
                return inner
        return Value("outside", name=value.name if value and value.kind == "outside" else expression)

    def _parts(self, sym: Sym) -> list[Sym]:
        """All parts of a type: one in most languages, every reopening where a full name makes the type."""
        file = self.table.file(sym.path)
        if file is None or file.language.identity != "namespace":
            return [sym]
        full = file.full(sym.index)
        parts = [s for s in self.table.named(sym.name, sym.kin) if s.kind in _TYPE_LIKE and (f := self.table.file(s.path)) and f.full(s.index) == full]
        return parts or [sym]

    def own_member(self, sym: Sym, name: str) -> list[Sym]:
        """Members of that name which the type defines itself, in its body or outside it."""
        file = self.table.file(sym.path)
        if file is None or sym.index == F.FILE:
            return []
        for key in file.type_keys(sym.index):
            found = self.table.member(key, name)
            if found:
                return found
        return []

    def member(self, sym: Sym, name: str, above: bool = False) -> list[Sym]:
        """The nearest definition of a member along the ancestry; `above` leaves the type itself out (super)."""
        for ancestor in self.ancestry(sym).types[1 if above else 0 :]:
            found = self.own_member(ancestor, name)
            if found:
                return found
        return []

    def enclosing_type(self, file: File, at: int) -> Sym | None:
        """The type whose member symbol `at` is, or which it is."""
        while at != F.FILE:
            fact = file.facts.symbols[at]
            if fact.kind in _TYPE_LIKE:
                return file.sym(at)
            if fact.scope:
                return self._scope_type(file, at)
            if fact.kind in ("method", "function") and fact.parent != F.FILE and file.facts.symbols[fact.parent].kind in ("variable", "constant"):
                return file.sym(fact.parent)  # `this` in an object's functions
            at = fact.parent
        return None

    def _scope_type(self, file: File, at: int) -> Sym | None:
        """The type a member written outside its body belongs to."""
        fact = file.facts.symbols[at]
        own = file._types_here.get(fact.scope)
        if own is not None:
            return file.sym(own)
        value = self._from_outside(fact.scope.rpartition(".")[2], file, fact.parent)
        if value and value.kind == "item":
            return value.sym
        key = file.owner_key(at)
        for sym in self.table.named(fact.scope.rpartition(".")[2], file.language.kin):
            other = self.table.file(sym.path)
            if sym.kind in _TYPE_LIKE and other and key in other.type_keys(sym.index):
                return sym
        return None

    # -- chains --------------------------------------------------------------------------------------------------

    def evaluate(self, expression: str, file: File, at: int, line: int = 0) -> Value | None:
        """What a chain denotes, read inside symbol `at`."""
        if not expression:
            return None
        parts = expression.split(".")
        value = self._start(parts[0], file, at, line)
        for segment in parts[1:]:
            if value is None or value is _CYCLE:
                return value
            value = self._marks(self.attribute(value, bare(segment), file), segment)
        return value

    def _start(self, segment: str, file: File, at: int, line: int) -> Value | None:
        name = bare(segment)
        language = file.language
        if name in ("?", "''", ""):
            return Value("object", name="str") if name == "''" else None
        if name in language.super_names:
            owner = self.enclosing_type(file, at)
            return Value("super", owner) if owner else None
        if name in language.self_names or name == "Self" or name == "static":
            owner = self.enclosing_type(file, at)
            if owner:
                kind = "item" if name in ("cls", "Self", "static") else "instance"
                return self._marks(Value(kind, owner), segment)
            if language.imports == "rust" and name == "self":
                return Value("file", name=file.path)
        if language.imports == "rust" and name in ("crate", "super"):
            place = modules.locate(name, file, self.table)
            return Value("file", name=place.name) if place.kind == "file" else None
        value = self.lookup(name, file, at, line)
        if value is None and language.imports == "rust":
            value = self._rust_path([name], file, frozenset())
            if value and value.kind == "outside":
                value = None
        if value is None and language.visible in ("namespace", "global", "package"):
            spaces = [s for s in self.table.named(name, language.kin) if s.kind in ("namespace", "module")]
            if spaces:
                value = Value("item", spaces[0])
        if value is None:
            value = Value("outside", name=name)
        return self._marks(value, segment)

    def _marks(self, value: Value | None, segment: str) -> Value | None:
        """Applies the calls, elements and literals written after a name."""
        marks = segment[len(bare(segment)) :]
        if value is not None and not marks:
            return self._settled(value)
        while value is not None and marks:
            mark, marks = marks[:2], marks[2:]
            if mark == "[]":
                value = self._element(value)
            else:
                value = self._called(value)
        return value

    def _settled(self, value: Value) -> Value | None:
        """A data item stands for what it holds when a member of it is asked for; here it stays itself."""
        return value

    def _called(self, value: Value) -> Value | None:
        """What calling it gives: a type gives its object, a function its result."""
        if value.kind == "super":
            return value
        if value.kind == "file":
            default = self.export(value.name, "default")
            return self._called(default) if default else None
        sym = value.sym
        if value.kind == "item" and sym is not None:
            if sym.kind in _TYPE_LIKE:
                return Value("instance", sym, path=value.path)
            if sym.kind in CALLABLE_KINDS:
                return self.type_of(sym)
            held = self.type_of(sym)
            return self._called(held) if held and held.kind == "item" else held
        if value.kind == "outside":
            last = value.name.rpartition(".")[2]
            return Value("object", name=value.name) if last[:1].isupper() else None
        return None

    def _element(self, value: Value) -> Value | None:
        """An element of a collection, told by the last type argument."""
        if value.kind == "item" and value.sym:
            if value.sym.kind in _TYPE_LIKE:
                return value
            held = self.type_of(value.sym)
            return self._element(held) if held else None
        if value.arguments:
            file = self.table.file(value.path)
            if file:
                return self.type_value(_split_arguments(value.arguments)[-1], file, F.FILE)
        return None

    def attribute(self, value: Value | None, name: str, file: File, seen: frozenset[tuple[str, str]] = frozenset()) -> Value | None:
        """A member of what a value denotes."""
        if value is None or value is _CYCLE:
            return value
        sym = value.sym
        if value.kind == "super" and sym:
            found = self.member(sym, name, above=True)
            return Value("item", found[0]) if found else None
        if value.kind == "instance" and sym:
            found = self.member(sym, name)
            if found:
                return Value("item", found[0])
            return value if name in file.language.transparent else None
        if value.kind == "item" and sym:
            return self._attribute_of_item(sym, name, file, seen)
        if value.kind == "file":
            return self.export(value.name, name, seen)
        if value.kind == "folder":
            return self._in_folder(value.name, name, file)
        if value.kind in ("outside", "object"):
            if value.kind == "object" and name in file.language.transparent:
                return value
            return Value("outside", name=f"{value.name}.{name}")
        return None

    def _attribute_of_item(self, sym: Sym, name: str, file: File, seen: frozenset[tuple[str, str]]) -> Value | None:
        if sym.kind in ("namespace", "module") or (sym.kind in _TYPE_LIKE and file.language.identity == "namespace"):
            other = self.table.file(sym.path)
            full = other.full(sym.index) if other else ""
            inner = [s for s in self.table.named(name, sym.kin) if (f := self.table.file(s.path)) and f.full(s.index) == f"{full}.{name}"]
            if inner:
                return Value("item", _prefer(inner, file))
            if other and sym.kind == "module" and other.language.imports == "rust":
                found = self._first(other, other.children[sym.index].get(name, ()))
                return Value("item", found) if found else None
        if sym.kind in _TYPE_LIKE:
            other = self.table.scope(sym.path)
            nested = self._first(other, other.children[sym.index].get(name, ())) if other else None
            found = [nested] if nested else self.member(sym, name)
            return Value("item", found[0]) if found else None
        if sym.kind in ("variable", "constant"):
            own = self.own_member(sym, name)
            if own:
                return Value("item", own[0])
        if sym.kind in _DATA:
            held = self.type_of(sym)
            if held is not None and held is not _CYCLE and held.sym != sym:
                return self.attribute(held, name, file, seen)
        return None

    def _in_folder(self, folder: str, name: str, file: File) -> Value | None:
        """A name of a package that is a folder: Go packages, Python packages without __init__."""
        self.table.located(folder.rpartition("/")[2])
        if file.language.imports == "python":
            place = modules._python_at(f"{folder}/{name}", self.table)
            return Value(place.kind, name=place.name) if place.kind != "outside" else None
        here = [s for s in self.table.named(name, file.language.kin) if s.path.rpartition("/")[0] == folder and _top_level(s) and not s.path.endswith("_test.go")]
        return Value("item", here[0]) if here else None


def _top_level(sym: Sym) -> bool:
    return not sym.owner and "." not in sym.symbol and "::" not in sym.symbol


def _prefer(syms: list[Sym], file: File) -> Sym:
    """Of several parts or definitions: this file's, then one outside tests, then the first by path."""
    return min(syms, key=lambda s: (s.path != file.path, s.test and not file.test, s.kind not in TYPE_KINDS, s.path, s.index))


def _inside(rest: str) -> str:
    """`[str, Cart]` or `<Cart>` → what stands inside the brackets that open the text."""
    if not rest or rest[0] not in "[<":
        return ""
    depth = 0
    for at, letter in enumerate(rest):
        if letter in "[<(":
            depth += 1
        elif letter in "]>)":
            depth -= 1
            if depth == 0:
                return rest[1:at].strip()
    return ""


def _split_arguments(text: str) -> list[str]:
    """Type arguments at the top level, also of a union."""
    out, depth, start = [], 0, 0
    for at, letter in enumerate(text):
        if letter in "[<(":
            depth += 1
        elif letter in "]>)":
            depth -= 1
        elif letter in ",|" and depth == 0:
            out.append(text[start:at].strip())
            start = at + 1
    return [*out, text[start:].strip()]


def type_names(text: str) -> list[str]:
    """The dotted names in an annotation, as chains."""
    text = re.sub(r"'(?:static|\w+)\b(?!')", " ", text) if "'" in text and not text.strip().startswith("'") else text
    return [chain(m.group().replace("::", ".").replace("\\", ".").strip(".")) for m in _NAMES.finditer(text)]


_NAMES = re.compile(r"[^\W\d]\w*(?:(?:\.|::|\\)[^\W\d]\w*)*")
