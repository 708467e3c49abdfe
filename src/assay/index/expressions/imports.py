"""What an import brings, through any chain of re-exports, in every way languages name modules."""

from __future__ import annotations

import re

from assay.index import modules
from assay.index.expressions.base import EvaluatorBase, Search, Value, prefer
from assay.index.facts import FILE, Import
from assay.index.file import File, Sym


class Imports(EvaluatorBase):
    """What an import brings, through any chain of re-exports, in every way languages name modules."""

    def imported(self, row: Import, file: File, seen: Search | None = None) -> Value | None:
        """What an import brings: the item after following re-exports, the module itself, or something outside."""
        if seen is not None:
            self.table.enter()
            value = self._imported(row, file, seen)
            self.table.leave()
            return value
        key = (file.path, row.module, row.name, row.alias, row.source, self._shallow > 0)
        return self.table.recalled(self._brought, key, lambda: self._imported(row, file, seen))

    def _imported(self, row: Import, file: File, seen: Search | None) -> Value | None:
        if not row.module and row.name:  # `export { x as y }`: another name for something of this file
            found = self._first(file, file.top.get(row.name, ()))
            if found:
                return Value("item", found)
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
            return self._python_name(row, place, file, seen)
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

    def _python_name(self, row: Import, place: modules.Place, file: File, seen: Search | None) -> Value | None:
        """`from a import b`: a name of a, or its submodule b."""
        if place.kind == "file":
            value = self.export(place.name, row.name, seen)
            if value:
                return value
        dots = row.module if row.module.endswith(".") else row.module + "."
        inner = modules.locate(dots + row.name, file, self.table)
        return Value(inner.kind, name=inner.name) if inner.kind in ("file", "folder") else None

    def export(self, path: str, name: str, seen: Search | None = None) -> Value | None:
        """What `name` means to those who import the file at `path`, through any chain of re-exports."""
        key = (path, name)
        if seen is None:
            return self._remember(f"export:{path}:{name}", lambda: self._export(path, name, {key: None}))
        if key not in seen:
            seen[key] = None
            self.table.enter()
            seen[key] = self._export(path, name, seen)
            self.table.leave()
        return seen[key]

    def _export(self, path: str, name: str, seen: Search) -> Value | None:
        self.table.reads.add(name)
        file = self.table.scope(path)
        if file is None:
            return None
        found = self._first(file, file.top.get(name, ()))
        if found:
            return Value("item", found)
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
            if path.endswith(("lib.rs", "main.rs")):  # exported macros stand at the root of their crate
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
            above = (
                self.table.scope(target.name)
                if value is None and target and target.kind == "file" and row.module.endswith("super")
                else None
            )
            if above and above.path != file.path:  # a module sees what the one around it imports
                rows = above.imported.get(name, ())
                return self._used(rows[0], above, name, seen) if rows else None
            return value
        place = modules.locate(row.module, file, self.table)
        return self.export(place.name, name, seen) if place.kind == "file" else None

    def _used(self, row: Import, file: File, name: str, seen: Search | None) -> Value | None:
        """What `use` brings into a module by a name, visited once in a search."""
        key = (file.path, "use " + name)
        seen = {} if seen is None else seen
        if key not in seen:
            seen[key] = None
            seen[key] = self.imported(row, file, seen)
        return seen[key]

    def _rust_root(self, name: str, file: File, at: int) -> Value | None:
        """`crate`, `self` or `super` as read inside symbol `at`: modules written in the file count as levels."""
        around = []
        while at != FILE:
            if file.facts.symbols[at].kind == "module":
                around.append(at)
            at = file.facts.symbols[at].parent
        if name == "self" and around:
            return Value("item", file.sym(around[0]))
        if name == "super" and around:
            return Value("item", file.sym(around[1])) if len(around) > 1 else Value("file", name=file.path)
        place = modules.locate(name.lstrip("$"), file, self.table)
        return Value("file", name=place.name) if place.kind == "file" else None

    def rust_path(self, parts: list[str], file: File, seen: Search | None, at: int = FILE) -> Value | None:
        """`crate::a::B`, `super::x`, `other_crate::y`, or a path that starts at a module or type seen from here."""
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
            found = self._first(file, file.top.get(parts[0], ()))
            if inner:
                value = Value("file", name=inner)
            elif found:
                value = Value("item", found)
            elif len(parts) > 1 and (rows := [r for r in file.imported.get(parts[0], ()) if r.module]):
                value = self._used(rows[0], file, parts[0], seen)
            else:
                return Value("outside", name=".".join(parts))
        for part in parts[1:]:
            if part == "self":
                continue
            if part == "super" and value and value.kind == "file":
                above = self.table.file(value.name)
                up = modules.locate("super", above, self.table) if above else modules.OUTSIDE
                value = Value("file", name=up.name) if up.kind == "file" else None
                continue
            value = self.attribute(value, part, file, seen) if value else None
        return value

    def full_name(self, row: Import, file: File) -> Value | None:
        """`import a.b.C` or `use A\\B\\C`: the item of that full name; a prefix of full names is a namespace."""
        dotted = ".".join(
            p for p in (row.module.replace("\\", ".").replace("::", "."), row.name) if p and p != "*"
        ).strip(".")
        found = self._named_fully(dotted, file)
        if found:
            return Value("item", found)
        head, _, name = dotted.rpartition(".")  # a member of a type: static imports, nested types
        owner = self._named_fully(head, file) if head else None
        if owner:
            members = self.member(owner, name)
            if members:
                return Value("item", members[0])
        return Value("outside", name=dotted)

    def _named_fully(self, dotted: str, file: File) -> Sym | None:
        found = []
        for sym in self.table.named(dotted.rpartition(".")[2], file.language.kin):
            other = self.table.file(sym.path)
            if other and other.full(sym.index) == dotted:
                found.append(sym)
        return prefer(self._defined(found), file) if found else None
