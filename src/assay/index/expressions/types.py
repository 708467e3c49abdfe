"""Evaluate declared types, and infer the types of assigned and returned values."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from assay.core.items import CALLABLE_KINDS, DATA_KINDS
from assay.index.chains import HEAD, SEQUENCE, bare, inside, split_arguments, without_name
from assay.index.facts import FILE, SymbolFact
from assay.index.file import File, Sym
from assay.index.table import MemoEntry
from assay.index.values import (
    CYCLE,
    OBJECTS,
    TYPE_LIKE,
    External,
    ExternalObject,
    Instance,
    Item,
    Local,
    Value,
    symbol_of,
)

if TYPE_CHECKING:
    from assay.index.expressions.evaluator import Evaluator

MAX_LOOKUPS = 12  # nested type expressions
_ARROW = re.compile(r"^(?:->|:)\s*")
_MODIFIERS = re.compile(
    r"^(?:&?'?\w*\s*+(?:&\s*+)?(?:mut|dyn|impl|const|final|readonly|out|ref|in|params|async|unique|struct|union|enum|class"
    r"|typename|volatile)\s++)+"
)
_LIFETIME = re.compile(r"^[&\s]*'\w+\s*\+?\s*(?:mut\s+|dyn\s+|impl\s+)*")
_SELF_TYPES = ("Self", "static")
_WITH_RESULT = CALLABLE_KINDS | {"property"}  # their declared type and values are those of their result


class Types:
    """Evaluates declared types, and infers the types of assigned and returned values."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator, self.table = evaluator, evaluator.table
        self._declared: dict[tuple[str, str, int, bool], MemoEntry] = {}
        self._in_progress: dict[tuple[str, int], int] = {}  # symbols whose type is being computed → depth of that query

    # Declared types

    def declared(self, text: str, file: File, at: int, depth: int = 0) -> Value | None:
        """Return an object of a declared type: `Optional[Cart]`, `&mut Vec<Cart>`, `Cart | None`, `[]Cart`.

        Cached in languages where locals cannot be types.
        """
        if not file.language.shadowing:
            self.table.enter()
            value = self._parse(text, file, at, depth)
            self.table.leave()
            return value
        key = (text, file.path, at, self.evaluator.base_lookups > 0)
        return self.table.memoize_in(self._declared, key, lambda: self._parse(text, file, at, depth), provisional=False)

    def _parse(self, text: str, file: File, at: int, depth: int) -> Value | None:
        text = _without_modifiers(text)
        if not text or depth > MAX_LOOKUPS or text in file.language.inferred:
            return None
        elements = _element_type(text)
        if elements is not None:
            return ExternalObject("[]", elements, file.path)
        if text.startswith("(") and text.endswith(")"):
            parts = split_arguments(text[1:-1])
            if len(parts) > 1:
                return ExternalObject("()", text[1:-1], file.path)
            return self.declared(without_name(parts[0]), file, at, depth + 1)
        match = HEAD.match(text)
        if not match:
            return None
        return self._named_type(match.group().rstrip(":"), text[match.end() :].strip(), file, at, depth)

    def _named_type(self, head: str, suffix: str, file: File, at: int, depth: int) -> Value | None:
        """Return an object of the type `head` with the type arguments or other alternatives in `suffix`."""
        language = file.language
        arguments = inside(suffix)
        if arguments and head.rpartition(".")[2].rpartition(":")[2] in language.wrappers:
            first, *others = split_arguments(arguments)
            wrapped = self.declared(first, file, at, depth + 1)
            if isinstance(wrapped, Instance) or language.wraps_first:
                return wrapped
            return self._first_instance(others, file, at, depth) or wrapped
        if head in language.self_names or head in _SELF_TYPES:
            owner = self.evaluator.hierarchy.enclosing_type(file, at)
            return Instance(owner) if owner else None
        bound = self.parameter_bound(head, file, at)
        if bound is not None:
            if "+" not in bound:
                return self.declared(bound, file, at, depth + 1)
            values = [self.declared(part, file, at, depth + 1) for part in bound.split("+")]
            return next((value for value in values if isinstance(value, Instance)), values[0])
        named = self.named(head.replace("::", ".").replace("\\", "."), file, at)
        if isinstance(named, Item):
            return self._follow_alias(named.sym, arguments, file, at, depth) if named.sym.kind in TYPE_LIKE else None
        if "|" in suffix and not arguments:
            return self._first_instance(suffix.split("|"), file, at, depth)
        if isinstance(named, Local):
            return None
        name = named.name if isinstance(named, External) else head.replace("::", ".")
        return ExternalObject(name, arguments, file.path)

    def _first_instance(self, texts: list[str], file: File, at: int, depth: int) -> Instance | None:
        for text in texts:
            value = self.declared(text, file, at, depth + 1)
            if isinstance(value, Instance):
                return value
        return None

    def named(self, expression: str, file: File, at: int, line: int = 0) -> Value | None:
        """Return the value of a chain in type position: a member or local named like its type does not hide it."""
        evaluator, language = self.evaluator, file.language
        if language.closed_types:  # types and values have separate namespaces
            head, *members = expression.split(".")
            named_type: Value | None = evaluator.scopes.lookup(
                head, file, at, own_members=False, local=False
            ) or External(head)
            for name in members:
                named_type = evaluator.attribute(named_type, name, file)
            return named_type
        value = evaluator.evaluate(expression, file, at, line, local=not language.shadowing)
        if isinstance(value, Instance) and expression in language.self_names:
            return Item(value.sym)  # PHP's `: self`
        if value is None or "." in expression:
            return value
        sym = symbol_of(value)
        no_type = sym is not None and sym.kind not in TYPE_LIKE
        if no_type or isinstance(value, (Local, *OBJECTS)):
            return evaluator.scopes.lookup(expression, file, at, own_members=False, local=False) or value
        return value

    def parameter_bound(self, name: str, file: File, at: int) -> str | None:
        """Return the bound of a type parameter, which the query files record as a typed local; empty if it has none."""
        while at != FILE:
            rows = file.bindings.get(at, {}).get(f"<{name}>")
            if rows:
                return next((row.type for row in rows if row.type), "")
            at = file.facts.symbols[at].parent
        return None

    def _follow_alias(self, sym: Sym, arguments: str, file: File, at: int, depth: int) -> Value | None:
        """Return an object of an alias's target type."""
        other = self.table.scope(sym.path) if sym.kind == "type" else None
        target = other.facts.symbols[sym.index].type if other else ""
        if other and target:
            if arguments and (argument := self._alias_argument(sym, target, other, arguments)):
                return self.declared(argument, file, at, depth + 1)
            if not self.evaluator.hierarchy.has_members(sym):
                value = self.declared(target, other, sym.index, depth + 1)
                if isinstance(value, Instance):
                    return value
        return Instance(sym, arguments, file.path)

    @staticmethod
    def _alias_argument(sym: Sym, text: str, file: File, arguments: str) -> str:
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

    # Inferred types

    def of(self, sym: Sym) -> Value | None:
        """Return the type of a variable, field or property, or of a function's result.

        Memoized; CYCLE if it depends on itself.
        """
        key = (sym.path, sym.index)
        self.table.reads.add(sym.name)
        token = f"type:{sym.id}"
        if key in self._in_progress:
            self.table.reads.add(token)
            self.table.record_cycle(self._in_progress[key])
            return CYCLE
        return self.evaluator.remember(token, lambda: self._guarded(sym, key))

    def _guarded(self, sym: Sym, key: tuple[str, int]) -> Value | None:
        self._in_progress[key] = self.table.depth
        try:
            return self._infer(sym)
        finally:
            del self._in_progress[key]

    def _infer(self, sym: Sym) -> Value | None:
        file = self.table.scope(sym.path)
        if file is None or sym.index == FILE:
            return None
        fact = file.facts.symbols[sym.index]
        parent = file.facts.symbols[fact.parent] if fact.parent != FILE else None
        if sym.kind == "constant" and parent and parent.kind == "enum" and not fact.values:
            return Instance(file.sym(fact.parent))
        has_result = sym.kind in _WITH_RESULT
        if fact.type:
            return self.declared(fact.type, file, sym.index if has_result else fact.parent)
        inner = sym.index if has_result else _assigning_function(file, sym)
        for expression in fact.values:
            scope = _assigning_constructor(file, fact, inner, expression)
            value = self.evaluator.evaluate(expression, file, scope)
            target = symbol_of(value)
            if value is CYCLE or (target and target.kind in DATA_KINDS and self.of(target) is CYCLE):
                return CYCLE
            if value and not isinstance(value, Local):
                return value
        return None


