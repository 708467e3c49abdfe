"""Edges of the file being resolved, with the confidence of each kind of evidence."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from typing import NamedTuple, ParamSpec

from assay.core.items import EXTERNAL
from assay.index.expressions import Evaluator
from assay.index.file import File, Sym
from assay.index.table import BudgetExceeded

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
