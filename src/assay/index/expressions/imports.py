"""Resolve imports to values, through chains of re-exports, for every import system."""

from __future__ import annotations

import re

from assay.index import modules
from assay.index.expressions.base import EvaluatorBase, Search, Value, prefer
from assay.index.facts import FILE, Import
from assay.index.file import File, Sym


class Imports(EvaluatorBase):
    """Resolve imports to values, through chains of re-exports, for every import system."""

    def imported(self, row: Import, file: File, seen: Search | None = None) -> Value | None:
        """Return the value of an import: the item after re-exports, the module itself, or an outside name."""
        if seen is not None:
            self.table.enter()
            value = self._evaluate_import(row, file, seen)
            self.table.leave()
            return value
        key = (file.path, row.module, row.name, row.alias, row.source, self._base_lookups > 0)
        return self.table.memoize_in(self._import_values, key, lambda: self._evaluate_import(row, file, seen))

    def _evaluate_import(self, row: Import, file: File, seen: Search | None) -> Value | None:
        if not row.module and row.name:  # `export { x as y }`: an alias in this file
            sym = self._first(file, file.top.get(row.name, ()))
            if sym:
                return Value("item", sym)
            rows = [r for r in file.imported.get(row.name, ()) if r is not row and r.module]
            return self.imported(rows[0], file, seen) if rows else None
        if file.language.imports == "rust":
            return self.rust_path(
                [*re.split(r"::", row.module), *([row.name] if row.name else [])], file, seen, row.source
            )
        if file.language.imports == "namespace" or (file.language.imports == "include" and row.name):
            return self.full_name(row, file)
        module = row.module
        if not row.alias and not row.name and file.language.imports == "python":
            module = module.partition(".")[0]  # `import a.b` binds a
        place = modules.locate(module, file, self.table)
        dotted = f"{row.module}.{row.name}" if row.name and row.name != "default" else row.module
        if file.language.imports == "python" and row.name and place.kind in ("file", "folder"):
            return self._evaluate_python_import(row, place, file, seen)
        if place.kind == "file":
            if row.name and row.name != "*":
                return self.export(place.name, row.name, seen) or (
                    Value("file", name=place.name) if row.name == "default" else None
                )
            return Value("file", name=place.name)
        if place.kind == "folder":
            return Value("folder", name=place.name)
        if not row.alias and not row.name and file.language.imports == "python":
            dotted = row.module.partition(".")[0]
        return Value("outside", name=dotted.lstrip("."))

    def _evaluate_python_import(
        self, row: Import, place: modules.Place, file: File, seen: Search | None
    ) -> Value | None:
        """Evaluate `from a import b`: a name of a, or its submodule b."""
        if place.kind == "file":
            value = self.export(place.name, row.name, seen)
            if value:
                return value
        dots = row.module if row.module.endswith(".") else row.module + "."
        inner = modules.locate(dots + row.name, file, self.table)
        return Value(inner.kind, name=inner.name) if inner.kind in ("file", "folder") else None

    def export(self, path: str, name: str, seen: Search | None = None) -> Value | None:
        """Return the meaning of `name` for importers of the file at `path`, through any chain of re-exports."""
        key = (path, name)
        if seen is None:
            return self._remember(f"export:{path}:{name}", lambda: self._find_export(path, name, {key: None}))
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
        sym = self._first(file, file.top.get(name, ()))
        if sym:
            return Value("item", sym)
        reexports = file.language.imports == "python"
        for row in file.imported.get(name, ()):
            if reexports or row.export:
                value = self.imported(row, file, seen)
                if value:
                    return value
        if file.language.imports == "rust":
            inner = modules.rust_submodule(path, name, self.table)
            if inner:
                return Value("file", name=inner)
            if path.endswith(("lib.rs", "main.rs")):  # exported macros are visible at the crate root
                macros = [
                    s
                    for s in self.table.named(name, file.language.kin)
                    if s.kind == "macro" and s.path.startswith(file.folder)
                ]
                if macros:
                    return Value("item", macros[0])
        if file.language.imports == "python" and path.endswith("__init__.py"):
            inner_place = modules.locate(f".{name}", file, self.table)
            if inner_place.kind == "file":
                return Value("file", name=inner_place.name)
        for row in file.stars:
            if reexports or row.export:
                value = self._star(row, file, name, seen)
                if value:
                    return value
        return None

    def _star(self, row: Import, file: File, name: str, seen: Search | None) -> Value | None:
        if file.language.imports == "rust":
            target = self.rust_path(re.split(r"::", row.module), file, seen, row.source)
            value = self.attribute(target, name, file, seen) if target and target.kind != "outside" else None
            parent_module = (
                self.table.scope(target.name)
                if value is None and target and target.kind == "file" and row.module.endswith("super")
                else None
            )
            if parent_module and parent_module.path != file.path:  # `use super::*` also brings the parent's imports
                rows = parent_module.imported.get(name, ())
                return self._evaluate_use(rows[0], parent_module, name, seen) if rows else None
            return value
        place = modules.locate(row.module, file, self.table)
        return self.export(place.name, name, seen) if place.kind == "file" else None

    def _evaluate_use(self, row: Import, file: File, name: str, seen: Search | None) -> Value | None:
        """Evaluate what `use` binds to a name in a module, once per search."""
        key = (file.path, "use " + name)
        seen = {} if seen is None else seen
        if key not in seen:
            seen[key] = None
            seen[key] = self.imported(row, file, seen)
        return seen[key]

    def _rust_root(self, name: str, file: File, at: int) -> Value | None:
        """Evaluate `crate`, `self` or `super` inside symbol `at`; inline modules count as levels."""
        inline_modules = []
        while at != FILE:
            if file.facts.symbols[at].kind == "module":
                inline_modules.append(at)
            at = file.facts.symbols[at].parent
        if name == "self" and inline_modules:
            return Value("item", file.sym(inline_modules[0]))
        if name == "super" and inline_modules:
            return (
                Value("item", file.sym(inline_modules[1])) if len(inline_modules) > 1 else Value("file", name=file.path)
            )
        place = modules.locate(name.lstrip("$"), file, self.table)
        return Value("file", name=place.name) if place.kind == "file" else None

    def rust_path(self, parts: list[str], file: File, seen: Search | None, at: int = FILE) -> Value | None:
        """Evaluate `crate::a::B`, `super::x`, `other_crate::y`, or a path from a module or type visible here."""
        parts = [p.strip() for p in parts if p.strip()]
        if not parts:
            return None
        rooted = parts[0] in ("crate", "self", "super", "$crate")
        place = modules.locate(parts[0], file, self.table) if not rooted else modules.OUTSIDE
        value: Value | None
        if rooted:
            value = self._rust_root(parts[0], file, at)
        elif place.kind == "file":
            value = Value("file", name=place.name)
        else:
            inner = modules.rust_submodule(file.path, parts[0], self.table)
            sym = self._first(file, file.top.get(parts[0], ()))
            if inner:
                value = Value("file", name=inner)
            elif sym:
                value = Value("item", sym)
            elif len(parts) > 1 and (rows := [r for r in file.imported.get(parts[0], ()) if r.module]):
                value = self._evaluate_use(rows[0], file, parts[0], seen)
            else:
                return Value("outside", name=".".join(parts))
        for part in parts[1:]:
            if part == "self":
                continue
            if part == "super" and value and value.kind == "file":
                module = self.table.file(value.name)
                parent_place = modules.locate("super", module, self.table) if module else modules.OUTSIDE
                value = Value("file", name=parent_place.name) if parent_place.kind == "file" else None
                continue
            value = self.attribute(value, part, file, seen) if value else None
        return value

    def full_name(self, row: Import, file: File) -> Value | None:
        r"""Evaluate an import by qualified name (`import a.b.C`, `use A\B\C`); unknown names are `outside` values."""
        dotted = ".".join(
            p for p in (row.module.replace("\\", ".").replace("::", "."), row.name) if p and p != "*"
        ).strip(".")
        sym = self._named_fully(dotted, file)
        if sym:
            return Value("item", sym)
        head, _, name = dotted.rpartition(".")  # static imports and nested types
        owner = self._named_fully(head, file) if head else None
        if owner:
            members = self.member(owner, name)
            if members:
                return Value("item", members[0])
        return Value("outside", name=dotted)

    def _named_fully(self, dotted: str, file: File) -> Sym | None:
        matches = []
        for sym in self.table.named(dotted.rpartition(".")[2], file.language.kin):
            other = self.table.file(sym.path)
            if other and other.full(sym.index) == dotted:
                matches.append(sym)
        return prefer(self._defined(matches), file) if matches else None
