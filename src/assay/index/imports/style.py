"""Interface of an import style, with what most of them share: modules are files, and an import names one of them.

Also the styles that need no more than that: modules named by a path, and Go's packages.
"""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from assay.index.facts import FILE, Import
from assay.index.values import UNKNOWN, External, Folder, Item, Module, Search, Value, is_top_level, symbol_of
from assay.languages.rpc import GO_CLIENT

if TYPE_CHECKING:
    from assay.index.expressions import Evaluator
    from assay.index.file import File, Sym
    from assay.index.table import Table


class ImportStyle:
    """A module system: finds modules and evaluates imports. The base class is for languages that import nothing."""

    per_file = False  # a module's name may mean another one in each file of a folder
    reexports = False  # whoever imports a file sees everything it imports
    qualified = False  # a dotted name of a library may turn out to be an item of the repository

    def find(self, module: str, file: File, table: Table) -> Module | Folder | None:
        """Find a module as written in a file; None if the repository does not have it.

        Records the file names it searched for in the table, so that a new file triggers resolution of its importers.
        """
        return None

    def locate(self, module: str, file: File, table: Table) -> Module | Folder | None:
        """Like `find`, cached together with the lookups it made."""
        key = (file.language.imports, file.path if self.per_file else file.folder, module)
        cached = table.places.get(key)
        if cached is None:
            outer, table.reads = table.reads, set()
            cached = table.places[key] = (self.find(module, file, table), frozenset(table.reads))
            table.reads = outer
        table.reads |= cached[1]
        return cached[0]

    def type_unit(self, file: File) -> str:
        """Return the unit of the language in which the file's type names are taken as unique."""
        return ""

    def imported(self, evaluator: Evaluator, row: Import, file: File, seen: Search | None) -> Value | None:
        """Return the value of an import from a module."""
        place = self.locate(row.module, file, evaluator.table)
        if isinstance(place, Module) and row.name and row.name != "*":
            return evaluator.imports.export(place.path, row.name, seen) or (place if row.name == "default" else None)
        if place is not None:
            return place
        dotted = f"{row.module}.{row.name}" if row.name and row.name != "default" else row.module
        return External(dotted.lstrip("."))

    def implicit_export(self, evaluator: Evaluator, file: File, name: str) -> Value | None:
        """Return a name of a module that it neither defines nor imports: a submodule, for example."""
        return None

    def starred(self, evaluator: Evaluator, row: Import, file: File, name: str, seen: Search | None) -> Value | None:
        """Return a name as the star import `row` brings it in."""
        place = self.locate(row.module, file, evaluator.table)
        return evaluator.imports.export(place.path, name, seen) if isinstance(place, Module) else None

    def by_stars(self, evaluator: Evaluator, file: File, name: str) -> Value | None:
        """Return a name that a file sees through its star imports."""
        for row in file.stars:
            value = self.starred(evaluator, row, file, name, None)
            if value:
                return value
        return None

    def is_root(self, name: str) -> bool:
        """Return whether the first name of an expression is a keyword of the module system."""
        return False

    def root(self, evaluator: Evaluator, name: str, file: File, at: int) -> Value | None:
        """Return the meaning of such a keyword inside symbol `at`."""
        return None

    def unbound(self, evaluator: Evaluator, name: str, file: File) -> Value | None:
        """Return the meaning of a name that no scope of the file binds."""
        return None

    def in_folder(self, evaluator: Evaluator, folder: str, name: str, file: File) -> Value | None:
        """Return a name of a package that is a folder."""
        return None

    def targets(self, evaluator: Evaluator, row: Import, file: File) -> list[Sym | str]:
        """Return the targets of an import's edges: items, or the name of a library."""
        dotted = f"{row.module}.{row.name}" if row.name and row.name not in ("*", "default") else row.module
        value = self.target(evaluator, row, file)
        if isinstance(value, External):
            return [value.name or dotted.lstrip(".").replace("::", ".")]
        if value is None or isinstance(value, UNKNOWN):
            return [dotted.lstrip(".").replace("::", ".")]
        if isinstance(value, Module):
            imported_file = evaluator.table.file(value.path)
            return [imported_file.sym(FILE)] if imported_file else []
        if isinstance(value, Folder):
            return _files_of(value.path, file, evaluator.table) or [dotted.lstrip(".")]
        sym = symbol_of(value)
        return [sym] if sym else []

    def target(self, evaluator: Evaluator, row: Import, file: File) -> Value | None:
        """Return the target of an import statement: the module itself if all its names are imported."""
        if row.name == "*":
            return self.locate(row.module, file, evaluator.table) or External(row.module)
        return evaluator.imports.value(row, file)