def _without_modifiers(text: str) -> str:
    """Strip quotes, arrows, references, lifetimes and keywords before a type."""
    text = _ARROW.sub("", text.strip().strip("\"'").lstrip(":").strip())
    text = _MODIFIERS.sub("", text)
    if "'" in text:
        text = _LIFETIME.sub("", text)
    return text.lstrip("&*?@ ").removeprefix("mut ").removeprefix("dyn ").removeprefix("impl ").strip()


def _element_type(text: str) -> str | None:
    """Return the element type of a sequence: `[]Cart`, `[Cart; 3]`, `map[string]Cart`, `...Cart`, `Cart[]`."""
    if text[0] == "[":
        if match := SEQUENCE.match(text):
            return text[match.end() :]
        if text[-1] == "]":
            return text[1:-1].partition(";")[0]
    if text.startswith("map["):
        return text.partition("]")[2]
    if "..." in text[:60]:
        return text.partition("...")[2]
    return text[:-2] if text.endswith("[]") else None


def _assigning_function(file: File, sym: Sym) -> int:
    """Return the function in whose lines a field is assigned, else its container."""
    fact = file.facts.symbols[sym.index]
    best = fact.parent
    for index, other in enumerate(file.facts.symbols):
        encloses = other.start <= fact.start and fact.end <= other.end
        if encloses and other.kind in CALLABLE_KINDS and other.parent == fact.parent:
            best = index
    return best


def _assigning_constructor(file: File, fact: SymbolFact, inner: int, expression: str) -> int:
    """Return the constructor whose parameter is assigned to a field declared in the class body, else `inner`."""
    if fact.kind != "field" or inner != fact.parent or not file.language.constructors:
        return inner
    name = bare(expression.partition(".")[0])
    for constructor in file.language.constructors:
        for index in file.children[fact.parent].get(constructor, ()):
            if name in file.bindings.get(index, {}):
                return index
    return inner
