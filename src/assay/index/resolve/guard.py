"""What becomes of a file that cannot be resolved: it keeps its symbols, loses its references, and is reported."""

from __future__ import annotations

import os
import sqlite3
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from assay.index.resolve.base import CERTAIN, CallCounts, Edges, Resolved
from assay.index.stored import StartAfresh
from assay.index.table import MAX_DEPTH, MAX_SECONDS, Table, TookTooLong

RAISE = "ASSAY_RAISE"  # environment variable of the test suite: there an error is a bug, and bugs are seen
# Python frames; a question takes 12 at most, so that reaching it is a bug. Calls from Python to Python take no C stack
_FRAMES = 40 * MAX_DEPTH

_lock = threading.Lock()
_users, _usual = 0, 0


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Room for questions nested as deep as they may be. The limit is one for all threads: the last to leave restores it."""
    global _users, _usual
    with _lock:
        if not _users:
            _usual = sys.getrecursionlimit()
            sys.setrecursionlimit(max(_usual, _FRAMES))
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if not _users:
                sys.setrecursionlimit(_usual)


def reason(error: Exception) -> str:
    """Why a file could not be resolved. What concerns the whole index is raised again."""
    if isinstance(error, TookTooLong):
        return f"takes more than {MAX_SECONDS:.0f} s"
    if isinstance(error, StartAfresh | sqlite3.Error | OSError) or os.environ.get(RAISE):
        raise error
    return f"{type(error).__name__} (please report this)"


def outline(table: Table, path: str, why: str) -> Resolved:
    """What holds what in a file whose references could not be resolved. What was asked in vain stays on record: with other answers it
    may be resolved."""
    edges: Edges = {}
    file = table.file(path)
    for index, fact in enumerate(file.facts.symbols if file else ()):
        assert file is not None
        edges["contains", file.sym(fact.parent).id, file.sym(index).id] = ("parsed", CERTAIN, fact.start)
    return Resolved(edges, table.reads, CallCounts(0, 0, 0, 0, 0), f"could not be resolved: {why}")
