"""Rust's crates, modules and paths."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from assay.index.facts import FILE, Import
from assay.index.imports.style import ImportStyle, join, parents
from assay.index.values import External, Item, Module, Search, Value

if TYPE_CHECKING:
    from assay.index.expressions import Evaluator
    from assay.index.file import File
    from assay.index.table import Table

_ROOT_FOLDERS = frozenset({"tests", "examples", "benches", "bin"})  # each file there is the root of a crate
_ROOT_NAMES = frozenset({"crate", "self", "super", "$crate"})
# frequent names that are never crates of the repository; skips the search for them
_LIBRARY = frozenset(
    (
        "std",
        "core",
        "alloc",
        "proc_macro",
        "Vec",
        "String",
        "Option",
        "Result",
        "Some",
        "None",
        "Ok",
        "Err",
        "Box",
        "str",
    )
)
_NO_HEAD = External("")


class Rust(ImportStyle):
    """Modules are files below the root file of their crate; a path is evaluated segment by segment."""

    per_file = True

    def find(self, module: str, file: File, table: Table) -> Module | None:
        """Find the first segment of a path: `crate`, `self`, `super`, or a workspace crate by its Cargo.toml name."""
        if module == "crate":
            root = _crate_root(file.path, table)
            return Module(root) if root else None
        if module == "self":
            return Module(file.path)
        if module == "super":
            return _parent_module(file.path, table)
        if module in _LIBRARY:
            return None
        table.record_file_lookup(module)
        for path, text in sorted(table.configs.items()):
            names, library = declared(text) if path.endswith("Cargo.toml") else ((), "")
            if module in names:
                target = join(path.rpartition("/")[0], library)
                if target in table.paths:
                    return Module(target)
        return None

    def type_unit(self, file: File) -> str:
        """Return the folder of the file's crate, guessed from its path."""
        if file.path.startswith("src/"):
            return ""
        head, separator, _ = file.path.partition("/src/")
        return head if separator else "/".join(file.folder.split("/")[:2])

    def imported(self, evaluator: Evaluator, row: Import, file: File, seen: Search | None) -> Value | None:
        parts = [*row.module.split("::"), *([row.name] if row.name else [])]
        return self._path(evaluator, parts, file, seen, row.source)

    def implicit_export(self, evaluator: Evaluator, file: File, name: str) -> Value | None:
        """Return a submodule; at the crate root, also a macro, which is visible there wherever it is defined."""
        inner = _submodule(file.path, name, evaluator.table)
        if inner:
            return Module(inner)
        if file.path.endswith(("lib.rs", "main.rs")):
            for sym in evaluator.table.named(name, file.language.kin):
                if sym.kind == "macro" and sym.path.startswith(file.folder):
                    return Item(sym)
        return None

    def starred(self, evaluator: Evaluator, row: Import, file: File, name: str, seen: Search | None) -> Value | None:
        target = self._path(evaluator, row.module.split("::"), file, seen, row.source)
        if target is None or isinstance(target, External):
            return None
        value = evaluator.attribute(target, name, file, seen)
        if value is not None or not isinstance(target, Module) or not row.module.endswith("super"):
            return value
        parent_module = evaluator.table.scope(target.path)
        if parent_module is None or parent_module.path == file.path:
            return None
        rows = parent_module.imported.get(name, ())  # `use super::*` also brings the parent's imports
        return _evaluate_use(evaluator, rows[0], parent_module, name, seen) if rows else None

    def by_stars(self, evaluator: Evaluator, file: File, name: str) -> Value | None:
        search: Search = {(file.path, name): None}
        for row in file.stars:
            value = self.starred(evaluator, row, file, name, search)
            if value and not isinstance(value, External):
                return value
        return None

    def is_root(self, name: str) -> bool:
        return name in _ROOT_NAMES or name[0] == "$"

    def root(self, evaluator: Evaluator, name: str, file: File, at: int) -> Value | None:
        if name == "self":
            return Module(file.path)
        return self._root(evaluator, name, file, at) if name in _ROOT_NAMES else None  # a macro argument

    def unbound(self, evaluator: Evaluator, name: str, file: File) -> Value | None:
        value = self._path(evaluator, [name], file, None, FILE)
        return None if isinstance(value, External) else value

    def target(self, evaluator: Evaluator, row: Import, file: File) -> Value | None:
        if row.name == "*":
            return self._path(evaluator, row.module.split("::"), file, None, row.source)
        return evaluator.imports.value(row, file)

    def _root(self, evaluator: Evaluator, name: str, file: File, at: int) -> Value | None:
        """Evaluate `crate`, `self` or `super` inside symbol `at`; inline modules count as levels."""
        inline_modules = []
        while at != FILE:
            if file.facts.symbols[at].kind == "module":
                inline_modules.append(at)
            at = file.facts.symbols[at].parent
        if name == "self" and inline_modules:
            return Item(file.sym(inline_modules[0]))
        if name == "super" and inline_modules:
            return Item(file.sym(inline_modules[1])) if len(inline_modules) > 1 else Module(file.path)
        return self.locate(name.lstrip("$"), file, evaluator.table)

    def _path(self, evaluator: Evaluator, parts: list[str], file: File, seen: Search | None, at: int) -> Value | None:
        """Evaluate `crate::a::B`, `super::x`, `other_crate::y`, or a path from a module or type visible here."""
        parts = [part.strip() for part in parts if part.strip()]
        if not parts:
            return None
        value = self._path_head(evaluator, parts, file, seen, at)
        if value is _NO_HEAD:
            return External(".".join(parts))
        for part in parts[1:]:
            if part == "self":
                continue
            if part == "super" and isinstance(value, Module):
                module = evaluator.table.file(value.path)
                value = self.locate("super", module, evaluator.table) if module else None
            else:
                value = evaluator.attribute(value, part, file, seen) if value else None
        return value

    def _path_head(
        self, evaluator: Evaluator, parts: list[str], file: File, seen: Search | None, at: int
    ) -> Value | None:
        """Evaluate the first segment of a path; _NO_HEAD if nothing here has its name."""
        head = parts[0]
        if head in _ROOT_NAMES:
            return self._root(evaluator, head, file, at)
        if place := self.locate(head, file, evaluator.table):
            return place
        inner = _submodule(file.path, head, evaluator.table)
        sym = evaluator.scopes.first(file, file.top.get(head, ()))
        if inner:
            return Module(inner)
        if sym:
            return Item(sym)
        if len(parts) > 1 and (rows := [r for r in file.imported.get(head, ()) if r.module]):
            return _evaluate_use(evaluator, rows[0], file, head, seen)
        return _NO_HEAD


