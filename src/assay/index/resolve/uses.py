"""Resolve names that are used but not called (fields, references, raised types, decorators, routes) and imports."""

from __future__ import annotations

import re

from assay.core.items import CALLABLE_KINDS, TYPE_KINDS
from assay.index import modules
from assay.index.chains import bare
from assay.index.expressions import Value
from assay.index.facts import DECORATE, FILE, Import, Reference
from assay.index.file import Sym
from assay.index.resolve.base import CERTAIN, FIELD_LIKE, RESOLVED, TYPE_LIKE, ResolverBase
from assay.languages.conventions import ENVIRONMENT_CHAINS, PROCESS_CHAINS, ROUTES, ends_like


class Uses(ResolverBase):
    """Resolve names that are used without being called: fields, references, raised types, decorators, routes."""

    def _access(self, row: Reference, source: Sym) -> None:
        receiver, _, last = row.chain.rpartition(".")
        self._conventions(row, source)
        if last.endswith("[]"):
            self._element_access(row, source)
            return
        if not receiver:
            self._mention(row.chain, source, row)
            return
        value = self.values.evaluate(receiver, self.file, row.source, row.line)
        if (
            value
            and value.kind == "item"
            and value.sym
            and value.sym.kind in ("variable", "constant", "field", "property")
        ):
            own = self.values.own_member(value.sym, bare(last))
            variable_type = self.values.type_of(value.sym)
            value = Value("item", own[0]) if own else variable_type
            if own:
                self._add_use(source, own[0], row)
                return
        member = self.values.attribute(value, bare(last), self.file) if value and value.kind != "local" else None
        if member and member.kind == "item" and member.sym:
            self._add_use(source, member.sym, row)
            if member.sym.kind == "constant" and self.file.language.uniform_access and value and value.sym:
                self._add_use(source, value.sym, row)

    def _element_access(self, row: Reference, source: Sym) -> None:
        """Resolve `cart[0]` to the type's indexer, if it has one."""
        value = self.values.evaluate(row.chain.removesuffix("[]"), self.file, row.source, row.line)
        if value and value.kind == "item" and value.sym and value.sym.kind not in TYPE_LIKE:
            value = self.values.type_of(value.sym)
        if value and value.kind == "instance" and value.sym:
            for indexer in self.values.member(value.sym, "this[]")[:1]:
                self._add_use(source, indexer, row)

    def _mention(self, name: str, source: Sym, row: Reference) -> None:
        if "." in name:
            value = self.values.evaluate(name, self.file, row.source, row.line)
            if value and value.kind == "item" and value.sym:
                self._add_use(source, value.sym, row)
            return
        name = bare(name)
        if name in self.file.language.super_names or self.values.is_local(name, self.file, row.source, row.line):
            return
        if name == "Self":
            if owner := self.values.enclosing_type(self.file, row.source):
                self._add_use(source, owner, row)
            return
        value = self.values.lookup(name, self.file, row.source, row.line)
        if value and value.kind == "item" and value.sym and value.sym.kind not in ("namespace", "file"):
            self._add_use(source, value.sym, row)

    def _add_use(self, source: Sym, target: Sym, row: Reference) -> None:
        """Add an access edge to a field, a call edge to a method that is called by name alone, else a reference."""
        if target.kind in FIELD_LIKE:
            if target.kind == "field" and row.source == target.index and self.file.path == target.path:
                return
            self._add(source, target, "accesses_field", RESOLVED, "resolved", row.line)
        elif target.kind in ("method", "function") and self.file.language.bare_calls and self._arity(target) < 1:
            self.counts[0] += 1
            self._add(source, target, "calls", RESOLVED, "resolved", row.line)
            self.called[row.source].setdefault(target, row.line)
        elif target.index != row.source or target.path != self.file.path:
            self._add(source, target, "references", RESOLVED, "resolved", row.line)

    def _arity(self, sym: Sym) -> int:
        file = self.table.file(sym.path)
        return file.facts.symbols[sym.index].arity if file and sym.index != FILE else -1

    def _throw(self, row: Reference, source: Sym) -> None:
        chain_text = row.chain.removesuffix("()")
        value = self.values.evaluate(chain_text, self.file, row.source, row.line)
        if value is None or value.kind in ("local", "cycle"):
            return
        if value.kind == "item" and value.sym and value.sym.kind not in TYPE_KINDS:
            variable_type = self.values.type_of(value.sym)
            value = variable_type if variable_type else value
        if value.kind in ("item", "instance") and value.sym and value.sym.kind in TYPE_KINDS:
            self._add(source, value.sym, "throws", RESOLVED, "resolved", row.line)
        elif value.kind in ("outside", "object"):
            self._add(source, value.name, "throws", RESOLVED, "resolved", row.line)

    def _decorate(self, row: Reference, source: Sym) -> None:
        at = self.file.facts.symbols[row.source].parent if row.source != FILE else FILE
        plain = row.chain.removesuffix("()")
        value = self.values.evaluate(plain, self.file, at, row.line)
        if self.file.language.decorator_suffix and (value is None or value.kind != "item"):
            value = self.values.evaluate(plain + self.file.language.decorator_suffix, self.file, at, row.line)
        if value and value.kind == "item" and value.sym:
            self._add(value.sym, source, "decorates", RESOLVED, "resolved", row.line)
        name = bare(row.chain.rpartition(".")[2])
        if row.literal and name in ROUTES and row.source != FILE:
            self._add_route(source, name, row)

    def _conventions(self, row: Reference, source: Sym) -> None:
        """Add edges for routes, environment variables and processes."""
        if not row.literal and ".env." not in row.chain:
            return
        chain_text = row.chain.removesuffix("()").removesuffix("[]")
        parent, _, name = chain_text.rpartition(".")
        if ends_like(parent, ("process.env", "import.meta.env")) and name.isupper():
            self._add(source, f"env:{name}", "reads_env", RESOLVED, "parsed", row.line)
            return
        if not row.literal:
            return
        if ends_like(chain_text, ENVIRONMENT_CHAINS):
            self._add(source, f"env:{row.literal}", "reads_env", RESOLVED, "parsed", row.line)
        elif ends_like(chain_text, PROCESS_CHAINS) and row.role != DECORATE:
            program = row.literal.split()[0].rpartition("/")[2] if row.literal.split() else row.literal
            self._add(source, f"process:{program}", "executes_process", RESOLVED, "parsed", row.line)
        elif name in ROUTES and row.handler == "do" and row.literal.startswith("/"):  # a block of the enclosing item
            self._add_route(source, name, row)
        elif (name in ROUTES and row.handler and row.literal.startswith(("/", "^"))) or (
            name in ("path", "re_path", "HandleFunc", "Handle") and row.handler
        ):
            # `get(show).post(place)` names the verbs itself
            pairs = re.findall(r"(\w+)\(([\w.:]*)\)", row.handler) or [(name, row.handler)]
            for verb, text in pairs:
                handler = self.values.evaluate(text.replace("::", "."), self.file, row.source, row.line)
                if (
                    handler
                    and handler.kind == "item"
                    and handler.sym
                    and handler.sym.kind in CALLABLE_KINDS | TYPE_KINDS
                ):
                    self._add_route(handler.sym, verb, row)

    def _add_route(self, handler: Sym, name: str, row: Reference) -> None:
        verb = ROUTES[name]
        target = f"route:{verb} {row.literal}" if verb and " " not in row.literal else f"route:{row.literal}"
        self._add(handler, target, "handles_route", RESOLVED, "parsed", row.line)


