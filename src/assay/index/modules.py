"""Resolve the module named in an import to files: one strategy per import system.

A strategy takes the module as written, the importing file and the table, and returns a `Place`. It records the file
names it searched for in the table's reads, so that a new file triggers resolution of its importers.
"""

from __future__ import annotations

import json
import posixpath
import re
import sys
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from assay.index.file import File
from assay.index.table import Table


class Place(NamedTuple):
    """Target of an import: a file, a package folder, a namespace, or outside the repository."""

    kind: str  # "file", "folder", "space", "outside"
    name: str


OUTSIDE = Place("outside", "")


def parents(folder: str) -> list[str]:
    """Return the folder and all its ancestors, nearest first; the root is ""."""
    out = [folder]
    while folder:
        folder = folder.rpartition("/")[0]
        out.append(folder)
    return out


def _join(folder: str, path: str) -> str:
    return posixpath.normpath(f"{folder}/{path}" if folder else path).removeprefix("./")


def _by_tail(table: Table, tails: tuple[str, ...], near: str) -> str | None:
    """Return the file whose path ends in one of `tails`, the nearest to the importing file if several do."""
    matches = [
        p
        for tail in tails
        for p in table.by_stem.get(tail.rpartition("/")[2].partition(".")[0], ())
        if p == tail or p.endswith("/" + tail)
    ]
    return (
        min(
            matches,
            key=lambda p: (-len(posixpath.commonpath([p, near]) if "/" in p and "/" in near else ""), len(p), p),
        )
        if matches
        else None
    )


def python(module: str, file: File, table: Table) -> Place:
    """Resolve relative imports exactly and absolute ones from the import roots.

    Import roots: the parent of the importing file's outermost package, `src`, `lib` and the repository root.
    """
    dots = len(module) - len(module.lstrip("."))
    name = module[dots:].replace(".", "/")
    table.record_file_lookup(name.rpartition("/")[2] or file.folder.rpartition("/")[2])
    if dots:
        folder = file.folder
        for _ in range(dots - 1):
            folder = folder.rpartition("/")[0]
        return python_at(_join(folder, name) if name else folder, table)
    top = name.partition("/")[0]
    if top in sys.stdlib_module_names and not any(f"{root}{top}/__init__.py" in table.paths for root in ("", "src/")):
        return OUTSIDE
    for root in (*_import_roots(file.folder, table), "src", "lib"):
        place = python_at(_join(root, name), table)
        if place.kind == "file":
            return place
    tail = _by_tail(table, (f"{name}.py", f"{name}/__init__.py"), file.path) if "/" in name else None
    if tail and "__init__.py" not in (tail.removesuffix(f"/{name}.py").removesuffix(f"/{name}/__init__.py")):
        return Place("file", tail)
    return OUTSIDE


def _import_roots(folder: str, table: Table) -> list[str]:
    """Return the ancestors that are not packages: where Python may look for top-level modules."""
    return [parent for parent in parents(folder) if f"{parent}/__init__.py".lstrip("/") not in table.paths]


def python_at(base: str, table: Table) -> Place:
    for path in (f"{base}.py", f"{base}/__init__.py".lstrip("/"), f"{base}.pyi"):
        if path in table.paths:
            return Place("file", path)
    if base in table.all_folders:
        return Place("folder", base)
    return OUTSIDE


_JS_ENDINGS = ("", ".ts", ".tsx", ".mts", ".cts", ".d.ts", ".js", ".jsx", ".mjs", ".cjs")


def javascript(module: str, file: File, table: Table) -> Place:
    """Resolve relative paths, tsconfig `paths` and `baseUrl`, and the repository's packages by package.json name."""
    table.record_file_lookup(posixpath.basename(module).partition(".")[0] or file.folder.rpartition("/")[2])
    if module.startswith("."):
        return _js_at(_join(file.folder, module), table)
    for folder in parents(file.folder):
        for config in ("tsconfig.json", "jsconfig.json"):
            text = table.configs.get(_join(folder, config))
            if text:
                place = _js_alias(module, folder, text, table)
                if place.kind == "file":
                    return place
    for path, text in table.configs.items():
        if path.endswith("package.json"):
            name = _json(text).get("name")
            if isinstance(name, str) and name and (module == name or module.startswith(f"{name}/")):
                folder = path.rpartition("/")[0]
                subpath = module[len(name) :].lstrip("/")
                for base in (
                    (subpath, f"src/{subpath}", "src/index", "lib/index")
                    if subpath
                    else ("src/index", "index", "lib/index", "src/main")
                ):
                    place = _js_at(_join(folder, base), table)
                    if place.kind == "file":
                        return place
    return OUTSIDE


