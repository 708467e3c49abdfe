"""Modules named by a path: relative to the importing file or the end of some path (Ruby, Lua, shell, C), Go's packages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from assay.index.imports.style import ImportStyle, by_tail, join, parents
from assay.index.values import Folder, Item, Module, Value, is_top_level

if TYPE_CHECKING:
    from assay.index.expressions import Evaluator
    from assay.index.file import File
    from assay.index.table import Table

_GO_MODULE = re.compile(r"^module\s+(\S+)", re.M)


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
            text = table.configs.get(join(folder, "go.mod"))
            declared = _GO_MODULE.search(text) if text else None
            if declared:
                prefix = declared.group(1).strip('"')
                if module == prefix or module.startswith(prefix + "/"):
                    target = join(folder, module[len(prefix) :].lstrip("/") or ".")
                    return Folder("" if target == "." else target)
        if "." not in module.partition("/")[0]:
            return None
        for path, text in table.configs.items():
            declared = _GO_MODULE.search(text) if path.endswith("go.mod") else None
            if declared and (module + "/").startswith(declared.group(1) + "/"):
                return Folder(join(path.rpartition("/")[0], module[len(declared.group(1)) :].lstrip("/")))
        return None

    def type_unit(self, file: File) -> str:
        return file.folder

    def in_folder(self, evaluator: Evaluator, folder: str, name: str, file: File) -> Value | None:
        table = evaluator.table
        table.record_file_lookup(folder.rpartition("/")[2])
        for sym in table.named(name, file.language.kin):
            if sym.path.rpartition("/")[0] == folder and is_top_level(sym) and not sym.path.endswith("_test.go"):
                return Item(sym)
        return None
