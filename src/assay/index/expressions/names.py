"""What a bare name means: locals, members, the file, imports, packages and namespaces."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from assay.core.items import CALLABLE_KINDS, TYPE_KINDS
from assay.index import modules
from assay.index.chains import IDENTIFIER, bare
from assay.index.expressions.base import (
    CYCLE,
    DATA,
    LOCAL,
    TYPE_LIKE,
    EvaluatorBase,
    Search,
    Value,
    binding_key,
    prefer,
    top_level,
)
from assay.index.facts import FILE, Binding, Import
from assay.index.file import File, Sym


class Names(EvaluatorBase):
    """What a bare name means: locals, members, the file, imports, packages and namespaces."""

    def lookup(
        self, name: str, file: File, at: int, line: int = 0, own_members: bool = True, local: bool = True
    ) -> Value | None:
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
        if (
            local
            and file.language.closed_types
            and value
            and value.kind == "item"
            and value.sym
            and value.sym.kind in ("interface", "type")
        ):
            return Value("item", self._beside(value.sym))
        if file.language.uniform_access and value and value.kind == "item" and value.sym:
            return Value("item", self.primary(value.sym, file))
        return value

    def _lookup(self, name: str, file: File, at: int, line: int, own_members: bool, local: bool) -> Value | None:
        """Scope by scope outwards, then the file, then what other files offer."""
        self.table.reads.add(name)
        language = file.language
        maybe_local = name in file.local_names
        inner, passed, start = True, False, at
        while at != FILE:
            fact = file.facts.symbols[at]
            rows = self._seen(file, at, name, line) if maybe_local else []
            if rows and local and (at == start or language.closures) and (bound := self._bound(rows, file, at, line)):
                return bound
            inside = file.children[at].get(name, ()) if at in file.children else ()
            if fact.kind in TYPE_LIKE:
                if own_members and (inner or language.implicit_self) and not language.closed_types:
                    found = self._visible_member(name, file, at, inner, passed)
                    passed = True
                else:
                    found = self._first(file, inside) if fact.kind in ("module", "type") else None
                if found is None and name == fact.name and fact.kind != "module":
                    first = self._first(file, file.children[fact.parent].get(name, ())) if fact.nth > 1 else None
                    found = first or file.sym(at)
            else:
                found = self._first(file, inside) if inside else None
                if found and language.closed_types and found.kind != "function":
                    found = None
            if found is None and fact.scope and language.implicit_self:
                found = self._member_outside(name, file, at)
            if found is not None:
                return Value("item", found)
            if fact.kind not in DATA:
                inner = False
            at = fact.parent
        rows = self._seen(file, FILE, name, line) if maybe_local else []
        unhidden = local and rows and (name not in file.top or (line and rows[0].until))
        if unhidden and (start == FILE or language.closures) and (bound := self._bound(rows, file, FILE, line)):
            return bound
        found = self._first(file, file.top.get(name, ()))
        if found and not (language.prototypes and self.is_stub(found)):
            return Value("item", found)
        return self._from_outside(name, file, start) or (Value("item", found) if found else None)

    def _visible_member(self, name: str, file: File, at: int, inner: bool, passed: bool) -> Sym | None:
        """A member that is seen by its bare name inside its type. The name of a constructor means the type."""
        language = file.language
        found = self._first(file, file.children[at].get(name, ()))
        if found is None and language.implicit_self:
            members = self.member(file.sym(at), name)
            found = members[0] if members else None
        if found is None or found.kind == "constructor":
            return None
        if passed and language.uniform_access and found.kind in CALLABLE_KINDS | {"field", "property"}:
            return None  # only constants are seen from inside inner types
        return found if found.kind != "method" or language.implicit_self or inner else None

    def _member_outside(self, name: str, file: File, at: int) -> Sym | None:
        """A member seen from another that is written outside their type's body."""
        owner = self.scope_type(file, at)
        members = self.member(owner, name) if owner else []
        if members and (members[0].kind != "constructor" or name in file.language.constructors):
            return members[0]
        return None

    @staticmethod
    def _seen(file: File, at: int, name: str, line: int) -> list[Binding]:
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
        return file is not None and sym.index != FILE and file.facts.symbols[sym.index].stub

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

    def _bound(self, rows: list[Binding], file: File, at: int, line: int) -> Value | None:
        """The value of a local: a declared type first, then the nearest assignment above that can be evaluated."""
        if file.language.shadowing:
            return self._nearest_bound(rows, file, at, line)
        before = [r for r in rows if r.line <= line or not line] or rows
        for row in rows if len(before) == len(rows) else (*before, *(r for r in rows if r.line > line)):
            if row.type and (value := self._type_of_local(row, file, at)):
                return value
        for row in reversed(before):
            if row.value:
                value = self._evaluate_binding(row, file, at)
                if value is not None and value.kind != "local":
                    return value
        if file.test and file.language.fixtures and not any(r.type or r.value for r in rows):
            return self._fixture(rows[0].name, file, at) or LOCAL
        return LOCAL

    def _type_of_local(self, row: Binding, file: File, at: int) -> Value | None:
        """An object of a local's declared type. `node *node`: inside its own type a name does not mean itself."""
        own = at != FILE and row.name in IDENTIFIER.findall(row.type)
        place = file.facts.symbols[at].parent if own else at
        return self._once("type", row, at, lambda: self.type_value(row.type, file, place))

    def _once(self, what: str, row: Binding, at: int, answer: Callable[[], Value | None]) -> Value | None:
        """An answer about a local, remembered in the frame at hand unless it was cut short by what is being evaluated."""
        frame, key = self.table.frame, (what, id(row), at, self._shallow > 0)
        if key not in frame.answers:
            met = frame.met
            value = answer()
            if frame.met != met:
                return value
            frame.answers[key] = value
        kept: Value | None = frame.answers[key]
        return kept

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

    def _nearest_bound(self, rows: list[Binding], file: File, at: int, line: int) -> Value | None:
        """The value of a local where each binding is a declaration of its own; None above the first.

        One that is being evaluated cannot mean itself, and in `x = x.y()` what is assigned is the x before."""
        before = [
            r
            for r in rows
            if (r.line < line or not line or (r.line == line and bare(r.value.partition(".")[0]) != r.name))
        ]
        frame = self.table.frame
        if frame.busy:
            free = [r for r in before if (binding_key(r, file), at) not in frame.busy]
            frame.met += len(free) < len(before)
            before = free
        if not before:
            return None
        newest = max(r.line for r in before)
        nearest = [r for r in before if r.line == newest]
        for row in reversed(nearest):
            value = (
                self.type_value(row.type, file, at)
                if row.type
                else self._evaluate_binding(row, file, at)
                if row.value
                else None
            )
            if value is not None:
                return value
        return LOCAL

    def is_local(self, name: str, file: File, at: int, line: int) -> bool:
        """Whether a bare name means a local, for languages in which any binding makes it one for the whole function."""
        if name not in file.local_names or file.language.shadowing:
            return False
        start = at
        while at != FILE:
            if (at == start or file.language.closures) and self._seen(file, at, name, line):
                return True
            if at in file.children and name in file.children[at]:
                return False
            at = file.facts.symbols[at].parent
        return name not in file.top and bool(self._seen(file, FILE, name, line))

    def _evaluate_binding(self, row: Binding, file: File, at: int) -> Value | None:
        key = (binding_key(row, file), at)
        frame = self.table.frame
        if key in frame.busy:
            frame.met += 1
            return CYCLE
        if frame.busy:  # what is found on the way may be cut short by what is being evaluated
            return self._once("value", row, at, lambda: self._evaluate_busy(row, file, at, key))
        if key not in frame.answers:
            frame.answers[key] = self._evaluate_busy(row, file, at, key)
        value: Value | None = frame.answers[key]
        return value

    def _evaluate_busy(self, row: Binding, file: File, at: int, key: tuple[str, int]) -> Value | None:
        busy = self.table.frame.busy
        busy.add(key)
        try:
            self.table.enter()
            return self.evaluate(row.value, file, at, row.line)
        finally:
            self.table.leave()
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
            here = [
                s
                for s in self.table.named(name, file.language.kin)
                if s.path.rpartition("/")[0] == file.folder and top_level(s)
            ]
            if here:
                return Value("item", prefer(here, file))
        elif visible in ("package", "namespace", "global"):
            found = self._in_spaces(name, file, at)
            if found:
                return found
        search: Search = {(file.path, name): None}
        for row in file.stars:
            if file.language.imports == "rust":
                value = self._star(row, file, name, search)
                if value and value.kind != "outside":
                    return value
                continue
            place = modules.locate(row.module, file, self.table)
            if place.kind == "file":
                value = self.export(place.name, name)
                if value:
                    return value
        if visible == "global":
            here = [s for s in self.table.named(name, file.language.kin) if top_level(s) and (file.test or not s.test)]
            if here and (len(here) == 1 or all(s.symbol == here[0].symbol for s in here)):
                return Value("item", prefer(here, file))
        return None

    def _top_named(self, name: str, file: File) -> Value | None:
        """A top-level type or constant of any file, or the one function of that name."""
        self.table.reads.add(name)
        if name not in self._tops:
            self._tops[name] = [s for s in self.table.named(name, file.language.kin) if top_level(s)]
        here = self._tops[name]
        found = next(
            (s for s in here if s.kind in TYPE_LIKE and (file.test or not s.test)), None
        )  # any part, see `primary`
        if found is None and (visible := [s for s in here if file.test or not s.test]):
            found = prefer(visible, file)
        return Value("item", found) if found else None

    def _in_spaces(self, name: str, file: File, at: int) -> Value | None:
        """Full-name look-up in the packages and namespaces the file sees, its own first."""
        candidates = self.table.named(name, file.language.kin)
        if not candidates:
            return None
        full: dict[str, list[Sym]] = {}
        for sym in candidates:
            if sym.kind in DATA and file.language.visible == "global" and not file.language.prototypes:
                continue
            if sym.test and not file.test:
                continue
            open_enum = sym.kind == "constant" and file.language.open_enums
            if sym.owner and sym.kind not in TYPE_LIKE and not file.language.implicit_self and not open_enum:
                continue  # a member is never named alone
            other = self.table.file(sym.path)
            if other and sym.index != FILE:
                path = other.full(sym.index)
                full.setdefault(path, []).append(sym)
                parent = other.facts.symbols[sym.index].parent
                if (
                    sym.kind == "constant"
                    and file.language.open_enums
                    and parent != FILE
                    and other.facts.symbols[parent].kind == "enum"
                ):
                    outer = path.rpartition(".")[0].rpartition(".")[0]
                    full.setdefault(f"{outer}.{name}" if outer else name, []).append(sym)
        for space in self._spaces(file, at):
            found = full.get(f"{space}.{name}" if space else name)
            if found:
                return Value("item", prefer(self._defined(found), file))
        return None

    def _spaces(self, file: File, at: int) -> list[str]:
        """The namespaces whose names are visible at a symbol, innermost first, then the imported ones."""
        spaces: list[str] = []
        while at != FILE:
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

    def space_names(self, row: Import, file: File) -> list[str]:
        """The full names an imported namespace may have: written inside a namespace, it may be relative to that."""
        module = row.module.replace("\\", ".")
        full = file.full(row.source) if row.source != FILE else ""
        return [*(f"{outer}.{module}" for outer in (full, *self._outer(full)) if outer), module]

    @staticmethod
    def _outer(full: str) -> list[str]:
        out = []
        while "." in full:
            full = full.rpartition(".")[0]
            out.append(full)
        return out
