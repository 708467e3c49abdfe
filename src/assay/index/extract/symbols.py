"""Build symbols from nested definitions: kinds, qualified names, values; and bindings from those that are locals."""

from __future__ import annotations

import re

from assay.core.items import TYPE_KINDS
from assay.index.chains import last
from assay.index.extract.collect import SPACE, Captures, Definition
from assay.index.extract.nest import CLASS_LIKE, FUNCTION_LIKE, Nesting
from assay.index.extract.syntax import type_name
from assay.index.facts import BASE, FILE, Binding, SymbolFact
from assay.languages import Language

MAX_VALUES = 3  # assigned values stored per field
_BETWEEN_NAMES = re.compile(r"::|[.\\]")
_HOLDERS = frozenset({"variable", "field", "constant"})  # may hold an object with functions
_EXPORTS = ("exports", "module.exports", "module")  # names of a module itself in JavaScript


class SymbolBuilder:
    """Turns the definitions of a file into symbols; repeated names are numbered, locals become bindings."""

    def __init__(self, captures: Captures, nesting: Nesting) -> None:
        self._captures, self._nesting = captures, nesting
        self._language, self._order = captures.language, nesting.order
        self._symbols: list[SymbolFact] = []
        self._counts: dict[str, int] = {}
        self._fields: dict[tuple[int, str], int] = {}
        self._anonymous: dict[int, int] = {}

    def build(self) -> list[SymbolFact]:
        """Return the symbols. Adds locals to the bindings of the captures and numbers the definitions."""
        order = self._order
        self._mark_enums()
        self._members = {(d.parent, d.name) for d in order if d.kind in ("function", "property") and not d.hoisted}
        self._constructors = {d.name.partition(".prototype.")[0] for d in order if ".prototype." in d.name}
        for number, definition in enumerate(order):
            if definition.kind != "scope":
                self._add(number, definition)
        self._attach_values()
        return self._symbols

    def _mark_enums(self) -> None:
        """Turn classes with an enum base into enums."""
        bases = self._language.enum_bases
        if not bases:
            return
        marks = sorted(m for m in self._captures.marks if m[2] == BASE and last(m[3]) in bases)
        for owner in self._nesting.enclosing_definitions([m[0] for m in marks]):
            if owner != FILE and self._order[owner].kind == "class":
                self._order[owner].kind = "enum"

    def _add(self, number: int, definition: Definition) -> None:
        at, scope = definition.parent, definition.receiver
        if definition.hoisted:
            at = self._nesting.enclosing(number, CLASS_LIKE | {"scope"})
            if at == FILE:
                scope = self._object_around(number)
            if (at == FILE and not scope) or (at, definition.name) in self._members:
                return  # not inside a type, or the assignment sets a property
        at, scope = self._container(at, scope)
        holder = self._order[at] if at != FILE else None
        if definition.name_start in self._captures.import_bound or (definition.bound and self._in_local(definition)):
            return
        if self._is_local(definition, holder):
            row = (definition.name_start, definition.name, definition.type, definition.value)
            self._captures.bindings.append(row)
            return
        name, scope = self._split_name(definition, scope)
        if not name:
            self._anonymous[at] = self._anonymous.get(at, 0) + 1
            name = f"${self._anonymous[at]}"
        kind = refined_kind(definition.kind, name, holder, scope, self._language)
        parent = holder.index if holder else FILE
        if not self._is_repeated_assignment(definition, kind, parent, f"{scope}.{name}"):
            self._append(definition, name, kind, scope, holder)

    def _container(self, at: int, scope: str) -> tuple[int, str]:
        """Return the definition that becomes the parent, and the type if it is only named there (an impl block)."""
        holder = self._order[at] if at != FILE else None
        if holder and holder.kind == "scope":
            scope = scope or holder.name
            at = self._nesting.enclosing(at, CLASS_LIKE | FUNCTION_LIKE)
        return self._nesting.nearest_symbol(at), scope

    def _is_repeated_assignment(self, definition: Definition, kind: str, parent: int, name: str) -> bool:
        """Return whether a variable or field was assigned before; its first symbol gets the value and the type."""
        if kind not in _HOLDERS or definition.receiver:
            return False
        first = self._fields.setdefault((parent, name), len(self._symbols))
        if first == len(self._symbols):
            return False
        symbol = self._symbols[first]
        if definition.value and len(symbol.values) < MAX_VALUES:
            symbol.values.append(definition.value)
        symbol.type = symbol.type or definition.type
        return True

    def _append(self, definition: Definition, name: str, kind: str, scope: str, holder: Definition | None) -> None:
        parent = holder.index if holder else FILE
        symbol = self._qualified_name(definition, name, kind, scope, self._symbols[parent] if parent != FILE else None)
        self._counts[symbol] = self._counts.get(symbol, 0) + 1
        definition.index = len(self._symbols)
        line = self._captures.line
        self._symbols.append(
            SymbolFact(
                name,
                kind,
                symbol,
                self._counts[symbol],
                parent,
                line(definition.start),
                line(max(definition.end - 1, definition.start)),
                scope,
                definition.type,
                [definition.value] if definition.value else [],
                self._is_test(definition, holder),
                stub=self._is_stub(definition, kind),
                static=self._is_static(definition, kind),
            )
        )

    def _is_local(self, definition: Definition, holder: Definition | None) -> bool:
        """Return whether a definition is a variable, or may be one, inside a function, named or not."""
        prototype = definition.kind == "function" and not definition.body and self._language.prototypes
        may_be_local = definition.kind in ("variable", "constant") or definition.bound or prototype
        if not may_be_local or definition.hoisted:
            return False
        if holder and holder.kind in FUNCTION_LIKE:
            return True
        lambda_start = self._nesting.lambda_around(definition.name_start)
        return lambda_start >= 0 and (holder is None or lambda_start >= holder.name_start)

    def _in_local(self, definition: Definition) -> bool:
        """Return whether a function is in an object that is itself a local."""
        parent = self._order[definition.parent] if definition.parent != FILE else None
        return parent is not None and parent.kind == "variable" and parent.index == FILE

    def _object_around(self, number: int) -> str:
        """Return the object or constructor function in which `this.x = …` outside any type defines x."""
        at = self._order[number].parent
        while at != FILE:
            definition = self._order[at]
            if definition.kind == "function":
                if "." in definition.name or ":" in definition.name:
                    head = definition.name.replace(":", ".").rpartition(".")[0].removesuffix(".prototype")
                    return "" if head in _EXPORTS else head
                if definition.name in self._constructors:
                    return definition.name
                parent = self._order[definition.parent] if definition.parent != FILE else None
                if parent and parent.kind == "variable" and parent.index != FILE:
                    return parent.name
            at = definition.parent
        return ""

    def _split_name(self, definition: Definition, scope: str) -> tuple[str, str]:
        """Split `Foo::bar` defined outside Foo into name bar and scope Foo; a type `A::B` keeps its scope."""
        name = definition.name
        if definition.kind in CLASS_LIKE:
            return _BETWEEN_NAMES.split(name)[-1], scope
        if "::" in name:
            head, _, name = name.rpartition("::")
            scope = scope or (re.sub(r"<.*>|\s", "", head) if self._language.prototypes else type_name(head))
        elif "." in name:  # obj.method = function, X.prototype.y = function, Lua's function M.f
            head, _, name = name.replace(":", ".").rpartition(".")
            head = head.removesuffix(".prototype")
            if head not in _EXPORTS:
                scope = scope or head
            elif head == "module":
                name = "default"
        elif ":" in name:
            scope, _, name = name.rpartition(":")
        return name, scope

    def _qualified_name(
        self, definition: Definition, name: str, kind: str, scope: str, parent: SymbolFact | None
    ) -> str:
        separator = self._language.separator
        last_part = name
        if kind in CLASS_LIKE and definition.name:
            last_part = SPACE.sub("", definition.name).replace("\\", ".")
        if separator == "." and kind in CLASS_LIKE:
            last_part = last_part.replace("::", ".")
        if scope:
            prefix = f"{parent.symbol}{separator}" if parent and parent.kind in CLASS_LIKE else ""
            return f"{prefix}{scope}.{last_part}"
        if parent is None:
            return last_part
        joiner = separator if kind in CLASS_LIKE or parent.kind == "namespace" else "."
        return f"{parent.symbol}{joiner}{last_part}"

    def _is_test(self, definition: Definition, holder: Definition | None) -> bool:
        pattern = self._language.test_pattern
        if not definition.test and pattern is not None:
            head = self._captures.source[definition.start : definition.name_start].decode("utf-8", "replace")
            definition.test = bool(pattern.search(head))
        definition.test = definition.test or bool(holder and holder.test)
        return definition.test

    def _is_static(self, definition: Definition, kind: str) -> bool:
        marker = self._language.static_marker
        if not marker or kind != "method":
            return False
        return marker.encode() in self._captures.source[definition.start : definition.name_start].split()

    def _is_stub(self, definition: Definition, kind: str) -> bool:
        """Return whether a function is a signature without a body, or marked as an overload."""
        if kind not in FUNCTION_LIKE:
            return False
        return not definition.body or b"@overload" in self._captures.source[definition.start : definition.name_start]

    def _attach_values(self) -> None:
        """Record returned values of functions, used if the result type is not declared."""
        rows = sorted(self._captures.returns)
        for (start, value), owner in zip(
            rows, self._nesting.enclosing_definitions([row[0] for row in rows]), strict=True
        ):
            source = self._nesting.symbol_at(owner, start, True)
            if source == FILE or self._nesting.lambda_end_line(owner, start):
                continue  # returned by an anonymous function
            values = self._symbols[source].values
            if len(values) < MAX_VALUES and value not in values:
                values.append(value)


