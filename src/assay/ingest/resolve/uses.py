"""Names used without being called: fields, references, raised types, decorators, routes."""

from __future__ import annotations

import re

from assay.core.items import CALLABLE_KINDS, TYPE_KINDS
from assay.ingest import facts as F
from assay.ingest.chains import bare
from assay.ingest.conventions import ENVIRONMENT_CHAINS, PROCESS_CHAINS, ROUTES, ends_like
from assay.ingest.evaluate import Value
from assay.ingest.file import Sym
from assay.ingest.resolve.base import FIELD_LIKE, RESOLVED, TYPE_LIKE, ResolverBase


class Uses(ResolverBase):
    """Names used without being called: fields, references, raised types, decorators, routes."""

    def _access(self, row: F.Reference, source: Sym) -> None:
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
            held = self.values.type_of(value.sym)
            value = Value("item", own[0]) if own else held
            if own:
                self._point(source, own[0], row)
                return
        found = self.values.attribute(value, bare(last), self.file) if value and value.kind != "local" else None
        if found and found.kind == "item" and found.sym:
            self._point(source, found.sym, row)
            if found.sym.kind == "constant" and self.file.language.uniform_access and value and value.sym:
                self._point(source, value.sym, row)

    def _element_access(self, row: F.Reference, source: Sym) -> None:
        """`cart[0]` reads the indexer of the type, if that has one."""
        value = self.values.evaluate(row.chain.removesuffix("[]"), self.file, row.source, row.line)
        if value and value.kind == "item" and value.sym and value.sym.kind not in TYPE_LIKE:
            value = self.values.type_of(value.sym)
        if value and value.kind == "instance" and value.sym:
            for indexer in self.values.member(value.sym, "this[]")[:1]:
                self._point(source, indexer, row)

    def _mention(self, name: str, source: Sym, row: F.Reference) -> None:
        if "." in name:
            value = self.values.evaluate(name, self.file, row.source, row.line)
            if value and value.kind == "item" and value.sym:
                self._point(source, value.sym, row)
            return
        name = bare(name)
        if name in self.file.language.super_names or self.values.is_local(name, self.file, row.source, row.line):
            return
        if name == "Self":
            if owner := self.values.enclosing_type(self.file, row.source):
                self._point(source, owner, row)
            return
        value = self.values.lookup(name, self.file, row.source, row.line)
        if value and value.kind == "item" and value.sym and value.sym.kind not in ("namespace", "file"):
            self._point(source, value.sym, row)

    def _point(self, source: Sym, target: Sym, row: F.Reference) -> None:
        """A field is accessed, anything else is referenced."""
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
        return file.facts.symbols[sym.index].arity if file and sym.index != F.FILE else -1

    def _throw(self, row: F.Reference, source: Sym) -> None:
        chain_text = row.chain.removesuffix("()")
        value = self.values.evaluate(chain_text, self.file, row.source, row.line)
        if value is None or value.kind in ("local", "cycle"):
            return
        if value.kind == "item" and value.sym and value.sym.kind not in TYPE_KINDS:
            held = self.values.type_of(value.sym)
            value = held if held else value
        if value.kind in ("item", "instance") and value.sym and value.sym.kind in TYPE_KINDS:
            self._add(source, value.sym, "throws", RESOLVED, "resolved", row.line)
        elif value.kind in ("outside", "object"):
            self._add(source, value.name, "throws", RESOLVED, "resolved", row.line)

    def _decorate(self, row: F.Reference, source: Sym) -> None:
        at = self.file.facts.symbols[row.source].parent if row.source != F.FILE else F.FILE
        plain = row.chain.removesuffix("()")
        value = self.values.evaluate(plain, self.file, at, row.line)
        if self.file.language.decorator_suffix and (value is None or value.kind != "item"):
            value = self.values.evaluate(plain + self.file.language.decorator_suffix, self.file, at, row.line)
        if value and value.kind == "item" and value.sym:
            self._add(value.sym, source, "decorates", RESOLVED, "resolved", row.line)
        name = bare(row.chain.rpartition(".")[2])
        if row.literal and name in ROUTES and row.source != F.FILE:
            self._route(source, name, row)

    def _conventions(self, row: F.Reference, source: Sym) -> None:
        """Routes, environment variables and processes."""
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
        elif ends_like(chain_text, PROCESS_CHAINS) and row.role != F.DECORATE:
            program = row.literal.split()[0].rpartition("/")[2] if row.literal.split() else row.literal
            self._add(source, f"process:{program}", "executes_process", RESOLVED, "parsed", row.line)
        elif (
            name in ROUTES and row.handler == "do" and row.literal.startswith("/")
        ):  # a block, which belongs to the item around it
            self._route(source, name, row)
        elif (name in ROUTES and row.handler and row.literal.startswith(("/", "^"))) or (
            name in ("path", "re_path", "HandleFunc", "Handle") and row.handler
        ):
            pairs = re.findall(r"(\w+)\(([\w.:]*)\)", row.handler) or [
                (name, row.handler)
            ]  # `get(show).post(place)` says the verbs itself
            for verb, text in pairs:
                handler = self.values.evaluate(text.replace("::", "."), self.file, row.source, row.line)
                if (
                    handler
                    and handler.kind == "item"
                    and handler.sym
                    and handler.sym.kind in CALLABLE_KINDS | TYPE_KINDS
                ):
                    self._route(handler.sym, verb, row)

    def _route(self, handler: Sym, name: str, row: F.Reference) -> None:
        verb = ROUTES[name]
        target = f"route:{verb} {row.literal}" if verb and " " not in row.literal else f"route:{row.literal}"
        self._add(handler, target, "handles_route", RESOLVED, "parsed", row.line)
