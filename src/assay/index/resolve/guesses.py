"""Guess call targets by name alone, if scopes and types are not sufficient."""

from __future__ import annotations

from assay.core.items import CALLABLE_KINDS, TYPE_KINDS
from assay.index.facts import FILE
from assay.index.file import Sym
from assay.index.resolve.base import (
    BY_NAME,
    BY_NAME_AND_HINT,
    BY_NAME_OF_FIELD,
    MAX_CANDIDATES,
    MAX_NAMESAKES,
    MEMBERS,
    PLAIN_DATA,
    Outcome,
    ResolverBase,
    named_like,
    single_target,
)


class Guesses(ResolverBase):
    """Guess call targets by name alone, if scopes and types are not sufficient."""

    def _by_name(self, name: str, receiver: str, source: Sym, strict: bool = False) -> Outcome:
        """Guess the target of a method call on an object of unknown type by its name, if that is distinctive."""
        file = self.file
        if name in file.language.common:
            return Outcome(external="." + name, everyday=self._repository_defines(name))
        namesakes = self._members_named(name, source.test)
        recursive_source = source if source.name == name else None
        if receiver and recursive_source:  # a method that calls its own name on another object delegates
            namesakes = [s for s in namesakes if s != source]
        if not namesakes:
            return Outcome(external="." + name)
        if len(namesakes) > MAX_NAMESAKES:
            return Outcome(unresolved=True)
        roots = self.table.remembered(
            f"roots:{file.language.kin}:{name}:{source.test}:{recursive_source.id if recursive_source else ''}",
            lambda: self._without_overrides(namesakes),
        )
        hinted = [s for s in roots if named_like(receiver, s)]
        if len(hinted) == 1:
            return single_target(
                hinted[0], BY_NAME_AND_HINT if hinted[0].kind != "field" else BY_NAME_OF_FIELD, "inferred"
            )
        roots = hinted or roots
        if len(roots) == 1 and roots[0].kind == "field":
            return single_target(roots[0], BY_NAME_OF_FIELD, "inferred")
        if len(roots) > MAX_CANDIDATES:
            return Outcome(unresolved=True)
        share = BY_NAME / len(roots)
        return Outcome(items=tuple((s, share, "inferred") for s in roots))

    def _members_named(self, name: str, in_test: bool) -> list[Sym]:
        """Return what can be called on an object by this name; test code only from tests."""
        kin = self.file.language.kin
        named = self.table.named(name, kin)
        key = (name, kin, in_test)
        if key not in self._callable_members:  # filtered once: thousands of symbols may share a name
            self._callable_members[key] = [
                s
                for s in named
                if (s.kind in MEMBERS or (s.kind == "function" and s.owner) or (s.kind == "field" and self._holds_function(s)))
                and (in_test or not s.test)
                and self._is_called_on_instance(s)
            ]  # fmt: skip
        return self._callable_members[key]

    def _repository_defines(self, name: str) -> bool:
        """Return whether the repository has a method of this name, outside tests unless called from a test."""
        named = self.table.named(name, self.file.language.kin)
        return any(s.kind in MEMBERS and (self.file.test or not s.test) for s in named)

    def _holds_function(self, sym: Sym) -> bool:
        """Return whether a field may be called: its declared type is not plain data."""
        file = self.table.file(sym.path)
        if file is None or not file.language.callable_fields:
            return False
        declared = file.facts.symbols[sym.index].type.lstrip(": ")
        return bool(declared) and not PLAIN_DATA.match(declared)

    def _is_called_on_instance(self, sym: Sym) -> bool:
        """Return False for static methods, except extension methods."""
        file = self.table.file(sym.path)
        return file is None or not file.facts.symbols[sym.index].static or "<this>" in file.bindings.get(sym.index, ())

    def _without_overrides(self, syms: list[Sym]) -> list[Sym]:
        """Drop methods that override another of the list: a call through the base reaches them all."""
        owners: dict[str, Sym] = {}
        for sym in syms:
            owner = self._owner(sym)
            if owner:
                owners[sym.id] = owner
        out = []
        for sym in syms:
            owner = owners.get(sym.id)
            overridable_owners = (
                (*self.values.ancestry(owner).types[1:], *self.values.satisfied(owner)) if owner else ()
            )
            if not any(other in overridable_owners for key, other in owners.items() if key != sym.id):
                out.append(sym)
        return out or syms

    def _owner(self, sym: Sym) -> Sym | None:
        file = self.table.file(sym.path)
        owner = self.values.enclosing_type(file, sym.index) if file and sym.index != FILE else None
        return self.values.primary(owner) if owner else None

    def _global(self, name: str) -> Outcome:
        """Guess the target of a bare call in a language where every function is visible everywhere."""
        callables = [s for s in self.table.named(name, self.file.language.kin) if s.kind in CALLABLE_KINDS | TYPE_KINDS]
        if not self.file.test:
            callables = [s for s in callables if not s.test]
        free = [s for s in callables if not s.owner]
        if not free:
            return Outcome(external=name)
        if len(free) > MAX_CANDIDATES:
            return Outcome(unresolved=True)
        share = BY_NAME / len(free)
        return Outcome(items=tuple((s, share, "inferred") for s in free))

    def _unknown(self, name: str) -> Outcome:
        """Return unresolved if the repository has a callable of that name, else external."""
        named = self.table.named(name, self.file.language.kin)
        if name not in self.file.language.common and any(s.kind in CALLABLE_KINDS for s in named):
            return Outcome(unresolved=True)
        return Outcome(external="." + name)
