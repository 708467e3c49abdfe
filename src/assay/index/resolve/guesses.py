"""Guess call targets by name alone, if scopes and types are not sufficient."""

from __future__ import annotations

import re

import msgspec

from assay.core.items import CALLABLE_KINDS, TYPE_KINDS
from assay.index.chains import bare
from assay.index.expressions import Evaluator
from assay.index.facts import FILE
from assay.index.file import File, Sym
from assay.index.resolve.edges import BY_NAME, BY_NAME_AND_HINT, BY_NAME_OF_FIELD, MEMBERS
from assay.text.terms import words

MAX_CANDIDATES = 5  # per call
MAX_NAMESAKES = 40  # a name with more definitions is too common to guess
_PLAIN_DATA = re.compile(
    r"(?:string|number|boolean|bigint|symbol|null|undefined|true|false|any|unknown|Record|Array|Map|Set|Promise|Date)\b|[\"'`\d\[{]|.*\]$",
    re.S,
)


class Outcome(msgspec.Struct, frozen=True, gc=False):
    """Result of resolving a call: items with confidence and provenance, an external name, or neither."""

    items: tuple[tuple[Sym, float, str], ...] = ()
    external: str = ""
    unresolved: bool = False
    everyday: bool = False


NOTHING = Outcome()
UNRESOLVED = Outcome(unresolved=True)


def single_target(sym: Sym, confidence: float, provenance: str = "resolved") -> Outcome:
    return Outcome(items=((sym, confidence, provenance),))


def shared_among(syms: list[Sym], confidence: float) -> Outcome:
    """Return candidates that share the confidence."""
    return Outcome(items=tuple((sym, confidence / len(syms), "inferred") for sym in syms))


class Guesses:
    """Guesses call targets by name alone."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator, self._table = evaluator, evaluator.table
        # by name, language family, and whether the caller is a test
        self._callable_members: dict[tuple[str, str, bool], list[Sym]] = {}

    def method(self, name: str, receiver: str, source: Sym, file: File) -> Outcome:
        """Guess the target of a method call on an object of unknown type by its name, if that is distinctive."""
        if name in file.language.common:
            return Outcome(external="." + name, everyday=self._repository_defines(name, file))
        namesakes = self._members_named(name, file.language.kin, source.test)
        recursive_source = source if source.name == name else None
        if receiver and recursive_source:  # a method that calls its own name on another object delegates
            namesakes = [s for s in namesakes if s != source]
        if not namesakes:
            return Outcome(external="." + name)
        if len(namesakes) > MAX_NAMESAKES:
            return UNRESOLVED
        roots = self._table.remembered(
            f"roots:{file.language.kin}:{name}:{source.test}:{recursive_source.id if recursive_source else ''}",
            lambda: self._without_overrides(namesakes),
        )
        hinted = [s for s in roots if _named_like(receiver, s)]
        roots = hinted or roots
        if len(roots) == 1 and roots[0].kind == "field":
            return single_target(roots[0], BY_NAME_OF_FIELD, "inferred")
        if len(hinted) == 1:
            return single_target(hinted[0], BY_NAME_AND_HINT, "inferred")
        return UNRESOLVED if len(roots) > MAX_CANDIDATES else shared_among(roots, BY_NAME)

    def function(self, name: str, file: File) -> Outcome:
        """Guess the target of a bare call in a language where every function is visible everywhere."""
        named = self._table.named(name, file.language.kin)
        free = [s for s in named if s.kind in CALLABLE_KINDS | TYPE_KINDS and not s.owner and (file.test or not s.test)]
        if not free:
            return Outcome(external=name)
        return UNRESOLVED if len(free) > MAX_CANDIDATES else shared_among(free, BY_NAME)

    def unknown(self, name: str, file: File) -> Outcome:
        """Return unresolved if the repository has a callable of that name, else external."""
        named = self._table.named(name, file.language.kin)
        if name not in file.language.common and any(s.kind in CALLABLE_KINDS for s in named):
            return UNRESOLVED
        return Outcome(external="." + name)

    def _members_named(self, name: str, kin: str, in_test: bool) -> list[Sym]:
        """Return what can be called on an object by this name; test code only from tests."""
        named = self._table.named(name, kin)
        key = (name, kin, in_test)
        if key not in self._callable_members:  # filtered once: thousands of symbols may share a name
            self._callable_members[key] = [
                s for s in named if self._is_callable(s) and (in_test or not s.test) and self._is_called_on_instance(s)
            ]
        return self._callable_members[key]

    def _repository_defines(self, name: str, file: File) -> bool:
        """Return whether the repository has a method of this name, outside tests unless called from a test."""
        named = self._table.named(name, file.language.kin)
        return any(s.kind in MEMBERS and (file.test or not s.test) for s in named)

    def _is_callable(self, sym: Sym) -> bool:
        """Return whether a symbol may be called on an object. A field may, if its declared type is not plain data."""
        if sym.kind != "field":
            return sym.kind in MEMBERS or (sym.kind == "function" and bool(sym.owner))
        file = self._table.file(sym.path)
        if file is None or not file.language.callable_fields:
            return False
        declared = file.facts.symbols[sym.index].type.lstrip(": ")
        return bool(declared) and not _PLAIN_DATA.match(declared)

    def _is_called_on_instance(self, sym: Sym) -> bool:
        """Return False for static methods, except extension methods."""
        file = self._table.file(sym.path)
        return file is None or not file.facts.symbols[sym.index].static or "<this>" in file.bindings.get(sym.index, ())

    def _without_overrides(self, syms: list[Sym]) -> list[Sym]:
        """Drop methods that override another of the list: a call through the base reaches them all."""
        hierarchy = self._evaluator.hierarchy
        owners = {sym.id: owner for sym in syms if (owner := self._owner(sym))}
        out = []
        for sym in syms:
            owner = owners.get(sym.id)
            overridable = (*hierarchy.ancestry(owner).types[1:], *hierarchy.satisfied(owner)) if owner else ()
            if not any(other in overridable for key, other in owners.items() if key != sym.id):
                out.append(sym)
        return out or syms

    def _owner(self, sym: Sym) -> Sym | None:
        file = self._table.file(sym.path)
        owner = self._evaluator.hierarchy.enclosing_type(file, sym.index) if file and sym.index != FILE else None
        return self._evaluator.hierarchy.primary(owner) if owner else None


def _named_like(receiver: str, sym: Sym) -> bool:
    """Return whether a receiver's name ends like the owner's: `request.x()` and class Request."""
    last = bare(receiver.rpartition(".")[2]).lstrip("_")
    owner = sym.symbol.replace("::", ".").split(".")[-2:-1]
    if len(last) < 3 or not owner or last == sym.name:  # `q.filter().filter()` does not suggest a class Filter
        return False
    receiver_words, owner_words = words(last), words(owner[0])
    return bool(receiver_words) and receiver_words == owner_words[-len(receiver_words) :]
