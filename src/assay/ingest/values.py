"""Evaluating chains: which item, type or module an expression stands for, as far as names and declared types tell.

A `Value` is what an expression denotes. Evaluation follows the language's scopes, imports (through re-exports), declared types, assigned
values and inheritance. It never guesses: what it cannot tell is None. Guessing by name is the resolver's business, and marked as such.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from assay.core.items import CALLABLE_KINDS, TYPE_KINDS
from assay.ingest import facts as F
from assay.ingest import modules
from assay.ingest.chains import bare, chain
from assay.ingest.table import File, Sym, T, Table, stem

_DATA = frozenset({"variable", "constant", "field", "property"})
_TYPE_LIKE = TYPE_KINDS | {"module"}
_HEAD = re.compile(r"[\w$.:\\]+")
_SEQUENCE = re.compile(r"\[(?:\d*|\.\.\.|[A-Za-z_]\w*)\](?=\S)")  # `[]Cart`, `[3]Cart`, `[...]Cart`
_IDENTIFIER = re.compile(r"[^\W\d][\w$]*")
MAX_ANCESTORS = 150  # of one type; deeper hierarchies are cut
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
        self._declared: dict[tuple[str, str, int, bool], tuple[Value | None, frozenset[str]]] = {}
        self._brought: dict[tuple[str, str, str, str, int, bool], tuple[Value | None, frozenset[str]]] = {}
        self._primaries: dict[tuple[str, str | None, bool], Sym] = {}
        self._tops: dict[str, list[Sym]] = {}
        self._owned: dict[tuple[str, str], list[Sym]] = {}
        self._shallow = 0  # above 0 while bases are looked for: nothing inherited is known yet
        self._busy: set[tuple[str, int]] = set()
        self._climbing: set[tuple[str, int]] = set()

    def _remember(self, token: str, answer: Callable[[], T]) -> T:
        """A remembered answer; those found while bases are looked for know less and are kept apart."""
        return self.table.remembered(f"~{token}" if self._shallow else token, answer)

    # -- names ---------------------------------------------------------------------------------------------------

    def lookup(self, name: str, file: File, at: int, line: int = 0, own_members: bool = True, local: bool = True) -> Value | None:
        """What a bare name means inside symbol `at` of a file; None when nothing in the repository is known by it. `local`: or a local."""
        if name in file.local_names or self.table.frame.busy or self._shallow:
            return self._look_up(name, file, at, line, own_members, local)
        key = (name, file.path, at, own_members, local)
        frame = self.table.frame.answers
        if key not in frame:
            frame[key] = self._look_up(name, file, at, line, own_members, local)
        value: Value | None = frame[key]
        return value

    def _look_up(self, name: str, file: File, at: int, line: int, own_members: bool, local: bool) -> Value | None:
        value = self._lookup(name, file, at, line, own_members, local)
        if local and file.language.closed_types and value and value.kind == "item" and value.sym and value.sym.kind in ("interface", "type"):
            return Value("item", self._beside(value.sym))
        if file.language.uniform_access and value and value.kind == "item" and value.sym:
            return Value("item", self.primary(value.sym, file))
        return value

    def _lookup(self, name: str, file: File, at: int, line: int, own_members: bool, local: bool) -> Value | None:
        self.table.reads.add(name)
        symbols = file.facts.symbols
        language = file.language
        inner, passed, start = True, False, at
        while at != F.FILE:
            fact = symbols[at]
            rows = self._seen(file, at, name, line)
            if rows and local and (at == start or language.closures) and (bound := self._bound(rows, file, at, line)):
                return bound
            if fact.kind in _TYPE_LIKE:
                if own_members and (inner or language.implicit_self) and not language.closed_types:
                    found = self._first(file, file.children[at].get(name, ()))
                    if found is None and language.implicit_self and fact.kind != "namespace":
                        members = self.member(file.sym(at), name)
                        found = members[0] if members else None
                    if found is not None and found.kind == "constructor":
                        found = None  # its name means the type
                    if passed and found is not None and language.uniform_access and found.kind in CALLABLE_KINDS | {"field", "property"}:
                        found = None  # only constants are seen from inside inner types
                    passed = True
                    if found is not None and found.kind == "constructor" and found.name not in language.constructors:
                        found = None  # named like its type: the type is meant
                    if found is not None and (found.kind not in ("method", "constructor") or language.implicit_self or inner):
                        return Value("item", found)
                elif fact.kind == "module" or fact.kind == "type":
                    found = self._first(file, file.children[at].get(name, ()))
                    if found:
                        return Value("item", found)
                if name == fact.name and fact.kind != "module":
                    first = self._first(file, file.children[fact.parent].get(name, ())) if fact.nth > 1 else None
                    return Value("item", first or file.sym(at))
            elif at in file.children and name in file.children[at]:
                found = self._first(file, file.children[at][name])
                if found and (found.kind == "function" or not language.closed_types):
                    return Value("item", found)
            elif fact.kind == "namespace" and at in file.children:
                found = self._first(file, file.children[at].get(name, ()))
                if found:
                    return Value("item", found)
            if fact.scope and language.implicit_self:
                owner = self._scope_type(file, at)
                members = self.member(owner, name) if owner else []
                if members and (members[0].kind != "constructor" or name in language.constructors):
                    return Value("item", members[0])
            if fact.kind not in _DATA:
                inner = False
            at = fact.parent
        rows = self._seen(file, F.FILE, name, line)
        if rows and (name not in file.top or (line and rows[0].until)) and local and (start == F.FILE or language.closures):
            if bound := self._bound(rows, file, F.FILE, line):
                return bound
        found = self._first(file, file.top.get(name, ()))
        if found and not (language.prototypes and self.is_stub(found)):
            return Value("item", found)
        return self._from_outside(name, file, start) or (Value("item", found) if found else None)

    @staticmethod
    def _seen(file: File, at: int, name: str, line: int) -> list[F.Binding]:
        """The locals of this name in a symbol that a line sees: those of anonymous functions only inside them, and those first."""
        rows = file.bindings[at].get(name) if at in file.bindings else None
        if not rows:
            return []
        if not line:
            return rows
        inner = [r for r in rows if r.until and r.line <= line <= r.until]
        if inner:
            innermost = min(r.until for r in inner)
            return [r for r in inner if r.until == innermost]
        return [r for r in rows if not r.until]

    def _first(self, file: File, indexes: Iterable[int]) -> Sym | None:
        """The definition a name refers to: the last one, as later definitions replace earlier ones, but types first."""
        syms = [file.sym(i) for i in indexes]
        if not syms:
            return None
        return next((s for s in syms if s.kind in TYPE_KINDS), self._defined(syms)[0])

    def is_stub(self, sym: Sym) -> bool:
        """A signature without a body: an overload, a prototype, an abstract method."""
        file = self.table.file(sym.path)
        return file is not None and sym.index != F.FILE and file.facts.symbols[sym.index].stub

    def _beside(self, sym: Sym) -> Sym:
        """Where a value is meant, the variable or function that has the same name as a type, if there is one."""
        file = self.table.scope(sym.path)
        if file is None:
            return sym
        namesakes = [file.sym(i) for i in file.children[file.facts.symbols[sym.index].parent].get(sym.name, ())]
        return next((s for s in self._defined(namesakes) if s.kind not in ("interface", "type")), sym)

    def _defined(self, syms: list[Sym]) -> list[Sym]:
        """Without the stubs, where there is more than stubs."""
        return [s for s in syms if not self.is_stub(s)] or syms if len(syms) > 1 else syms

    def _bound(self, rows: list[F.Binding], file: File, at: int, line: int) -> Value | None:
        """The value of a local: a declared type first, then the nearest assignment above that can be evaluated."""
        if file.language.shadowing:
            return self._nearest_bound(rows, file, at, line)
        before = [r for r in rows if r.line <= line or not line] or rows
        for row in (*before, *rows):
            if row.type:  # `node *node`: inside its own type a name does not mean itself
                own = at != F.FILE and row.name in _IDENTIFIER.findall(row.type)
                value = self.type_value(row.type, file, file.facts.symbols[at].parent if own else at)
                if value:
                    return value
        for row in reversed(before):
            if row.value:
                value = self._evaluate_binding(row, file, at)
                if value is not None and value.kind != "local":
                    return value
        if file.test and file.language.fixtures and not any(r.type or r.value for r in rows):
            return self._fixture(rows[0].name, file, at) or LOCAL
        return LOCAL

    def _fixture(self, name: str, file: File, at: int) -> Value | None:
        """What a test's parameter holds: the result of the function of that name here or in the fixture files of the folders above."""
        self.table.located(file.language.fixtures.partition(".")[0])
        folders = modules.parents(file.folder)
        paths = [file.path, *(f"{folder}/{file.language.fixtures}".lstrip("/") for folder in folders)]
        for path in paths:
            other = self.table.scope(path) if path in self.table.paths else None
            for index in other.top.get(name, ()) if other else ():
                assert other is not None
                if index != at or other is not file:
                    return self.type_of(other.sym(index)) if other.sym(index).kind == "function" else None
        return None

    def _nearest_bound(self, rows: list[F.Binding], file: File, at: int, line: int) -> Value | None:
        """The value of a local where each binding is a declaration of its own; None above the first.

        One that is being evaluated cannot mean itself, and in `x = x.y()` what is assigned is the x before."""
        before = [r for r in rows if (r.line < line or not line or (r.line == line and bare(r.value.partition(".")[0]) != r.name))]
        before = [r for r in before if (_binding_key(r, file), at) not in self.table.frame.busy]
        if not before:
            return None
        newest = max(r.line for r in before)
        nearest = [r for r in before if r.line == newest]
        for row in reversed(nearest):
            value = self.type_value(row.type, file, at) if row.type else self._evaluate_binding(row, file, at) if row.value else None
            if value is not None:
                return value
        return LOCAL

    def is_local(self, name: str, file: File, at: int, line: int) -> bool:
        """Whether a bare name means a local, for languages in which any binding makes it one for the whole function."""
        if name not in file.local_names or file.language.shadowing:
            return False
        start = at
        while at != F.FILE:
            if (at == start or file.language.closures) and self._seen(file, at, name, line):
                return True
            if at in file.children and name in file.children[at]:
                return False
            at = file.facts.symbols[at].parent
        return name not in file.top and bool(self._seen(file, F.FILE, name, line))

    def _evaluate_binding(self, row: F.Binding, file: File, at: int) -> Value | None:
        key = (_binding_key(row, file), at)
        frame = self.table.frame
        if key in frame.busy:
            return _CYCLE
        if frame.busy:  # what is found on the way may be cut short by what is being evaluated
            return self._evaluate_busy(row, file, at, key)
        if key not in frame.answers:
            frame.answers[key] = self._evaluate_busy(row, file, at, key)
        value: Value | None = frame.answers[key]
        return value

    def _evaluate_busy(self, row: F.Binding, file: File, at: int, key: tuple[str, int]) -> Value | None:
        busy = self.table.frame.busy
        busy.add(key)
        try:
            return self.evaluate(row.value, file, at, row.line)
        finally:
            busy.discard(key)

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
        if file.language.uniform_access:
            return self._top_named(name, file)
        if visible == "directory":
            here = [s for s in self.table.named(name, file.language.kin) if s.path.rpartition("/")[0] == file.folder and _top_level(s)]
            if here:
                return Value("item", _prefer(here, file))
        elif visible in ("package", "namespace", "global"):
            found = self._in_spaces(name, file, at)
            if found:
                return found
        for row in file.stars:
            if file.language.imports == "rust":
                value = self._star(row, file, name, frozenset({(file.path, name)}))
                if value and value.kind != "outside":
                    return value
                continue
            place = modules.locate(row.module, file, self.table)
            if place.kind == "file":
                value = self.export(place.name, name)
                if value:
                    return value
        if visible == "global":
            here = [s for s in self.table.named(name, file.language.kin) if _top_level(s) and (file.test or not s.test)]
            if here and (len(here) == 1 or all(s.symbol == here[0].symbol for s in here)):
                return Value("item", _prefer(here, file))
        return None

    def _top_named(self, name: str, file: File) -> Value | None:
        """A top-level type or constant of any file, or the one function of that name."""
        self.table.reads.add(name)
        if name not in self._tops:
            self._tops[name] = [s for s in self.table.named(name, file.language.kin) if _top_level(s)]
        here = self._tops[name]
        found = next((s for s in here if s.kind in _TYPE_LIKE and (file.test or not s.test)), None)  # any part, see `primary`
        if found is None and (visible := [s for s in here if file.test or not s.test]):
            found = _prefer(visible, file)
        return Value("item", found) if found else None

    def _in_spaces(self, name: str, file: File, at: int) -> Value | None:
        """Full-name look-up in the packages and namespaces the file sees, its own first."""
        candidates = self.table.named(name, file.language.kin)
        if not candidates:
            return None
        full: dict[str, list[Sym]] = {}
        for sym in candidates:
            if sym.kind in _DATA and file.language.visible == "global" and not file.language.prototypes:
                continue
            if sym.test and not file.test:
                continue
            open_enum = sym.kind == "constant" and file.language.open_enums
            if sym.owner and sym.kind not in _TYPE_LIKE and not file.language.implicit_self and not open_enum:
                continue  # a member is never named alone
            other = self.table.file(sym.path)
            if other and sym.index != F.FILE:
                path = other.full(sym.index)
                full.setdefault(path, []).append(sym)
                parent = other.facts.symbols[sym.index].parent
                if sym.kind == "constant" and file.language.open_enums and parent != F.FILE and other.facts.symbols[parent].kind == "enum":
                    outer = path.rpartition(".")[0].rpartition(".")[0]
                    full.setdefault(f"{outer}.{name}" if outer else name, []).append(sym)
        for space in self._spaces(file, at):
            found = full.get(f"{space}.{name}" if space else name)
            if found:
                return Value("item", _prefer(self._defined(found), file))
        return None

    def _spaces(self, file: File, at: int) -> list[str]:
        """The namespaces whose names are visible at a symbol, innermost first, then the imported ones."""
        spaces: list[str] = []
        while at != F.FILE:
            if file.facts.symbols[at].kind not in CALLABLE_KINDS:
                full = file.full(at)
                spaces += [full, *self._outer(full)]
            at = file.facts.symbols[at].parent
        if not spaces:
            for fact in file.facts.symbols:
                if fact.kind == "namespace":
                    full = fact.symbol.replace("::", ".")
                    spaces += [full, *self._outer(full)]
                    break
        if file.facts.namespace:
            spaces.append(file.facts.namespace)
        spaces += [row.module.replace("\\", ".").replace("::", ".") for row in file.stars]
        if file.language.visible == "namespace":
            spaces += [name for row in file.facts.imports if not row.alias for name in self.space_names(row, file)]
        spaces.append("")
        return list(dict.fromkeys(spaces))

    def space_names(self, row: F.Import, file: File) -> list[str]:
        """The full names an imported namespace may have: written inside a namespace, it may be relative to that."""
        module = row.module.replace("\\", ".")
        full = file.full(row.source) if row.source != F.FILE else ""
        return [*(f"{outer}.{module}" for outer in (full, *self._outer(full)) if outer), module]

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
        if seen:
            return self._imported(row, file, seen)
        key = (file.path, row.module, row.name, row.alias, row.source, self._shallow > 0)
        if key not in self._brought:
            outer, self.table.reads = self.table.reads, set()
            value = self._imported(row, file, seen)
            self._brought[key] = (value, frozenset(self.table.reads))
            self.table.reads |= outer
        value, reads = self._brought[key]
        self.table.reads |= reads
        return value

    def _imported(self, row: F.Import, file: File, seen: frozenset[tuple[str, str]]) -> Value | None:
        if not row.module and row.name:  # `export { x as y }`: another name for something of this file
            found = self._first(file, file.top.get(row.name, ()))
            if found:
                return Value("item", found)
            rows = [r for r in file.imported.get(row.name, ()) if r is not row and r.module]
            return self.imported(rows[0], file, seen) if rows else None
        if file.language.imports == "rust":
            return self._rust_path([*re.split(r"::", row.module), *([row.name] if row.name else [])], file, seen, row.source)
        if file.language.imports == "namespace" or (file.language.imports == "include" and row.name):
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
        if seen:
            return self._export(path, name, seen | {key})
        return self._remember(f"export:{path}:{name}", lambda: self._export(path, name, frozenset({key})))

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
            if path.endswith(("lib.rs", "main.rs")):  # exported macros stand at the root of their crate
                macros = [s for s in self.table.named(name, file.language.kin) if s.kind == "macro" and s.path.startswith(file.folder)]
                if macros:
                    return Value("item", macros[0])
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
            target = self._rust_path(re.split(r"::", row.module), file, seen, row.source)
            value = self.attribute(target, name, file, seen) if target and target.kind != "outside" else None
            above = self.table.scope(target.name) if value is None and target and target.kind == "file" and row.module.endswith("super") else None
            if above and above.path != file.path:  # a module sees what the one around it imports
                rows = [r for r in above.imported.get(name, ()) if (above.path, "use " + name) not in seen]
                return self.imported(rows[0], above, seen | {(above.path, "use " + name)}) if rows else None
            return value
        place = modules.locate(row.module, file, self.table)
        return self.export(place.name, name, seen) if place.kind == "file" else None

    def _rust_root(self, name: str, file: File, at: int) -> Value | None:
        """`crate`, `self` or `super` as read inside symbol `at`: modules written in the file count as levels."""
        around = []
        while at != F.FILE:
            if file.facts.symbols[at].kind == "module":
                around.append(at)
            at = file.facts.symbols[at].parent
        if name == "self" and around:
            return Value("item", file.sym(around[0]))
        if name == "super" and around:
            return Value("item", file.sym(around[1])) if len(around) > 1 else Value("file", name=file.path)
        place = modules.locate(name.lstrip("$"), file, self.table)
        return Value("file", name=place.name) if place.kind == "file" else None

    def _rust_path(self, parts: list[str], file: File, seen: frozenset[tuple[str, str]], at: int = F.FILE) -> Value | None:
        """`crate::a::B`, `super::x`, `other_crate::y`, or a path that starts at a module or type seen from here."""
        parts = [p.strip() for p in parts if p.strip()]
        if not parts:
            return None
        rooted = parts[0] in ("crate", "self", "super", "$crate")
        place = modules.locate(parts[0], file, self.table) if not rooted else modules.OUTSIDE
        value: Value | None
        if rooted:
            value = self._rust_root(parts[0], file, at)
        elif place.kind == "file":
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
        dotted = ".".join(p for p in (row.module.replace("\\", ".").replace("::", "."), row.name) if p and p != "*").strip(".")
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
        return _prefer(self._defined(found), file) if found else None

    # -- types ---------------------------------------------------------------------------------------------------

    def type_value(self, text: str, file: File, at: int, depth: int = 0) -> Value | None:
        """An object of a declared type: `Optional[Cart]`, `&mut Vec<Cart>`, `Cart | None`, `[]Cart`.

        Remembered where no local can be meant."""
        if not file.language.shadowing:
            return self._type_value(text, file, at, depth)
        key = (text, file.path, at, self._shallow > 0)
        known = self._declared.get(key)
        if known is None:
            outer, self.table.reads = self.table.reads, set()
            value = self._type_value(text, file, at, depth)
            known = (value, frozenset(self.table.reads))
            self.table.reads |= outer
            if value is not _CYCLE and not self._climbing:
                self._declared[key] = known
        self.table.reads |= known[1]
        return known[0]

    def _type_value(self, text: str, file: File, at: int, depth: int) -> Value | None:
        text = text.strip().strip("\"'").lstrip(":").strip()
        text = re.sub(r"^(?:->|:)\s*", "", text)
        text = re.sub(r"^(?:&?'?\w*\s*&?\s*(?:mut|dyn|impl|const|final|readonly|out|ref|in|params|async|unique|struct|union|enum|class|typename|volatile)\s+)+", "", text)
        if "'" in text:
            text = re.sub(r"^[&\s]*'\w+\s*\+?\s*(?:mut\s+|dyn\s+|impl\s+)*", "", text)
        text = text.lstrip("&*?@ ").removeprefix("mut ").removeprefix("dyn ").removeprefix("impl ").strip()
        if not text or depth > MAX_LOOKUPS or text in file.language.inferred:
            return None
        if text.startswith("[") and (match := _SEQUENCE.match(text)):
            return Value("object", name="[]", arguments=text[match.end() :], path=file.path)
        if text.startswith("[") and text.endswith("]"):
            return Value("object", name="[]", arguments=text[1:-1].partition(";")[0], path=file.path)
        if text.startswith("map[") or "..." in text[:60]:
            elements = text.partition("]")[2] if text.startswith("map[") else text.partition("...")[2]
            return Value("object", name="[]", arguments=elements, path=file.path)
        if text.endswith("[]"):
            return Value("object", name="[]", arguments=text[:-2], path=file.path)
        if text.startswith("(") and text.endswith(")"):
            parts = _split_arguments(text[1:-1])
            if len(parts) > 1:
                return Value("object", name="()", arguments=text[1:-1], path=file.path)
            return self.type_value(_without_name(parts[0]), file, at, depth + 1)
        match = _HEAD.match(text)
        if not match:
            return None
        head, rest = match.group().rstrip(":"), text[match.end() :].strip()
        language = file.language
        arguments = _inside(rest)
        if head.rpartition(".")[2].rpartition(":")[2] in language.wrappers and arguments:
            for part in _split_arguments(arguments)[: 1 if language.wraps_first else None]:
                value = self.type_value(part, file, at, depth + 1)
                if value and value.kind == "instance":
                    return value
            return self.type_value(_split_arguments(arguments)[0], file, at, depth + 1)
        if head in language.self_names or head == "Self" or head == "static":
            owner = self.enclosing_type(file, at)
            return Value("instance", owner) if owner else None
        bound = self._type_parameter(head, file, at)
        if bound is not None:
            if "+" in bound:
                values = [self.type_value(part, file, at, depth + 1) for part in bound.split("+")]
                return next((v for v in values if v and v.kind == "instance"), values[0])
            return self.type_value(bound, file, at, depth + 1)
        named = self.type_named(head.replace("::", ".").replace("\\", "."), file, at)
        if named and named.kind == "item" and named.sym:
            if named.sym.kind in _TYPE_LIKE:
                return self._through_alias(named.sym, arguments, file, at, depth)
            return None
        if "|" in rest and not arguments:
            return next((v for v in (self.type_value(p, file, at, depth + 1) for p in rest.split("|")) if v and v.kind == "instance"), None)
        if named and named.kind == "local":
            return None
        name = named.name if named and named.kind == "outside" else head.replace("::", ".")
        return Value("object", name=name, arguments=arguments, path=file.path)

    def type_named(self, expression: str, file: File, at: int, line: int = 0) -> Value | None:
        """What a chain denotes where a type is meant: a member or local that is called like its type does not hide it."""
        if file.language.closed_types:  # types and values have their names apart
            head, *rest = expression.split(".")
            found: Value | None = self.lookup(head, file, at, own_members=False, local=False) or Value("outside", name=head)
            for name in rest:
                found = self.attribute(found, name, file)
            return found
        value = self.evaluate(expression, file, at, line, local=not file.language.shadowing)
        if value and value.kind == "instance" and expression in file.language.self_names:
            return Value("item", value.sym)  # PHP's `: self`
        if value is None or "." in expression:
            return value
        no_type = value.sym is not None and value.sym.kind not in _TYPE_LIKE
        if no_type or value.kind in ("local", "instance", "object"):
            return self.lookup(expression, file, at, own_members=False, local=False) or value
        return value

    def _type_parameter(self, name: str, file: File, at: int) -> str | None:
        """The bound of a type parameter, which the query files record as a typed local; empty when it has none."""
        while at != F.FILE:
            rows = file.bindings.get(at, {}).get(f"<{name}>")
            if rows:
                return next((row.type for row in rows if row.type), "")
            at = file.facts.symbols[at].parent
        return None

    def _through_alias(self, sym: Sym, arguments: str, file: File, at: int, depth: int) -> Value | None:
        """An alias stands for its target."""
        if sym.kind == "type":
            other = self.table.scope(sym.path)
            fact = other.facts.symbols[sym.index] if other else None
            if other and fact and fact.type and arguments and (passed := self._passed(sym, fact.type, other, arguments)):
                return self.type_value(passed, file, at, depth + 1)
            if other and fact and fact.type and not self._members_of(sym):
                value = self.type_value(fact.type, other, sym.index, depth + 1)
                if value and value.kind == "instance":
                    return value
        return Value("instance", sym, arguments=arguments, path=file.path)

    def _passed(self, sym: Sym, text: str, file: File, arguments: str) -> str:
        """`Outcome<Cart>` with `type Outcome<T> = Result<T, Problem>` → Cart: an alias that only wraps its parameter."""
        head = _HEAD.match(text)
        if not head or head.group().rpartition(":")[2] not in file.language.wrappers:
            return ""
        inner = _split_arguments(_inside(text[head.end() :].strip()))[0]
        names = [name for name in file.bindings.get(sym.index, {}) if name.startswith("<")]
        given = _split_arguments(arguments)
        place = names.index(f"<{inner}>") if f"<{inner}>" in names else -1
        return given[place] if 0 <= place < len(given) else ""

    def _members_of(self, sym: Sym) -> bool:
        other = self.table.file(sym.path)
        return bool(other and any(self.table.members(key) for key in other.type_keys(sym.index)))

    def type_of(self, sym: Sym) -> Value | None:
        """What a variable, field or property holds, or a function returns. Remembered; a cycle has no answer."""
        key = (sym.path, sym.index)
        self.table.reads.add(sym.name)
        token = f"type:{sym.id}"
        if key in self._busy:
            self.table.reads.add(token)
            return _CYCLE
        return self._remember(token, lambda: self._type_of_once(sym, key))

    def _type_of_once(self, sym: Sym, key: tuple[str, int]) -> Value | None:
        self._busy.add(key)
        try:
            return self._type_of(sym)
        finally:
            self._busy.discard(key)

    def _type_of(self, sym: Sym) -> Value | None:
        file = self.table.scope(sym.path)
        if file is None or sym.index == F.FILE:
            return None
        fact = file.facts.symbols[sym.index]
        if sym.kind == "constant" and fact.parent != F.FILE and file.facts.symbols[fact.parent].kind == "enum" and not fact.values:
            return Value("instance", file.sym(fact.parent))
        at = sym.index if sym.kind in CALLABLE_KINDS or sym.kind == "property" else fact.parent
        if fact.type:
            return self.type_value(fact.type, file, at)
        inner = sym.index if sym.kind in CALLABLE_KINDS or sym.kind == "property" else self._assigning(file, sym)
        for expression in fact.values:
            value = self.evaluate(expression, file, self._with_parameter(file, fact, inner, expression))
            if value is _CYCLE or (value and value.sym and value.sym.kind in _DATA and self.type_of(value.sym) is _CYCLE):
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

    def _with_parameter(self, file: File, fact: F.SymbolFact, inner: int, expression: str) -> int:
        """A field declared in the class body is assigned in its constructor: that is where the parameter it gets is known."""
        if fact.kind != "field" or inner != fact.parent or not file.language.constructors:
            return inner
        name = bare(expression.partition(".")[0])
        for constructor in file.language.constructors:
            for index in file.children[fact.parent].get(constructor, ()):
                if name in file.bindings.get(index, {}):
                    return index
        return inner

    def ancestry(self, sym: Sym) -> Ancestry:
        """A type and everything it inherits from, depth first."""
        self.table.reads.add(sym.name)
        sym = self.primary(sym)
        if (sym.path, sym.index) in self._climbing:  # asked for while its own bases are looked for
            return Ancestry((sym,), ())
        return self._remember(f"ancestry:{sym.id}", lambda: self._ancestry(sym))

    def _ancestry(self, sym: Sym) -> Ancestry:
        types: list[Sym] = [sym]
        outside: list[str] = []
        self._climbing.add((sym.path, sym.index))
        self._climb(sym, types, outside)
        self._climbing.discard((sym.path, sym.index))
        types += dict.fromkeys(s for above in types[1:] for s in self._companions(above) if s not in types)
        return Ancestry(tuple(types), tuple(outside))

    def _climb(self, sym: Sym, types: list[Sym], outside: list[str]) -> None:
        for base in self.direct_bases(sym):
            if base.kind == "item" and base.sym:
                above = self.primary(base.sym)
                if above not in types and len(types) < MAX_ANCESTORS:
                    types.append(above)
                    self._climb(above, types, outside)
            elif base.kind == "outside":
                outside.append(base.name)

    def satisfied(self, sym: Sym) -> tuple[Sym, ...]:
        """The interfaces of the repository all of whose methods a type has, in languages where that is enough."""
        file = self.table.file(sym.path)
        if file is None or not file.language.structural or sym.kind == "interface":
            return ()
        return self._remember(f"satisfied:{sym.id}", lambda: self._satisfies(sym, self._method_names(sym)))

    def _satisfies(self, sym: Sym, mine: frozenset[str]) -> tuple[Sym, ...]:
        if not mine:
            return ()
        found = []
        for interface in self.table.interfaces(sym.kin):
            wanted = self._wanted(interface)
            if wanted and wanted <= mine and (sym.test or not interface.test):
                found.append(interface)
        return tuple(found)

    def _wanted(self, interface: Sym) -> frozenset[str]:
        """The methods a type needs to satisfy an interface; none that could when part of it lies outside."""
        return self._remember(
            f"wanted:{interface.id}", lambda: frozenset() if self.ancestry(interface).outside else self._method_names(interface)
        )

    def _method_names(self, sym: Sym) -> frozenset[str]:
        names = set()
        for ancestor in self.ancestry(sym).types:
            file = self.table.file(ancestor.path)
            for key in dict.fromkeys(file.type_keys(ancestor.index)) if file else ():
                names |= {m.name for m in self.table.members(key) if m.kind == "method"}
        return frozenset(names)

    def _companions(self, sym: Sym) -> list[Sym]:
        """What a mixin brings along for the class itself."""
        file = self.table.file(sym.path)
        name = file.language.companion if file else ""
        return [self.primary(s) for s in self.own_member(sym, name)[:1] if s.kind == "module"] if name and sym.kind == "module" else []

    def direct_bases(self, sym: Sym) -> list[Value]:
        """Base types as written on any part of a type, resolved; names that lead nowhere are outside."""
        file = self.table.file(sym.path)
        if file is None or not file.language.uniform_access:
            return self._written_bases(sym)
        sym = self.primary(sym)
        return self.table.remembered(f"bases:{sym.id}", lambda: self._mixed_bases(sym))

    def _mixed_bases(self, sym: Sym) -> list[Value]:
        """Bases in a language with mixins: these come before the base class, the last one first, those that tests add after the others."""
        rows: list[tuple[tuple[bool, bool], int, F.Reference, File]] = []
        for part in self._parts(sym):
            file = self.table.scope(part.path)
            if file is not None:
                rows += [((r.role == F.BASE, part.test), part.index, r, file) for r in reversed(file.bases.get(part.index, ()))]
        rows.sort(key=lambda row: row[0])
        out = [self._base(row.chain, file, self.base_scope(row, file, index)) for _, index, row, file in rows]
        return [value for value in dict.fromkeys(out) if value.sym != sym]

    @staticmethod
    def base_scope(row: F.Reference, file: File, index: int) -> int:
        """Where the name of a base is looked for: around the type, but inside it for a mixin that is named in its body."""
        return index if row.role == F.IMPLEMENTS and file.language.uniform_access else file.facts.symbols[index].parent

    def _written_bases(self, sym: Sym) -> list[Value]:
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
            out += self._bases_elsewhere(part, file)
        return [value for value in dict.fromkeys(out) if value.sym != sym]

    def _bases_elsewhere(self, part: Sym, file: File) -> list[Value]:
        """What a type implements in files that define other members of it."""
        out = []
        keys = file.type_keys(part.index)[1:] if file.language.imports == "rust" else ()
        for path in sorted({m.path for key in keys for m in self.table.members(key)} - {part.path}):
            other = self.table.scope(path)
            for row in other.impls if other else ():
                if other and row.literal == part.name:
                    value = self.evaluate(row.literal, other, row.source)
                    if value and value.sym == part:
                        out.append(self._base(row.chain, other, row.source))
        return out

    def _base(self, expression: str, file: File, at: int) -> Value:
        """Where types are opened anywhere, their bases often name each other: there a base is looked for around, not among the inherited."""
        if not file.language.uniform_access:
            return self._named_base(expression, file, at)
        self._shallow += 1
        try:
            return self._named_base(expression, file, at)
        finally:
            self._shallow -= 1

    def _named_base(self, expression: str, file: File, at: int) -> Value:
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
            found = self._owned.get((key, name))
            if found is None:
                found = self.table.member(key, name)
                found = self._owned[key, name] = sorted(found, key=lambda s: (s.test, self.is_stub(s))) if len(found) > 1 else found
            self.table.reads.add(name)
            if found:
                return found
        return []

    def member(self, sym: Sym, name: str, above: bool = False) -> list[Sym]:
        """The nearest definition of a member along the ancestry; `above` leaves the type itself out (super)."""
        if self._shallow:
            return [] if above else self.own_member(sym, name)
        answers = self.table.frame.answers
        key = (sym.id, name, above)
        if key not in answers:
            answers[key] = self._member(sym, name, above)
        found: list[Sym] = answers[key]
        return found

    def _member(self, sym: Sym, name: str, above: bool) -> list[Sym]:
        for ancestor in self.ancestry(sym).types[1 if above else 0 :]:
            found = self.own_member(ancestor, name)
            if found:
                return found
        return []

    def delegate(self, sym: Sym) -> Value | None:
        """What a type passes on to when it lacks a member; None for most. A type that is passed on to does so no further."""
        file = self.table.file(sym.path)
        name = file.language.delegate if file else ""
        found = [s for s in self.own_member(sym, name) if s.kind == "type"] if name else []
        value = self.type_of(found[0]) if found else None
        if value is None or value.kind != "instance" or value.sym is None or self.own_member(value.sym, name):
            return None
        return value

    def enclosing_type(self, file: File, at: int) -> Sym | None:
        """The type whose member symbol `at` is, or which it is."""
        while at != F.FILE:
            fact = file.facts.symbols[at]
            if fact.kind in _TYPE_LIKE:
                return file.sym(at)
            if fact.scope:
                return self._scope_type(file, at)
            if fact.kind == "function" and self._members_of(file.sym(at)):
                return file.sym(at)  # a constructor function
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
        head, _, name = fact.scope.replace("::", ".").rpartition(".")
        dotted = head and file.language.separator != "."
        value = self.evaluate(f"{head}.{name}", file, fact.parent) if dotted else self._from_outside(name, file, fact.parent)
        if value and value.kind == "item":
            return value.sym
        key = file.owner_key(at)
        for sym in self.table.named(name, file.language.kin):
            other = self.table.file(sym.path)
            if sym.kind in _TYPE_LIKE and other and key in other.type_keys(sym.index):
                return sym
        bound = self._type_parameter(fact.scope, file, at)  # `impl<T: Priced> Priced for &T`
        value = self.type_value(bound, file, fact.parent) if bound else None
        return value.sym if value and value.kind == "instance" else None

    # -- chains --------------------------------------------------------------------------------------------------

    def primary(self, sym: Sym, near: File | None = None) -> Sym:
        """Of a type that is opened in several places, the one that stands for it: it names a base, or lies in a file of its name.
        Of several such, the one in the same source tree as the file `near` which it is named."""
        file = self.table.file(sym.path)
        if file is None or not file.language.uniform_access or sym.kind not in _TYPE_LIKE:
            return sym
        self.table.reads.add(sym.name)
        key = (file.full(sym.index), near.project if near else None, near is not None and near.test)
        if key not in self._primaries:
            self._primaries[key] = min(self._parts(sym), key=lambda part: self._secondary(part, near))
        return self._primaries[key]

    def _secondary(self, sym: Sym, near: File | None) -> tuple[bool, bool, bool, bool, bool, str, int]:
        file = self.table.file(sym.path)
        based = bool(file and any(row.role == F.BASE for row in file.bases.get(sym.index, ())))
        named = stem(sym.path).replace("_", "") == sym.name.lower()
        far = bool(file and near and file.project != near.project)
        return (sym.test and not (near and near.test), not based and not named, far, sym.test, not based, sym.path, sym.index)

    def _evaluate_uniform(self, expression: str, file: File, at: int, line: int) -> Value | None:
        """A chain of a language in which every name that is no local is a call, with or without parentheses."""
        parts = expression.split(".")
        value = self._start_uniform(parts[0], file, at, line)
        for segment in parts[1:]:
            name, sym = bare(segment), value.sym if value else None
            if value is None or value is _CYCLE:
                return value
            made = name == file.language.construct
            if made and value.kind in ("item", "instance") and sym and sym.kind in _TYPE_LIKE and not self.member(sym, name):
                value = Value("instance", sym)
            elif made and value.kind == "outside":
                value = Value("object", name=value.name)
            elif name == "class" and value.kind == "instance":
                value = Value("item", sym)
            else:
                value = self._result(self.attribute(value, name, file), file)
            if segment.endswith("[]"):
                value = None
        return value

    def _start_uniform(self, segment: str, file: File, at: int, line: int) -> Value | None:
        name, language = bare(segment), file.language
        if name in ("?", "''", "") or segment.endswith("[]"):
            return Value("object", name="str") if segment == "''" else None
        owner = self.enclosing_type(file, at)
        if name in language.super_names:
            above = self.member(owner, file.facts.symbols[at].name, above=True) if owner else []
            return self.type_of(above[0]) if above else None
        if name in language.self_names or name == language.construct:
            return Value("instance", owner) if owner else None
        value = self.lookup(name, file, at, line, local=not segment.endswith("()"))
        if value is None and name[0].isupper():
            return Value("outside", name=name)
        return self._result(value, file)

    def _result(self, value: Value | None, file: File) -> Value | None:
        """A function stands for what it returns, and so does a type's part for the whole; results of a library are unknown."""
        if value is None or value is _CYCLE:
            return value
        if value.kind == "outside" and not value.name.rpartition(".")[2][:1].isupper():
            return None
        if value.kind == "item" and value.sym:
            return self.type_of(value.sym) if value.sym.kind in CALLABLE_KINDS else Value("item", self.primary(value.sym, file))
        return value

    def evaluate(self, expression: str, file: File, at: int, line: int = 0, local: bool = True) -> Value | None:
        """What a chain denotes, read inside symbol `at`. Without `local`, its first name means no local."""
        if not expression:
            return None
        if file.language.uniform_access:
            return self._evaluate_uniform(expression, file, at, line)
        parts = expression.split(".")
        value = self._start(parts[0], file, at, line, local)
        for segment in parts[1:]:
            if value is None or value is _CYCLE:
                return value
            name = bare(segment)
            value = self.attribute(value, name, file)
            passing = name in file.language.transparent or name in file.language.elements
            if passing and value and value.kind in ("instance", "object") and segment.startswith(name + "()"):
                segment = name + segment[len(name) + 2 :]
            value = self._marks(value, segment, file.language.capital_types)
        return value

    def _start(self, segment: str, file: File, at: int, line: int, local: bool = True) -> Value | None:
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
        if language.imports == "rust" and name in ("crate", "super", "$crate"):
            return self._rust_root(name, file, at)
        if language.imports == "rust" and name[0] == "$":
            return None  # what a macro is given
        value = self.lookup(name, file, at, line, local=local)
        if value is None and language.imports == "rust":
            value = self._rust_path([name], file, frozenset())
            if value and value.kind == "outside":
                value = None
        if value is None and language.visible in ("namespace", "global", "package"):
            spaces = [s for s in self.table.named(name, language.kin) if s.kind in ("namespace", "module")]
            if spaces:
                value = Value("item", spaces[0])
        if value is None and name in language.module_names:
            value = Value("file", name=file.path)
        if value is None:
            value = LOCAL if name in language.implicit_locals else Value("outside", name=name)
        return self._marks(value, segment, language.capital_types)

    def _marks(self, value: Value | None, segment: str, capital_types: bool = True) -> Value | None:
        """Applies the calls, elements and literals written after a name."""
        marks = segment[len(bare(segment)) :]
        if value is not None:
            value = self.meant(value, marks.startswith("()"))
        if value is not None and not marks:
            return self._settled(value)
        while value is not None and marks:
            mark, marks = marks[:2], marks[2:]
            if mark == "[]":
                value = self._element(value)
            elif mark == "{}" and value.kind == "outside":
                value = Value("object", name=value.name)
            elif mark == "{}" and value.kind == "instance":
                continue
            else:
                value = self._called(value, capital_types)
        return value

    def meant(self, value: Value, called: bool) -> Value:
        """Of a field and a method of one name and type, the one that a use means: the method when it is called."""
        sym = value.sym
        if value.kind != "item" or sym is None or not sym.owner or (sym.kind in CALLABLE_KINDS) == called or sym.kind in _TYPE_LIKE:
            return value
        file = self.table.file(sym.path)
        if file is None or not (file.language.overloads or file.language.twin_names):
            return value
        keys = dict.fromkeys((sym.owner, *self._keys_of_owner(sym))) if file.language.twin_names else (sym.owner,)
        twins = [s for key in keys for s in self.table.member(key, sym.name) if (s.kind in CALLABLE_KINDS) == called and s.kind != "constructor"]
        return Value("item", twins[0]) if twins else value

    def _keys_of_owner(self, sym: Sym) -> tuple[str, ...]:
        file = self.table.file(sym.path)
        owner = self.enclosing_type(file, sym.index) if file else None
        other = self.table.file(owner.path) if owner else None
        return other.type_keys(owner.index) if other and owner else ()

    def _settled(self, value: Value) -> Value | None:
        """A data item stands for what it holds when a member of it is asked for; here it stays itself."""
        return value

    def _called(self, value: Value, capital_types: bool = True) -> Value | None:
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
                return self._result_of(sym)
            held = self.type_of(sym)
            return self._called(held) if held and held.kind == "item" else held
        if value.kind == "instance" and sym is not None and sym.kind == "type":
            return self._delegate_result(sym)
        if value.kind == "outside":
            last = value.name.rpartition(".")[2]
            return Value("object", name=value.name) if last[:1].isupper() and capital_types else None
        return None

    def _delegate_result(self, sym: Sym) -> Value | None:
        """What calling an object of a function type gives: a delegate's result is written as its value."""
        other = self.table.scope(sym.path)
        fact = other.facts.symbols[sym.index] if other else None
        return self.type_value(fact.values[0], other, sym.index) if other and fact and fact.values and not fact.type else None

    def _result_of(self, sym: Sym) -> Value | None:
        """What a function returns; of a variable or field, what that holds. A function with members makes objects of itself."""
        result = self.type_of(sym)
        if result is None and sym.kind == "function" and self._members_of(sym):
            return Value("instance", sym)
        if result and result.kind == "item" and result.sym and result.sym.kind in _DATA:
            return self.type_of(result.sym)
        return result

    def _element(self, value: Value) -> Value | None:
        """An element of a collection, told by the last type argument."""
        if value.kind == "item" and value.sym:
            if value.sym.kind in _TYPE_LIKE or value.sym.kind in CALLABLE_KINDS:
                return value  # type arguments
            held = self.type_of(value.sym)
            return self._element(held) if held and held.sym != value.sym else None
        if value.kind == "instance" and value.sym and (indexers := self.member(value.sym, "this[]")):
            return self.type_of(indexers[0])
        if value.kind == "instance" and value.sym and value.sym.kind == "type":
            other = self.table.scope(value.sym.path)
            fact = other.facts.symbols[value.sym.index] if other else None
            held = self.type_value(fact.type, other, value.sym.index) if other and fact and fact.type else None
            return self._element(held) if held and held.sym != value.sym else None
        if value.arguments:
            file = self.table.file(value.path)
            if file:
                return self.type_value(_split_arguments(value.arguments)[-1], file, F.FILE)
        if value.kind == "instance" and value.sym and (other := self.table.file(value.sym.path)) and other.language.pointers:
            return value
        return None

    def attribute(self, value: Value | None, name: str, file: File, seen: frozenset[tuple[str, str]] = frozenset()) -> Value | None:
        """A member of what a value denotes."""
        if value is None or value is _CYCLE:
            return value
        sym = value.sym
        if value.kind == "super" and sym:
            found = self.member(sym, name, above=True)
            return Value("item", found[0]) if found else None
        if name.isdigit() and sym and value.kind in ("instance", "item") and sym.kind not in _DATA - {"constant"}:
            return self._payload(sym, int(name)) or (value if name == "1" and value.kind == "instance" else None)
        if value.kind == "instance" and sym:
            found = self.member(sym, name)
            if found:
                return Value("item", found[0])
            if delegate := self.delegate(sym):
                return self.attribute(delegate, name, file, seen)
            if file.language.embedding:
                for base in (b for t in self.ancestry(sym).types for b in self.direct_bases(t)):
                    if base.name.rpartition(".")[2] == name:
                        return Value("object", name=base.name)
                    if base.sym and base.sym.name == name:
                        return Value("instance", base.sym)
            if added := self.extensions(value, name, file):
                return Value("item", added[0])
            return value if name in file.language.transparent else None
        if value.kind == "item" and sym:
            return self._attribute_of_item(sym, name, file, seen)
        if value.kind == "file":
            return self.export(value.name, name, seen)
        if value.kind == "folder":
            return self._in_folder(value.name, name, file)
        if value.kind in ("outside", "object"):
            if name.isdigit():
                return self._place(value, int(name))
            if value.kind == "object" and name in file.language.transparent:
                return value
            if value.kind == "object" and name in file.language.elements and value.arguments:
                return self._element(value)
            if added := self.extensions(value, name, file):
                return Value("item", added[0])
            dotted = f"{value.name}.{name}"
            full = self._named_fully(dotted, file) if value.kind == "outside" and file.language.imports == "namespace" else None
            return Value("item", full) if full else Value("outside", name=dotted)  # written with its package
        return None

    def extensions(self, value: Value, name: str, file: File) -> list[Sym]:
        """The methods written elsewhere that give objects of a type this member. A library's type may have bases that are not known:
        for its objects, methods that extend any type of a library will do when none extends just this one."""
        if not file.language.extension_methods or value.kind not in ("instance", "object"):
            return []
        exact, loose = [], []
        for sym in self.table.named(name, file.language.kin):
            other = self.table.file(sym.path)
            rows = other.bindings.get(sym.index, {}).get("<this>") if other and sym.kind == "method" else None
            if other and rows:
                extended = self.type_value(rows[0].type, other, sym.index)
                if self._is_a(value, extended):
                    exact.append(sym)
                elif extended and extended.kind == "object" and name not in file.language.common:
                    loose.append(sym)
        known = value.kind == "instance" and value.sym and not self.ancestry(value.sym).outside
        return exact or ([] if known else loose)

    def _is_a(self, value: Value, wanted: Value | None) -> bool:
        """Whether an object is one of a type, as far as its ancestry is known; any object is one of an unbound type parameter."""
        if wanted is None or wanted.name in ("object", "Object"):
            return True
        if value.kind == "instance" and value.sym:
            ancestry = self.ancestry(value.sym)
            if wanted.sym:
                return any(t.symbol == wanted.sym.symbol for t in ancestry.types)
            return any(_last(name) == _last(wanted.name) for name in ancestry.outside)
        return wanted.sym is None and _last(value.name) == _last(wanted.name)

    def _payload(self, sym: Sym, place: int) -> Value | None:
        """One of the unnamed values that a tuple struct or a variant holds."""
        file = self.table.scope(sym.path)
        fact = file.facts.symbols[sym.index] if file and sym.index != F.FILE else None
        if file is None or fact is None or not fact.type.startswith("("):
            return None
        parts = _split_arguments(fact.type[1:-1])
        text = re.sub(r"^\s*(?:#\[[^\]]*\]\s*)*(?:pub(?:\([^)]*\))?\s+)?", "", parts[place]) if place < len(parts) else ""
        return self.type_value(text, file, sym.index) if text else None

    def _place(self, value: Value, place: int) -> Value | None:
        """One of the values of a tuple; what is no tuple stands for the first, and in pairs of key and value for the second."""
        if value.kind == "outside":
            return None
        if value.name != "()":
            return value if place < 2 else None
        parts, file = _split_arguments(value.arguments), self.table.file(value.path)
        return self.type_value(_without_name(parts[place]), file, F.FILE) if file and place < len(parts) else None

    def _attribute_of_item(self, sym: Sym, name: str, file: File, seen: frozenset[tuple[str, str]]) -> Value | None:
        if sym.kind in ("namespace", "module") or (sym.kind in _TYPE_LIKE and file.language.identity == "namespace"):
            other = self.table.file(sym.path)
            full = other.full(sym.index) if other else ""
            inner = [s for s in self.table.named(name, sym.kin) if (f := self.table.file(s.path)) and f.full(s.index) == f"{full}.{name}"]
            if inner:
                return Value("item", _prefer(self._defined(inner), file))
            if other and sym.kind == "module" and other.language.imports == "rust":
                found = self._first(other, other.children[sym.index].get(name, ()))
                return Value("item", found) if found else None
        if sym.kind in _TYPE_LIKE:
            other = self.table.scope(sym.path)
            nested = self._first(other, other.children[sym.index].get(name, ())) if other else None
            found = [nested] if nested else self.member(sym, name)
            return Value("item", found[0]) if found else None
        if sym.kind in ("variable", "constant", "function"):
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


def _binding_key(row: F.Binding, file: File) -> str:
    return f"{file.path}\0{row.name}\0{row.line}"


def _last(name: str) -> str:
    return name.rpartition(".")[2]


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


def _without_name(text: str) -> str:
    """`out *Cart` → `*Cart`: results may be named."""
    return re.sub(r"^\w+\s+(?=[*\w\[&(])", "", text.strip())


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
