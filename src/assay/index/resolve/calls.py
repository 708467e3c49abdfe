"""Resolve calls by scopes, imports and types."""

from __future__ import annotations

import msgspec

from assay.core.items import CALLABLE_KINDS, DATA_KINDS, TYPE_KINDS
from assay.index.chains import bare
from assay.index.facts import CALL, FILE, NEW, Reference, SymbolFact
from assay.index.file import Sym
from assay.index.resolve.edges import BY_NAME, FIELD_LIKE, MEMBERS, RESOLVED, FileEdges
from assay.index.resolve.guesses import (
    MAX_CANDIDATES,
    NOTHING,
    UNRESOLVED,
    Guesses,
    Outcome,
    shared_among,
    single_target,
)
from assay.index.resolve.rpc import Rpcs
from assay.index.resolve.uses import Uses
from assay.index.table import BudgetExceeded
from assay.index.values import (
    DEFINED,
    EXTERNALS,
    TYPE_LIKE,
    UNKNOWN,
    WITH_SYMBOL,
    External,
    ExternalObject,
    Instance,
    Item,
    Module,
    Super,
    Value,
    symbol_of,
)

MAX_OVERLOADS = 500  # considered per call
TESTED = 0.3  # least confidence of one candidate among several that a test is linked to
_DEFINITIONS = CALLABLE_KINDS | TYPE_KINDS


