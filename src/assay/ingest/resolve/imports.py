"""Import edges: from a file to what it imports."""

from __future__ import annotations

from assay.core.items import TYPE_KINDS
from assay.ingest import facts as F
from assay.ingest import modules
from assay.ingest.evaluate import Value
from assay.ingest.file import Sym
from assay.ingest.resolve.base import CERTAIN, ResolverBase


class Imports(ResolverBase):
    """Import edges: from a file to what it imports."""

    def _imports(self) -> None:
        for row in self.file.facts.imports:
            if row.module:
                self._try(self._import, row)

    def _import(self, row: F.Import) -> None:
        here = self.file.sym(F.FILE)
        for target, confidence in self._import_targets(row):
            provenance = "resolved" if confidence == CERTAIN else "inferred"
            if target != here:
                self._add(here, target, "imports", confidence, provenance, row.line)

    def _import_targets(self, row: F.Import) -> list[tuple[Sym | str, float]]:
        file, style = self.file, self.file.language.imports
        dotted = f"{row.module}.{row.name}" if row.name and row.name not in ("*", "default") else row.module
        if style == "namespace" or (style == "include" and row.name):
            return self._namespace_targets(row, dotted)
        if style == "rust" and row.name == "*":
            value = self.values.rust_path(row.module.split("::"), file, frozenset(), row.source)
        elif row.name == "*" or (style == "python" and not row.name):
            place = modules.locate(row.module, file, self.table)
            value = Value(place.kind, name=place.name if place.kind != "outside" else row.module)
        else:
            value = self.values.imported(row, file)
        if value is None or value.kind in ("outside", "local", "cycle"):
            return [((value.name if value else "") or dotted.lstrip(".").replace("::", "."), CERTAIN)]
        if value.kind == "file":
            found = self.table.file(value.name)
            return [(found.sym(F.FILE), CERTAIN)] if found else []
        if value.kind == "folder":
            return self._folder_targets(value.name, dotted)
        return [(value.sym, CERTAIN)] if value.sym else []

    def _folder_targets(self, folder: str, dotted: str) -> list[tuple[Sym | str, float]]:
        """A whole package: every file of it that is not a test."""
        self.table.located(folder.rpartition("/")[2])
        files = [f for p in self.table.folders.get(folder, ()) if (f := self.table.file(p)) and not f.test]
        files = [f for f in files if f.language.kin == self.file.language.kin]
        if not files:
            return [(dotted.lstrip("."), CERTAIN)]
        return [(f.sym(F.FILE), CERTAIN) for f in files]

    def _namespace_targets(self, row: F.Import, dotted: str) -> list[tuple[Sym | str, float]]:
        dotted = dotted.replace("\\", ".").replace("::", ".").strip(".")
        kin = self.file.language.kin
        if row.name == "*" or (self.file.language.visible == "namespace" and not row.alias):
            self.table.reads.add(f"imports:{dotted}")
            namespaces = [s for s in self.table.named(dotted.rpartition(".")[2], kin) if s.kind == "namespace"]
            for name in self.values.space_names(row, self.file) if row.name != "*" else [dotted]:
                spaces = [s for s in namespaces if s.symbol.replace("::", ".") == name]
                if spaces:
                    return [(s, CERTAIN) for s in spaces]
        value = self.values.full_name(row, self.file)
        if value and value.kind == "item" and value.sym:
            return [(value.sym, CERTAIN)]
        package = self._package_types(dotted) if row.name == "*" else []
        return [(sym, CERTAIN) for sym in package] or [(dotted, CERTAIN)]

    def _package_types(self, package: str) -> list[Sym]:
        """The top-level types of a package: those in files that declare it, which lie in folders called like it."""
        if self.file.language.visible != "package":
            return []
        tail = package.replace(".", "/")
        self.table.located(tail.rpartition("/")[2])
        out: list[Sym] = []
        for folder in sorted(f for f in self.table.folders if f == tail or f.endswith("/" + tail)):
            for path in self.table.folders[folder]:
                other = self.table.scope(path)
                if other and other.facts.namespace == package and not (other.test and not self.file.test):
                    out += [
                        s for indexes in other.top.values() for i in indexes if (s := other.sym(i)).kind in TYPE_KINDS
                    ]
        self.table.reads |= {sym.name for sym in out}
        return out
