"""Resolve the references of one file to edges.

Every lookup in other files goes through the table, which records it. A call has one of four outcomes (docs/graph.md):
one item, a few candidates, outside the repository, or unresolved. The first two yield edges to items, the third an edge
to an external name, the last is only counted.
"""

from __future__ import annotations

from assay.index.expressions import TYPE_LIKE, type_names
from assay.index.facts import ACCESS, CALL, DECORATE, HINT, MENTION, NEW, THROW, Reference
from assay.index.resolve.base import BY_NAME, BY_NAME_OF_FIELD, RESOLVED, CallCounts, Resolved
from assay.index.resolve.calls import Calls
from assay.index.resolve.guard import deep_recursion, outline, reason
from assay.index.resolve.guesses import Guesses
from assay.index.resolve.relations import Relations
from assay.index.resolve.uses import Imports, Uses

__all__ = ["BY_NAME", "BY_NAME_OF_FIELD", "CallCounts", "Resolved", "Resolver"]


class Resolver(Imports, Calls, Guesses, Uses, Relations):
    """Resolves files one at a time against a symbol table."""

    def resolve(self, path: str) -> Resolved:
        """Return a file's edges, lookups and call counts; if that fails, its containment edges and the reason."""
        try:
            with deep_recursion():
                return self._resolve(path)
        except Exception as error:  # a failure is limited to its file
            return outline(self.table, path, reason(error))

    def _resolve(self, path: str) -> Resolved:
        file = self.table.file(path)
        assert file is not None
        self._start(file)
        self._imports()
        for row in file.references():
            self._try(self._reference, row)
        self._types()
        self._tests()
        self._similar()
        return Resolved(self.edges, self.table.reads, CallCounts(*self.counts))

    def _reference(self, row: Reference) -> None:
        source = self.file.sym(row.source)
        if row.role in (CALL, NEW):
            self._call(row, source)
        elif row.role == ACCESS:
            self._access(row, source)
        elif row.role == MENTION:
            self._mention(row.chain, source, row)
            self._conventions(row, source)
        elif row.role == HINT:
            for name in type_names(row.chain):
                value = self.values.type_named(name, self.file, row.source, row.line)
                if value and value.kind == "item" and value.sym and value.sym.kind in TYPE_LIKE:
                    self._add(source, value.sym, "type_hint_of", RESOLVED, "resolved", row.line)
        elif row.role == THROW:
            self._throw(row, source)
        elif row.role == DECORATE:
            self._decorate(row, source)
