"""Python's modules and packages."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from assay.index.facts import Import
from assay.index.imports.style import ImportStyle, by_tail, join, parents
from assay.index.values import External, Folder, Module, Search, Value

if TYPE_CHECKING:
    from assay.index.expressions import Evaluator
    from assay.index.file import File
    from assay.index.table import Table


class Python(ImportStyle):
    """Modules are files, packages are folders, and every name of a module can be imported from it."""

    reexports = True

    def find(self, module: str, file: File, table: Table) -> Module | Folder | None:
        """Find a relative module exactly and an absolute one from the import roots.

        Import roots: the parent of the importing file's outermost package, `src`, `lib` and the repository root.
        """
        dots = len(module) - len(module.lstrip("."))
        name = module[dots:].replace(".", "/")
        table.record_file_lookup(name.rpartition("/")[2] or file.folder.rpartition("/")[2])
        if dots:
            folder = file.folder
            for _ in range(dots - 1):
                folder = folder.rpartition("/")[0]
            return _module_at(join(folder, name) if name else folder, table)
        top = name.partition("/")[0]
        if top in sys.stdlib_module_names and not any(
            f"{root}{top}/__init__.py" in table.paths for root in ("", "src/")
        ):
            return None
        for root in (*_import_roots(file.folder, table), "src", "lib"):
            place = _module_at(join(root, name), table)
            if isinstance(place, Module):
                return place
        tail = by_tail(table, (f"{name}.py", f"{name}/__init__.py"), file.path) if "/" in name else None
        if tail and "__init__.py" not in (tail.removesuffix(f"/{name}.py").removesuffix(f"/{name}/__init__.py")):
            return Module(tail)
        return None

    def imported(self, evaluator: Evaluator, row: Import, file: File, seen: Search | None) -> Value | None:
        """Evaluate `import a.b`, which binds a, or `from a import b`: a name of a, or its submodule b."""
        table = evaluator.table
        if not row.name:
            module = row.module if row.alias else row.module.partition(".")[0]
            return self.locate(module, file, table) or External(module.lstrip("."))
        place = self.locate(row.module, file, table)
        if place is None:
            return External(f"{row.module}.{row.name}".lstrip(".") if row.name != "default" else row.module.lstrip("."))
        if isinstance(place, Module):
            value = evaluator.imports.export(place.path, row.name, seen)
            if value:
                return value
        dots = row.module if row.module.endswith(".") else row.module + "."
        return self.locate(dots + row.name, file, table)

    def implicit_export(self, evaluator: Evaluator, file: File, name: str) -> Value | None:
        """Return a submodule of a package."""
        place = self.locate(f".{name}", file, evaluator.table) if file.path.endswith("__init__.py") else None
        return place if isinstance(place, Module) else None

    def in_folder(self, evaluator: Evaluator, folder: str, name: str, file: File) -> Value | None:
        evaluator.table.record_file_lookup(folder.rpartition("/")[2])
        return _module_at(f"{folder}/{name}", evaluator.table)

    def target(self, evaluator: Evaluator, row: Import, file: File) -> Value | None:
        if row.name:
            return super().target(evaluator, row, file)
        return self.locate(row.module, file, evaluator.table) or External(row.module)


def _import_roots(folder: str, table: Table) -> list[str]:
    """Return the ancestors that are not packages: where Python may look for top-level modules."""
    return [parent for parent in parents(folder) if f"{parent}/__init__.py".lstrip("/") not in table.paths]


def _module_at(base: str, table: Table) -> Module | Folder | None:
    for path in (f"{base}.py", f"{base}/__init__.py".lstrip("/"), f"{base}.pyi"):
        if path in table.paths:
            return Module(path)
    return Folder(base) if base in table.all_folders else None
