"""Imports: what a language's style makes of them, and what a file exports, through chains of re-exports.

There is one style per module system, behind the interface of `style.ImportStyle`. A language's row names its style.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.index.imports import javascript, rust
from assay.index.imports.javascript import JavaScript
from assay.index.imports.namespaces import Includes, Namespaces
from assay.index.imports.protobuf import Protobuf
from assay.index.imports.python import Python
from assay.index.imports.rust import Rust
from assay.index.imports.style import Go, ImportStyle, Paths, go_module
from assay.index.values import Item, Search, Value

if TYPE_CHECKING:
    from assay.index.expressions import Evaluator
    from assay.index.facts import Import
    from assay.index.file import File
    from assay.index.table import MemoEntry

STYLES: dict[str, ImportStyle] = {
    "": ImportStyle(),
    "python": Python(),
    "javascript": JavaScript(),
    "go": Go(),
    "rust": Rust(),
    "namespace": Namespaces(),
    "ruby": Paths(".rb"),
    "include": Includes(),
    "lua": Paths(".lua", "/init.lua", dotted=True),
    "bash": Paths(".sh", ".bash"),
    "protobuf": Protobuf(),
}


def read_by_resolution(path: str, text: str) -> object:
    """Return what the styles above read of a manifest, to compare; a missing one reads like an empty one."""
    if path.endswith("go.mod"):
        return go_module(text)
    return rust.declared(text) if path.endswith("Cargo.toml") else javascript.declared(path, text)


class Imports:
    """Evaluates imports and exports."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator, self.table = evaluator, evaluator.table
        self._values: dict[tuple[str, str, str, str, int, bool], MemoEntry] = {}

    def value(self, row: Import, file: File, seen: Search | None = None) -> Value | None:
        """Return the value of an import: the item after re-exports, the module itself, or an external name."""
        if seen is not None:
            self.table.enter()
            value = self._evaluate(row, file, seen)
            self.table.leave()
            return value
        key = (file.path, row.module, row.name, row.alias, row.source, self.evaluator.base_lookups > 0)
        return self.table.memoize_in(self._values, key, lambda: self._evaluate(row, file, seen))

    def _evaluate(self, row: Import, file: File, seen: Search | None) -> Value | None:
        if row.module or not row.name:
            return file.style.imported(self.evaluator, row, file, seen)
        sym = self.evaluator.scopes.first(
            file, file.top.get(row.name, ())
        )  # `export { x as y }`: an alias in this file
        if sym:
            return Item(sym)
        rows = [r for r in file.imported.get(row.name, ()) if r is not row and r.module]
        return self.value(rows[0], file, seen) if rows else None

    def export(self, path: str, name: str, seen: Search | None = None) -> Value | None:
        """Return the meaning of `name` for importers of the file at `path`, through any chain of re-exports."""
        key = (path, name)
        if seen is None:
            return self.evaluator.remember(f"export:{path}:{name}", lambda: self._find_export(path, name, {key: None}))
        if key not in seen:
            seen[key] = None
            self.table.enter()
            seen[key] = self._find_export(path, name, seen)
            self.table.leave()
        return seen[key]

    def _find_export(self, path: str, name: str, seen: Search) -> Value | None:
        self.table.reads.add(name)
        file = self.table.scope(path)
        if file is None:
            return None
        sym = self.evaluator.scopes.first(file, file.top.get(name, ()))
        if sym:
            return Item(sym)
        style = file.style
        for row in file.imported.get(name, ()):
            if (style.reexports or row.export) and (value := self.value(row, file, seen)):
                return value
        if value := style.implicit_export(self.evaluator, file, name):
            return value
        for row in file.stars:
            if (style.reexports or row.export) and (value := style.starred(self.evaluator, row, file, name, seen)):
                return value
        return None