def _evaluate_use(evaluator: Evaluator, row: Import, file: File, name: str, seen: Search | None) -> Value | None:
    """Evaluate what `use` binds to a name in a module, once per search."""
    key = (file.path, "use " + name)
    seen = {} if seen is None else seen
    if key not in seen:
        seen[key] = None
        seen[key] = evaluator.imports.value(row, file, seen)
    return seen[key]


def _crate_root(path: str, table: Table) -> str | None:
    """Return the root file of the crate: the target of `crate::`."""
    folder = path.rpartition("/")[0]
    if folder.rpartition("/")[2] in _ROOT_FOLDERS:
        return path
    for parent in parents(folder):
        table.record_file_lookup("lib")
        table.record_file_lookup("main")
        main = f"{parent}/main.rs".lstrip("/")
        existing = [root for root in (f"{parent}/lib.rs".lstrip("/"), main) if root in table.paths]
        if existing:
            return path if path in existing else existing[0]
        name = parent.rpartition("/")[2]
        if name == "src":
            return None
        if name in _ROOT_FOLDERS:
            files = [p for p in table.folders.get(parent, ()) if p.endswith(".rs") and p != main]
            return files[0] if len(files) == 1 else None
    return None


def _module_folder(path: str) -> str:
    """Return the folder of the submodules of the module in `path`."""
    folder, _, name = path.rpartition("/")
    if name in ("mod.rs", "lib.rs", "main.rs"):
        return folder
    return f"{folder}/{name.removesuffix('.rs')}".lstrip("/")


def _parent_module(path: str, table: Table) -> Module | None:
    folder = _module_folder(path).rpartition("/")[0]
    for candidate in (f"{folder}/mod.rs", f"{folder}.rs", f"{folder}/lib.rs", f"{folder}/main.rs"):
        if candidate.lstrip("/") in table.paths and candidate.lstrip("/") != path:
            return Module(candidate.lstrip("/"))
    root = _crate_root(path, table)
    return Module(root) if root and root.rpartition("/")[0] == folder else None


def _submodule(path: str, name: str, table: Table) -> str | None:
    table.record_file_lookup(name)
    folder = _module_folder(path)
    own_folder = path.rpartition("/")[0]  # the root file of a binary crate may have any name
    for base in (f"{folder}/{name}", f"{own_folder}/{name}"):
        for candidate in (f"{base}.rs", f"{base}/mod.rs"):
            inside = folder == own_folder or not candidate.startswith(f"{own_folder}/{name}")
            if candidate.lstrip("/") in table.paths and (inside or _crate_root(path, table) == path):
                return candidate.lstrip("/")
    return None


@lru_cache(maxsize=4096)
def declared(text: str) -> tuple[frozenset[str], str]:
    """Return the crate names a Cargo.toml declares and the path of its library."""
    names = frozenset(name.replace("-", "_") for name in re.findall(r'^name\s*=\s*"([^"]+)"', text, re.M))
    library = re.search(r'\[lib\][^\[]*?^path\s*=\s*"([^"]+)"', text, re.M | re.S)
    return names, library.group(1) if library else "src/lib.rs"
