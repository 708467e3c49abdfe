"""Look up bare names: locals, members, the file, imports, packages and namespaces."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from assay.core.items import CALLABLE_KINDS, DATA_KINDS, TYPE_KINDS
from assay.index.chains import IDENTIFIER, bare
from assay.index.facts import FILE, Binding
from assay.index.file import File, Sym
from assay.index.imports.namespaces import namespace_names, outer_namespaces
from assay.index.imports.style import parents
from assay.index.values import CYCLE, LOCAL, TYPE_LIKE, External, Item, Local, Value, is_top_level, prefer

if TYPE_CHECKING:
    from assay.index.expressions.evaluator import Evaluator

_TYPE_ONLY = ("interface", "type")  # kinds that share a name with a value where types have their own namespace
_HIDDEN_IN_NESTED = CALLABLE_KINDS | {"field", "property"}


class Scopes:
    """Looks up bare names, scope by scope outwards, then in other files."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator, self.table = evaluator, evaluator.table
        self._top_level: dict[str, list[Sym]] = {}
        self._namespaces: dict[tuple[str, int], list[str]] = {}  # visible at a symbol

    def lookup(
        self, name: str, file: File, at: int, line: int = 0, own_members: bool = True, local: bool = True
    ) -> Value | None:
        """Return the meaning of a bare name inside symbol `at` of a file; None if the repository defines none.

        With `local=False`, locals are ignored.
        """
        frame = self.table.frame
        if name in file.local_names or frame.busy or self.evaluator.base_lookups:
            return self._lookup_uncached(name, file, at, line, own_members, local)
        key = (name, file.path, at, own_members, local)
        answers = frame.answers
        if key not in answers:
            answers[key] = self._lookup_uncached(name, file, at, line, own_members, local)
        value: Value | None = answers[key]
        return value

    def _lookup_uncached(
        self, name: str, file: File, at: int, line: int, own_members: bool, local: bool
    ) -> Value | None:
        value = self._search(name, file, at, line, own_members, local)
        if isinstance(value, Item):
            if local and file.language.closed_types and value.sym.kind in _TYPE_ONLY:
                return Item(self._value_namesake(value.sym))
            if file.language.uniform_access:
                return Item(self.evaluator.hierarchy.primary(value.sym, file))
        return value

    def _search(self, name: str, file: File, at: int, line: int, own_members: bool, local: bool) -> Value | None:
        """Search the enclosing symbols from the inside out, then the file, then other files."""
        self.table.reads.add(name)
        language, start = file.language, at
        maybe_local = local and name in file.local_names
        innermost, inside_type = True, False
        while at != FILE:
            fact = file.facts.symbols[at]
            if maybe_local and (at == start or language.closures) and (bound := self._local(name, file, at, line)):
                return bound
            if fact.kind in TYPE_LIKE:
                sees_members = own_members and (innermost or language.implicit_self) and not language.closed_types
                sym = self._name_in_type(name, file, at, sees_members, innermost, inside_type)
                inside_type |= sees_members
            else:
                sym = self._name_in_function(name, file, at)
            if sym is None and fact.scope and language.implicit_self:
                sym = self._member_outside(name, file, at)
            if sym is not None:
                return Item(sym)
            if fact.kind not in DATA_KINDS:
                innermost = False
            at = fact.parent
        return self._name_in_file(name, file, start, line, maybe_local)

    def _name_in_type(
        self, name: str, file: File, at: int, sees_members: bool, innermost: bool, inside_type: bool
    ) -> Sym | None:
        """Return a member that is visible inside its type, or the type itself by its own name."""
        fact, sym = file.facts.symbols[at], None
        if sees_members:
            sym = self._visible_member(name, file, at, innermost, inside_type)
        elif fact.kind in ("module", "type") and at in file.children:
            sym = self.first(file, file.children[at].get(name, ()))
        if sym is None and name == fact.name and fact.kind != "module":
            first = self.first(file, file.children[fact.parent].get(name, ())) if fact.nth > 1 else None
            sym = first or file.sym(at)
        return sym

    def _name_in_function(self, name: str, file: File, at: int) -> Sym | None:
        inside = file.children[at].get(name) if at in file.children else None
        sym = self.first(file, inside) if inside else None
        return None if sym and file.language.closed_types and sym.kind != "function" else sym

    def _name_in_file(self, name: str, file: File, start: int, line: int, maybe_local: bool) -> Value | None:
        """Look up a top-level local, a top-level definition, or a name of another file."""
        language = file.language
        if maybe_local and (start == FILE or language.closures):
            rows = self._visible_bindings(file, FILE, name, line)
            unhidden = rows and (name not in file.top or (line and rows[0].until))
            if unhidden and (bound := self._evaluate_local(rows, file, FILE, line)):
                return bound
        sym = self.first(file, file.top.get(name, ()))
        if sym and not (language.prototypes and self.is_stub(sym)):
            return Item(sym)
        return self.from_other_files(name, file, start) or (Item(sym) if sym else None)

    def _visible_member(self, name: str, file: File, at: int, innermost: bool, inside_type: bool) -> Sym | None:
        """Return a member that is visible by its bare name inside its type. A constructor's name means the type."""
        language = file.language
        member = self.first(file, file.children[at].get(name, ()))
        if member is None and language.implicit_self:
            members = self.evaluator.hierarchy.member(file.sym(at), name)
            member = members[0] if members else None
        if member is None or member.kind == "constructor":
            return None
        if inside_type and language.uniform_access and member.kind in _HIDDEN_IN_NESTED:
            return None  # only constants are visible inside nested types
        return member if member.kind != "method" or language.implicit_self or innermost else None

    def _member_outside(self, name: str, file: File, at: int) -> Sym | None:
        """Return a member as seen from a sibling that is defined outside the type's body."""
        hierarchy = self.evaluator.hierarchy
        owner = hierarchy.scope_type(file, at)
        members = hierarchy.member(owner, name) if owner else []
        if members and (members[0].kind != "constructor" or name in file.language.constructors):
            return members[0]
        return None

    # Definitions of one name

    def first(self, file: File, indexes: Iterable[int]) -> Sym | None:
        """Return the definition a name refers to: types first, else one that is not a stub."""
        syms = [file.sym(i) for i in indexes]
        if not syms:
            return None
        return next((s for s in syms if s.kind in TYPE_KINDS), self.defined(syms)[0])

    def is_stub(self, sym: Sym) -> bool:
        """Return whether a symbol is a signature without a body: an overload, a prototype, an abstract method."""
        file = self.table.file(sym.path)
        return file is not None and sym.index != FILE and file.facts.symbols[sym.index].stub

    def defined(self, syms: list[Sym]) -> list[Sym]:
        """Drop stubs, unless all are stubs."""
        return [s for s in syms if not self.is_stub(s)] or syms if len(syms) > 1 else syms

    def _value_namesake(self, sym: Sym) -> Sym:
        """Return the variable or function that shares its name with a type, if any, where a value is expected."""
        file = self.table.scope(sym.path)
        if file is None:
            return sym
        namesakes = [file.sym(i) for i in file.children[file.facts.symbols[sym.index].parent].get(sym.name, ())]
        return next((s for s in self.defined(namesakes) if s.kind not in _TYPE_ONLY), sym)

    # Locals

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

    def _local(self, name: str, file: File, at: int, line: int) -> Value | None:
        rows = self._visible_bindings(file, at, name, line)
        return self._evaluate_local(rows, file, at, line) if rows else None

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

    def _evaluate_local(self, rows: list[Binding], file: File, at: int, line: int) -> Value | None:
        """Return the value of a local: its declared type, else the nearest earlier assignment that evaluates."""
        if file.language.shadowing:
            return self._evaluate_shadowed_local(rows, file, at, line)
        before = [r for r in rows if r.line <= line or not line] or rows
        for row in rows if len(before) == len(rows) else (*before, *(r for r in rows if r.line > line)):
            if row.type and (value := self._declared_type_of_local(row, file, at)):
                return value
        for row in reversed(before):
            assigned = self._evaluate_binding(row, file, at) if row.value else None
            if assigned is not None and not isinstance(assigned, Local):
                return assigned
        if file.test and file.language.fixtures and not any(r.type or r.value for r in rows):
            return self._fixture(rows[0].name, file, at) or LOCAL
        return LOCAL

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
            evaluable = [r for r in before if (_binding_key(r, file), at) not in frame.busy]
            frame.met += len(evaluable) < len(before)
            before = evaluable
        if not before:
            return None
        newest = max(r.line for r in before)
        for row in reversed(before):
            if row.line != newest:
                continue
            value = None
            if row.type:
                value = self.evaluator.types.declared(row.type, file, at)
            elif row.value:
                value = self._evaluate_binding(row, file, at)
            if value is not None:
                return value
        return LOCAL

    def _declared_type_of_local(self, row: Binding, file: File, at: int) -> Value | None:
        """Return an object of a local's declared type. In `node *node`, the type name does not mean the local."""
        names_itself = at != FILE and row.name in IDENTIFIER.findall(row.type)
        scope = file.facts.symbols[at].parent if names_itself else at
        return self._cached_unless_cyclic("type", row, at, lambda: self.evaluator.types.declared(row.type, file, scope))

    def _evaluate_binding(self, row: Binding, file: File, at: int) -> Value | None:
        key = (_binding_key(row, file), at)
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
            return self.evaluator.evaluate(row.value, file, at, row.line)
        finally:
            self.table.leave()
            busy.discard(key)

    def _cached_unless_cyclic(
        self, aspect: str, row: Binding, at: int, answer: Callable[[], Value | None]
    ) -> Value | None:
        """Cache an answer about a local in the current frame, unless a cycle cut it short."""
        frame, key = self.table.frame, (aspect, id(row), at, self.evaluator.base_lookups > 0)
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
        paths = [file.path, *(f"{folder}/{file.language.fixtures}".lstrip("/") for folder in parents(file.folder))]
        for path in paths:
            other = self.table.scope(path) if path in self.table.paths else None
            for index in other.top.get(name, ()) if other else ():
                assert other is not None
                if index != at or other is not file:
                    sym = other.sym(index)
                    return self.evaluator.types.of(sym) if sym.kind == "function" else None
        return None

    # Other files

    def from_other_files(self, name: str, file: File, at: int) -> Value | None:
        """Look up a name that the file does not define.

        In this order: imported, in the same package or namespace, star-imported, global.
        """
        at = self._namespace_around(file, at)
        frame = self.table.frame
        if frame.busy or self.evaluator.base_lookups:
            return self._search_other_files(name, file, at)
        key = (name, file.path, at)
        if key not in frame.answers:
            frame.answers[key] = self._search_other_files(name, file, at)
        value: Value | None = frame.answers[key]
        return value

    @staticmethod
    def _namespace_around(file: File, at: int) -> int:
        """Return the nearest symbol around `at` that may be a namespace: other files see the same from all inside it."""
        if not file.language.visible.namespaces:
            return FILE
        while at != FILE and file.facts.symbols[at].kind in CALLABLE_KINDS:
            at = file.facts.symbols[at].parent
        return at

    def _search_other_files(self, name: str, file: File, at: int) -> Value | None:
        if rows := file.imported.get(name):
            return self._imported(name, file) or self.evaluator.imports.value(rows[0], file)
        visible = file.language.visible
        if file.language.uniform_access:
            return self._lookup_top_level(name, file)
        value: Value | None = None
        if visible.folder:
            value = self._lookup_in_folder(name, file)
        elif visible.namespaces:
            value = self._lookup_in_namespaces(name, file, at)
        value = value or file.style.by_stars(self.evaluator, file, name)
        if value or not visible.everywhere:
            return value
        candidates = self._visible_top_level(name, file)
        if candidates and all(s.symbol == candidates[0].symbol for s in candidates):
            return Item(prefer(candidates, file))
        return None

    def _imported(self, name: str, file: File) -> Value | None:
        """Return the first meaning in the repository that an import gives to a name."""
        for row in file.imported[name]:
            value = self.evaluator.imports.value(row, file)
            if value and not isinstance(value, External):
                return value
        return None

    def _visible_top_level(self, name: str, file: File) -> list[Sym]:
        named = self.table.named(name, file.language.kin)
        return [s for s in named if is_top_level(s) and (file.test or not s.test)]

    def _lookup_in_folder(self, name: str, file: File) -> Item | None:
        named = self.table.named(name, file.language.kin)
        candidates = [s for s in named if s.path.rpartition("/")[0] == file.folder and is_top_level(s)]
        return Item(prefer(candidates, file)) if candidates else None

    def _lookup_top_level(self, name: str, file: File) -> Item | None:
        """Return a top-level type or constant of any file, or the only function of that name."""
        self.table.reads.add(name)
        if name not in self._top_level:
            self._top_level[name] = [s for s in self.table.named(name, file.language.kin) if is_top_level(s)]
        visible = [s for s in self._top_level[name] if file.test or not s.test]
        sym = next((s for s in visible if s.kind in TYPE_LIKE), None)  # any part, see `Hierarchy.primary`
        if sym is None and visible:
            sym = prefer(visible, file)
        return Item(sym) if sym else None

    def _lookup_in_namespaces(self, name: str, file: File, at: int) -> Item | None:
        """Look up a qualified name in the packages and namespaces visible to the file, its own first."""
        candidates = self.table.named(name, file.language.kin)
        if not candidates:
            return None
        by_full_name: dict[str, list[Sym]] = {}
        for sym in candidates:
            if not self._may_be_visible(sym, file):
                continue
            other = self.table.file(sym.path)
            if other and sym.index != FILE:
                path = other.full(sym.index)
                by_full_name.setdefault(path, []).append(sym)
                parent = other.facts.symbols[sym.index].parent
                in_enum = parent != FILE and other.facts.symbols[parent].kind == "enum"
                if in_enum and sym.kind == "constant" and file.language.open_enums:
                    outer = path.rpartition(".")[0].rpartition(".")[0]
                    by_full_name.setdefault(f"{outer}.{name}" if outer else name, []).append(sym)
        for namespace in self._visible_namespaces(file, at):
            matches = by_full_name.get(f"{namespace}.{name}" if namespace else name)
            if matches:
                return Item(prefer(self.defined(matches), file))
        return None

    @staticmethod
    def _may_be_visible(sym: Sym, file: File) -> bool:
        """Return whether a symbol of another namespace may be visible by its bare name."""
        language = file.language
        if sym.kind in DATA_KINDS and language.visible.everywhere and not language.prototypes:
            return False
        if sym.test and not file.test:
            return False
        open_enum = sym.kind == "constant" and language.open_enums
        return not sym.owner or sym.kind in TYPE_LIKE or language.implicit_self or open_enum

    def _visible_namespaces(self, file: File, at: int) -> list[str]:
        """Return the namespaces visible at a symbol: enclosing ones from the inside out, then imported ones."""
        key = (file.path, at)
        if key not in self._namespaces:
            self._namespaces[key] = self._find_namespaces(file, at)
        return self._namespaces[key]

    @staticmethod
    def _find_namespaces(file: File, at: int) -> list[str]:
        namespaces: list[str] = []
        while at != FILE:
            if file.facts.symbols[at].kind not in CALLABLE_KINDS:
                full = file.full(at)
                namespaces += [full, *outer_namespaces(full)]
            at = file.facts.symbols[at].parent
        if not namespaces:
            for fact in file.facts.symbols:
                if fact.kind == "namespace":
                    full = fact.symbol.replace("::", ".")
                    namespaces += [full, *outer_namespaces(full)]
                    break
        if file.facts.namespace:
            namespaces.append(file.facts.namespace)
        namespaces += [row.module.replace("\\", ".").replace("::", ".") for row in file.stars]
        if file.language.visible.using:
            namespaces += [name for row in file.facts.imports if not row.alias for name in namespace_names(row, file)]
        namespaces.append("")
        return list(dict.fromkeys(namespaces))


def _binding_key(row: Binding, file: File) -> str:
    return f"{file.path}\0{row.name}\0{row.line}"
