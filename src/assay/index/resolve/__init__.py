"""Resolve the references of one file to edges.

Every lookup in other files goes through the table, which records it. A call has one of four outcomes (docs/graph.md):
one item, a few candidates, outside the repository, or unresolved. The first two yield edges to items, the third an edge
to an external name, the last is only counted.
"""

from __future__ import annotations

import os
import sqlite3
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from assay.index.expressions import Evaluator
from assay.index.facts import ACCESS, CALL, DECORATE, FILE, HINT, MENTION, NEW, THROW, Import, Reference
from assay.index.file import Sym
from assay.index.resolve.calls import Calls
from assay.index.resolve.edges import (
    BY_NAME,
    BY_NAME_OF_FIELD,
    CERTAIN,
    CallCounts,
    Edges,
    FileEdges,
    Resolved,
    add_relations,
)
from assay.index.resolve.guesses import Guesses, Outcome
from assay.index.resolve.rpc import Rpcs
from assay.index.resolve.services import add_service
from assay.index.resolve.uses import Uses
from assay.index.table import MAX_DEPTH, MAX_SECONDS, FullIndexNeeded, Table, TimeBudgetExceeded

__all__ = ["BY_NAME", "BY_NAME_OF_FIELD", "CallCounts", "Edges", "Resolved", "Resolver", "outline"]

RAISE = "ASSAY_RAISE"  # environment variable set by the test suite: raise errors instead of reporting them
# Python frames; a query takes at most 12, so exceeding this is a bug. Python-to-Python calls use no C stack
_FRAMES = 40 * MAX_DEPTH

_lock = threading.Lock()
_users, _normal_limit = 0, 0


class Resolver:
    """Resolves files one at a time against a symbol table."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self._evaluator = Evaluator(table)
        self._guesses = Guesses(self._evaluator)

    def resolve(self, path: str) -> Resolved:
        """Return a file's edges, lookups and call counts; if that fails, its containment edges and the reason."""
        try:
            with _deep_recursion():
                return self._resolve(path)
        except Exception as error:  # a failure is limited to its file
            return outline(self.table, path, _reason(error))

    def call_outcomes(self, path: str) -> list[tuple[int, Outcome]]:
        """Return the outcome of every call of a file, by the number of its reference; none if that fails."""
        file = self.table.file(path)
        assert file is not None
        self.table.begin_file()
        edges = FileEdges(file, self._evaluator)
        calls = Calls(edges, self._guesses, Uses(edges), Rpcs(edges))
        outcomes: list[tuple[int, Outcome]] = []

        def add(number: int, row: Reference) -> None:
            outcomes.append((number, calls.target(row, file.sym(row.source))))

        try:
            with _deep_recursion():
                for number, row in enumerate(file.references()):
                    if row.role in (CALL, NEW):
                        edges.bounded(add, number, row)
        except Exception as error:  # a failure is limited to its file
            _reason(error)
            return []
        return outcomes

    def _resolve(self, path: str) -> Resolved:
        file = self.table.file(path)
        assert file is not None
        self.table.begin_file()
        edges = FileEdges(file, self._evaluator)
        for imported in file.facts.imports:
            if imported.module:
                edges.bounded(_add_import, imported, edges)
        uses = Uses(edges)
        rpcs = Rpcs(edges)
        calls = Calls(edges, self._guesses, uses, rpcs)
        by_role: dict[int, Callable[[Reference, Sym], None]] = {
            CALL: calls.add,
            NEW: calls.add,
            ACCESS: uses.add_access,
            MENTION: uses.add_mention,
            HINT: uses.add_hint,
            THROW: uses.add_thrown,
            DECORATE: uses.add_decorator,
        }
        for row in file.references():
            edges.bounded(by_role[row.role], row, file.sym(row.source))
            if row.role == DECORATE:
                edges.bounded(rpcs.add_decorator, row, file.sym(row.source))
        for service in file.facts.services:
            edges.bounded(add_service, service, edges)
        add_relations(edges)
        rpcs.add_implementations()
        return Resolved(edges.edges, self.table.reads, CallCounts(*edges.counts))


def _add_import(row: Import, edges: FileEdges) -> None:
    source = edges.file.sym(FILE)
    for target in edges.file.style.targets(edges.evaluator, row, edges.file):
        if target != source:
            edges.add(source, target, "imports", row.line, CERTAIN)


# Files that cannot be resolved keep their symbols, lose their references, and are reported


@contextmanager
def _deep_recursion() -> Iterator[None]:
    """Raise the recursion limit for deeply nested queries. All threads share it: the last to leave restores it."""
    global _users, _normal_limit
    with _lock:
        if not _users:
            _normal_limit = sys.getrecursionlimit()
            sys.setrecursionlimit(max(_normal_limit, _FRAMES))
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if not _users:
                sys.setrecursionlimit(_normal_limit)


def _reason(error: Exception) -> str:
    """Return why a file could not be resolved. Errors that concern the whole index are raised again."""
    if isinstance(error, TimeBudgetExceeded):
        return f"takes more than {MAX_SECONDS:.0f} s"
    if isinstance(error, FullIndexNeeded | sqlite3.Error | OSError) or os.environ.get(RAISE):
        raise error
    return f"{type(error).__name__} (please report this)"


def outline(table: Table, path: str, why: str) -> Resolved:
    """Return the containment edges of a file whose references could not be resolved.

    Its lookups stay recorded: with other answers it may be resolved in a later update.
    """
    edges: Edges = {}
    file = table.file(path)
    for index, fact in enumerate(file.facts.symbols if file else ()):
        assert file is not None
        edges["contains", file.sym(fact.parent).id, file.sym(index).id] = ("parsed", CERTAIN, fact.start)
    return Resolved(edges, table.reads, CallCounts(0, 0, 0, 0, 0), f"could not be resolved: {why}")
