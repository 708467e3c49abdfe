"""Bases, ancestors, members, and the type that code stands in."""

from __future__ import annotations

import re
from collections import Counter, defaultdict

from assay.index.expressions.base import DATA, MAX_ANCESTORS, TYPE_LIKE, Ancestry, EvaluatorBase, Value
from assay.index.facts import BASE, FILE, IMPLEMENTS, Reference
from assay.index.file import File, Sym, stem


class Hierarchy(EvaluatorBase):
    """Bases, ancestors, members, and the type that code stands in."""

    def ancestry(self, sym: Sym) -> Ancestry:
        """A type and everything it inherits from, depth first."""
        self.table.reads.add(sym.name)
        sym = self.primary(sym)
        below = self._climbing.get((sym.path, sym.index))
        if below is not None:  # asked for while its own bases are looked for
            self.table.meet_again(below)
            return Ancestry((sym,), ())
        return self._remember(f"ancestry:{sym.id}", lambda: self._ancestry(sym))

    def _ancestry(self, sym: Sym) -> Ancestry:
        types: list[Sym] = [sym]
        outside: list[str] = []
        self._climbing[sym.path, sym.index] = self.table.depth
        try:
            self._climb(sym, types, outside)
        finally:
            del self._climbing[sym.path, sym.index]
        types += dict.fromkeys(s for above in types[1:] for s in self._companions(above) if s not in types)
        return Ancestry(tuple(types), tuple(outside))

    def _climb(self, sym: Sym, types: list[Sym], outside: list[str]) -> None:
        """Depth first, without recursion: hierarchies may be deep."""
        path, met = [iter(self.direct_bases(sym))], set(types)
        while path:
            base = next(path[-1], None)
            if base is None:
                path.pop()
            elif base.kind == "item" and base.sym:
                above = self.primary(base.sym)
                if above not in met and len(types) < MAX_ANCESTORS:
                    met.add(above)
                    types.append(above)
                    path.append(iter(self.direct_bases(above)))
            elif base.kind == "outside":
                outside.append(base.name)

    def satisfied(self, sym: Sym) -> tuple[Sym, ...]:
        """The interfaces of the repository all of whose methods a type has, in languages where that is enough."""
        file = self.table.file(sym.path)
        if file is None or not file.language.structural or sym.kind == "interface":
            return ()
        return self._remember(f"satisfied:{sym.id}", lambda: self._satisfies(sym, self._method_names(sym)))

    def _satisfies(self, sym: Sym, mine: frozenset[str]) -> tuple[Sym, ...]:
        if not mine:
            return ()
        demands = self._remember(f"demands:{sym.kin}", lambda: self._demands(sym.kin))
        found = [
            interface
            for name in mine
            for wanted, interface in demands.get(name, ())
            if wanted <= mine and (sym.test or not interface.test)
        ]
        return tuple(sorted(found, key=lambda interface: (interface.path, interface.index)))

    def _demands(self, kin: str) -> dict[str, list[tuple[frozenset[str], Sym]]]:
        """Every interface and the methods it wants, under the rarest of them: a type need not look at all interfaces."""
        demands = [(wanted, one) for one in self.table.interfaces(kin) if (wanted := self._wanted(one))]
        times = Counter(name for wanted, _ in demands for name in wanted)
        out: dict[str, list[tuple[frozenset[str], Sym]]] = defaultdict(list)
        for wanted, interface in demands:
            out[min(wanted, key=lambda name: (times[name], name))].append((wanted, interface))
        return out

    def _wanted(self, interface: Sym) -> frozenset[str]:
        """The methods a type needs to satisfy an interface; none that could when part of it lies outside."""
        return self._remember(
            f"wanted:{interface.id}",
            lambda: frozenset() if self.ancestry(interface).outside else self._method_names(interface),
        )

    def _method_names(self, sym: Sym) -> frozenset[str]:
        names = set()
        for ancestor in self.ancestry(sym).types:
            file = self.table.file(ancestor.path)
            for key in dict.fromkeys(file.type_keys(ancestor.index)) if file else ():
                names |= {m.name for m in self.table.members(key) if m.kind == "method"}
        return frozenset(names)

    def _companions(self, sym: Sym) -> list[Sym]:
        """What a mixin brings along for the class itself."""
        file = self.table.file(sym.path)
        name = file.language.companion if file else ""
        return (
            [self.primary(s) for s in self.own_member(sym, name)[:1] if s.kind == "module"]
            if name and sym.kind == "module"
            else []
        )

    def direct_bases(self, sym: Sym) -> list[Value]:
        """Base types as written on any part of a type, resolved; names that lead nowhere are outside."""
        file = self.table.file(sym.path)
        if file is None or not file.language.uniform_access:
            return self.table.remembered(f"bases:{sym.id}", lambda: self._written_bases(sym))
        sym = self.primary(sym)
        return self.table.remembered(f"bases:{sym.id}", lambda: self._mixed_bases(sym))

    def _mixed_bases(self, sym: Sym) -> list[Value]:
        """Bases in a language with mixins: these come before the base class, the last one first, those that tests add after the others."""
        rows: list[tuple[tuple[bool, bool], int, Reference, File]] = []
        for part in self._parts(sym):
            file = self.table.scope(part.path)
            if file is not None:
                rows += [
                    ((r.role == BASE, part.test), part.index, r, file) for r in reversed(file.bases.get(part.index, ()))
                ]
        rows.sort(key=lambda row: row[0])
        out = [self.base(row.chain, file, self.base_scope(row, file, index)) for _, index, row, file in rows]
        return [value for value in dict.fromkeys(out) if value.sym != sym]

    @staticmethod
    def base_scope(row: Reference, file: File, index: int) -> int:
        """Where the name of a base is looked for: around the type, but inside it for a mixin that is named in its body."""
        return index if row.role == IMPLEMENTS and file.language.uniform_access else file.facts.symbols[index].parent

    def _written_bases(self, sym: Sym) -> list[Value]:
        parts = self._parts(sym)
        if len(parts) == 1:
            bases = self._bases_of_parts(parts)
        else:  # those of all parts, looked for once
            bases = self.table.remembered(f"bases of all:{parts[0].id}", lambda: self._bases_of_parts(parts))
        return [value for value in bases if value.sym != sym]

    def _bases_of_parts(self, parts: list[Sym]) -> list[Value]:
        out: list[Value] = []
        for part in parts:
            self.table.reads.add(part.name)
            file = self.table.scope(part.path)
            if file is None:
                continue
            around = file.facts.symbols[part.index].parent if part.index != FILE else part.index
            out += [self.base(row.chain, file, around) for row in file.bases.get(part.index, ())]
            out += [self.base(row.chain, file, row.source) for row in file.impls if row.literal == part.name]
            out += self._bases_elsewhere(part, file)
        return list(dict.fromkeys(out))

    def _bases_elsewhere(self, part: Sym, file: File) -> list[Value]:
        """What a type implements in files that define other members of it."""
        out = []
        keys = file.type_keys(part.index)[1:] if file.language.imports == "rust" else ()
        for path in sorted({m.path for key in keys for m in self.table.members(key)} - {part.path}):
            other = self.table.scope(path)
            for row in other.impls if other else ():
                if other and row.literal == part.name:
                    value = self.evaluate(row.literal, other, row.source)
                    if value and value.sym == part:
                        out.append(self.base(row.chain, other, row.source))
        return out

    def base(self, expression: str, file: File, at: int) -> Value:
        """Where types are opened anywhere, their bases often name each other: there a base is looked for around, not among the inherited."""
        if not file.language.uniform_access:
            return self._named_base(expression, file, at)
        self._shallow += 1
        try:
            return self._named_base(expression, file, at)
        finally:
            self._shallow -= 1

    def _named_base(self, expression: str, file: File, at: int) -> Value:
        expression = re.sub(r"[()\[\]{}]+", "", expression)
        value = self.evaluate(expression, file, at)
        if value and value.kind == "instance" and value.sym:
            value = Value("item", value.sym)
        if value and value.kind == "item" and value.sym and value.sym.kind in TYPE_LIKE:
            return Value("item", value.sym)
        if value and value.kind in ("variable", "item") and value.sym and value.sym.kind in DATA:
            inner = self.type_of(value.sym)
            if inner and inner.kind == "item" and inner.sym and inner.sym.kind in TYPE_LIKE:
                return inner
        return Value("outside", name=value.name if value and value.kind == "outside" else expression)

    def _parts(self, sym: Sym) -> list[Sym]:
        """All parts of a type: one in most languages, every reopening where a full name makes the type."""
        file = self.table.file(sym.path)
        if file is None or file.language.identity != "namespace":
            return [sym]
        key = (sym.kin, file.full(sym.index))
        named = self.table.named(sym.name, sym.kin)
        if key not in self._parts_by_name:  # looked through once: thousands may share a name
            self._parts_by_name[key] = [
                s for s in named if s.kind in TYPE_LIKE and (f := self.table.file(s.path)) and f.full(s.index) == key[1]
            ]
        return self._parts_by_name[key] or [sym]

    def own_member(self, sym: Sym, name: str) -> list[Sym]:
        """Members of that name which the type defines itself, in its body or outside it."""
        if sym.index == FILE:
            return []
        self.table.reads.add(name)
        found = self._owned.get((sym.id, name))
        if found is None:
            found = self._owned[sym.id, name] = self._own_member(sym, name)
        return found

    def _own_member(self, sym: Sym, name: str) -> list[Sym]:
        file = self.table.file(sym.path)
        for key in file.type_keys(sym.index) if file else ():
            found = self.table.member(key, name)
            if found:
                return sorted(found, key=lambda s: (s.test, self.is_stub(s))) if len(found) > 1 else found
        return []

    def member(self, sym: Sym, name: str, above: bool = False) -> list[Sym]:
        """The nearest definition of a member along the ancestry; `above` leaves the type itself out (super)."""
        if self._shallow:
            return [] if above else self.own_member(sym, name)
        answers = self.table.frame.answers
        key = (sym.id, name, above)
        if key not in answers:
            answers[key] = self._member(sym, name, above)
        found: list[Sym] = answers[key]
        return found

    def _member(self, sym: Sym, name: str, above: bool) -> list[Sym]:
        for ancestor in self.ancestry(sym).types[1 if above else 0 :]:
            found = self.own_member(ancestor, name)
            if found:
                return found
        return []

    def delegate(self, sym: Sym) -> Value | None:
        """What a type passes on to when it lacks a member; None for most. A type that is passed on to does so no further."""
        file = self.table.file(sym.path)
        name = file.language.delegate if file else ""
        found = [s for s in self.own_member(sym, name) if s.kind == "type"] if name else []
        value = self.type_of(found[0]) if found else None
        if value is None or value.kind != "instance" or value.sym is None or self.own_member(value.sym, name):
            return None
        return value

    def enclosing_type(self, file: File, at: int) -> Sym | None:
        """The type whose member symbol `at` is, or which it is."""
        while at != FILE:
            fact = file.facts.symbols[at]
            if fact.kind in TYPE_LIKE:
                return file.sym(at)
            if fact.scope:
                return self.scope_type(file, at)
            if fact.kind == "function" and self._members_of(file.sym(at)):
                return file.sym(at)  # a constructor function
            if (
                fact.kind in ("method", "function")
                and fact.parent != FILE
                and file.facts.symbols[fact.parent].kind in ("variable", "constant")
            ):
                return file.sym(fact.parent)  # `this` in an object's functions
            at = fact.parent
        return None

    def scope_type(self, file: File, at: int) -> Sym | None:
        """The type a member written outside its body belongs to."""
        own = file.types_here.get(file.facts.symbols[at].scope)
        if own is not None:
            return file.sym(own)
        self.table.enter()
        sym = self._scope_elsewhere(file, at)
        self.table.leave()
        return sym

    def _scope_elsewhere(self, file: File, at: int) -> Sym | None:
        fact = file.facts.symbols[at]
        head, _, name = fact.scope.replace("::", ".").rpartition(".")
        dotted = head and file.language.separator != "."
        value = (
            self.evaluate(f"{head}.{name}", file, fact.parent)
            if dotted
            else self._from_outside(name, file, fact.parent)
        )
        if value and value.kind == "item":
            return value.sym
        key = file.owner_key(at)
        for sym in self.table.named(name, file.language.kin):
            other = self.table.file(sym.path)
            if sym.kind in TYPE_LIKE and other and key in other.type_keys(sym.index):
                return sym
        bound = self._type_parameter(fact.scope, file, at)  # `impl<T: Priced> Priced for &T`
        value = self.type_value(bound, file, fact.parent) if bound else None
        return value.sym if value and value.kind == "instance" else None

    def primary(self, sym: Sym, near: File | None = None) -> Sym:
        """Of a type that is opened in several places, the one that stands for it: it names a base, or lies in a file of its name.
        Of several such, the one in the same source tree as the file `near` which it is named."""
        file = self.table.file(sym.path)
        if file is None or not file.language.uniform_access or sym.kind not in TYPE_LIKE:
            return sym
        self.table.reads.add(sym.name)
        key = (file.full(sym.index), near.project if near else None, near is not None and near.test)
        if key not in self._primaries:
            self._primaries[key] = min(self._parts(sym), key=lambda part: self._secondary(part, near))
        return self._primaries[key]

    def _secondary(self, sym: Sym, near: File | None) -> tuple[bool, bool, bool, bool, bool, str, int]:
        file = self.table.file(sym.path)
        based = bool(file and any(row.role == BASE for row in file.bases.get(sym.index, ())))
        named = stem(sym.path).replace("_", "") == sym.name.lower()
        far = bool(file and near and file.project != near.project)
        return (
            sym.test and not (near and near.test),
            not based and not named,
            far,
            sym.test,
            not based,
            sym.path,
            sym.index,
        )
