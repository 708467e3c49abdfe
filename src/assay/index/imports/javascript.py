"""JavaScript's and TypeScript's modules: paths, aliases of tsconfig.json, the repository's own packages."""

from __future__ import annotations

import json
import posixpath
import re
from functools import lru_cache
from typing import TYPE_CHECKING

from assay.index.imports.style import ImportStyle, join, parents
from assay.index.values import Module

if TYPE_CHECKING:
    from assay.index.file import File
    from assay.index.table import Table

_ENDINGS = ("", ".ts", ".tsx", ".mts", ".cts", ".d.ts", ".js", ".jsx", ".mjs", ".cjs")
_MAIN_FILES = ("src/index", "index", "lib/index", "src/main")  # of a package


class JavaScript(ImportStyle):
    """Modules are files."""

    def find(self, module: str, file: File, table: Table) -> Module | None:
        """Find relative paths, tsconfig `paths` and `baseUrl`, and the repository's packages by package.json name."""
        table.record_file_lookup(posixpath.basename(module).partition(".")[0] or file.folder.rpartition("/")[2])
        if module.startswith("."):
            return _module_at(join(file.folder, module), table)
        for folder in parents(file.folder):
            for config in ("tsconfig.json", "jsconfig.json"):
                text = table.configs.get(join(folder, config))
                place = _by_alias(module, folder, text, table) if text else None
                if place:
                    return place
        return _in_package(module, table)


def _in_package(module: str, table: Table) -> Module | None:
    """Find a module of a package of the repository."""
    for path, text in table.configs.items():
        name = _json(text).get("name") if path.endswith("package.json") else None
        if isinstance(name, str) and name and (module == name or module.startswith(f"{name}/")):
            subpath = module[len(name) :].lstrip("/")
            bases = (subpath, f"src/{subpath}", "src/index", "lib/index") if subpath else _MAIN_FILES
            for base in bases:
                place = _module_at(join(path.rpartition("/")[0], base), table)
                if place:
                    return place
    return None


def _module_at(base: str, table: Table) -> Module | None:
    bare = re.sub(r"\.(m|c)?jsx?$", "", base)
    for start in (base, bare):
        for ending in _ENDINGS:
            if start + ending in table.paths:
                return Module(start + ending)
    for ending in _ENDINGS[1:]:
        path = f"{base}/index{ending}".lstrip("/")
        if path in table.paths:
            return Module(path)
    return None


def _by_alias(module: str, folder: str, text: str, table: Table) -> Module | None:
    """Find a module by the `paths` and the `baseUrl` of a tsconfig.json."""
    options = _object(_json(text).get("compilerOptions"))
    base = join(folder, str(options.get("baseUrl") or "."))
    base = "" if base == "." else base
    for pattern, targets in _object(options.get("paths")).items():
        head, star, tail = pattern.partition("*")
        if module.startswith(head) and module.endswith(tail) and (star or module == pattern):
            middle = module[len(head) : len(module) - len(tail)] if star else ""
            for target in map(str, targets if isinstance(targets, list) else ()):
                place = _module_at(join(base, target.replace("*", middle)), table)
                if place:
                    return place
    return _module_at(join(base, module), table) if options.get("baseUrl") else None


def declared(path: str, text: str) -> object:
    """Return what is read of a package.json, or of a tsconfig.json: name, base and aliases."""
    if path.endswith("package.json"):
        name = _json(text).get("name")
        return name if isinstance(name, str) else ""
    options = _object(_json(text).get("compilerOptions"))
    try:
        return [json.dumps(options.get(option)) for option in ("baseUrl", "paths")]
    except RecursionError:  # nested deeper than any hand-written file
        return text


@lru_cache(maxsize=1024)
def _json(text: str) -> dict[str, object]:
    """Parse JSON with comments and trailing commas, as in tsconfig; {} if it is malformed."""
    # unclosed strings and comments extend to the end, which avoids quadratic search time
    text = re.sub(
        r'("(?:[^"\\]|\\(?:.|\Z))*+(?:"|\Z))|//[^\n]*|/\*.*?(?:\*/|\Z)', lambda m: m.group(1) or "", text, flags=re.S
    )
    try:
        value = json.loads(re.sub(r",(\s*+[}\]])", r"\1", text))
    except (ValueError, RecursionError):
        return {}
    return _object(value)


def _object(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}