def _js_at(base: str, table: Table) -> Place:
    bare = re.sub(r"\.(m|c)?jsx?$", "", base)
    for start in (base, bare):
        for ending in _JS_ENDINGS:
            if start + ending in table.paths:
                return Place("file", start + ending)
    for ending in _JS_ENDINGS[1:]:
        path = f"{base}/index{ending}".lstrip("/")
        if path in table.paths:
            return Place("file", path)
    return OUTSIDE


def _js_alias(module: str, folder: str, text: str, table: Table) -> Place:
    options = _object(_json(text).get("compilerOptions"))
    base = _join(folder, str(options.get("baseUrl") or "."))
    for pattern, targets in _object(options.get("paths")).items():
        head, star, tail = pattern.partition("*")
        if module.startswith(head) and module.endswith(tail) and (star or module == pattern):
            middle = module[len(head) : len(module) - len(tail)] if star else ""
            for target in map(str, targets if isinstance(targets, list) else ()):
                place = _js_at(_join(base if base != "." else "", target.replace("*", middle)), table)
                if place.kind == "file":
                    return place
    return _js_at(_join("" if base == "." else base, module), table) if options.get("baseUrl") else OUTSIDE


@lru_cache(maxsize=1024)
def _json(text: str) -> dict[str, object]:
    """Parse JSON with comments and trailing commas, as in tsconfig; {} if it is malformed."""
    # unclosed strings and comments extend to the end, which avoids quadratic search time
    text = re.sub(
        r'("(?:[^"\\]|\\.)*+(?:"|\Z))|//[^\n]*|/\*.*?(?:\*/|\Z)', lambda m: m.group(1) or "", text, flags=re.S
    )
    try:
        value = json.loads(re.sub(r",(\s*+[}\]])", r"\1", text))
    except (ValueError, RecursionError):
        return {}
    return _object(value)


