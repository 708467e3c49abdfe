"""Resolve names that are used but not called: fields, references, types, decorators."""

from __future__ import annotations

from assay.core.items import DATA_KINDS, TYPE_KINDS
from assay.index.chains import bare, type_names
from assay.index.facts import DECORATE, FILE, Reference
from assay.index.file import Sym
from assay.index.resolve.edges import FIELD_LIKE, RESOLVED, FileEdges
from assay.index.values import DEFINED, EXTERNALS, TYPE_LIKE, Instance, Item, Local, Value, symbol_of
from assay.languages.conventions import ENVIRONMENT_CHAINS, PROCESS_CHAINS, ends_like


class Uses:
    """Adds the edges of names that a file uses without calling them."""

    def __init__(self, edges: FileEdges) -> None:
        self._edges, self._file = edges, edges.file
        self._evaluator, self._table = edges.evaluator, edges.table

    def _value(self, expression: str, row: Reference) -> Value | None:
        return self._evaluator.evaluate(expression, self._file, row.source, row.line)

    def add_access(self, row: Reference, source: Sym) -> None:
        """Resolve `cart.total` to the field or other member."""
        receiver, _, last = row.chain.rpartition(".")
        self.add_conventions(row, source)
        if last.endswith("[]"):
            self._add_element(row, source)
            return
        if not receiver:
            self._add_name(row.chain, source, row)
            return
        value, name = self._value(receiver, row), bare(last)
        if isinstance(value, Item) and value.sym.kind in DATA_KINDS:
            own = self._evaluator.hierarchy.own_member(value.sym, name)
            variable_type = self._evaluator.types.of(value.sym)
            if own:
                self._add_use(source, own[0], row)
                return
            value = variable_type
        member = self._evaluator.attribute(value, name, self._file) if not isinstance(value, Local) else None
        if isinstance(member, Item):
            self._add_use(source, member.sym, row)
            holder = symbol_of(value)
            if member.sym.kind == "constant" and self._file.language.uniform_access and holder:
                self._add_use(source, holder, row)

    def _add_element(self, row: Reference, source: Sym) -> None:
        """Resolve `cart[0]` to the type's indexer, if it has one."""
        value = self._value(row.chain.removesuffix("[]"), row)
        if isinstance(value, Item) and value.sym.kind not in TYPE_LIKE:
            value = self._evaluator.types.of(value.sym)
        if isinstance(value, Instance):
            for indexer in self._evaluator.hierarchy.member(value.sym, "this[]")[:1]:
                self._add_use(source, indexer, row)

    def add_mention(self, row: Reference, source: Sym) -> None:
        """Resolve a name that stands alone."""
        self._add_name(row.chain, source, row)
        self.add_conventions(row, source)

    def _add_name(self, name: str, source: Sym, row: Reference) -> None:
        if "." in name:
            value = self._value(name, row)
            if isinstance(value, Item):
                self._add_use(source, value.sym, row)
            return
        name, file, scopes = bare(name), self._file, self._evaluator.scopes
        if name in file.language.super_names or scopes.is_local(name, file, row.source, row.line):
            return
        if name == "Self":
            if owner := self._evaluator.hierarchy.enclosing_type(file, row.source):
                self._add_use(source, owner, row)
            return
        value = scopes.lookup(name, file, row.source, row.line)
        if isinstance(value, Item) and value.sym.kind not in ("namespace", "file"):
            self._add_use(source, value.sym, row)

    def _add_use(self, source: Sym, target: Sym, row: Reference) -> None:
        """Add an access edge to a field, a call edge to a method that is called by name alone, else a reference."""
        is_source = row.source == target.index and self._file.path == target.path
        if target.kind in FIELD_LIKE:
            if target.kind != "field" or not is_source:
                self._edges.add(source, target, "accesses_field", row.line)
        elif target.kind in ("method", "function") and self._file.language.bare_calls and self._arity(target) < 1:
            self._edges.counts[0] += 1
            self._edges.add(source, target, "calls", row.line)
            self._edges.called[row.source].setdefault(target, row.line)
        elif not is_source:
            self._edges.add(source, target, "references", row.line)

    def _arity(self, sym: Sym) -> int:
        file = self._table.file(sym.path)
        return file.facts.symbols[sym.index].arity if file and sym.index != FILE else -1

    def add_hint(self, row: Reference, source: Sym) -> None:
        """Resolve the types that an annotation names."""
        for name in type_names(row.chain):
            value = self._evaluator.types.named(name, self._file, row.source, row.line)
            if isinstance(value, Item) and value.sym.kind in TYPE_LIKE:
                self._edges.add(source, value.sym, "type_hint_of", row.line)

    def add_thrown(self, row: Reference, source: Sym) -> None:
        """Resolve the type that is raised or thrown."""
        value = self._value(row.chain.removesuffix("()"), row)
        if isinstance(value, Item) and value.sym.kind not in TYPE_KINDS:
            value = self._evaluator.types.of(value.sym) or value
        if isinstance(value, DEFINED) and value.sym.kind in TYPE_KINDS:
            self._edges.add(source, value.sym, "throws", row.line)
        elif isinstance(value, EXTERNALS):
            self._edges.add(source, value.name, "throws", row.line)

    def add_decorator(self, row: Reference, source: Sym) -> None:
        """Resolve a decorator, annotation or attribute."""
        file = self._file
        at = file.facts.symbols[row.source].parent if row.source != FILE else FILE
        plain = row.chain.removesuffix("()")
        value = self._evaluator.evaluate(plain, file, at, row.line)
        if file.language.decorator_suffix and not isinstance(value, Item):
            value = self._evaluator.evaluate(plain + file.language.decorator_suffix, file, at, row.line)
        if isinstance(value, Item):
            self._edges.add(value.sym, source, "decorates", row.line)

    # Library conventions

    def add_conventions(self, row: Reference, source: Sym) -> None:
        """Add edges for environment variables and processes."""
        if not row.literal and ".env." not in row.chain:
            return
        chain_text = row.chain.removesuffix("()").removesuffix("[]")
        parent, _, name = chain_text.rpartition(".")
        if ends_like(parent, ("process.env", "import.meta.env")) and name.isupper():
            self._edges.add(source, f"env:{name}", "reads_env", row.line, RESOLVED, "parsed")
        elif not row.literal:
            return
        elif ends_like(chain_text, ENVIRONMENT_CHAINS):
            self._edges.add(source, f"env:{row.literal}", "reads_env", row.line, RESOLVED, "parsed")
        elif ends_like(chain_text, PROCESS_CHAINS) and row.role != DECORATE:
            program = row.literal.split()[0].rpartition("/")[2] if row.literal.split() else row.literal
            self._edges.add(source, f"process:{program}", "executes_process", row.line, RESOLVED, "parsed")
