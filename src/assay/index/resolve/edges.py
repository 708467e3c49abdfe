"""Edges of the file being resolved: their confidence by kind of evidence, and the edges between definitions."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from itertools import combinations
from typing import NamedTuple, ParamSpec

from assay.core.items import EXTERNAL
from assay.index.expressions import Evaluator
from assay.index.facts import FILE, IMPLEMENTS, Reference
from assay.index.file import File, Sym
from assay.index.table import BudgetExceeded
from assay.index.values import TYPE_LIKE, Item
from assay.text.terms import words

P = ParamSpec("P")

# confidence by kind of evidence; verified by the spot check in docs/resolution.md
CERTAIN, RESOLVED, BY_NAME_AND_HINT, BY_NAME = 1.0, 0.9, 0.7, 0.6
BY_NAME_OF_FIELD = 0.5  # a field that holds a function: untyped objects share its name more often than a method's

FIELD_LIKE = frozenset({"field", "property"})
MEMBERS = frozenset({"method", "property"})
_PATH = re.compile(r"\b([A-Z]\w*)\.(?=[A-Z])")  # dot between two type names, for languages with another separator


class CallCounts(NamedTuple):
    """Number of call sites of a file by outcome."""

    resolved: int
    candidates: int
    external: int
    unresolved: int
    everyday: int  # subset of external: common method names on unknown objects that the repository also defines


# (type, source, target) → (provenance, confidence, line)
Edges = dict[tuple[str, str, str], tuple[str, float, int]]


class Resolved(NamedTuple):
    """A file's edges, the keys of all lookups made to find them, its call counts, and the error if it failed."""

    edges: Edges
    reads: set[str]
    calls: CallCounts
    problem: str = ""


class FileEdges:
    """Collects the edges and call counts of one file."""

    def __init__(self, file: File, evaluator: Evaluator) -> None:
        self.file, self.evaluator, self.table = file, evaluator, evaluator.table
        self.edges: Edges = {}
        self.counts = [0] * len(CallCounts._fields)
        self.called: dict[int, dict[Sym, int]] = defaultdict(dict)  # caller → callee → first line

    def bounded(self, resolve: Callable[P, None], *arguments: P.args, **named: P.kwargs) -> None:
        """Resolve one reference with its own budget; exceeding it yields no edges."""
        self.table.begin_query()
        try:
            resolve(*arguments, **named)
        except BudgetExceeded:  # not a context manager: runs for every reference
            return

    def add(
        self,
        source: Sym,
        target: Sym | str,
        kind: str,
        line: int,
        confidence: float = RESOLVED,
        provenance: str = "resolved",
    ) -> None:
        """Add an edge, or raise the confidence of an existing one."""
        if isinstance(target, Sym):
            target_id = target.id
        elif self.file.language.separator != "." and ":" not in target:
            target_id = EXTERNAL + _PATH.sub(r"\1" + self.file.language.separator, target)
        else:
            target_id = EXTERNAL + target
        source_id = source.id
        if source_id == target_id and kind != "calls":
            return
        key = (kind, source_id, target_id)
        existing = self.edges.get(key)
        if existing is None or existing[1] < confidence:
            self.edges[key] = (provenance, confidence, existing[2] if existing else line)


# Edges between definitions: containment, bases, overrides, inherited members, tests, similar names

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
