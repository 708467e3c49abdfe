"""Edges between definitions: containment, bases, overrides, inherited members, tests."""

from __future__ import annotations

from assay.index.facts import FILE, IMPLEMENTS, Reference, SymbolFact
from assay.index.file import File, Sym
from assay.index.resolve.base import (
    BY_NAME,
    CERTAIN,
    CO_TESTED,
    MEMBERS,
    RESOLVED,
    TYPE_LIKE,
    ResolverBase,
    looks_like_interface,
)
from assay.text.terms import words


class Relations(ResolverBase):
    """Edges between definitions: containment, bases, overrides, inherited members, tests."""

    def _types(self) -> None:
        """Add containment, bases, overrides and inherited members of every definition in the file."""
        file = self.file
        for index, fact in enumerate(file.facts.symbols):
            sym = file.sym(index)
            self._try(self._add_containment, sym, index)
            if fact.kind in TYPE_LIKE:
                self._try(self._add_bases, sym, index)
                self._try(self._add_structural, sym, fact)
                self._try(self._add_inherited, sym)
            elif sym.owner and fact.kind in MEMBERS:
                self._try(self._add_overrides, sym, index)
        for row in file.impls:
            self._try(self._add_impl, row)

    def _add_impl(self, row: Reference) -> None:
        """Add the base edge of `impl Trait for Type`."""
        value = self.values.evaluate(row.literal, self.file, row.source, row.line)
        if value and value.kind == "item" and value.sym:
            self._add_base(value.sym, row, row.source)

    def _add_containment(self, sym: Sym, index: int) -> None:
        fact = self.file.facts.symbols[index]
        self._add(self._container(self.file, index), sym, "contains", CERTAIN, "parsed", fact.start)

    def _container(self, file: File, index: int) -> Sym:
        fact = file.facts.symbols[index]
        if fact.scope:
            owner = self.values.scope_type(file, index)
            if owner:
                return owner
        return file.sym(fact.parent)

    def _add_bases(self, sym: Sym, index: int) -> None:
        for row in self.file.bases.get(index, ()):
            self._add_base(sym, row, self.values.base_scope(row, self.file, index))

    def _add_base(self, sym: Sym, row: Reference, at: int) -> None:
        value = self.values.base(row.chain, self.file, at)
        kind = "implements" if row.role == IMPLEMENTS else "extends"
        if value.sym is not None:
            if (
                kind == "extends"
                and value.sym.kind in ("interface", "trait")
                and sym.kind not in ("interface", "trait")
            ):
                kind = "implements"
            self._add(sym, value.sym, kind, RESOLVED, "resolved", row.line)
        elif value.name:
            if self.file.language.name == "csharp" and looks_like_interface(value.name):
                kind = "implements"
            self._add(sym, value.name, kind, RESOLVED, "resolved", row.line)

    def _add_overrides(self, sym: Sym, index: int) -> None:
        owner = self.values.enclosing_type(self.file, index)
        if owner is None:
            return
        bases = [base.sym for base in self.values.direct_bases(owner)]
        for base in (*bases, *self.values.satisfied(owner)):
            if base is not None:
                for overridden in self.values.member(base, sym.name)[:1]:
                    if overridden.kind in MEMBERS:
                        self._add(
                            sym, overridden, "overrides", RESOLVED, "resolved", self.file.facts.symbols[index].start
                        )

    def _add_inherited(self, sym: Sym) -> None:
        if sym.test or self.values.primary(sym) != sym:
            return
        ancestry = self.values.ancestry(sym)
        if len(ancestry.types) == 1:
            return
        seen = {m.name for m in self._all_members(sym)}
        for ancestor in ancestry.types[1:]:
            members = self._all_members(ancestor)
            implemented = (
                {m.name for m in members if not self.values.is_stub(m)} if self.file.language.prototypes else set()
            )
            for member in members:
                if member.name in implemented and self.values.is_stub(member):
                    continue
                if member.name not in seen and member.kind in MEMBERS:
                    self._add(sym, member, "inherits", RESOLVED, "resolved", self.file.facts.symbols[sym.index].start)
            seen |= {m.name for m in members}

    def _all_members(self, sym: Sym) -> list[Sym]:
        file = self.table.file(sym.path)
        if file is None:
            return []
        return [m for key in dict.fromkeys(file.type_keys(sym.index)) for m in self.table.members(key)]

    def _add_structural(self, sym: Sym, fact: SymbolFact) -> None:
        """Go: a type implements every interface of the repository whose methods it has."""
        for interface in self.values.satisfied(sym):
            confidence = RESOLVED if len(self._all_members(interface)) > 1 else BY_NAME
            self._add(sym, interface, "implements", confidence, "inferred", fact.start)

    def _tests(self) -> None:
        """Link tests to the items they call, and items called by the same test function to each other."""
        pairs: set[tuple[str, str]] = set()
        for at, targets in self.called.items():
            source = self.file.sym(at)
            if not source.test:
                continue
            tested = [t for t in targets if not t.test]
            for target in tested:
                self._add(source, target, "tests", RESOLVED, "resolved", targets[target])
            if at != FILE:
                ids = sorted(tested, key=lambda t: t.id)[:CO_TESTED]
                for first in range(len(ids)):
                    for second in ids[first + 1 :]:
                        if (ids[first].id, second.id) not in pairs:
                            pairs.add((ids[first].id, second.id))
                            self._add(ids[first], second, "co_tested_with", BY_NAME, "inferred", targets[second])

    def _similar(self) -> None:
        """Link functions of the file whose names share most of their words."""
        candidates = [
            (set(words(f.name)), i)
            for i, f in enumerate(self.file.facts.symbols)
            if f.kind in ("function", "method") and not f.test
        ]
        candidates = [(w, i) for w, i in candidates if len(w) > 1]
        if self.file.test or len(candidates) > 300:
            return
        for at, (first_words, first) in enumerate(candidates):
            for second_words, second in candidates[at + 1 :]:
                shared = len(first_words & second_words)
                if shared and shared / len(first_words | second_words) > 0.5:
                    a, b = sorted((self.file.sym(first), self.file.sym(second)), key=lambda s: s.id)
                    self._add(
                        a,
                        b,
                        "similar_to",
                        shared / len(first_words | second_words),
                        "inferred",
                        self.file.facts.symbols[first].start,
                    )
