"""Bases, ancestors and members of types, and the type that encloses a piece of code."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, NamedTuple

from assay.core.items import DATA_KINDS
from assay.index.facts import BASE, FILE, IMPLEMENTS, Reference
from assay.index.file import File, Sym, stem
from assay.index.values import DEFINED, TYPE_LIKE, External, Instance, Item, symbol_of

if TYPE_CHECKING:
    from assay.index.expressions.evaluator import Evaluator

MAX_ANCESTORS = 150  # per type; larger hierarchies are truncated
_BRACKETS = re.compile(r"[()\[\]{}]+")


class Ancestry(NamedTuple):
    """A type and its ancestors, nearest first, and the names of ancestors outside the repository."""

    types: tuple[Sym, ...]
    outside: tuple[str, ...]


class Hierarchy:
    """Bases, ancestors and members of types, and the type that encloses a piece of code."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator, self.table = evaluator, evaluator.table
        self._primaries: dict[tuple[str, str | None, bool], Sym] = {}
        self._parts_by_name: dict[tuple[str, str], list[Sym]] = {}
        self._own_members: dict[tuple[str, str], list[Sym]] = {}
        self._in_progress: dict[
            tuple[str, int], int
        ] = {}  # types whose ancestry is being computed → depth of that query

    # Ancestors

    def ancestry(self, sym: Sym) -> Ancestry:
        """Return a type and everything it inherits from, depth first."""
        self.table.reads.add(sym.name)
        sym = self.primary(sym)
        running_depth = self._in_progress.get((sym.path, sym.index))
        if running_depth is not None:  # while its own bases are being resolved
            self.table.record_cycle(running_depth)
            return Ancestry((sym,), ())
        return self.evaluator.remember(f"ancestry:{sym.id}", lambda: self._compute_ancestry(sym))

    def _compute_ancestry(self, sym: Sym) -> Ancestry:
        types: list[Sym] = [sym]
        outside: list[str] = []
        self._in_progress[sym.path, sym.index] = self.table.depth
        try:
            self._collect_ancestors(sym, types, outside)
        finally:
            del self._in_progress[sym.path, sym.index]
        types += dict.fromkeys(s for ancestor in types[1:] for s in self._companions(ancestor) if s not in types)
        return Ancestry(tuple(types), tuple(outside))

    def _collect_ancestors(self, sym: Sym, types: list[Sym], outside: list[str]) -> None:
        """Append ancestors depth first, iteratively: hierarchies may be deep."""
        stack, visited = [iter(self.direct_bases(sym))], set(types)
        while stack:
            base = next(stack[-1], None)
            if base is None:
                stack.pop()
            elif isinstance(base, External):
                outside.append(base.name)
            else:
                ancestor = self.primary(base.sym)
                if ancestor not in visited and len(types) < MAX_ANCESTORS:
                    visited.add(ancestor)
                    types.append(ancestor)
                    stack.append(iter(self.direct_bases(ancestor)))

    # Structural typing

    def satisfied(self, sym: Sym) -> tuple[Sym, ...]:
        """Return the repository's interfaces that a type satisfies structurally."""
        file = self.table.file(sym.path)
        if file is None or not file.language.structural or sym.kind == "interface":
            return ()
        return self.evaluator.remember(
            f"satisfied:{sym.id}", lambda: self._find_satisfied(sym, self._method_names(sym))
        )

    def _find_satisfied(self, sym: Sym, methods: frozenset[str]) -> tuple[Sym, ...]:
        if not methods:
            return ()
        interfaces = self.evaluator.remember(f"demands:{sym.kin}", lambda: self._interfaces_by_method(sym.kin))
        satisfied = [
            interface
            for name in methods
            for required, interface in interfaces.get(name, ())
            if required <= methods and (sym.test or not interface.test)
        ]
        return tuple(sorted(satisfied, key=lambda interface: (interface.path, interface.index)))

    def _interfaces_by_method(self, kin: str) -> dict[str, list[tuple[frozenset[str], Sym]]]:
        """Index every interface and its required methods by the rarest of these, so that a type checks only a few."""
        interfaces = [
            (required, interface)
            for interface in self.table.interfaces(kin)
            if (required := self._required_methods(interface))
        ]
        frequency = Counter(name for required, _ in interfaces for name in required)
        out: dict[str, list[tuple[frozenset[str], Sym]]] = defaultdict(list)
        for required, interface in interfaces:
            out[min(required, key=lambda name: (frequency[name], name))].append((required, interface))
        return out

    def _required_methods(self, interface: Sym) -> frozenset[str]:
        """Return the methods an interface requires; none if it inherits from outside, as it can never be checked."""
        return self.evaluator.remember(
            f"wanted:{interface.id}",
            lambda: frozenset() if self.ancestry(interface).outside else self._method_names(interface),
        )

    def _method_names(self, sym: Sym) -> frozenset[str]:
        names = set()
        for ancestor in self.ancestry(sym).types:
            names |= {m.name for m in self.all_members(ancestor) if m.kind == "method"}
        return frozenset(names)

    def _companions(self, sym: Sym) -> list[Sym]:
        """Return the companion module of a mixin, whose members extend the class itself."""
        file = self.table.file(sym.path)
        name = file.language.companion if file else ""
        if not name or sym.kind != "module":
            return []
        return [self.primary(s) for s in self.own_member(sym, name)[:1] if s.kind == "module"]

    # Bases

    def direct_bases(self, sym: Sym) -> list[Item | External]:
        """Return the base types of all parts of a type, resolved; unresolved names are external."""
        file = self.table.file(sym.path)
        if file is None or not file.language.uniform_access:
            return self.table.remembered(f"bases:{sym.id}", lambda: self._declared_bases(sym))
        sym = self.primary(sym)
        return self.table.remembered(f"bases:{sym.id}", lambda: self._mixed_bases(sym))

    def _mixed_bases(self, sym: Sym) -> list[Item | External]:
        """Return the bases in a language with mixins.

        Mixins come before the base class, the last one first, and those added by tests last.
        """
        rows: list[tuple[tuple[bool, bool], int, Reference, File]] = []
        for part in self._parts(sym):
            file = self.table.scope(part.path)
            if file is not None:
                rows += [
                    ((r.role == BASE, part.test), part.index, r, file) for r in reversed(file.bases.get(part.index, ()))
                ]
        rows.sort(key=lambda row: row[0])
        out = [self.base(row.chain, file, self.base_scope(row, file, index)) for _, index, row, file in rows]
        return [value for value in dict.fromkeys(out) if symbol_of(value) != sym]

    @staticmethod
    def base_scope(row: Reference, file: File, index: int) -> int:
        """Return the scope in which a base is looked up: around the type, or inside it for a mixin in its body."""
        return index if row.role == IMPLEMENTS and file.language.uniform_access else file.facts.symbols[index].parent

    def _declared_bases(self, sym: Sym) -> list[Item | External]:
        parts = self._parts(sym)
        if len(parts) == 1:
            bases = self._bases_of_parts(parts)
        else:  # shared by all parts, computed once
            bases = self.table.remembered(f"bases of all:{parts[0].id}", lambda: self._bases_of_parts(parts))
        return [value for value in bases if symbol_of(value) != sym]

    def _bases_of_parts(self, parts: list[Sym]) -> list[Item | External]:
        out: list[Item | External] = []
        for part in parts:
            self.table.reads.add(part.name)
            file = self.table.scope(part.path)
            if file is None:
                continue
            scope = file.facts.symbols[part.index].parent if part.index != FILE else part.index
            out += [self.base(row.chain, file, scope) for row in file.bases.get(part.index, ())]
            out += [self.base(row.chain, file, row.source) for row in file.impls if row.literal == part.name]
            out += self._impls_elsewhere(part, file)
        return list(dict.fromkeys(out))

    def _impls_elsewhere(self, part: Sym, file: File) -> list[Item | External]:
        """Return the traits that a type implements in files that define other members of it."""
        out = []
        keys = file.type_keys(part.index)[1:] if file.language.scattered_impls else ()
        for path in sorted({m.path for key in keys for m in self.table.members(key)} - {part.path}):
            other = self.table.scope(path)
            for row in other.impls if other else ():
                if other is None or row.literal != part.name:
                    continue
                if symbol_of(self.evaluator.evaluate(row.literal, other, row.source)) == part:
                    out.append(self.base(row.chain, other, row.source))
        return out

    def base(self, expression: str, file: File, at: int) -> Item | External:
        """Evaluate the name of a base type.

        Where types can be reopened anywhere, bases often refer to each other: the lookup then ignores inherited
        members.
        """
        if not file.language.uniform_access:
            return self._evaluate_base(expression, file, at)
        self.evaluator.base_lookups += 1
        try:
            return self._evaluate_base(expression, file, at)
        finally:
            self.evaluator.base_lookups -= 1

    def _evaluate_base(self, expression: str, file: File, at: int) -> Item | External:
        expression = _BRACKETS.sub("", expression)
        value = self.evaluator.evaluate(expression, file, at)
        if isinstance(value, DEFINED) and value.sym.kind in TYPE_LIKE:
            return Item(value.sym)
        if isinstance(value, DEFINED) and value.sym.kind in DATA_KINDS:
            inner = self.evaluator.types.of(value.sym)
            if isinstance(inner, Item) and inner.sym.kind in TYPE_LIKE:
                return inner
        return value if isinstance(value, External) else External(expression)

    def _parts(self, sym: Sym) -> list[Sym]:
        """Return all parts of a type: one in most languages, every reopening if the full name identifies the type."""
        file = self.table.file(sym.path)
        if file is None or not file.language.open_types:
            return [sym]
        key = (sym.kin, file.full(sym.index))
        named = self.table.named(sym.name, sym.kin)
        if key not in self._parts_by_name:  # filtered once: thousands of symbols may share a name
            self._parts_by_name[key] = [
                s for s in named if s.kind in TYPE_LIKE and (f := self.table.file(s.path)) and f.full(s.index) == key[1]
            ]
        return self._parts_by_name[key] or [sym]

    # Members

    def own_member(self, sym: Sym, name: str) -> list[Sym]:
        """Return the members of that name which the type itself defines, in its body or outside it."""
        if sym.index == FILE:
            return []
        self.table.reads.add(name)
        members = self._own_members.get((sym.id, name))
        if members is None:
            members = self._own_members[sym.id, name] = self._find_own_member(sym, name)
        return members

    def _find_own_member(self, sym: Sym, name: str) -> list[Sym]:
        file = self.table.file(sym.path)
        for key in file.type_keys(sym.index) if file else ():
            members = self.table.member(key, name)
            if members:
                return (
                    sorted(members, key=lambda s: (s.test, self.evaluator.scopes.is_stub(s)))
                    if len(members) > 1
                    else members
                )
        return []

    def member(self, sym: Sym, name: str, above: bool = False) -> list[Sym]:
        """Return the nearest definitions of a member along the ancestry; `above` skips the type itself (super)."""
        if self.evaluator.base_lookups:
            return [] if above else self.own_member(sym, name)
        answers = self.table.frame.answers
        key = (sym.id, name, above)
        if key not in answers:
            answers[key] = self._find_member(sym, name, above)
        members: list[Sym] = answers[key]
        return members

    def _find_member(self, sym: Sym, name: str, above: bool) -> list[Sym]:
        for ancestor in self.ancestry(sym).types[1 if above else 0 :]:
            members = self.own_member(ancestor, name)
            if members:
                return members
        return []

    def has_members(self, sym: Sym) -> bool:
        """Return whether a symbol has members, in its body or outside it."""
        other = self.table.file(sym.path)
        return bool(other and any(self.table.members(key) for key in other.type_keys(sym.index)))

    def all_members(self, sym: Sym) -> list[Sym]:
        """Return all members that the type itself defines."""
        file = self.table.file(sym.path)
        keys = dict.fromkeys(file.type_keys(sym.index)) if file else ()
        return [member for key in keys for member in self.table.members(key)]

    def delegate(self, sym: Sym) -> Instance | None:
        """Return the object to which a type delegates missing members (Rust's `Deref`), one level deep, if any."""
        file = self.table.file(sym.path)
        name = file.language.delegate if file else ""
        target_types = [s for s in self.own_member(sym, name) if s.kind == "type"] if name else []
        value = self.evaluator.types.of(target_types[0]) if target_types else None
        return value if isinstance(value, Instance) and not self.own_member(value.sym, name) else None

    # Enclosing types

    def enclosing_type(self, file: File, at: int) -> Sym | None:
        """Return the type that symbol `at` is, or is a member of."""
        while at != FILE:
            fact = file.facts.symbols[at]
            if fact.kind in TYPE_LIKE:
                return file.sym(at)
            if fact.scope:
                return self.scope_type(file, at)
            if fact.kind == "function" and self.has_members(file.sym(at)):
                return file.sym(at)  # a constructor function
            if (
                fact.kind in ("method", "function")
                and fact.parent != FILE
                and file.facts.symbols[fact.parent].kind in ("variable", "constant")
            ):
                return file.sym(fact.parent)  # `this` in an object's functions
            at = fact.parent
        return None

    def scope_type(self, file: File, at: int) -> Sym | None:
        """Return the type of a member that is defined outside the type's body."""
        type_index = file.types_here.get(file.facts.symbols[at].scope)
        if type_index is not None:
            return file.sym(type_index)
        self.table.enter()
        sym = self._find_scope_type(file, at)
        self.table.leave()
        return sym

    def _find_scope_type(self, file: File, at: int) -> Sym | None:
        fact, evaluator = file.facts.symbols[at], self.evaluator
        head, _, name = fact.scope.replace("::", ".").rpartition(".")
        if head and file.language.separator != ".":
            value = evaluator.evaluate(f"{head}.{name}", file, fact.parent)
        else:
            value = evaluator.scopes.from_other_files(name, file, fact.parent)
        if isinstance(value, Item):
            return value.sym
        key = file.owner_key(at)
        for sym in self.table.named(name, file.language.kin):
            other = self.table.file(sym.path)
            if sym.kind in TYPE_LIKE and other and key in other.type_keys(sym.index):
                return sym
        bound = evaluator.types.parameter_bound(fact.scope, file, at)  # `impl<T: Priced> Priced for &T`
        value = evaluator.types.declared(bound, file, fact.parent) if bound else None
        return value.sym if isinstance(value, Instance) else None

    # Types opened in several places

    def primary(self, sym: Sym, near: File | None = None) -> Sym:
        """Return the part that represents a type opened in several places.

        Preferred are parts that declare a base or are in a file of the type's name, then those in the same source tree
        as the file `near`.
        """
        file = self.table.file(sym.path)
        if file is None or not file.language.uniform_access or sym.kind not in TYPE_LIKE:
            return sym
        self.table.reads.add(sym.name)
        key = (file.full(sym.index), near.project if near else None, near is not None and near.test)
        if key not in self._primaries:
            self._primaries[key] = min(self._parts(sym), key=lambda part: self._primary_rank(part, near))
        return self._primaries[key]

    def _primary_rank(self, sym: Sym, near: File | None) -> tuple[bool, bool, bool, bool, bool, str, int]:
        """Return the sort key of a part; the lowest is the primary one."""
        file = self.table.file(sym.path)
        has_base = bool(file and any(row.role == BASE for row in file.bases.get(sym.index, ())))
        in_own_file = stem(sym.path).replace("_", "") == sym.name.lower()
        other_project = bool(file and near and file.project != near.project)
        return (
            sym.test and not (near and near.test),
            not has_base and not in_own_file,
            other_project,
            sym.test,
            not has_base,
            sym.path,
            sym.index,
        )
