"""Edges between definitions: containment, bases, overrides, inherited members, tests, similar names."""

from __future__ import annotations

from itertools import combinations

from assay.index.facts import FILE, IMPLEMENTS, Reference
from assay.index.file import Sym
from assay.index.resolve.edges import BY_NAME, CERTAIN, MEMBERS, RESOLVED, FileEdges
from assay.index.values import TYPE_LIKE, Item
from assay.text.terms import words

CO_TESTED = 8  # items of one test that are linked pairwise
MAX_COMPARED = 300  # functions of a file; in larger ones, names are not compared
SIMILAR = 0.5  # share of the words of two names that they must exceed to be similar


def add_relations(edges: FileEdges) -> None:
    """Add the edges of every definition in the file, then those of its tests. Calls must have been added before."""
    file = edges.file
    for index, fact in enumerate(file.facts.symbols):
        sym = file.sym(index)
        edges.bounded(_add_containment, edges, sym)
        if fact.kind in TYPE_LIKE:
            edges.bounded(_add_bases, edges, sym)
            edges.bounded(_add_structural, edges, sym, fact.start)
            edges.bounded(_add_inherited, edges, sym, fact.start)
        elif sym.owner and fact.kind in MEMBERS:
            edges.bounded(_add_overrides, edges, sym, fact.start)
    for row in file.impls:
        edges.bounded(_add_impl, edges, row)
    _add_tests(edges)
    _add_similar(edges)


def _add_containment(edges: FileEdges, sym: Sym) -> None:
    fact = edges.file.facts.symbols[sym.index]
    owner = edges.evaluator.hierarchy.scope_type(edges.file, sym.index) if fact.scope else None
    edges.add(owner or edges.file.sym(fact.parent), sym, "contains", fact.start, CERTAIN, "parsed")


def _add_bases(edges: FileEdges, sym: Sym) -> None:
    for row in edges.file.bases.get(sym.index, ()):
        _add_base(edges, sym, row, edges.evaluator.hierarchy.base_scope(row, edges.file, sym.index))


def _add_impl(edges: FileEdges, row: Reference) -> None:
    """Add the base edge of `impl Trait for Type`."""
    value = edges.evaluator.evaluate(row.literal, edges.file, row.source, row.line)
    if isinstance(value, Item):
        _add_base(edges, value.sym, row, row.source)


def _add_base(edges: FileEdges, sym: Sym, row: Reference, at: int) -> None:
    base = edges.evaluator.hierarchy.base(row.chain, edges.file, at)
    contracts = ("interface", "trait")
    if isinstance(base, Item):
        implements = base.sym.kind in contracts and sym.kind not in contracts
        target: Sym | str = base.sym
    else:
        implements = _is_interface_name(base.name, edges.file.language.interface_prefix)
        target = base.name
    if target:
        kind = "implements" if row.role == IMPLEMENTS or implements else "extends"
        edges.add(sym, target, kind, row.line)


def _is_interface_name(name: str, prefix: str) -> bool:
    """Return whether a library type's name is that of an interface, by the language's convention."""
    last = name.rpartition(".")[2]
    return bool(prefix) and last.startswith(prefix) and last[len(prefix) :][:1].isupper()


def _add_structural(edges: FileEdges, sym: Sym, line: int) -> None:
    """Go: a type implements every interface of the repository whose methods it has."""
    hierarchy = edges.evaluator.hierarchy
    for interface in hierarchy.satisfied(sym):
        confidence = RESOLVED if len(hierarchy.all_members(interface)) > 1 else BY_NAME
        edges.add(sym, interface, "implements", line, confidence, "inferred")


def _add_inherited(edges: FileEdges, sym: Sym, line: int) -> None:
    hierarchy, is_stub = edges.evaluator.hierarchy, edges.evaluator.scopes.is_stub
    if sym.test or hierarchy.primary(sym) != sym:
        return
    ancestors = hierarchy.ancestry(sym).types[1:]
    if not ancestors:
        return
    seen = {member.name for member in hierarchy.all_members(sym)}
    for ancestor in ancestors:
        members = hierarchy.all_members(ancestor)
        prototypes = edges.file.language.prototypes
        implemented = {member.name for member in members if not is_stub(member)} if prototypes else set()
        for member in members:
            if member.name in implemented and is_stub(member):
                continue
            if member.name not in seen and member.kind in MEMBERS:
                edges.add(sym, member, "inherits", line)
        seen |= {member.name for member in members}


def _add_overrides(edges: FileEdges, sym: Sym, line: int) -> None:
    hierarchy = edges.evaluator.hierarchy
    owner = hierarchy.enclosing_type(edges.file, sym.index)
    if owner is None:
        return
    bases = [base.sym for base in hierarchy.direct_bases(owner) if isinstance(base, Item)]
    for base in (*bases, *hierarchy.satisfied(owner)):
        for overridden in hierarchy.member(base, sym.name)[:1]:
            if overridden.kind in MEMBERS:
                edges.add(sym, overridden, "overrides", line)


def _add_tests(edges: FileEdges) -> None:
    """Link tests to the items they call, and items called by the same test function to each other."""
    pairs: set[tuple[str, str]] = set()
    for at, targets in edges.called.items():
        source = edges.file.sym(at)
        if not source.test:
            continue
        tested = [target for target in targets if not target.test]
        for target in tested:
            edges.add(source, target, "tests", targets[target])
        if at == FILE:
            continue
        for first, second in combinations(sorted(tested, key=lambda target: target.id)[:CO_TESTED], 2):
            if (first.id, second.id) not in pairs:
                pairs.add((first.id, second.id))
                edges.add(first, second, "co_tested_with", targets[second], BY_NAME, "inferred")


def _add_similar(edges: FileEdges) -> None:
    """Link functions of the file whose names share most of their words."""
    file = edges.file
    candidates = [
        (name_words, index)
        for index, fact in enumerate(file.facts.symbols)
        if fact.kind in ("function", "method") and not fact.test and len(name_words := set(words(fact.name))) > 1
    ]
    if file.test or len(candidates) > MAX_COMPARED:
        return
    for (first_words, first), (second_words, second) in combinations(candidates, 2):
        shared = len(first_words & second_words)
        if shared and (share := shared / len(first_words | second_words)) > SIMILAR:
            one, other = sorted((file.sym(first), file.sym(second)), key=lambda sym: sym.id)
            edges.add(one, other, "similar_to", file.facts.symbols[first].start, share, "inferred")
