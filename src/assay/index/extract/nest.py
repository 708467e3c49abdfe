"""Nest definitions by position and build symbols with qualified names."""

from __future__ import annotations

import re
from bisect import bisect_right

from assay.core.items import TYPE_KINDS
from assay.index.chains import last
from assay.index.extract.collect import SPACE, Collector
from assay.index.extract.definition import Definition, type_name
from assay.index.facts import BASE, FILE, SymbolFact

MAX_VALUES = 3  # assigned values stored per field
CLASS_LIKE = TYPE_KINDS | {"module", "namespace"}
FUNCTION_LIKE = frozenset({"function", "method", "constructor", "property", "macro"})
_BETWEEN_NAMES = re.compile(r"::|[.\\]")
_DATA = frozenset({"variable", "field", "constant", "type"})


class Nesting(Collector):
    """Nests definitions by position and builds symbols from them."""

    order: list[Definition]  # by start, the outer ones first

    def _nest_all(self) -> None:
        self._widen_over_attributes()
        self.order = sorted(self.definitions.values(), key=lambda d: (d.start, -d.end))
        self._nest()
        self._nest_lambdas()

    def _widen_over_attributes(self) -> None:
        """Extend the span of definitions over preceding attributes that the grammar leaves outside (Rust `#[test]`)."""
        prefix = self.language.attributes
        if not prefix:
            return
        for definition in self.definitions.values():
            line = self.line(definition.start) - 2  # index of the line above
            while line >= 0:
                start = self.line_starts[line]
                text = self.source[start : self.line_starts[line + 1]].strip().decode("utf-8", "replace")
                if not re.match(prefix, text):
                    break
                definition.start = (
                    start
                    + len(self.source[start : self.line_starts[line + 1]])
                    - len(self.source[start : self.line_starts[line + 1]].lstrip())
                )
                line -= 1

    def _nest(self) -> None:
        """Set each definition's parent to the innermost enclosing definition."""
        stack: list[int] = []
        for number, definition in enumerate(self.order):
            while stack and self.order[stack[-1]].end < definition.end:
                stack.pop()
            while stack and self.order[stack[-1]].end <= definition.start:
                stack.pop()
            top = self.order[stack[-1]] if stack else None
            if (
                top
                and (top.start, top.end) == (definition.start, definition.end)
                and top.kind in _DATA
                and definition.kind in _DATA
            ):
                stack.pop()  # `int a, b;`: siblings
            definition.parent = stack[-1] if stack else FILE
            stack.append(number)

    def _enclosing(self, number: int, kinds: frozenset[str]) -> int:
        """Return the nearest definition around `number`, itself excluded, with one of the kinds."""
        at = self.order[number].parent
        while at != FILE and self.order[at].kind not in kinds:
            at = self.order[at].parent
        return at

    def _build_symbols(self) -> list[SymbolFact]:
        """Turn definitions into symbols with kind and qualified name, repeated names numbered; locals into bindings."""
        symbols = list[SymbolFact]()
        counts: dict[str, int] = {}
        fields: dict[tuple[int, str], int] = {}
        anonymous: dict[int, int] = {}
        self._mark_enums()
        members = {(d.parent, d.name) for d in self.order if d.kind in ("function", "property") and not d.hoisted}
        constructors = {d.name.partition(".prototype.")[0] for d in self.order if ".prototype." in d.name}
        for number, definition in enumerate(self.order):
            if definition.kind == "scope":
                continue
            at = definition.parent
            scope = definition.receiver
            if definition.hoisted:
                at = self._enclosing(number, CLASS_LIKE | {"scope"})
                if at == FILE:
                    scope = self._object_around(number, constructors)
                if (at == FILE and not scope) or (at, definition.name) in members:
                    continue  # not inside a type, or the assignment sets a property
            holder = self.order[at] if at != FILE else None
            if holder and holder.kind == "scope":
                scope = scope or holder.name
                at = self._enclosing(at, CLASS_LIKE | FUNCTION_LIKE) if at != FILE else at
                at = self._nearest_symbol(at)
            elif holder and holder.index == FILE:
                at = self._nearest_symbol(at)
            holder = self.order[at] if at != FILE else None
            kind = definition.kind
            if definition.name_start in self.import_bound or (definition.bound and self._in_local(definition)):
                continue
            may_be_local = kind in ("variable", "constant") or definition.bound
            may_be_local = may_be_local or (kind == "function" and not definition.body and self.language.prototypes)
            if may_be_local and not definition.hoisted and self._is_local(definition, holder):
                self.bindings.append((definition.name_start, definition.name, definition.type, definition.value))
                continue
            name, scope = self._split_name(definition, kind, scope)
            if not name:
                anonymous[at] = anonymous.get(at, 0) + 1
                name = f"${anonymous[at]}"
            kind = self._refine_kind(kind, name, holder, scope)
            parent = holder.index if holder else FILE
            if kind in ("field", "constant", "variable") and not definition.receiver:
                first = fields.setdefault((parent, f"{scope}.{name}"), len(symbols))
                if first != len(symbols):
                    if definition.value and len(symbols[first].values) < MAX_VALUES:
                        symbols[first].values.append(definition.value)
                    symbols[first].type = symbols[first].type or definition.type
                    continue
            symbol = self._qualified_name(definition, name, kind, scope, symbols[parent] if parent != FILE else None)
            counts[symbol] = counts.get(symbol, 0) + 1
            definition.index = len(symbols)
            symbols.append(
                SymbolFact(
                    name,
                    kind,
                    symbol,
                    counts[symbol],
                    parent,
                    self.line(definition.start),
                    self.line(max(definition.end - 1, definition.start)),
                    scope,
                    definition.type,
                    [definition.value] if definition.value else [],
                    self._is_test(definition, holder),
                    -1,
                    self._is_stub(definition, kind),
                    static=self._is_static(definition, kind),
                )
            )
        return symbols

    def _is_local(self, definition: Definition, holder: Definition | None) -> bool:
        """Return whether a variable is inside a function, named or not."""
        if holder and holder.kind in FUNCTION_LIKE:
            return True
        lambda_start = self._lambda_around(definition.name_start)
        return lambda_start >= 0 and (holder is None or lambda_start >= holder.name_start)

    def _in_local(self, definition: Definition) -> bool:
        """Return whether a function is in an object that is itself a local."""
        parent = self.order[definition.parent] if definition.parent != FILE else None
        return parent is not None and parent.kind == "variable" and parent.index == FILE

    def _object_around(self, number: int, constructors: set[str]) -> str:
        """Return the object or constructor function in which `this.x = …` outside any type defines x."""
        at = self.order[number].parent
        while at != FILE:
            definition = self.order[at]
            if definition.kind == "function":
                if "." in definition.name or ":" in definition.name:
                    head = definition.name.replace(":", ".").rpartition(".")[0].removesuffix(".prototype")
                    return "" if head in ("exports", "module.exports", "module") else head
                if definition.name in constructors:
                    return definition.name
                parent = self.order[definition.parent] if definition.parent != FILE else None
                if parent and parent.kind == "variable" and parent.index != FILE:
                    return parent.name
            at = definition.parent
        return ""

    def _lambda_around(self, offset: int) -> int:
        """Return the start of the innermost anonymous function around an offset, or -1."""
        at = bisect_right(self.lambda_starts, offset) - 1
        while at >= 0 and self.lambdas[at][1] <= offset:
            at = self.lambda_parents[at]
        return self.lambda_starts[at] if at >= 0 else -1

    def _nest_lambdas(self) -> None:
        self.lambdas.sort()
        self.lambda_starts = [start for start, _ in self.lambdas]
        self.lambda_parents: list[int] = []
        stack: list[int] = []
        for number, (start, _) in enumerate(self.lambdas):
            while stack and self.lambdas[stack[-1]][1] <= start:
                stack.pop()
            self.lambda_parents.append(stack[-1] if stack else -1)
            stack.append(number)

    def _mark_enums(self) -> None:
        """Turn classes with an enum base into enums."""
        bases = self.language.enum_bases
        if not bases:
            return
        marks = sorted(m for m in self.marks if m[2] == BASE and last(m[3]) in bases)
        for owner in self._enclosing_definitions([m[0] for m in marks]):
            if owner != FILE and self.order[owner].kind == "class":
                self.order[owner].kind = "enum"

    def _nearest_symbol(self, at: int) -> int:
        """Return the nearest enclosing definition, `at` included, that became a symbol."""
        while at != FILE and self.order[at].index == FILE:
            at = self.order[at].parent
        return at

    def _split_name(self, definition: Definition, kind: str, scope: str) -> tuple[str, str]:
        """Split `Foo::bar` defined outside Foo into name bar and scope Foo; a type `A::B` keeps its scope."""
        name = definition.name
        if kind in CLASS_LIKE:
            return _BETWEEN_NAMES.split(name)[-1], scope
        if "::" in name:
            head, _, name = name.rpartition("::")
            scope = scope or (re.sub(r"<.*>|\s", "", head) if self.language.prototypes else type_name(head))
        elif "." in name:  # obj.method = function, X.prototype.y = function, Lua's function M.f
            head, _, name = name.replace(":", ".").rpartition(".")
            head = head.removesuffix(".prototype")
            if head not in ("exports", "module.exports", "module"):
                scope = scope or head
            elif head == "module":
                name = "default"
        elif ":" in name:
            scope, _, name = name.rpartition(":")
        return name, scope

    def _refine_kind(self, kind: str, name: str, holder: Definition | None, scope: str) -> str:
        in_class = bool(scope) or (holder is not None and holder.kind in CLASS_LIKE and holder.kind != "namespace")
        if kind in ("function", "method") and name in self.language.constructors and in_class:
            return "constructor"
        if kind == "function" and in_class and not self._is_free_function(holder, scope):
            return "method"
        if kind == "function" and holder is not None and holder.kind in ("variable", "field", "constant"):
            return "method"
        if kind == "method" and not in_class and holder is None:
            return "function"
        if kind == "variable":
            if holder is not None and holder.kind == "enum" and self.language.enum_bases:
                return "constant"
            if self.language.constant_pattern.fullmatch(name) and not (holder and holder.kind in TYPE_KINDS):
                return "constant"
            if holder is not None and holder.kind in TYPE_KINDS:
                return "field"
        return kind

    def _is_free_function(self, holder: Definition | None, scope: str) -> bool:
        """Return whether a function in a module is not a method: everywhere except in Ruby modules."""
        return not scope and holder is not None and holder.kind == "module" and not self.language.module_methods

    def _qualified_name(
        self, definition: Definition, name: str, kind: str, scope: str, parent: SymbolFact | None
    ) -> str:
        separator = self.language.separator
        last_part = (
            SPACE.sub("", definition.name).replace("\\", ".") if kind in CLASS_LIKE and definition.name else name
        )
        if separator == "." and kind in CLASS_LIKE:
            last_part = last_part.replace("::", ".")
        if scope:
            prefix = f"{parent.symbol}{separator}" if parent and parent.kind in CLASS_LIKE else ""
            return f"{prefix}{scope}.{last_part}"
        if parent is None:
            return last_part
        joiner = separator if kind in CLASS_LIKE else "."
        if parent.kind == "namespace":
            joiner = separator
        return f"{parent.symbol}{joiner}{last_part}"

    def _is_test(self, definition: Definition, holder: Definition | None) -> bool:
        pattern = self.language.test_pattern
        if not definition.test and pattern is not None:
            head = self.source[definition.start : definition.name_start].decode("utf-8", "replace")
            definition.test = bool(pattern.search(head))
        definition.test = definition.test or bool(holder and holder.test)
        return definition.test

    def _is_static(self, definition: Definition, kind: str) -> bool:
        marker = self.language.static_marker
        if not marker or kind != "method":
            return False
        return marker.encode() in self.source[definition.start : definition.name_start].split()

    def _is_stub(self, definition: Definition, kind: str) -> bool:
        """Return whether a function is a signature without a body, or marked as an overload."""
        if kind not in FUNCTION_LIKE:
            return False
        return not definition.body or b"@overload" in self.source[definition.start : definition.name_start]

    def _enclosing_definitions(self, offsets: list[int]) -> list[int]:
        """For ascending offsets, return the number of the innermost definition around each (FILE for none)."""
        out, stack, next_number = list[int](), list[int](), 0
        order = self.order
        for offset in offsets:
            while next_number < len(order) and order[next_number].start <= offset:
                while stack and order[stack[-1]].end <= order[next_number].start:
                    stack.pop()
                stack.append(next_number)
                next_number += 1
            while stack and order[stack[-1]].end <= offset:
                stack.pop()
            at = len(stack) - 1
            while at >= 0 and order[stack[at]].end <= offset:  # a short sibling may hide a longer one
                at -= 1
            out.append(stack[at] if at >= 0 else FILE)
        return out

    def _binding_owner(self, owner: int) -> int:
        """Return the symbol that owns a local. Locals in a field's value belong to the assigning function."""
        while owner != FILE and (self.order[owner].index == FILE or self.order[owner].hoisted):
            owner = self.order[owner].parent
        return self.order[owner].index if owner != FILE else FILE

    def _symbol_at(self, owner: int, offset: int, own: bool) -> int:
        """Return the symbol that code at `offset` inside definition `owner` belongs to.

        With `own`, code before a definition's name counts as part of it.
        """
        while owner != FILE:
            definition = self.order[owner]
            if definition.index != FILE and (own or (offset >= definition.name_start and not definition.hoisted)):
                return definition.index
            owner = definition.parent
        return FILE
