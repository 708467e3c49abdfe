"""Look up bare names: locals, members, the file, imports, packages and namespaces."""

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
    """Look up bare names: locals, members, the file, imports, packages and namespaces."""

    def lookup(
        self, name: str, file: File, at: int, line: int = 0, own_members: bool = True, local: bool = True
    ) -> Value | None:
        """Return the meaning of a bare name inside symbol `at` of a file; None if the repository defines none.

        With `local=False`, locals are ignored.
        """
        if name in file.local_names or self.table.frame.busy or self._base_lookups:
            return self._lookup_uncached(name, file, at, line, own_members, local)
        key = (name, file.path, at, own_members, local)
        answers = self.table.frame.answers
        if key not in answers:
            answers[key] = self._lookup_uncached(name, file, at, line, own_members, local)
        value: Value | None = answers[key]
        return value

    def _lookup_uncached(
        self, name: str, file: File, at: int, line: int, own_members: bool, local: bool
    ) -> Value | None:
        value = self._lookup_scopes(name, file, at, line, own_members, local)
        if (
            local
            and file.language.closed_types
            and value
            and value.kind == "item"
            and value.sym
            and value.sym.kind in ("interface", "type")
        ):
            return Value("item", self._value_namesake(value.sym))
        if file.language.uniform_access and value and value.kind == "item" and value.sym:
            return Value("item", self.primary(value.sym, file))
        return value

    def _lookup_scopes(self, name: str, file: File, at: int, line: int, own_members: bool, local: bool) -> Value | None:
        """Search scope by scope outwards, then the file, then other files."""
        self.table.reads.add(name)
        language = file.language
        maybe_local = name in file.local_names
        innermost, inside_type, start = True, False, at
        while at != FILE:
            fact = file.facts.symbols[at]
            rows = self._visible_bindings(file, at, name, line) if maybe_local else []
            if (
                rows
                and local
                and (at == start or language.closures)
                and (bound := self._evaluate_local(rows, file, at, line))
            ):
                return bound
            inside = file.children[at].get(name, ()) if at in file.children else ()
            if fact.kind in TYPE_LIKE:
                if own_members and (innermost or language.implicit_self) and not language.closed_types:
                    sym = self._visible_member(name, file, at, innermost, inside_type)
                    inside_type = True
                else:
                    sym = self._first(file, inside) if fact.kind in ("module", "type") else None
                if sym is None and name == fact.name and fact.kind != "module":
                    first = self._first(file, file.children[fact.parent].get(name, ())) if fact.nth > 1 else None
                    sym = first or file.sym(at)
            else:
                sym = self._first(file, inside) if inside else None
                if sym and language.closed_types and sym.kind != "function":
                    sym = None
            if sym is None and fact.scope and language.implicit_self:
                sym = self._member_outside(name, file, at)
            if sym is not None:
                return Value("item", sym)
            if fact.kind not in DATA:
                innermost = False
            at = fact.parent
        rows = self._visible_bindings(file, FILE, name, line) if maybe_local else []
        unhidden = local and rows and (name not in file.top or (line and rows[0].until))
        if (
            unhidden
            and (start == FILE or language.closures)
            and (bound := self._evaluate_local(rows, file, FILE, line))
        ):
            return bound
        sym = self._first(file, file.top.get(name, ()))
        if sym and not (language.prototypes and self.is_stub(sym)):
            return Value("item", sym)
        return self._from_outside(name, file, start) or (Value("item", sym) if sym else None)

    def _visible_member(self, name: str, file: File, at: int, innermost: bool, inside_type: bool) -> Sym | None:
        """Return a member that is visible by its bare name inside its type. A constructor's name means the type."""
        language = file.language
        member = self._first(file, file.children[at].get(name, ()))
        if member is None and language.implicit_self:
            members = self.member(file.sym(at), name)
            member = members[0] if members else None
        if member is None or member.kind == "constructor":
            return None
        if inside_type and language.uniform_access and member.kind in CALLABLE_KINDS | {"field", "property"}:
            return None  # only constants are visible inside nested types
        return member if member.kind != "method" or language.implicit_self or innermost else None

    def _member_outside(self, name: str, file: File, at: int) -> Sym | None:
        """Return a member as seen from a sibling that is defined outside the type's body."""
        owner = self.scope_type(file, at)
        members = self.member(owner, name) if owner else []
        if members and (members[0].kind != "constructor" or name in file.language.constructors):
            return members[0]
        return None

    @staticmethod
    def _visible_bindings(file: File, at: int, name: str, line: int) -> list[Binding]:
        """Return the locals of this name that are visible on a line; those of anonymous functions shadow the others."""
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
        """Return the definition a name refers to: types first, else one that is not a stub."""
        syms = [file.sym(i) for i in indexes]
        if not syms:
            return None
        return next((s for s in syms if s.kind in TYPE_KINDS), self._defined(syms)[0])

    def is_stub(self, sym: Sym) -> bool:
        """Return whether a symbol is a signature without a body: an overload, a prototype, an abstract method."""
        file = self.table.file(sym.path)
        return file is not None and sym.index != FILE and file.facts.symbols[sym.index].stub

    def _value_namesake(self, sym: Sym) -> Sym:
        """Return the variable or function that shares its name with a type, if any, where a value is expected."""
        file = self.table.scope(sym.path)
        if file is None:
            return sym
        namesakes = [file.sym(i) for i in file.children[file.facts.symbols[sym.index].parent].get(sym.name, ())]
        return next((s for s in self._defined(namesakes) if s.kind not in ("interface", "type")), sym)

    def _defined(self, syms: list[Sym]) -> list[Sym]:
        """Drop stubs, unless all are stubs."""
        return [s for s in syms if not self.is_stub(s)] or syms if len(syms) > 1 else syms

    def _evaluate_local(self, rows: list[Binding], file: File, at: int, line: int) -> Value | None:
        """Return the value of a local: its declared type, else the nearest earlier assignment that evaluates."""
        if file.language.shadowing:
            return self._evaluate_shadowed_local(rows, file, at, line)
        before = [r for r in rows if r.line <= line or not line] or rows
        for row in rows if len(before) == len(rows) else (*before, *(r for r in rows if r.line > line)):
            if row.type and (value := self._declared_type_of_local(row, file, at)):
                return value
        for row in reversed(before):
            if row.value:
                value = self._evaluate_binding(row, file, at)
                if value is not None and value.kind != "local":
                    return value
        if file.test and file.language.fixtures and not any(r.type or r.value for r in rows):
            return self._fixture(rows[0].name, file, at) or LOCAL
        return LOCAL

    def _declared_type_of_local(self, row: Binding, file: File, at: int) -> Value | None:
        """Return an object of a local's declared type. In `node *node`, the type name does not mean the local."""
        names_itself = at != FILE and row.name in IDENTIFIER.findall(row.type)
        scope = file.facts.symbols[at].parent if names_itself else at
        return self._cached_unless_cyclic("type", row, at, lambda: self.type_value(row.type, file, scope))

    def _cached_unless_cyclic(
        self, aspect: str, row: Binding, at: int, answer: Callable[[], Value | None]
    ) -> Value | None:
        """Cache an answer about a local in the current frame, unless a cycle cut it short."""
        frame, key = self.table.frame, (aspect, id(row), at, self._base_lookups > 0)
        if key not in frame.answers:
            cycles_before = frame.met
            value = answer()
            if frame.met != cycles_before:
                return value
            frame.answers[key] = value
        cached: Value | None = frame.answers[key]
        return cached

    def _fixture(self, name: str, file: File, at: int) -> Value | None:
        """Return the value of a test's parameter: the result of the fixture of that name, here or in a folder above."""
        self.table.record_file_lookup(file.language.fixtures.partition(".")[0])
        folders = modules.parents(file.folder)
        paths = [file.path, *(f"{folder}/{file.language.fixtures}".lstrip("/") for folder in folders)]
        for path in paths:
            other = self.table.scope(path) if path in self.table.paths else None
            for index in other.top.get(name, ()) if other else ():
                assert other is not None
                if index != at or other is not file:
                    return self.type_of(other.sym(index)) if other.sym(index).kind == "function" else None
        return None

    def _evaluate_shadowed_local(self, rows: list[Binding], file: File, at: int, line: int) -> Value | None:
        """Return the value of a local where each binding is a new declaration; None before the first.

        A binding under evaluation cannot refer to itself: in `x = x.y()`, the value uses the previous x.
        """
        before = [
            r
            for r in rows
            if (r.line < line or not line or (r.line == line and bare(r.value.partition(".")[0]) != r.name))
        ]
        frame = self.table.frame
        if frame.busy:
            evaluable = [r for r in before if (binding_key(r, file), at) not in frame.busy]
            frame.met += len(evaluable) < len(before)
            before = evaluable
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
        """Return whether a bare name is a local, in languages where any binding makes it one for the whole function."""
        if name not in file.local_names or file.language.shadowing:
            return False
        start = at
        while at != FILE:
            if (at == start or file.language.closures) and self._visible_bindings(file, at, name, line):
                return True
            if at in file.children and name in file.children[at]:
                return False
            at = file.facts.symbols[at].parent
        return name not in file.top and bool(self._visible_bindings(file, FILE, name, line))

    def _evaluate_binding(self, row: Binding, file: File, at: int) -> Value | None:
        key = (binding_key(row, file), at)
        frame = self.table.frame
        if key in frame.busy:
            frame.met += 1
            return CYCLE
        if frame.busy:  # a cycle may cut the result short
            return self._cached_unless_cyclic("value", row, at, lambda: self._evaluate_guarded(row, file, at, key))
        if key not in frame.answers:
            frame.answers[key] = self._evaluate_guarded(row, file, at, key)
        value: Value | None = frame.answers[key]
        return value

    def _evaluate_guarded(self, row: Binding, file: File, at: int, key: tuple[str, int]) -> Value | None:
        busy = self.table.frame.busy
        busy.add(key)
        try:
            self.table.enter()
            return self.evaluate(row.value, file, at, row.line)
        finally:
            self.table.leave()
            busy.discard(key)

    def _from_outside(self, name: str, file: File, at: int) -> Value | None:
        """Look up a name that the file does not define.

        In this order: imported, in the same package or namespace, star-imported, global.
        """
        rows = file.imported.get(name)
        if rows:
            for row in rows:
                value = self.imported(row, file)
                if value and value.kind != "outside":
                    return value
            return self.imported(rows[0], file)
        visible = file.language.visible
        if file.language.uniform_access:
            return self._lookup_top_level(name, file)
        if visible == "directory":
            candidates = [
                s
                for s in self.table.named(name, file.language.kin)
                if s.path.rpartition("/")[0] == file.folder and top_level(s)
            ]
            if candidates:
                return Value("item", prefer(candidates, file))
        elif visible in ("package", "namespace", "global"):
            value = self._lookup_in_namespaces(name, file, at)
            if value:
                return value
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
            candidates = [
                s for s in self.table.named(name, file.language.kin) if top_level(s) and (file.test or not s.test)
            ]
            if candidates and (len(candidates) == 1 or all(s.symbol == candidates[0].symbol for s in candidates)):
                return Value("item", prefer(candidates, file))
        return None

    def _lookup_top_level(self, name: str, file: File) -> Value | None:
        """Return a top-level type or constant of any file, or the only function of that name."""
        self.table.reads.add(name)
        if name not in self._top_level:
            self._top_level[name] = [s for s in self.table.named(name, file.language.kin) if top_level(s)]
        candidates = self._top_level[name]
        sym = next(
            (s for s in candidates if s.kind in TYPE_LIKE and (file.test or not s.test)), None
        )  # any part, see `primary`
        if sym is None and (visible := [s for s in candidates if file.test or not s.test]):
            sym = prefer(visible, file)
        return Value("item", sym) if sym else None

    def _lookup_in_namespaces(self, name: str, file: File, at: int) -> Value | None:
        """Look up a qualified name in the packages and namespaces visible to the file, its own first."""
        candidates = self.table.named(name, file.language.kin)
        if not candidates:
            return None
        by_full_name: dict[str, list[Sym]] = {}
        for sym in candidates:
            if sym.kind in DATA and file.language.visible == "global" and not file.language.prototypes:
                continue
            if sym.test and not file.test:
                continue
            open_enum = sym.kind == "constant" and file.language.open_enums
            if sym.owner and sym.kind not in TYPE_LIKE and not file.language.implicit_self and not open_enum:
                continue  # members are not visible by their bare name
            other = self.table.file(sym.path)
            if other and sym.index != FILE:
                path = other.full(sym.index)
                by_full_name.setdefault(path, []).append(sym)
                parent = other.facts.symbols[sym.index].parent
                if (
                    sym.kind == "constant"
                    and file.language.open_enums
                    and parent != FILE
                    and other.facts.symbols[parent].kind == "enum"
                ):
                    outer = path.rpartition(".")[0].rpartition(".")[0]
                    by_full_name.setdefault(f"{outer}.{name}" if outer else name, []).append(sym)
        for namespace in self._visible_namespaces(file, at):
            matches = by_full_name.get(f"{namespace}.{name}" if namespace else name)
            if matches:
                return Value("item", prefer(self._defined(matches), file))
        return None

    def _visible_namespaces(self, file: File, at: int) -> list[str]:
        """Return the namespaces visible at a symbol: enclosing ones from the inside out, then imported ones."""
        namespaces: list[str] = []
        while at != FILE:
            if file.facts.symbols[at].kind not in CALLABLE_KINDS:
                full = file.full(at)
                namespaces += [full, *self._outer_namespaces(full)]
            at = file.facts.symbols[at].parent
        if not namespaces:
            for fact in file.facts.symbols:
                if fact.kind == "namespace":
                    full = fact.symbol.replace("::", ".")
                    namespaces += [full, *self._outer_namespaces(full)]
                    break
        if file.facts.namespace:
            namespaces.append(file.facts.namespace)
        namespaces += [row.module.replace("\\", ".").replace("::", ".") for row in file.stars]
        if file.language.visible == "namespace":
            namespaces += [name for row in file.facts.imports if not row.alias for name in self.space_names(row, file)]
        namespaces.append("")
        return list(dict.fromkeys(namespaces))

    def space_names(self, row: Import, file: File) -> list[str]:
        """Return the possible full names of an imported namespace, which may be relative to the enclosing one."""
        module = row.module.replace("\\", ".")
        full = file.full(row.source) if row.source != FILE else ""
        return [*(f"{outer}.{module}" for outer in (full, *self._outer_namespaces(full)) if outer), module]

    @staticmethod
    def _outer_namespaces(full: str) -> list[str]:
        out = []
        while "." in full:
            full = full.rpartition(".")[0]
            out.append(full)
        return out