class Calls:
    """Adds the edges of a file's calls."""

    def __init__(self, edges: FileEdges, guesses: Guesses, uses: Uses, rpcs: Rpcs) -> None:
        self._edges, self._guesses, self._uses, self._rpcs = edges, guesses, uses, rpcs
        self._file, self._table, self._evaluator = edges.file, edges.table, edges.evaluator
        self._outcomes: dict[tuple[object, ...], Outcome] = {}  # cached targets

    def add(self, row: Reference, source: Sym) -> None:
        """Resolve a call and count its outcome."""
        edges, language = self._edges, self._file.language
        outcome = self.target(row, source)
        if outcome.items:
            single = len(outcome.items) == 1
            edges.counts[0 if single else 1] += 1
            for sym, confidence, provenance in outcome.items:
                if sym.kind in FIELD_LIKE and (language.uniform_access or language.overloads):
                    edges.add(source, sym, "accesses_field", row.line, confidence, provenance)
                    continue
                edges.add(source, sym, "calls", row.line, confidence, provenance)
                if single or confidence >= TESTED:
                    edges.called[row.source].setdefault(sym, row.line)
        elif outcome.external:
            edges.counts[2] += 1
            edges.counts[4] += outcome.everyday
            edges.add(source, outcome.external, "calls", row.line)
        elif outcome.unresolved:
            edges.counts[3] += 1
        self._uses.add_conventions(row, source)
        self._rpcs.add_call(row, source, outcome)

    def target(self, row: Reference, source: Sym) -> Outcome:
        """Return the target of a call, cached per scope and chain unless a local is involved."""
        first = bare(row.chain.partition(".")[0])
        scope, symbols = row.source, self._file.facts.symbols
        if self._is_self(first, row) and scope != FILE and symbols[scope].kind in MEMBERS:
            scope = -2 - symbols[scope].parent  # `self` is the same in all methods of a type
        elif first in self._file.local_names:
            return self._bounded_target(row, source)
        key = (scope, row.chain, row.role, row.arity, row.generics)
        outcome = self._outcomes.get(key)
        if outcome is None:
            outcome = self._bounded_target(row, source)
            # guesses depend on the calling method, so they are not shared between methods
            if scope == row.source or not outcome.items or outcome.items[0][2] != "inferred":
                self._outcomes[key] = outcome
        return outcome

    def _bounded_target(self, row: Reference, source: Sym) -> Outcome:
        """Return the target of a call; unresolved if it exceeds the query budget."""
        try:
            return self._target(row, source)
        except BudgetExceeded:
            self._table.begin_query()
            return UNRESOLVED

    def _target(self, row: Reference, source: Sym) -> Outcome:
        receiver, _, last = row.chain.rpartition(".")
        name = bare(last)
        if name != last:
            return NOTHING  # call of a collection element or a call's result: no name to resolve
        if not receiver:
            return self._plain_call(name, row)
        value = self._evaluator.evaluate(receiver, self._file, row.source, row.line)
        if isinstance(value, Item) and value.sym.kind in DATA_KINDS:
            own = self._evaluator.hierarchy.own_member(value.sym, name)
            if own:
                return self._choose_overload(own, row)
            value = self._evaluator.types.of(value.sym)
        if value is None or isinstance(value, UNKNOWN):
            return self._guesses.method(name, receiver, source, self._file)
        return self._member_call(value, name, receiver, row, source)

    # Calls of members

    def _member_call(self, value: Value, name: str, receiver: str, row: Reference, source: Sym) -> Outcome:
        if isinstance(value, WITH_SYMBOL) and value.sym.kind in TYPE_LIKE:
            return self._type_member_call(value, name, receiver, row, source)
        if isinstance(value, DEFINED) and value.sym.kind in CALLABLE_KINDS:
            own = self._evaluator.hierarchy.own_member(value.sym, name)
            if own:
                return self._choose_overload(own, row)
            if isinstance(value, Item) and name in self._file.language.invokers:
                return self._resolve_definition(value.sym, row)
            return self._guesses.method(name, receiver, source, self._file)
        if extensions := self._evaluator.extensions(value, name, self._file):
            return self._choose_overload(extensions, _with_receiver(row))
        if isinstance(value, EXTERNALS):
            return self._external_member_call(value, name, row)
        attribute = self._evaluator.attribute(value, name, self._file)
        if isinstance(attribute, Item):
            return self._resolve_definition(attribute.sym, row)
        if isinstance(attribute, Module):
            sym = symbol_of(self._evaluator.imports.export(attribute.path, "default"))
            if sym:
                return single_target(sym, RESOLVED)
        if isinstance(attribute, External):
            return Outcome(external=attribute.name)
        return self._guesses.unknown(name, self._file)

    def _type_member_call(
        self, value: Item | Instance | Super, name: str, receiver: str, row: Reference, source: Sym
    ) -> Outcome:
        """Resolve a call of a type's member, on the type itself, an object of it, or `super`."""
        sym, hierarchy, language = value.sym, self._evaluator.hierarchy, self._file.language
        members = hierarchy.member(sym, name, above=isinstance(value, Super))
        if members:
            if language.twin_names:
                method = self._evaluator.meant(Item(members[0]), True).sym
                members = [method] if method != members[0] else members
            return self._choose_overload(self._inherited_overloads(members, sym, row), row)
        if isinstance(value, Item):
            inner = self._evaluator.attribute(value, name, self._file)
            if isinstance(inner, Item):
                return self._resolve_definition(inner.sym, row)
            if name in ("new", "New") or name in language.constructors:
                return single_target(sym, RESOLVED)
        if isinstance(value, Instance) and (delegate := hierarchy.delegate(sym)):
            return self._member_call(delegate, name, receiver, row, source)
        ancestry = hierarchy.ancestry(sym)
        if extensions := self._evaluator.extensions(value, name, self._file):
            return self._choose_overload(extensions, _with_receiver(row))
        if ancestry.outside or not isinstance(value, Instance):
            return Outcome(external="." + name)
        return self._guesses.method(name, receiver, source, self._file)

    def _external_member_call(self, value: External | ExternalObject, name: str, row: Reference) -> Outcome:
        if isinstance(value, External) and self._file.style.qualified:
            qualified = self._evaluator.attribute(value, name, self._file)
            if isinstance(qualified, Item):
                return self._resolve_definition(qualified.sym, row)
        known = isinstance(value, External) or "." in value.name
        return Outcome(external=f"{value.name}.{name}" if known else f".{name}")

    # Calls of bare names

    def _plain_call(self, name: str, row: Reference) -> Outcome:
        language = self._file.language
        if name in language.super_names or name == language.construct or self._is_self(name, row):
            return self._keyword_call(name, row)
        value = self._evaluator.scopes.lookup(name, self._file, row.source, row.line, local=not language.uniform_access)
        if value is None:
            if outcome := self._implicit_member_call(name, row):
                return outcome
            value = self._evaluator.first_segment(name, self._file, row.source, row.line)
            if value is None or isinstance(value, External):
                return self._unbound_call(name)
        elif isinstance(value, Item):
            value = self._evaluator.meant(value, True)
        if isinstance(value, External):
            return Outcome(external=value.name)
        if isinstance(value, Module):
            value = self._evaluator.imports.export(value.path, "default")
        # calls of objects have no name to resolve
        return self._call_of_item(value.sym, row) if isinstance(value, Item) else NOTHING

    def _is_self(self, name: str, row: Reference) -> bool:
        """Return whether a name is `self`, `this` or the like; not if the function assigns something else to it."""
        if name not in self._file.language.self_names:
            return False
        return not any(binding.value for binding in self._file.bindings.get(row.source, {}).get(name, ()))

    def _keyword_call(self, name: str, row: Reference) -> Outcome:
        """Resolve `super(…)`, `this(…)`, and Ruby's `new`."""
        language = self._file.language
        owner = self._evaluator.hierarchy.enclosing_type(self._file, row.source)
        if name in language.super_names:
            return self._super_call(owner, row) if owner and not language.super_is_object else NOTHING
        if name in language.self_names:
            constructors = self._evaluator.hierarchy.own_member(owner, owner.name) if owner else []
            if constructors:
                return self._choose_overload(constructors, row)
            return single_target(owner, RESOLVED) if owner and (name == "cls" or row.role == NEW) else NOTHING
        if owner:
            return single_target(self._evaluator.hierarchy.primary(owner), RESOLVED)
        return Outcome(external=name)

    def _implicit_member_call(self, name: str, row: Reference) -> Outcome | None:
        """Resolve a call of a bare name that may be a member of `this`, if it is none of the scopes'."""
        language = self._file.language
        if row.role != CALL:
            return None
        if language.uniform_access:
            outcome = self._guesses.method(name, "", self._file.sym(row.source), self._file)
            return Outcome(external=name) if outcome.external else outcome
        if not language.implicit_self:
            return None
        owner = self._evaluator.hierarchy.enclosing_type(self._file, row.source)
        members = self._evaluator.hierarchy.member(owner, name) if owner else []
        return self._choose_overload(members, row) if members else None

    def _unbound_call(self, name: str) -> Outcome:
        """Resolve a bare call that no scope knows: the nearest macro, any function where all are visible, a library."""
        language = self._file.language
        macros = []
        if name not in language.common:
            macros = [s for s in self._table.named(name, language.kin) if s.kind == "macro"]
        if macros:  # visible without an import
            nearest = min(macros, key=lambda s: (-_shared_folders(s.path, self._file.path), s.id))
            return single_target(nearest, RESOLVED)
        return self._guesses.function(name, self._file) if language.visible.everywhere else Outcome(external=name)

    def _call_of_item(self, sym: Sym, row: Reference) -> Outcome:
        """Resolve a call of a definition; a variable may hold another one."""
        if sym.kind in DATA_KINDS:
            target = self._evaluator.types.of(sym)
            if isinstance(target, Item) and target.sym.kind in _DEFINITIONS:
                return self._resolve_definition(target.sym, row)
            if isinstance(target, External):
                return Outcome(external=target.name or sym.name)  # `local insert = table.insert`: an alias
            if target and symbol_of(target) == sym:
                return Outcome(external=sym.name)
        return self._resolve_definition(sym, row)

    def _super_call(self, owner: Sym, row: Reference) -> Outcome:
        """Resolve `super(…)` to the nearest inherited constructor; in Ruby, to the inherited method of that name."""
        hierarchy, language = self._evaluator.hierarchy, self._file.language
        name = self._file.facts.symbols[row.source].name if row.source != FILE else ""
        ancestry = hierarchy.ancestry(owner)
        if language.uniform_access:
            if not name:
                return NOTHING
            inherited = hierarchy.member(owner, name, above=True)
            return self._choose_overload(inherited, row) if inherited else Outcome(external="." + name)
        for ancestor in ancestry.types[1:]:
            for candidate in (name, ancestor.name, *language.constructors):
                constructors = hierarchy.own_member(ancestor, candidate)
                if constructors:
                    return self._choose_overload(constructors, row)
        return Outcome(external=ancestry.outside[0]) if ancestry.outside else NOTHING

    # Definitions and overloads

    def _resolve_definition(self, sym: Sym, row: Reference) -> Outcome:
        """Resolve to an item, or to the overload of it that the call selects."""
        other = self._table.file(sym.path)
        if row.role == NEW and sym.kind in TYPE_KINDS and self._file.language.overloads:
            namesakes = [
                s for s in self._table.named(sym.name, sym.kin) if s.symbol == sym.symbol and s.path == sym.path
            ]
            sym = next((s for s in namesakes if self._type_parameter_count(s) == row.generics), sym)
        if sym.kind not in CALLABLE_KINDS or other is None or sym.index == FILE:
            return single_target(sym, RESOLVED)
        parent = other.facts.symbols[sym.index].parent
        overloads = [other.sym(i) for i in other.children[parent].get(sym.name, ())[:MAX_OVERLOADS]]
        overloads = [s for s in overloads if s.symbol == sym.symbol] or [sym]
        if self._file.language.prototypes and sym.path != self._file.path:
            return self._resolve_linked(sym, overloads, row)
        return self._choose_overload(overloads, row)

    def _resolve_linked(self, sym: Sym, overloads: list[Sym], row: Reference) -> Outcome:
        """Resolve a function that several files define, one per platform for example: the nearest share the call."""
        is_stub = self._evaluator.scopes.is_stub
        definitions = [
            s
            for s in self._table.named(sym.name, sym.kin)
            if (s.symbol, s.kind) == (sym.symbol, sym.kind) and not is_stub(s)
        ]
        definitions = [s for s in definitions if s.path.rpartition("/")[0] == self._file.folder] or definitions
        definitions = [s for s in definitions if not s.test] or definitions
        by_path = {s.path: s for s in reversed(definitions)}
        if len(by_path) < 2 or is_stub(sym):
            if definitions and sym not in definitions:
                overloads = [s for s in definitions if s.path == definitions[0].path]
            return self._choose_overload(overloads, row)
        if len(by_path) > MAX_CANDIDATES:
            return UNRESOLVED
        return shared_among([by_path[path] for path in sorted(by_path)], BY_NAME)

    def _inherited_overloads(self, nearest: list[Sym], owner: Sym, row: Reference) -> list[Sym]:
        """Return inherited overloads that accept the arguments, if the nearest ones do not."""
        if not self._file.language.overloads or row.arity < 0 or any(self._accepts(s, row.arity) for s in nearest):
            return nearest
        hierarchy = self._evaluator.hierarchy
        for ancestor in hierarchy.ancestry(owner).types[1:]:
            fitting = [s for s in hierarchy.own_member(ancestor, nearest[0].name) if self._accepts(s, row.arity)]
            if fitting:
                return fitting
        return nearest

    def _accepts(self, sym: Sym, count: int) -> bool:
        file = self._table.file(sym.path)
        return (
            file is not None and sym.kind in CALLABLE_KINDS and accepts_arguments(file.facts.symbols[sym.index], count)
        )

    def _choose_overload(self, syms: list[Sym], row: Reference) -> Outcome:
        """Choose among definitions of one name in one scope: no stubs, then by number of parameters.

        Remaining candidates (a function defined in both branches of an if) share the confidence.
        """
        syms, language = syms[:MAX_OVERLOADS], self._file.language
        if language.overloads:
            syms = [s for s in syms if s.kind in CALLABLE_KINDS] or syms
        if len(syms) == 1 or syms[0].kind in FIELD_LIKE:
            return single_target(syms[0], RESOLVED)
        fits = self._fitting_overloads(syms, row)
        if len(fits) == 1 or (len({s.path for s in fits}) > 1 and not language.overloads):
            return single_target(fits[0], RESOLVED)
        return shared_among(fits[:MAX_CANDIDATES], RESOLVED)

    def _fitting_overloads(self, syms: list[Sym], row: Reference) -> list[Sym]:
        """Return the overloads that a call may mean, all if none fits."""
        language = self._file.language
        facts = {s: f.facts.symbols[s.index] for s in syms if (f := self._table.file(s.path)) is not None}
        fits = syms if language.overloads else [s for s in syms if not facts[s].stub] or syms
        if row.generics:
            fits = [s for s in fits if self._type_parameter_count(s) == row.generics] or fits
        if row.arity >= 0:
            fits = _accepting(fits, facts, row.arity) or fits
        return ([s for s in fits if not facts[s].stub] or fits) if language.prototypes else fits

    def _type_parameter_count(self, sym: Sym) -> int:
        file = self._table.file(sym.path)
        return sum(name[0] == "<" and name != "<this>" for name in file.bindings.get(sym.index, ())) if file else 0


def _accepting(syms: list[Sym], facts: dict[Sym, SymbolFact], count: int) -> list[Sym]:
    """Return the overloads that accept `count` arguments; without optional parameters, exact ones are preferred."""
    accepting = [s for s in syms if accepts_arguments(facts[s], count)]
    if any(facts[s].optional for s in accepting):
        return accepting
    return [s for s in syms if max(facts[s].arity, 0) == count and not facts[s].variadic] or accepting


def accepts_arguments(fact: SymbolFact, count: int) -> bool:
    """Return whether a function accepts `count` arguments."""
    maximum = max(fact.arity, 0)
    return maximum - fact.optional - fact.variadic <= count and (fact.variadic or count <= maximum)


def _with_receiver(row: Reference) -> Reference:
    """Return a call of an extension method with the receiver counted as its first argument."""
    return msgspec.structs.replace(row, arity=row.arity + 1) if row.arity >= 0 else row


def _shared_folders(first: str, second: str) -> int:
    """Return the number of leading folders that two paths share."""
    pairs = zip(first.split("/"), second.split("/"), strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), 0)
