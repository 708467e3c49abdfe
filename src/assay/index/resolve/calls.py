"""Resolve calls by scopes, imports and types."""

from __future__ import annotations

from assay.core.items import CALLABLE_KINDS, TYPE_KINDS
from assay.index.chains import bare
from assay.index.expressions import Value
from assay.index.facts import CALL, FILE, NEW, Reference
from assay.index.file import Sym
from assay.index.resolve.base import (
    BY_NAME,
    FIELD_LIKE,
    MAX_CANDIDATES,
    MAX_OVERLOADS,
    MEMBERS,
    NOTHING,
    RESOLVED,
    TYPE_LIKE,
    Outcome,
    ResolverBase,
    accepts_arguments,
    outside_name,
    single_target,
    with_receiver,
)
from assay.index.table import BudgetExceeded


class Calls(ResolverBase):
    """Resolve calls by scopes, imports and types."""

    def _call(self, row: Reference, source: Sym) -> None:
        outcome = self._cached_target(row, source)
        if outcome.items:
            single = len(outcome.items) == 1
            self.counts[0 if single else 1] += 1
            for sym, confidence, provenance in outcome.items:
                if sym.kind in FIELD_LIKE and (self.file.language.uniform_access or self.file.language.overloads):
                    self._add(source, sym, "accesses_field", confidence, provenance, row.line)
                    continue
                self._add(source, sym, "calls", confidence, provenance, row.line)
                if single or confidence >= 0.3:
                    self.called[row.source].setdefault(sym, row.line)
        elif outcome.external:
            self.counts[2] += 1
            self.counts[4] += outcome.everyday
            self._add(source, outcome.external, "calls", RESOLVED, "resolved", row.line)
        elif outcome.unresolved:
            self.counts[3] += 1
        self._conventions(row, source)

    def _cached_target(self, row: Reference, source: Sym) -> Outcome:
        """Return the target of a call, cached per scope and chain unless a local is involved."""
        first = bare(row.chain.partition(".")[0])
        scope = row.source
        if first in self.file.language.self_names and scope != FILE and self.file.facts.symbols[scope].kind in MEMBERS:
            scope = -2 - self.file.facts.symbols[scope].parent  # `self` is the same in all methods of a type
        elif first in self.file.local_names:
            return self._bounded_target(row, source)
        key = (scope, row.chain, row.role, row.arity, row.generics)
        outcome = self.outcomes.get(key)
        if outcome is None:
            outcome = self._bounded_target(row, source)
            # guesses depend on the calling method, so they are not shared between methods
            if scope == row.source or not outcome.items or outcome.items[0][2] != "inferred":
                self.outcomes[key] = outcome
        return outcome

    def _bounded_target(self, row: Reference, source: Sym) -> Outcome:
        """Return the target of a call; unresolved if it exceeds the query budget."""
        try:
            return self._call_target(row, source)
        except BudgetExceeded:
            self.table.begin_query()
            return Outcome(unresolved=True)

    def _call_target(self, row: Reference, source: Sym) -> Outcome:
        receiver, _, last = row.chain.rpartition(".")
        name = bare(last)
        if name != last:
            return NOTHING  # call of a collection element or a call's result: no name to resolve
        if not receiver:
            return self._plain_call(name, row)
        value = self.values.evaluate(receiver, self.file, row.source, row.line)
        if value is None or value.kind in ("local", "cycle"):
            return self._by_name(name, receiver, source)
        if value.kind == "item" and value.sym and value.sym.kind in ("variable", "constant", "field", "property"):
            own = self.values.own_member(value.sym, name)
            if own:
                return self._choose_overload(own, row)
            value = self.values.type_of(value.sym)
            if value is None or value.kind in ("local", "cycle"):
                return self._by_name(name, receiver, source)
        return self._member_call(value, name, receiver, row, source)

    def _member_call(self, value: Value, name: str, receiver: str, row: Reference, source: Sym) -> Outcome:
        sym = value.sym
        if value.kind in ("instance", "super", "item") and sym is not None and sym.kind in TYPE_LIKE:
            members = self.values.member(sym, name, above=value.kind == "super")
            if (
                members
                and self.file.language.twin_names
                and (preferred := self.values.meant(Value("item", members[0]), True).sym)
            ):
                members = [preferred] if preferred != members[0] else members
            if members:
                return self._choose_overload(self._inherited_overloads(members, sym, row), row)
            if value.kind == "item":
                inner = self.values.attribute(value, name, self.file)
                if inner and inner.kind == "item" and inner.sym:
                    return self._resolve_definition(inner.sym, row)
                if name in ("new", "New") or name in self.file.language.constructors:
                    return single_target(sym, RESOLVED)
            if value.kind == "instance" and (delegate := self.values.delegate(sym)):
                return self._member_call(delegate, name, receiver, row, source)
            ancestry = self.values.ancestry(sym)
            if extensions := self.values.extensions(value, name, self.file):
                return self._choose_overload(extensions, with_receiver(row))
            if value.kind == "super" or ancestry.outside or value.kind == "item":
                return Outcome(external="." + name)
            return self._by_name(name, receiver, source, strict=True)
        if value.kind in ("instance", "item") and sym is not None and sym.kind in CALLABLE_KINDS:
            own = self.values.own_member(sym, name)
            if own:
                return self._choose_overload(own, row)
            if value.kind == "item" and name in self.file.language.invokers:
                return self._resolve_definition(sym, row)
            return self._by_name(name, receiver, source)
        if extensions := self.values.extensions(value, name, self.file):
            return self._choose_overload(extensions, with_receiver(row))
        if value.kind == "outside" and self.file.language.imports == "namespace":
            qualified = self.values.attribute(value, name, self.file)
            if qualified and qualified.kind == "item" and qualified.sym:
                return self._resolve_definition(qualified.sym, row)
        if value.kind in ("outside", "object"):
            return Outcome(external=outside_name(value, name))
        attribute = self.values.attribute(value, name, self.file)
        if attribute and attribute.kind == "item" and attribute.sym:
            return self._resolve_definition(attribute.sym, row)
        if attribute and attribute.kind == "file":
            default = self.values.export(attribute.name, "default")
            if default and default.sym:
                return single_target(default.sym, RESOLVED)
        if attribute and attribute.kind == "outside":
            return Outcome(external=attribute.name)
        return self._unknown(name)

    def _plain_call(self, name: str, row: Reference) -> Outcome:
        language = self.file.language
        if name in language.super_names:
            owner = self.values.enclosing_type(self.file, row.source)
            return self._super_call(owner, row) if owner else NOTHING
        if name in language.self_names:
            owner = self.values.enclosing_type(self.file, row.source)
            constructors = self.values.own_member(owner, owner.name) if owner else []
            if constructors:
                return self._choose_overload(constructors, row)
            return single_target(owner, RESOLVED) if owner and (name == "cls" or row.role == NEW) else NOTHING
        if name == language.construct:
            owner = self.values.enclosing_type(self.file, row.source)
            return single_target(self.values.primary(owner), RESOLVED) if owner else Outcome(external=name)
        value = self.values.lookup(name, self.file, row.source, row.line, local=not language.uniform_access)
        value = self.values.meant(value, True) if value else value
        if value is None and language.uniform_access and row.role == CALL:
            outcome = self._by_name(name, "", self.file.sym(row.source))
            return Outcome(external=name) if outcome.external else outcome
        if value is None and row.role == CALL and language.implicit_self:
            owner = self.values.enclosing_type(self.file, row.source)
            members = self.values.member(owner, name) if owner else []
            if members:
                return self._choose_overload(members, row)
        if value is None:
            segment_value = self.values.first_segment(name, self.file, row.source, row.line)
            value = segment_value if segment_value and segment_value.kind != "outside" else None
        if value is None and name not in language.common:
            macros = [s for s in self.table.named(name, language.kin) if s.kind == "macro"]
            if macros:  # visible without an import; prefer the nearest one
                return single_target(
                    min(macros, key=lambda s: (-_shared_folders(s.path, self.file.path), s.id)), RESOLVED
                )
        if value is None:
            if language.visible == "global":
                return self._global(name)
            return Outcome(external=name)
        if value.kind == "outside":
            return Outcome(external=value.name)
        if value.kind == "file":
            value = self.values.export(value.name, "default") or value
        if value.kind == "instance" or value.kind == "object":
            return NOTHING  # call of an object: no name to resolve
        if value.kind != "item" or value.sym is None:
            return NOTHING
        sym = value.sym
        if sym.kind in ("variable", "constant", "field", "property"):
            variable_type = self.values.type_of(sym)
            if (
                variable_type
                and variable_type.kind == "item"
                and variable_type.sym
                and variable_type.sym.kind in CALLABLE_KINDS | TYPE_KINDS
            ):
                sym = variable_type.sym
            elif variable_type and (variable_type.sym == sym or variable_type.kind == "outside"):
                return Outcome(external=variable_type.name or sym.name)  # `local insert = table.insert`: an alias
        return self._resolve_definition(sym, row)

    def _super_call(self, owner: Sym, row: Reference) -> Outcome:
        """Resolve `super(…)` to the nearest inherited constructor; in Ruby, to the inherited method of that name."""
        at = row.source
        name = self.file.facts.symbols[at].name if at != FILE else ""
        ancestry = self.values.ancestry(owner)
        if self.file.language.uniform_access:
            inherited = self.values.member(owner, name, above=True) if name else []
            return (
                self._choose_overload(inherited, row)
                if inherited
                else Outcome(external="." + name)
                if name
                else NOTHING
            )
        for ancestor in ancestry.types[1:]:
            for candidate in (name, ancestor.name, *self.file.language.constructors):
                constructors = self.values.own_member(ancestor, candidate)
                if constructors:
                    return self._choose_overload(constructors, row)
        if self.file.language.name == "python":
            return NOTHING
        return Outcome(external=ancestry.outside[0]) if ancestry.outside else NOTHING

    def _inherited_overloads(self, nearest: list[Sym], owner: Sym, row: Reference) -> list[Sym]:
        """Return inherited overloads that accept the arguments, if the nearest ones do not."""
        if not self.file.language.overloads or row.arity < 0 or any(self._accepts(s, row.arity) for s in nearest):
            return nearest
        for ancestor in self.values.ancestry(owner).types[1:]:
            fitting = [s for s in self.values.own_member(ancestor, nearest[0].name) if self._accepts(s, row.arity)]
            if fitting:
                return fitting
        return nearest

    def _accepts(self, sym: Sym, count: int) -> bool:
        file = self.table.file(sym.path)
        return (
            file is not None and sym.kind in CALLABLE_KINDS and accepts_arguments(file.facts.symbols[sym.index], count)
        )

    def _resolve_definition(self, sym: Sym, row: Reference) -> Outcome:
        """Resolve to an item, or to the overload of it that the call selects."""
        other = self.table.file(sym.path)
        if row.role == NEW and sym.kind in TYPE_KINDS and self.file.language.overloads:
            namesakes = [
                s for s in self.table.named(sym.name, sym.kin) if s.symbol == sym.symbol and s.path == sym.path
            ]
            sym = next((s for s in namesakes if self._type_parameter_count(s) == row.generics), sym)
        if sym.kind not in CALLABLE_KINDS or other is None or sym.index == FILE:
            return single_target(sym, RESOLVED)
        parent = other.facts.symbols[sym.index].parent
        overloads = [other.sym(i) for i in other.children[parent].get(sym.name, ())[:MAX_OVERLOADS]]
        overloads = [s for s in overloads if s.symbol == sym.symbol] or [sym]
        if self.file.language.prototypes and sym.path != self.file.path:
            return self._resolve_linked(sym, overloads, row)
        return self._choose_overload(overloads, row)

    def _resolve_linked(self, sym: Sym, overloads: list[Sym], row: Reference) -> Outcome:
        """Resolve a function that several files define, one per platform for example: the nearest share the call."""
        definitions = [
            s
            for s in self.table.named(sym.name, sym.kin)
            if (s.symbol, s.kind) == (sym.symbol, sym.kind) and not self.values.is_stub(s)
        ]
        definitions = [s for s in definitions if s.path.rpartition("/")[0] == self.file.folder] or definitions
        definitions = [s for s in definitions if not s.test] or definitions
        by_path = {path: s for s in reversed(definitions) for path in (s.path,)}
        if len(by_path) < 2 or self.values.is_stub(sym):
            return self._choose_overload(
                overloads
                if not definitions or sym in definitions
                else [s for s in definitions if s.path == definitions[0].path],
                row,
            )
        if len(by_path) > MAX_CANDIDATES:
            return Outcome(unresolved=True)
        share = BY_NAME / len(by_path)
        return Outcome(items=tuple((by_path[path], share, "inferred") for path in sorted(by_path)))

    def _choose_overload(self, syms: list[Sym], row: Reference) -> Outcome:
        """Choose among definitions of one name in one scope: no stubs, then by number of parameters.

        Remaining candidates (a function defined in both branches of an if) share the confidence.
        """
        syms = syms[:MAX_OVERLOADS]
        if self.file.language.overloads:
            syms = [s for s in syms if s.kind in CALLABLE_KINDS] or syms
        if len(syms) == 1 or syms[0].kind in FIELD_LIKE:
            return single_target(syms[0], RESOLVED)
        facts = {s: f.facts.symbols[s.index] for s in syms if (f := self.table.file(s.path)) is not None}
        fits = syms if self.file.language.overloads else [s for s in syms if not facts[s].stub] or syms
        if row.generics:
            fits = [s for s in fits if self._type_parameter_count(s) == row.generics] or fits
        if row.arity >= 0:
            exact = [s for s in fits if max(facts[s].arity, 0) == row.arity and not facts[s].variadic]
            loose = [s for s in fits if accepts_arguments(facts[s], row.arity)]
            fits = (loose if any(facts[s].optional for s in loose) else exact or loose) or fits
        if self.file.language.prototypes:
            fits = [s for s in fits if not facts[s].stub] or fits
        if len(fits) == 1 or (len({s.path for s in fits}) > 1 and not self.file.language.overloads):
            return single_target(fits[0], RESOLVED)
        share = RESOLVED / len(fits[:MAX_CANDIDATES])
        return Outcome(items=tuple((s, share, "inferred") for s in fits[:MAX_CANDIDATES]))

    def _type_parameter_count(self, sym: Sym) -> int:
        file = self.table.file(sym.path)
        return sum(name[0] == "<" and name != "<this>" for name in file.bindings.get(sym.index, ())) if file else 0


def _shared_folders(first: str, second: str) -> int:
    """Return the number of leading folders that two paths share."""
    pairs = zip(first.split("/"), second.split("/"), strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), 0)