def _object(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def go(module: str, file: File, table: Table) -> Place:
    """Resolve by the module path of the nearest go.mod, then by those of the other modules of the repository."""
    table.record_file_lookup(module.rpartition("/")[2])
    for folder in parents(file.folder):
        text = table.configs.get(_join(folder, "go.mod"))
        declared = re.search(r"^module\s+(\S+)", text, re.M) if text else None
        if declared:
            prefix = declared.group(1).strip('"')
            if module == prefix or module.startswith(prefix + "/"):
                target = _join(folder, module[len(prefix) :].lstrip("/") or ".")
                return Place("folder", "" if target == "." else target)
    if "." in module.partition("/")[0] and any(path.endswith("go.mod") for path in table.configs):
        for path, text in table.configs.items():
            declared = re.search(r"^module\s+(\S+)", text, re.M) if path.endswith("go.mod") else None
            if declared and (module + "/").startswith(declared.group(1) + "/"):
                return Place("folder", _join(path.rpartition("/")[0], module[len(declared.group(1)) :].lstrip("/")))
    return OUTSIDE


def rust_crate(path: str, table: Table) -> str | None:
    """Return the root file of the crate: the target of `crate::`."""
    folder = path.rpartition("/")[0]
    if folder.rpartition("/")[2] in _RUST_ROOTS:
        return path  # each file there is a separate crate
    for parent in parents(folder):
        table.record_file_lookup("lib")
        table.record_file_lookup("main")
        roots = (f"{parent}/lib.rs".lstrip("/"), f"{parent}/main.rs".lstrip("/"))
        existing = [root for root in roots if root in table.paths]
        if existing:
            return path if path in existing else existing[0]
        if parent.rpartition("/")[2] == "src":
            return None
        tests = f"{parent}/main.rs".lstrip("/")
        if parent.rpartition("/")[2] in _RUST_ROOTS:
            files = [p for p in table.folders.get(parent, ()) if p.endswith(".rs") and p != tests]
            return files[0] if len(files) == 1 else None
    return None


_RUST_ROOTS = frozenset({"tests", "examples", "benches", "bin"})


def rust_module_folder(path: str) -> str:
    """Return the folder of the submodules of the module in `path`."""
    folder, _, name = path.rpartition("/")
    if name in ("mod.rs", "lib.rs", "main.rs"):
        return folder
    return f"{folder}/{name.removesuffix('.rs')}".lstrip("/")


def rust_submodule(path: str, name: str, table: Table) -> str | None:
    table.record_file_lookup(name)
    folder = rust_module_folder(path)
    own_folder = path.rpartition("/")[0]  # the root file of a binary crate may have any name
    for candidate in (
        f"{folder}/{name}.rs",
        f"{folder}/{name}/mod.rs",
        f"{own_folder}/{name}.rs",
        f"{own_folder}/{name}/mod.rs",
    ):
        inside = folder == own_folder or not candidate.startswith(f"{own_folder}/{name}")
        if candidate.lstrip("/") in table.paths and (inside or rust_crate(path, table) == path):
            return candidate.lstrip("/")
    return None


# frequent names that are never crates of the repository; skips the search for them
_RUST_LIBRARY = frozenset(
    {
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
    }
)


@lru_cache(maxsize=4096)
def _cargo(text: str) -> tuple[frozenset[str], str]:
    """Return the crate names a Cargo.toml declares and the path of its library."""
    names = frozenset(name.replace("-", "_") for name in re.findall(r'^name\s*=\s*"([^"]+)"', text, re.M))
    library = re.search(r'\[lib\][^\[]*?^path\s*=\s*"([^"]+)"', text, re.M | re.S)
    return names, library.group(1) if library else "src/lib.rs"


def rust(module: str, file: File, table: Table) -> Place:
    """Resolve the first segment of a path: `crate`, `self`, `super`, or a workspace crate by its Cargo.toml name."""
    if module == "crate":
        root = rust_crate(file.path, table)
        return Place("file", root) if root else OUTSIDE
    if module == "self":
        return Place("file", file.path)
    if module == "super":
        folder = rust_module_folder(file.path).rpartition("/")[0]
        for path in (f"{folder}/mod.rs", f"{folder}.rs", f"{folder}/lib.rs", f"{folder}/main.rs"):
            if path.lstrip("/") in table.paths and path.lstrip("/") != file.path:
                return Place("file", path.lstrip("/"))
        root = rust_crate(file.path, table)
        return Place("file", root) if root and root.rpartition("/")[0] == folder else OUTSIDE
    if module in _RUST_LIBRARY:
        return OUTSIDE
    table.record_file_lookup(module)
    for path, text in sorted(table.configs.items()):
        if path.endswith("Cargo.toml"):
            names, library = _cargo(text)
            if module in names:
                target = _join(path.rpartition("/")[0], library)
                if target in table.paths:
                    return Place("file", target)
    return OUTSIDE


def namespace(module: str, file: File, table: Table) -> Place:
    """Java, Kotlin, Scala, C#, PHP: an import is a qualified name, which the resolver looks up."""
    return Place("space", module.replace("\\", ".").strip("."))


def path_tail(*endings: str) -> Callable[[str, File, Table], Place]:
    """Return a strategy for a path relative to the file, or a suffix of some path.

    Used for Ruby `require`, C `#include`, Lua `require` and shell `source`.
    """

    def strategy(module: str, file: File, table: Table) -> Place:
        name = module.strip("\"'<>")
        if ".lua" in endings:
            name = name.replace(".", "/")
        table.record_file_lookup(name.rpartition("/")[2].partition(".")[0])
        for ending in ("", *endings):
            near = _join(file.folder, name + ending)
            if near in table.paths:
                return Place("file", near)
        path = _by_tail(table, tuple(name.lstrip("./") + ending for ending in ("", *endings)), file.path)
        return Place("file", path) if path else OUTSIDE

    return strategy


STRATEGIES: dict[str, Callable[[str, File, Table], Place]] = {
    "python": python,
    "javascript": javascript,
    "go": go,
    "rust": rust,
    "namespace": namespace,
    "ruby": path_tail(".rb"),
    "include": path_tail(),
    "lua": path_tail(".lua", "/init.lua"),
    "bash": path_tail(".sh", ".bash"),
}


def locate(module: str, file: File, table: Table) -> Place:
    """Return the target of an import, cached per folder (in Rust per file) together with the lookups it made."""
    strategy = STRATEGIES.get(file.language.imports)
    if strategy is None:
        return OUTSIDE
    key = (file.language.imports, file.path if file.language.imports == "rust" else file.folder, module)
    cached = table.places.get(key)
    if cached is None:
        outer, table.reads = table.reads, set()
        cached = table.places[key] = (strategy(module, file, table), frozenset(table.reads))
        table.reads = outer
    table.reads |= cached[1]
    place: Place = cached[0]
    return place