def _files_of(folder: str, importer: File, table: Table) -> list[Sym | str]:
    """Return every file of a package that is not a test."""
    table.record_file_lookup(folder.rpartition("/")[2])
    files = [f for path in table.folders.get(folder, ()) if (f := table.file(path)) and not f.test]
    return [f.sym(FILE) for f in files if f.language.kin == importer.language.kin]


# Paths


def parents(folder: str) -> list[str]:
    """Return the folder and all its ancestors, nearest first; the root is ""."""
    out = [folder]
    while folder:
        folder = folder.rpartition("/")[0]
        out.append(folder)
    return out


def join(folder: str, path: str) -> str:
    return posixpath.normpath(f"{folder}/{path}" if folder else path).removeprefix("./")


def by_tail(table: Table, tails: tuple[str, ...], near: str) -> str | None:
    """Return the file whose path ends in one of `tails`, the nearest to the importing file if several do."""
    matches = [
        path
        for tail in tails
        for path in table.by_stem.get(tail.rpartition("/")[2].partition(".")[0], ())
        if path == tail or path.endswith("/" + tail)
    ]

    def distance(path: str) -> tuple[int, int, str]:
        shared = posixpath.commonpath([path, near]) if "/" in path and "/" in near else ""
        return -len(shared), len(path), path

    return min(matches, key=distance, default=None)


_GO_MODULE = re.compile(r"^module\s+(\S+)", re.M)


def go_module(text: str) -> str:
    """Return the module path that a go.mod declares."""
    declared = _GO_MODULE.search(text)
    return declared.group(1) if declared else ""


class Paths(ImportStyle):
    """Ruby's `require`, C's `#include`, Lua's `require` and the shell's `source`."""

    def __init__(self, *endings: str, dotted: bool = False) -> None:
        self._endings = ("", *endings)
        self._dotted = dotted  # dots separate folders

    def find(self, module: str, file: File, table: Table) -> Module | None:
        """Find a path relative to the file, or the end of some path."""
        name = module.strip("\"'<>")
        if self._dotted:
            name = name.replace(".", "/")
        table.record_file_lookup(name.rpartition("/")[2].partition(".")[0])
        for ending in self._endings:
            near = join(file.folder, name + ending)
            if near in table.paths:
                return Module(near)
        path = by_tail(table, tuple(name.lstrip("./") + ending for ending in self._endings), file.path)
        return Module(path) if path else None


class Go(ImportStyle):
    """Packages are folders; the module path of a go.mod is the name of its folder."""

    def find(self, module: str, file: File, table: Table) -> Folder | None:
        """Find a package by the module path of the nearest go.mod, then by those of the repository's other modules."""
        table.record_file_lookup(module.rpartition("/")[2])
        for folder in parents(file.folder):
            prefix = go_module(table.configs.get(join(folder, "go.mod"), "")).strip('"')
            if prefix and (module == prefix or module.startswith(prefix + "/")):
                target = join(folder, module[len(prefix) :].lstrip("/") or ".")
                return Folder("" if target == "." else target)
        if "." not in module.partition("/")[0]:
            return None
        for path, text in table.configs.items():
            declared = go_module(text) if path.endswith("go.mod") else ""
            if declared and (module + "/").startswith(declared + "/"):
                return Folder(join(path.rpartition("/")[0], module[len(declared) :].lstrip("/")))
        return None

    def type_unit(self, file: File) -> str:
        return file.folder

    def in_folder(self, evaluator: Evaluator, folder: str, name: str, file: File) -> Value | None:
        table = evaluator.table
        table.record_file_lookup(folder.rpartition("/")[2])
        for sym in table.named(name, file.language.kin):
            if sym.path.rpartition("/")[0] == folder and is_top_level(sym) and not sym.path.endswith("_test.go"):
                return Item(sym)
        # clients of rpc services are in generated files, which are not indexed
        return External(f"{folder}.{name}") if GO_CLIENT.fullmatch(name) else None
