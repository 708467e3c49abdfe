"""Evaluate declared types, and infer the types of assigned and returned values."""

from __future__ import annotations

import re

from assay.core.items import CALLABLE_KINDS
from assay.index.chains import HEAD, SEQUENCE, bare, inside, split_arguments, without_name
from assay.index.expressions.base import CYCLE, DATA, MAX_LOOKUPS, TYPE_LIKE, EvaluatorBase, Value
from assay.index.facts import FILE, SymbolFact
from assay.index.file import File, Sym


class Types(EvaluatorBase):
    """Evaluate declared types, and infer the types of assigned and returned values."""

    def type_value(self, text: str, file: File, at: int, depth: int = 0) -> Value | None:
        """Return an object of a declared type: `Optional[Cart]`, `&mut Vec<Cart>`, `Cart | None`, `[]Cart`.

        Cached in languages where locals cannot be types.
        """
        if not file.language.shadowing:
            self.table.enter()
            value = self._parse_type(text, file, at, depth)
            self.table.leave()
            return value
        key = (text, file.path, at, self._base_lookups > 0)
        return self.table.memoize_in(
            self._declared_types, key, lambda: self._parse_type(text, file, at, depth), provisional=False
        )

    def _parse_type(self, text: str, file: File, at: int, depth: int) -> Value | None:
        text = text.strip().strip("\"'").lstrip(":").strip()
        text = re.sub(r"^(?:->|:)\s*", "", text)
        text = re.sub(
            r"^(?:&?'?\w*\s*&?\s*(?:mut|dyn|impl|const|final|readonly|out|ref|in|params|async|unique|struct|union|enum|class|typename|volatile)\s+)+",
            "",
            text,
        )
        if "'" in text:
            text = re.sub(r"^[&\s]*'\w+\s*\+?\s*(?:mut\s+|dyn\s+|impl\s+)*", "", text)
        text = text.lstrip("&*?@ ").removeprefix("mut ").removeprefix("dyn ").removeprefix("impl ").strip()
        if not text or depth > MAX_LOOKUPS or text in file.language.inferred:
            return None
        if text.startswith("[") and (match := SEQUENCE.match(text)):
            return Value("object", name="[]", arguments=text[match.end() :], path=file.path)
        if text.startswith("[") and text.endswith("]"):
            return Value("object", name="[]", arguments=text[1:-1].partition(";")[0], path=file.path)
        if text.startswith("map[") or "..." in text[:60]:
            elements = text.partition("]")[2] if text.startswith("map[") else text.partition("...")[2]
            return Value("object", name="[]", arguments=elements, path=file.path)
        if text.endswith("[]"):
            return Value("object", name="[]", arguments=text[:-2], path=file.path)
        if text.startswith("(") and text.endswith(")"):
            parts = split_arguments(text[1:-1])
            if len(parts) > 1:
                return Value("object", name="()", arguments=text[1:-1], path=file.path)
            return self.type_value(without_name(parts[0]), file, at, depth + 1)
        match = HEAD.match(text)
        if not match:
            return None
        head, suffix = match.group().rstrip(":"), text[match.end() :].strip()
        language = file.language
        arguments = inside(suffix)
        if head.rpartition(".")[2].rpartition(":")[2] in language.wrappers and arguments:
            first, *others = split_arguments(arguments)
            wrapped = self.type_value(first, file, at, depth + 1)
            if wrapped and wrapped.kind == "instance":
                return wrapped
            for part in () if language.wraps_first else others:
                value = self.type_value(part, file, at, depth + 1)
                if value and value.kind == "instance":
                    return value
            return wrapped
        if head in language.self_names or head == "Self" or head == "static":
            owner = self.enclosing_type(file, at)
            return Value("instance", owner) if owner else None
        bound = self._type_parameter(head, file, at)
        if bound is not None:
            if "+" in bound:
                values = [self.type_value(part, file, at, depth + 1) for part in bound.split("+")]
                return next((v for v in values if v and v.kind == "instance"), values[0])
            return self.type_value(bound, file, at, depth + 1)
        named = self.type_named(head.replace("::", ".").replace("\\", "."), file, at)
        if named and named.kind == "item" and named.sym:
            if named.sym.kind in TYPE_LIKE:
                return self._follow_alias(named.sym, arguments, file, at, depth)
            return None
        if "|" in suffix and not arguments:
            return next(
                (
                    v
                    for v in (self.type_value(p, file, at, depth + 1) for p in suffix.split("|"))
                    if v and v.kind == "instance"
                ),
                None,
            )
        if named and named.kind == "local":
            return None
        name = named.name if named and named.kind == "outside" else head.replace("::", ".")
        return Value("object", name=name, arguments=arguments, path=file.path)

    def type_named(self, expression: str, file: File, at: int, line: int = 0) -> Value | None:
        """Return the value of a chain in type position: a member or local named like its type does not hide it."""
        if file.language.closed_types:  # types and values have separate namespaces
            head, *members = expression.split(".")
            named_type: Value | None = self.lookup(head, file, at, own_members=False, local=False) or Value(
                "outside", name=head
            )
            for name in members:
                named_type = self.attribute(named_type, name, file)
            return named_type
        value = self.evaluate(expression, file, at, line, local=not file.language.shadowing)
        if value and value.kind == "instance" and expression in file.language.self_names:
            return Value("item", value.sym)  # PHP's `: self`
        if value is None or "." in expression:
            return value
        no_type = value.sym is not None and value.sym.kind not in TYPE_LIKE
        if no_type or value.kind in ("local", "instance", "object"):
            return self.lookup(expression, file, at, own_members=False, local=False) or value
        return value

    def _type_parameter(self, name: str, file: File, at: int) -> str | None:
        """Return the bound of a type parameter, which the query files record as a typed local; empty if it has none."""
        while at != FILE:
            rows = file.bindings.get(at, {}).get(f"<{name}>")
            if rows:
                return next((row.type for row in rows if row.type), "")
            at = file.facts.symbols[at].parent
        return None

    def _follow_alias(self, sym: Sym, arguments: str, file: File, at: int, depth: int) -> Value | None:
        """Return an object of an alias's target type."""
        if sym.kind == "type":
            other = self.table.scope(sym.path)
            fact = other.facts.symbols[sym.index] if other else None
            if (
                other
                and fact
                and fact.type
                and arguments
                and (argument := self._alias_argument(sym, fact.type, other, arguments))
            ):
                return self.type_value(argument, file, at, depth + 1)
            if other and fact and fact.type and not self._members_of(sym):
                value = self.type_value(fact.type, other, sym.index, depth + 1)
                if value and value.kind == "instance":
                    return value
        return Value("instance", sym, arguments=arguments, path=file.path)

    def _alias_argument(self, sym: Sym, text: str, file: File, arguments: str) -> str:
        """Return the argument of an alias that only wraps its parameter.

        `Outcome<Cart>` with `type Outcome<T> = Result<T, Problem>` → Cart.
        """
        head = HEAD.match(text)
        if not head or head.group().rpartition(":")[2] not in file.language.wrappers:
            return ""
        inner = split_arguments(inside(text[head.end() :].strip()))[0]
        names = [name for name in file.bindings.get(sym.index, {}) if name.startswith("<")]
        passed_arguments = split_arguments(arguments)
        position = names.index(f"<{inner}>") if f"<{inner}>" in names else -1
        return passed_arguments[position] if 0 <= position < len(passed_arguments) else ""

    def _members_of(self, sym: Sym) -> bool:
        other = self.table.file(sym.path)
        return bool(other and any(self.table.members(key) for key in other.type_keys(sym.index)))

    def type_of(self, sym: Sym) -> Value | None:
        """Return the type of a variable, field or property, or of a function's result.

        Memoized; CYCLE if it depends on itself.
        """
        key = (sym.path, sym.index)
        self.table.reads.add(sym.name)
        token = f"type:{sym.id}"
        if key in self._types_in_progress:
            self.table.reads.add(token)
            self.table.record_cycle(self._types_in_progress[key])
            return CYCLE
        return self._remember(token, lambda: self._guarded_type_of(sym, key))

    def _guarded_type_of(self, sym: Sym, key: tuple[str, int]) -> Value | None:
        self._types_in_progress[key] = self.table.depth
        try:
            return self._infer_type(sym)
        finally:
            del self._types_in_progress[key]

    def _infer_type(self, sym: Sym) -> Value | None:
        file = self.table.scope(sym.path)
        if file is None or sym.index == FILE:
            return None
        fact = file.facts.symbols[sym.index]
        if (
            sym.kind == "constant"
            and fact.parent != FILE
            and file.facts.symbols[fact.parent].kind == "enum"
            and not fact.values
        ):
            return Value("instance", file.sym(fact.parent))
        at = sym.index if sym.kind in CALLABLE_KINDS or sym.kind == "property" else fact.parent
        if fact.type:
            return self.type_value(fact.type, file, at)
        inner = (
            sym.index if sym.kind in CALLABLE_KINDS or sym.kind == "property" else self._assigning_function(file, sym)
        )
        for expression in fact.values:
            value = self.evaluate(expression, file, self._assigning_constructor(file, fact, inner, expression))
            if value is CYCLE or (value and value.sym and value.sym.kind in DATA and self.type_of(value.sym) is CYCLE):
                return CYCLE
            if value and value.kind not in ("local",):
                return value
        return None

    def _assigning_function(self, file: File, sym: Sym) -> int:
        """Return the function in whose lines a field is assigned, else its container."""
        fact = file.facts.symbols[sym.index]
        best = fact.parent
        for index, other in enumerate(file.facts.symbols):
            if (
                other.kind in CALLABLE_KINDS
                and other.start <= fact.start
                and fact.end <= other.end
                and other.parent == fact.parent
            ):
                best = index
        return best

    def _assigning_constructor(self, file: File, fact: SymbolFact, inner: int, expression: str) -> int:
        """Return the constructor whose parameter is assigned to a field declared in the class body, else `inner`."""
        if fact.kind != "field" or inner != fact.parent or not file.language.constructors:
            return inner
        name = bare(expression.partition(".")[0])
        for constructor in file.language.constructors:
            for index in file.children[fact.parent].get(constructor, ()):
                if name in file.bindings.get(index, {}):
                    return index
        return inner
