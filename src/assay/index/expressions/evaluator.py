"""The evaluator: chains step by step, with calls, subscripts and members."""

from __future__ import annotations

import re
from collections.abc import Callable

from assay.core.items import CALLABLE_KINDS, DATA_KINDS
from assay.index.chains import bare, split_arguments, without_name
from assay.index.expressions.hierarchy import Hierarchy
from assay.index.expressions.scopes import Scopes
from assay.index.expressions.types import Types
from assay.index.facts import FILE
from assay.index.file import File, Sym
from assay.index.imports import Imports
from assay.index.imports.namespaces import named_fully
from assay.index.table import T, Table
from assay.index.values import (
    CYCLE,
    DEFINED,
    EXTERNALS,
    LOCAL,
    OBJECTS,
    TYPE_LIKE,
    Cycle,
    External,
    ExternalObject,
    Folder,
    Instance,
    Item,
    Module,
    Search,
    Super,
    Value,
    symbol_of,
)
from assay.languages.rpc import created_client

_FIELD_MODIFIERS = re.compile(r"^\s*(?:#\[[^\]]*\]\s*)*(?:pub(?:\([^)]*\))?\s+)?")
_NO_TUPLE = DATA_KINDS - {"constant"}
_SPACES = frozenset({"namespace", "module"})


