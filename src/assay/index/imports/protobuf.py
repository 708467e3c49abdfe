"""Protocol Buffers: a file sees the packages of the files it imports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.index.imports.namespaces import outer_namespaces
from assay.index.imports.style import Paths, by_tail
from assay.index.values import External, Item, Module, Search, Value

if TYPE_CHECKING:
    from assay.index.expressions import Evaluator
    from assay.index.facts import Import
    from assay.index.file import File
    from assay.index.table import Table

_LIBRARY = "google/protobuf/"  # comes with protoc; a path that only ends like it is another file


class Protobuf(Paths):
    """Imports are paths from a root that the compiler is told; names are relative to the packages around a file."""

    qualified = True

    def __init__(self) -> None:
        super().__init__(".proto")

    def find(self, module: str, file: File, table: Table) -> Module | None:
        """Find a path as it is written, else without leading folders, which may be the name of this repository."""
        if place := super().find(module, file, table):
            return place
        segments = module.split("/")
        if module.startswith(_LIBRARY):
            return None
        tails = ("/".join(segments[first:]) for first in range(1, len(segments) - 1))
        path = next((path for tail in tails if (path := by_tail(table, (tail,), file.path))), None)
        return Module(path) if path else None

    def starred(self, evaluator: Evaluator, row: Import, file: File, name: str, seen: Search | None) -> Value | None:
        """Return a name of an imported file if its package is that of the file or one around it."""
        value = super().starred(evaluator, row, file, name, seen)
        if isinstance(value, Item):
            other = evaluator.table.scope(value.sym.path)
            return value if other and other.facts.namespace in _packages(file) else None
        return value

    def unbound(self, evaluator: Evaluator, name: str, file: File) -> Value | None:
        """Return the package that a name begins, relative to a package around the file: `common` in `shop.orders`."""
        full_names = [f"{package}.{name}" for package in _packages(file) if package]
        for row in file.facts.imports if full_names else ():
            place = self.locate(row.module, file, evaluator.table)
            other = evaluator.table.scope(place.path) if isinstance(place, Module) else None
            for full in full_names:
                if other and f"{other.facts.namespace}.".startswith(f"{full}."):
                    return External(full)
        return None


def _packages(file: File) -> list[str]:
    """Return the package of a file and those around it, from the inside out."""
    package = file.facts.namespace
    return [package, *outer_namespaces(package), ""] if package else [""]
