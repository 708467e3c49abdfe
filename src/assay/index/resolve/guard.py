"""Handle files that cannot be resolved: they keep their symbols, lose their references, and are reported."""

from __future__ import annotations

import os
import sqlite3
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from assay.index.resolve.base import CERTAIN, CallCounts, Edges, Resolved
from assay.index.stored import FullIndexNeeded
from assay.index.table import MAX_DEPTH, MAX_SECONDS, Table, TimeBudgetExceeded

RAISE = "ASSAY_RAISE"  # environment variable set by the test suite: raise errors instead of reporting them
# Python frames; a query takes at most 12, so exceeding this is a bug. Python-to-Python calls use no C stack
_FRAMES = 40 * MAX_DEPTH

_lock = threading.Lock()
_users, _normal_limit = 0, 0


@contextmanager
def deep_recursion() -> Iterator[None]:
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


def reason(error: Exception) -> str:
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