class Evaluator:
    """Evaluates chains against a symbol table, with one collaborator per concern.

    Answers about symbols are memoized by the table, together with the lookups they made.
    """

    def __init__(self, table: Table) -> None:
        self.table = table
        self.base_lookups = 0  # > 0 while resolving bases: inherited members are not available yet
        self.scopes = Scopes(self)
        self.imports = Imports(self)
        self.types = Types(self)
        self.hierarchy = Hierarchy(self)

    def remember(self, token: str, answer: Callable[[], T]) -> T:
        """Memoize an answer. Those computed while resolving bases see less and are stored separately."""
        return self.table.remembered(f"~{token}" if self.base_lookups else token, answer)

    # Chains

    def evaluate(self, expression: str, file: File, at: int, line: int = 0, local: bool = True) -> Value | None:
        """Return the value of a chain inside symbol `at`. With `local=False`, its first name cannot be a local."""
        if not expression:
            return None
        language = file.language
        if language.uniform_access:
            return self._evaluate_uniform(expression, file, at, line)
        first, *rest = expression.split(".")
        value = self.first_segment(first, file, at, line, local)
        for segment in rest:
            if value is None or value is CYCLE:
                return value
            name = bare(segment)
            value = self.attribute(value, name, file)
            passes_receiver = name in language.transparent or name in language.elements
            if passes_receiver and isinstance(value, OBJECTS) and segment.startswith(name + "()"):
                segment = name + segment[len(name) + 2 :]
            value = self._apply_marks(value, segment[len(name) :], language.capital_types)
        return value

    def first_segment(self, segment: str, file: File, at: int, line: int, local: bool = True) -> Value | None:
        """Return the value of the first segment of a chain."""
        name = bare(segment)
        language = file.language
        if name in ("?", "''", ""):
            return ExternalObject("str") if name == "''" else None
        if name in language.super_names:
            owner = self.hierarchy.enclosing_type(file, at)
            return Super(owner) if owner else None
        if name in language.self_names or name == "Self" or name == "static":
            owner = self.hierarchy.enclosing_type(file, at)
            if owner:
                own = Item(owner) if name in ("cls", "Self", "static") else Instance(owner)
                return self._apply_marks(own, segment[len(name) :])
        if file.style.is_root(name):
            return file.style.root(self, name, file, at)
        value = self.scopes.lookup(name, file, at, line, local=local)
        if value is None:
            value = self._unbound(name, file)
        return self._apply_marks(value, segment[len(name) :], language.capital_types)

    def _unbound(self, name: str, file: File) -> Value:
        """Return the meaning of a name that no scope binds: a module or namespace, an implicit local or a library."""
        language = file.language
        value = file.style.unbound(self, name, file)
        if value is not None:
            return value
        if language.visible.namespaces:
            for sym in self.table.named(name, language.kin):
                if sym.kind in _SPACES:
                    return Item(sym)
        if name in language.module_names:
            return Module(file.path)
        return LOCAL if name in language.implicit_locals else External(name)

    def _apply_marks(self, value: Value | None, marks: str, capital_types: bool = True) -> Value | None:
        """Apply the calls, subscripts and literals that follow a name."""
        if isinstance(value, Item):
            value = self.meant(value, marks.startswith("()"))
        while value is not None and marks:
            mark, marks = marks[:2], marks[2:]
            if mark == "[]":
                value = self._element_of(value)
            elif mark == "{}" and isinstance(value, External):
                value = ExternalObject(value.name)
            elif mark != "{}" or not isinstance(value, Instance):
                value = self._call_result(value, capital_types)
        return value

    def meant(self, value: Item, called: bool) -> Item:
        """Choose between a field and a method of the same name and type: the method if it is called."""
        sym = value.sym
        if not sym.owner or (sym.kind in CALLABLE_KINDS) == called or sym.kind in TYPE_LIKE:
            return value
        file = self.table.file(sym.path)
        if file is None or not (file.language.overloads or file.language.twin_names):
            return value
        keys = dict.fromkeys((sym.owner, *self._keys_of_owner(sym, file))) if file.language.twin_names else (sym.owner,)
        for key in keys:
            for twin in self.table.member(key, sym.name):
                if (twin.kind in CALLABLE_KINDS) == called and twin.kind != "constructor":
                    return Item(twin)
        return value

    def _keys_of_owner(self, sym: Sym, file: File) -> tuple[str, ...]:
        owner = self.hierarchy.enclosing_type(file, sym.index)
        other = self.table.file(owner.path) if owner else None
        return other.type_keys(owner.index) if other and owner else ()

    # Chains in a language where every non-local name is a call, with or without parentheses (Ruby)

    def _evaluate_uniform(self, expression: str, file: File, at: int, line: int) -> Value | None:
        first, *rest = expression.split(".")
        value = self._start_uniform(first, file, at, line)
        for segment in rest:
            if value is None or value is CYCLE:
                return value
            value = self._step_uniform(value, bare(segment), file)
            if segment.endswith("[]"):
                value = None
        return value

    def _step_uniform(self, value: Value, name: str, file: File) -> Value | None:
        constructs = name == file.language.construct
        if constructs and isinstance(value, External):
            return ExternalObject(value.name)
        if constructs and isinstance(value, DEFINED):
            sym = value.sym
            if sym.kind in TYPE_LIKE and not self.hierarchy.member(sym, name):
                return Instance(sym)
        if name == "class" and isinstance(value, Instance):
            return Item(value.sym)
        return self._call_if_function(self.attribute(value, name, file), file)

    def _start_uniform(self, segment: str, file: File, at: int, line: int) -> Value | None:
        name, language = bare(segment), file.language
        if name in ("?", "''", "") or segment.endswith("[]"):
            return ExternalObject("str") if segment == "''" else None
        owner = self.hierarchy.enclosing_type(file, at)
        if name in language.super_names:
            inherited = self.hierarchy.member(owner, file.facts.symbols[at].name, above=True) if owner else []
            return self.types.of(inherited[0]) if inherited else None
        if name in language.self_names or name == language.construct:
            return Instance(owner) if owner else None
        value = self.scopes.lookup(name, file, at, line, local=not segment.endswith("()"))
        if value is None and name[0].isupper():
            return External(name)
        return self._call_if_function(value, file)

    def _call_if_function(self, value: Value | None, file: File) -> Value | None:
        """Return the result of a function and the primary definition of a type; library results are unknown (None)."""
        if isinstance(value, External) and not value.name.rpartition(".")[2][:1].isupper():
            return None
        if isinstance(value, Item):
            if value.sym.kind in CALLABLE_KINDS:
                return self.types.of(value.sym)
            return Item(self.hierarchy.primary(value.sym, file))
        return value

    # Calls and subscripts

    def _call_result(self, value: Value, capital_types: bool = True) -> Value | None:
        """Return the result of a call: an instance of a type, or a function's return value."""
        if isinstance(value, Item):
            sym = value.sym
            if sym.kind in TYPE_LIKE:
                return Instance(sym)
            if sym.kind in CALLABLE_KINDS:
                return self._return_value(sym)
            target = self.types.of(sym)
            return self._call_result(target) if isinstance(target, Item) else target
        if isinstance(value, External):
            last = value.name.rpartition(".")[2]
            name = value.name if last[:1].isupper() and capital_types else created_client(value.name)
            return ExternalObject(name) if name else None
        if isinstance(value, Instance):
            return self._delegate_result(value.sym) if value.sym.kind == "type" else None
        if isinstance(value, Module):
            default = self.imports.export(value.path, "default")
            return self._call_result(default) if default else None
        return value if isinstance(value, Super) else None

    def _delegate_result(self, sym: Sym) -> Value | None:
        """Return the result of calling an object of a delegate type, whose result type is stored as its value."""
        other = self.table.scope(sym.path)
        fact = other.facts.symbols[sym.index] if other else None
        if other and fact and fact.values and not fact.type:
            return self.types.declared(fact.values[0], other, sym.index)
        return None

    def _return_value(self, sym: Sym) -> Value | None:
        """Return the result of a function. A function with members constructs objects of itself."""
        result = self.types.of(sym)
        if result is None and sym.kind == "function" and self.hierarchy.has_members(sym):
            return Instance(sym)
        if isinstance(result, Item) and result.sym.kind in DATA_KINDS:
            return self.types.of(result.sym)
        return result

    def _element_of(self, value: Value) -> Value | None:
        """Return an element of a collection, typed by the last type argument."""
        if isinstance(value, Item):
            if value.sym.kind in TYPE_LIKE or value.sym.kind in CALLABLE_KINDS:
                return value  # type arguments
            return self._element_of_other(self.types.of(value.sym), value.sym)
        if isinstance(value, Instance):
            if indexers := self.hierarchy.member(value.sym, "this[]"):
                return self.types.of(indexers[0])
            if value.sym.kind == "type":
                other = self.table.scope(value.sym.path)
                text = other.facts.symbols[value.sym.index].type if other else ""
                collection = self.types.declared(text, other, value.sym.index) if other and text else None
                return self._element_of_other(collection, value.sym)
        if isinstance(value, OBJECTS) and value.arguments and (file := self.table.file(value.path)):
            return self.types.declared(split_arguments(value.arguments)[-1], file, FILE)
        if isinstance(value, Instance):
            file = self.table.file(value.sym.path)
            return value if file and file.language.pointers else None
        return None

    def _element_of_other(self, collection: Value | None, sym: Sym) -> Value | None:
        """Return an element of a symbol's type, unless that is the symbol again."""
        return self._element_of(collection) if collection and symbol_of(collection) != sym else None

    # Members

    def attribute(self, value: Value | None, name: str, file: File, seen: Search | None = None) -> Value | None:
        """Return the member `name` of a value."""
        if isinstance(value, Item):
            if name.isdigit() and value.sym.kind not in _NO_TUPLE:
                return self._tuple_field(value.sym, int(name))
            return self._attribute_of_item(value.sym, name, file, seen)
        if isinstance(value, Instance):
            return self._attribute_of_instance(value, name, file, seen)
        if isinstance(value, EXTERNALS):
            return self._attribute_of_external(value, name, file)
        if isinstance(value, Module):
            return self.imports.export(value.path, name, seen)
        if isinstance(value, Super):
            members = self.hierarchy.member(value.sym, name, above=True)
            return Item(members[0]) if members else None
        if isinstance(value, Folder):
            return file.style.in_folder(self, value.path, name, file)
        return value if isinstance(value, Cycle) else None

    def _attribute_of_item(self, sym: Sym, name: str, file: File, seen: Search | None) -> Value | None:
        if sym.kind in _SPACES or (sym.kind in TYPE_LIKE and file.language.open_types):
            other = self.table.file(sym.path)
            inner = named_fully(self, f"{other.full(sym.index)}.{name}", file) if other else None
            if inner:
                return Item(inner)
            if other and sym.kind == "module" and other.language.plain_modules:
                nested = self.scopes.first(other, other.children[sym.index].get(name, ()))
                return Item(nested) if nested else None
        if sym.kind in TYPE_LIKE:
            other = self.table.scope(sym.path)
            nested = self.scopes.first(other, other.children[sym.index].get(name, ())) if other else None
            members = [nested] if nested else self.hierarchy.member(sym, name)
            return Item(members[0]) if members else None
        own = self.hierarchy.own_member(sym, name) if sym.kind in ("variable", "constant", "function") else []
        if own:
            return Item(own[0])
        if sym.kind in DATA_KINDS:
            variable_type = self.types.of(sym)
            if variable_type is not None and variable_type is not CYCLE and symbol_of(variable_type) != sym:
                return self.attribute(variable_type, name, file, seen)
        return None

    def _attribute_of_instance(self, value: Instance, name: str, file: File, seen: Search | None) -> Value | None:
        sym, language = value.sym, file.language
        if name.isdigit() and sym.kind not in _NO_TUPLE:
            return self._tuple_field(sym, int(name)) or (value if name == "1" else None)
        members = self.hierarchy.member(sym, name)
        if members:
            return Item(members[0])
        if delegate := self.hierarchy.delegate(sym):
            return self.attribute(delegate, name, file, seen)
        if language.embedding and (embedded := self._embedded(sym, name)):
            return embedded
        if methods := self.extensions(value, name, file):
            return Item(methods[0])
        return value if name in language.transparent else None

    def _embedded(self, sym: Sym, name: str) -> Instance | ExternalObject | None:
        """Return an embedded base, which is also a member under its own name (Go)."""
        for ancestor in self.hierarchy.ancestry(sym).types:
            for base in self.hierarchy.direct_bases(ancestor):
                if isinstance(base, External):
                    if base.name.rpartition(".")[2] == name:
                        return ExternalObject(base.name)
                elif base.sym.name == name:
                    return Instance(base.sym)
        return None

    def _attribute_of_external(self, value: External | ExternalObject, name: str, file: File) -> Value | None:
        if isinstance(value, ExternalObject):
            if name.isdigit():
                return self._tuple_element(value, int(name))
            if name in file.language.transparent:
                return value
            if name in file.language.elements and value.arguments:
                return self._element_of(value)
            if methods := self.extensions(value, name, file):
                return Item(methods[0])
        elif name.isdigit():
            return None
        dotted = f"{value.name}.{name}"
        item = named_fully(self, dotted, file) if isinstance(value, External) and file.style.qualified else None
        return Item(item) if item else External(dotted)

    def _tuple_field(self, sym: Sym, position: int) -> Value | None:
        """Return an unnamed field of a tuple struct or an enum variant."""
        file = self.table.scope(sym.path)
        fact = file.facts.symbols[sym.index] if file and sym.index != FILE else None
        if file is None or fact is None or not fact.type.startswith("("):
            return None
        parts = split_arguments(fact.type[1:-1])
        text = _FIELD_MODIFIERS.sub("", parts[position]) if position < len(parts) else ""
        return self.types.declared(text, file, sym.index) if text else None

    def _tuple_element(self, value: ExternalObject, position: int) -> Value | None:
        """Return an element of a tuple. A non-tuple stands for elements 0 and 1 (the value of a key-value pair)."""
        if value.name != "()":
            return value if position < 2 else None
        parts, file = split_arguments(value.arguments), self.table.file(value.path)
        return (
            self.types.declared(without_name(parts[position]), file, FILE) if file and position < len(parts) else None
        )

    # Extension methods

    def extensions(self, value: Value, name: str, file: File) -> list[Sym]:
        """Return the extension methods `name` that apply to a value.

        The bases of a library type are unknown: for its objects, methods that extend any library type are accepted if
        none extends exactly this one.
        """
        if not file.language.extension_methods or not isinstance(value, OBJECTS):
            return []
        exact, loose = [], []
        for sym in self.table.named(name, file.language.kin):
            other = self.table.file(sym.path)
            rows = other.bindings.get(sym.index, {}).get("<this>") if other and sym.kind == "method" else None
            if other and rows:
                extended = self.types.declared(rows[0].type, other, sym.index)
                if self._is_instance(value, extended):
                    exact.append(sym)
                elif isinstance(extended, ExternalObject) and name not in file.language.common:
                    loose.append(sym)
        fully_known = isinstance(value, Instance) and not self.hierarchy.ancestry(value.sym).outside
        return exact or ([] if fully_known else loose)

    def _is_instance(self, value: Instance | ExternalObject, expected: Value | None) -> bool:
        """Return whether an object has a type, as far as its ancestry is known; an unbound type parameter matches."""
        if isinstance(expected, Instance):
            if not isinstance(value, Instance):
                return False
            return any(t.symbol == expected.sym.symbol for t in self.hierarchy.ancestry(value.sym).types)
        if not isinstance(expected, ExternalObject) or expected.name in ("object", "Object"):
            return True
        expected_name = expected.name.rpartition(".")[2]
        names = self.hierarchy.ancestry(value.sym).outside if isinstance(value, Instance) else (value.name,)
        return any(name.rpartition(".")[2] == expected_name for name in names)
