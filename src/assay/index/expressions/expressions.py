"""Evaluate chains step by step: calls, subscripts, members."""

from __future__ import annotations

import re

from assay.core.items import CALLABLE_KINDS
from assay.index import modules
from assay.index.chains import bare, split_arguments, without_name
from assay.index.expressions.base import (
    CYCLE,
    DATA,
    LOCAL,
    TYPE_LIKE,
    EvaluatorBase,
    Search,
    Value,
    last_name,
    prefer,
    top_level,
)
from assay.index.facts import FILE
from assay.index.file import File, Sym


class Expressions(EvaluatorBase):
    """Evaluate chains step by step: calls, subscripts, members."""

    def _evaluate_uniform(self, expression: str, file: File, at: int, line: int) -> Value | None:
        """Evaluate a chain in a language where every non-local name is a call, with or without parentheses (Ruby)."""
        parts = expression.split(".")
        value = self._start_uniform(parts[0], file, at, line)
        for segment in parts[1:]:
            name, sym = bare(segment), value.sym if value else None
            if value is None or value is CYCLE:
                return value
            constructs = name == file.language.construct
            if (
                constructs
                and value.kind in ("item", "instance")
                and sym
                and sym.kind in TYPE_LIKE
                and not self.member(sym, name)
            ):
                value = Value("instance", sym)
            elif constructs and value.kind == "outside":
                value = Value("object", name=value.name)
            elif name == "class" and value.kind == "instance":
                value = Value("item", sym)
            else:
                value = self._call_if_function(self.attribute(value, name, file), file)
            if segment.endswith("[]"):
                value = None
        return value

    def _start_uniform(self, segment: str, file: File, at: int, line: int) -> Value | None:
        name, language = bare(segment), file.language
        if name in ("?", "''", "") or segment.endswith("[]"):
            return Value("object", name="str") if segment == "''" else None
        owner = self.enclosing_type(file, at)
        if name in language.super_names:
            inherited = self.member(owner, file.facts.symbols[at].name, above=True) if owner else []
            return self.type_of(inherited[0]) if inherited else None
        if name in language.self_names or name == language.construct:
            return Value("instance", owner) if owner else None
        value = self.lookup(name, file, at, line, local=not segment.endswith("()"))
        if value is None and name[0].isupper():
            return Value("outside", name=name)
        return self._call_if_function(value, file)

    def _call_if_function(self, value: Value | None, file: File) -> Value | None:
        """Return the result of a function and the primary definition of a type; library results are unknown (None)."""
        if value is None or value is CYCLE:
            return value
        if value.kind == "outside" and not value.name.rpartition(".")[2][:1].isupper():
            return None
        if value.kind == "item" and value.sym:
            return (
                self.type_of(value.sym)
                if value.sym.kind in CALLABLE_KINDS
                else Value("item", self.primary(value.sym, file))
            )
        return value

    def evaluate(self, expression: str, file: File, at: int, line: int = 0, local: bool = True) -> Value | None:
        """Return the value of a chain inside symbol `at`. With `local=False`, its first name cannot be a local."""
        if not expression:
            return None
        if file.language.uniform_access:
            return self._evaluate_uniform(expression, file, at, line)
        parts = expression.split(".")
        value = self.first_segment(parts[0], file, at, line, local)
        for segment in parts[1:]:
            if value is None or value is CYCLE:
                return value
            name = bare(segment)
            value = self.attribute(value, name, file)
            passes_receiver = name in file.language.transparent or name in file.language.elements
            if passes_receiver and value and value.kind in ("instance", "object") and segment.startswith(name + "()"):
                segment = name + segment[len(name) + 2 :]
            value = self._apply_marks(value, segment[len(name) :], file.language.capital_types)
        return value

    def first_segment(self, segment: str, file: File, at: int, line: int, local: bool = True) -> Value | None:
        """Return the value of the first segment of a chain."""
        name = bare(segment)
        language = file.language
        if name in ("?", "''", ""):
            return Value("object", name="str") if name == "''" else None
        if name in language.super_names:
            owner = self.enclosing_type(file, at)
            return Value("super", owner) if owner else None
        if name in language.self_names or name == "Self" or name == "static":
            owner = self.enclosing_type(file, at)
            if owner:
                kind = "item" if name in ("cls", "Self", "static") else "instance"
                return self._apply_marks(Value(kind, owner), segment[len(name) :])
            if language.imports == "rust" and name == "self":
                return Value("file", name=file.path)
        if language.imports == "rust" and name in ("crate", "super", "$crate"):
            return self._rust_root(name, file, at)
        if language.imports == "rust" and name[0] == "$":
            return None  # a macro argument
        value = self.lookup(name, file, at, line, local=local)
        if value is None and language.imports == "rust":
            value = self.rust_path([name], file, None)
            if value and value.kind == "outside":
                value = None
        if value is None and language.visible in ("namespace", "global", "package"):
            namespaces = [s for s in self.table.named(name, language.kin) if s.kind in ("namespace", "module")]
            if namespaces:
                value = Value("item", namespaces[0])
        if value is None and name in language.module_names:
            value = Value("file", name=file.path)
        if value is None:
            value = LOCAL if name in language.implicit_locals else Value("outside", name=name)
        return self._apply_marks(value, segment[len(name) :], language.capital_types)

    def _apply_marks(self, value: Value | None, marks: str, capital_types: bool = True) -> Value | None:
        """Apply the calls, subscripts and literals that follow a name."""
        if value is not None and value.kind == "item":
            value = self.meant(value, marks.startswith("()"))
        while value is not None and marks:
            mark, marks = marks[:2], marks[2:]
            if mark == "[]":
                value = self._element_of(value)
            elif mark == "{}" and value.kind == "outside":
                value = Value("object", name=value.name)
            elif mark == "{}" and value.kind == "instance":
                continue
            else:
                value = self._call_result(value, capital_types)
        return value

    def meant(self, value: Value, called: bool) -> Value:
        """Choose between a field and a method of the same name and type: the method if it is called."""
        sym = value.sym
        if (
            value.kind != "item"
            or sym is None
            or not sym.owner
            or (sym.kind in CALLABLE_KINDS) == called
            or sym.kind in TYPE_LIKE
        ):
            return value
        file = self.table.file(sym.path)
        if file is None or not (file.language.overloads or file.language.twin_names):
            return value
        keys = dict.fromkeys((sym.owner, *self._keys_of_owner(sym))) if file.language.twin_names else (sym.owner,)
        twins = [
            s
            for key in keys
            for s in self.table.member(key, sym.name)
            if (s.kind in CALLABLE_KINDS) == called and s.kind != "constructor"
        ]
        return Value("item", twins[0]) if twins else value

    def _keys_of_owner(self, sym: Sym) -> tuple[str, ...]:
        file = self.table.file(sym.path)
        owner = self.enclosing_type(file, sym.index) if file else None
        other = self.table.file(owner.path) if owner else None
        return other.type_keys(owner.index) if other and owner else ()

    def _call_result(self, value: Value, capital_types: bool = True) -> Value | None:
        """Return the result of a call: an instance of a type, or a function's return value."""
        if value.kind == "super":
            return value
        if value.kind == "file":
            default = self.export(value.name, "default")
            return self._call_result(default) if default else None
        sym = value.sym
        if value.kind == "item" and sym is not None:
            if sym.kind in TYPE_LIKE:
                return Value("instance", sym, path=value.path)
            if sym.kind in CALLABLE_KINDS:
                return self._return_value(sym)
            target = self.type_of(sym)
            return self._call_result(target) if target and target.kind == "item" else target
        if value.kind == "instance" and sym is not None and sym.kind == "type":
            return self._delegate_result(sym)
        if value.kind == "outside":
            last = value.name.rpartition(".")[2]
            return Value("object", name=value.name) if last[:1].isupper() and capital_types else None
        return None

    def _delegate_result(self, sym: Sym) -> Value | None:
        """Return the result of calling an object of a delegate type, whose result type is stored as its value."""
        other = self.table.scope(sym.path)
        fact = other.facts.symbols[sym.index] if other else None
        return (
            self.type_value(fact.values[0], other, sym.index)
            if other and fact and fact.values and not fact.type
            else None
        )

    def _return_value(self, sym: Sym) -> Value | None:
        """Return the result of a function. A function with members constructs objects of itself."""
        result = self.type_of(sym)
        if result is None and sym.kind == "function" and self._members_of(sym):
            return Value("instance", sym)
        if result and result.kind == "item" and result.sym and result.sym.kind in DATA:
            return self.type_of(result.sym)
        return result

    def _element_of(self, value: Value) -> Value | None:
        """Return an element of a collection, typed by the last type argument."""
        if value.kind == "item" and value.sym:
            if value.sym.kind in TYPE_LIKE or value.sym.kind in CALLABLE_KINDS:
                return value  # type arguments
            collection = self.type_of(value.sym)
            return self._element_of(collection) if collection and collection.sym != value.sym else None
        if value.kind == "instance" and value.sym and (indexers := self.member(value.sym, "this[]")):
            return self.type_of(indexers[0])
        if value.kind == "instance" and value.sym and value.sym.kind == "type":
            other = self.table.scope(value.sym.path)
            fact = other.facts.symbols[value.sym.index] if other else None
            collection = self.type_value(fact.type, other, value.sym.index) if other and fact and fact.type else None
            return self._element_of(collection) if collection and collection.sym != value.sym else None
        if value.arguments:
            file = self.table.file(value.path)
            if file:
                return self.type_value(split_arguments(value.arguments)[-1], file, FILE)
        if (
            value.kind == "instance"
            and value.sym
            and (other := self.table.file(value.sym.path))
            and other.language.pointers
        ):
            return value
        return None

    def attribute(self, value: Value | None, name: str, file: File, seen: Search | None = None) -> Value | None:
        """Return the member `name` of a value."""
        if value is None or value is CYCLE:
            return value
        sym = value.sym
        if value.kind == "super" and sym:
            members = self.member(sym, name, above=True)
            return Value("item", members[0]) if members else None
        if name.isdigit() and sym and value.kind in ("instance", "item") and sym.kind not in DATA - {"constant"}:
            return self._tuple_field(sym, int(name)) or (value if name == "1" and value.kind == "instance" else None)
        if value.kind == "instance" and sym:
            members = self.member(sym, name)
            if members:
                return Value("item", members[0])
            if delegate := self.delegate(sym):
                return self.attribute(delegate, name, file, seen)
            if file.language.embedding:
                for base in (b for t in self.ancestry(sym).types for b in self.direct_bases(t)):
                    if base.name.rpartition(".")[2] == name:
                        return Value("object", name=base.name)
                    if base.sym and base.sym.name == name:
                        return Value("instance", base.sym)
            if methods := self.extensions(value, name, file):
                return Value("item", methods[0])
            return value if name in file.language.transparent else None
        if value.kind == "item" and sym:
            return self._attribute_of_item(sym, name, file, seen)
        if value.kind == "file":
            return self.export(value.name, name, seen)
        if value.kind == "folder":
            return self._name_in_folder(value.name, name, file)
        if value.kind in ("outside", "object"):
            if name.isdigit():
                return self._tuple_element(value, int(name))
            if value.kind == "object" and name in file.language.transparent:
                return value
            if value.kind == "object" and name in file.language.elements and value.arguments:
                return self._element_of(value)
            if methods := self.extensions(value, name, file):
                return Value("item", methods[0])
            dotted = f"{value.name}.{name}"
            item = (
                self._named_fully(dotted, file)
                if value.kind == "outside" and file.language.imports == "namespace"
                else None
            )
            return Value("item", item) if item else Value("outside", name=dotted)
        return None

    def extensions(self, value: Value, name: str, file: File) -> list[Sym]:
        """Return the extension methods `name` that apply to a value.

        The bases of a library type are unknown: for its objects, methods that extend any library type are accepted if
        none extends exactly this one.
        """
        if not file.language.extension_methods or value.kind not in ("instance", "object"):
            return []
        exact, loose = [], []
        for sym in self.table.named(name, file.language.kin):
            other = self.table.file(sym.path)
            rows = other.bindings.get(sym.index, {}).get("<this>") if other and sym.kind == "method" else None
            if other and rows:
                extended = self.type_value(rows[0].type, other, sym.index)
                if self._is_instance(value, extended):
                    exact.append(sym)
                elif extended and extended.kind == "object" and name not in file.language.common:
                    loose.append(sym)
        fully_known = value.kind == "instance" and value.sym and not self.ancestry(value.sym).outside
        return exact or ([] if fully_known else loose)

    def _is_instance(self, value: Value, expected: Value | None) -> bool:
        """Return whether an object has a type, as far as its ancestry is known; an unbound type parameter matches."""
        if expected is None or expected.name in ("object", "Object"):
            return True
        if value.kind == "instance" and value.sym:
            ancestry = self.ancestry(value.sym)
            if expected.sym:
                return any(t.symbol == expected.sym.symbol for t in ancestry.types)
            return any(last_name(name) == last_name(expected.name) for name in ancestry.outside)
        return expected.sym is None and last_name(value.name) == last_name(expected.name)

    def _tuple_field(self, sym: Sym, position: int) -> Value | None:
        """Return an unnamed field of a tuple struct or an enum variant."""
        file = self.table.scope(sym.path)
        fact = file.facts.symbols[sym.index] if file and sym.index != FILE else None
        if file is None or fact is None or not fact.type.startswith("("):
            return None
        parts = split_arguments(fact.type[1:-1])
        text = (
            re.sub(r"^\s*(?:#\[[^\]]*\]\s*)*(?:pub(?:\([^)]*\))?\s+)?", "", parts[position])
            if position < len(parts)
            else ""
        )
        return self.type_value(text, file, sym.index) if text else None

    def _tuple_element(self, value: Value, position: int) -> Value | None:
        """Return an element of a tuple. A non-tuple stands for elements 0 and 1 (the value of a key-value pair)."""
        if value.kind == "outside":
            return None
        if value.name != "()":
            return value if position < 2 else None
        parts, file = split_arguments(value.arguments), self.table.file(value.path)
        return self.type_value(without_name(parts[position]), file, FILE) if file and position < len(parts) else None

    def _attribute_of_item(self, sym: Sym, name: str, file: File, seen: Search | None) -> Value | None:
        if sym.kind in ("namespace", "module") or (sym.kind in TYPE_LIKE and file.language.identity == "namespace"):
            other = self.table.file(sym.path)
            full = other.full(sym.index) if other else ""
            inner = [
                s
                for s in self.table.named(name, sym.kin)
                if (f := self.table.file(s.path)) and f.full(s.index) == f"{full}.{name}"
            ]
            if inner:
                return Value("item", prefer(self._defined(inner), file))
            if other and sym.kind == "module" and other.language.imports == "rust":
                nested_sym = self._first(other, other.children[sym.index].get(name, ()))
                return Value("item", nested_sym) if nested_sym else None
        if sym.kind in TYPE_LIKE:
            other = self.table.scope(sym.path)
            nested = self._first(other, other.children[sym.index].get(name, ())) if other else None
            members = [nested] if nested else self.member(sym, name)
            return Value("item", members[0]) if members else None
        if sym.kind in ("variable", "constant", "function"):
            own = self.own_member(sym, name)
            if own:
                return Value("item", own[0])
        if sym.kind in DATA:
            variable_type = self.type_of(sym)
            if variable_type is not None and variable_type is not CYCLE and variable_type.sym != sym:
                return self.attribute(variable_type, name, file, seen)
        return None

    def _name_in_folder(self, folder: str, name: str, file: File) -> Value | None:
        """Look up a name in a package that is a folder: Go packages, Python packages without __init__."""
        self.table.record_file_lookup(folder.rpartition("/")[2])
        if file.language.imports == "python":
            place = modules.python_at(f"{folder}/{name}", self.table)
            return Value(place.kind, name=place.name) if place.kind != "outside" else None
        candidates = [
            s
            for s in self.table.named(name, file.language.kin)
            if s.path.rpartition("/")[0] == folder and top_level(s) and not s.path.endswith("_test.go")
        ]
        return Value("item", candidates[0]) if candidates else None