def refined_kind(kind: str, name: str, holder: Definition | None, scope: str, language: Language) -> str:
    """Return the kind of a definition in its context: a function in a class is a method, a variable there a field."""
    container = holder.kind if holder is not None else ""
    if kind == "variable":
        if container == "enum" and language.enum_bases:
            return "constant"
        if container in TYPE_KINDS:
            return "field"
        return "constant" if language.constant_pattern.fullmatch(name) else kind
    if kind not in ("function", "method"):
        return kind
    in_class = bool(scope) or (container in CLASS_LIKE and container != "namespace")
    if in_class and name in language.constructors:
        return "constructor"
    if kind == "method":
        return kind if in_class or container else "function"
    is_method = in_class and (scope or container != "module" or language.module_methods)
    return "method" if is_method or container in _HOLDERS else kind


def build_bindings(captures: Captures, nesting: Nesting, symbols: list[SymbolFact]) -> list[Binding]:
    """Return the locals and parameters of a file, and count the parameters of its functions."""
    order, line, globals_ = nesting.order, captures.line, _global_names(captures, nesting)
    rows = sorted(captures.bindings)
    out = []
    for (start, name, type_text, value), owner in zip(
        rows, nesting.enclosing_definitions([row[0] for row in rows]), strict=True
    ):
        if owner != FILE and order[owner].hoisted:
            owner = order[owner].parent
        source = nesting.symbol_at(owner, start, True)
        if name.startswith("<") and owner != FILE and order[owner].kind == "scope":
            members = (d.index for d in order if d.parent == owner and d.index != FILE)
            out += [Binding(member, line(start), name, type_text) for member in members]
            continue  # a type parameter of an impl block is one of every member
        until = nesting.lambda_end_line(owner, start)
        if start in captures.parameters and source != FILE and not until:
            _count_parameter(symbols[source], start, captures)
        visible_in_class = name.startswith("<") or start in captures.parameters or until
        in_class = source != FILE and symbols[source].kind in CLASS_LIKE
        if in_class and not visible_in_class and captures.language.closures:
            continue  # comprehension variables in a class body
        if (source, name) not in globals_:
            out.append(Binding(source, captures.later.get(start) or line(start), name, type_text, value, until))
    return out


def _global_names(captures: Captures, nesting: Nesting) -> set[tuple[int, str]]:
    """Return the names declared global, by the function that declares them."""
    owners = nesting.enclosing_definitions([start for start, _ in captures.globals])
    return {
        (nesting.symbol_at(owner, start, True), name)
        for (start, name), owner in zip(captures.globals, owners, strict=True)
    }


def _count_parameter(symbol: SymbolFact, start: int, captures: Captures) -> None:
    symbol.arity = max(symbol.arity, 0) + 1
    symbol.optional += start in captures.optional
    symbol.variadic = symbol.variadic or start in captures.variadic