class Imports(ResolverBase):
    """Edges from a file to what it imports."""

    def _imports(self) -> None:
        for row in self.file.facts.imports:
            if row.module:
                self._try(self._add_import, row)

    def _add_import(self, row: Import) -> None:
        source = self.file.sym(FILE)
        for target, confidence in self._import_targets(row):
            provenance = "resolved" if confidence == CERTAIN else "inferred"
            if target != source:
                self._add(source, target, "imports", confidence, provenance, row.line)

    def _import_targets(self, row: Import) -> list[tuple[Sym | str, float]]:
        file, style = self.file, self.file.language.imports
        dotted = f"{row.module}.{row.name}" if row.name and row.name not in ("*", "default") else row.module
        if style == "namespace" or (style == "include" and row.name):
            return self._namespace_targets(row, dotted)
        if style == "rust" and row.name == "*":
            value = self.values.rust_path(row.module.split("::"), file, None, row.source)
        elif row.name == "*" or (style == "python" and not row.name):
            place = modules.locate(row.module, file, self.table)
            value = Value(place.kind, name=place.name if place.kind != "outside" else row.module)
        else:
            value = self.values.imported(row, file)
        if value is None or value.kind in ("outside", "local", "cycle"):
            return [((value.name if value else "") or dotted.lstrip(".").replace("::", "."), CERTAIN)]
        if value.kind == "file":
            imported_file = self.table.file(value.name)
            return [(imported_file.sym(FILE), CERTAIN)] if imported_file else []
        if value.kind == "folder":
            return self._folder_targets(value.name, dotted)
        return [(value.sym, CERTAIN)] if value.sym else []

    def _folder_targets(self, folder: str, dotted: str) -> list[tuple[Sym | str, float]]:
        """Return every file of a package that is not a test."""
        self.table.record_file_lookup(folder.rpartition("/")[2])
        files = [f for p in self.table.folders.get(folder, ()) if (f := self.table.file(p)) and not f.test]
        files = [f for f in files if f.language.kin == self.file.language.kin]
        if not files:
            return [(dotted.lstrip("."), CERTAIN)]
        return [(f.sym(FILE), CERTAIN) for f in files]

    def _namespace_targets(self, row: Import, dotted: str) -> list[tuple[Sym | str, float]]:
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
        """Return the top-level types of a package: those in files that declare it, in folders named like it."""
        if self.file.language.visible != "package":
            return []
        tail = package.replace(".", "/")
        self.table.record_file_lookup(tail.rpartition("/")[2])
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
