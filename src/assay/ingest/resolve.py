"""One file's references → edges. Everything asked about other files goes through the table, so every answer's origin is on record.

A call ends in one of four ways (docs/graph.md): one item, a few candidates, outside the repository, or unresolved. The first two give
edges to items, the third one to an external name, the last is counted.
"""

from __future__ import annotations

import re
from collections import defaultdict
from os.path import commonprefix
from typing import NamedTuple

import msgspec

from assay.core.edges import EXTERNAL
from assay.core.items import CALLABLE_KINDS, TYPE_KINDS
from assay.ingest import facts as F
from assay.ingest import modules
from assay.ingest.chains import bare
from assay.ingest.conventions import ENVIRONMENT_CHAINS, PROCESS_CHAINS, ROUTES, ends_like
from assay.ingest.table import File, Frame, Sym, Table
from assay.ingest.evaluate import Evaluator, Value, type_names
from assay.text.identifiers import words

MAX_CANDIDATES = 5  # that a call may be shared by
MAX_NAMESAKES = 40  # considered before a name is given up as too common
CO_TESTED = 8  # items of one test that are paired with each other

# how sure each way of resolving is; checked by the spot check in docs/resolution.md
CERTAIN, RESOLVED, BY_NAME_AND_HINT, BY_NAME = 1.0, 0.9, 0.7, 0.6
BY_NAME_OF_FIELD = 0.5  # a field that holds a function: its name is shared with untyped objects more often than a method's

_TYPE_LIKE = TYPE_KINDS | {"module"}
_FIELD_LIKE = frozenset({"field", "property"})
_MEMBERS = frozenset({"method", "property"})
_PLAIN_DATA = re.compile(
    r"(?:string|number|boolean|bigint|symbol|null|undefined|true|false|any|unknown|Record|Array|Map|Set|Promise|Date)\b|[\"'`\d\[{]|.*\]$", re.S
)
_PATH = re.compile(r"\b([A-Z]\w*)\.(?=[A-Z])")  # between types, where a language joins them otherwise


class FoundEdge(NamedTuple):
    """An edge between ids; `target` may be external."""

    source: str
    target: str
    type: str
    provenance: str
    confidence: float
    line: int


class CallCounts(NamedTuple):
    """How the call sites of a file ended."""

    resolved: int
    candidates: int
    external: int
    unresolved: int
    everyday: int  # of the external: methods of unknown objects with everyday names that the repository happens to define as well


class Resolved(NamedTuple):
    """A file's edges, the keys of everything that was asked to find them, and its call counts."""

    edges: list[FoundEdge]
    reads: set[str]
    calls: CallCounts


class _Outcome(NamedTuple):
    """How a call or name ended: items with their confidence, or an external name, or neither."""

    items: tuple[tuple[Sym, float, str], ...] = ()
    external: str = ""
    unresolved: bool = False
    everyday: bool = False


_NOTHING = _Outcome()


class Resolver:
    """Resolves files one at a time against a table of names."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.values = Evaluator(table)

    def resolve(self, path: str) -> Resolved:
        file = self.table.file(path)
        assert file is not None
        self.table.reads, self.table.frame = set(), Frame()
        self.file = file
        self.edges: dict[tuple[str, str, str], FoundEdge] = {}
        self.counts = [0, 0, 0, 0, 0]
        self.called: dict[int, dict[Sym, int]] = defaultdict(dict)
        self._outcomes: dict[tuple[object, ...], _Outcome] = {}
        self._imports()
        for row in file.facts.references:
            self._reference(row)
        self._types()
        self._tests()
        self._similar()
        return Resolved(list(self.edges.values()), self.table.reads, CallCounts(*self.counts))

    def _add(self, source: Sym, target: Sym | str, kind: str, confidence: float, provenance: str, line: int) -> None:
        """Adds an edge, or strengthens the same one found before."""
        if isinstance(target, str) and self.file.language.separator != "." and ":" not in target:
            target = _PATH.sub(r"\1" + self.file.language.separator, target)
        target_id = EXTERNAL + target if isinstance(target, str) else target.id
        source_id = source.id
        if source_id == target_id and kind != "calls":
            return
        key = (kind, source_id, target_id)
        known = self.edges.get(key)
        if known is None or known.confidence < confidence:
            at = known.line if known else line
            self.edges[key] = FoundEdge(source_id, target_id, kind, provenance, confidence, at)

    # -- imports -------------------------------------------------------------------------------------------------

    def _imports(self) -> None:
        here = self.file.sym(F.FILE)
        for row in self.file.facts.imports:
            if not row.module:
                continue
            for target, confidence in self._import_targets(row):
                provenance = "resolved" if confidence == CERTAIN else "inferred"
                if target != here:
                    self._add(here, target, "imports", confidence, provenance, row.line)

    def _import_targets(self, row: F.Import) -> list[tuple[Sym | str, float]]:
        file, style = self.file, self.file.language.imports
        dotted = f"{row.module}.{row.name}" if row.name and row.name not in ("*", "default") else row.module
        if style == "namespace" or (style == "include" and row.name):
            return self._namespace_targets(row, dotted)
        if style == "rust" and row.name == "*":
            value = self.values._rust_path(row.module.split("::"), file, frozenset(), row.source)
        elif row.name == "*" or (style == "python" and not row.name):
            place = modules.locate(row.module, file, self.table)
            value = Value(place.kind, name=place.name if place.kind != "outside" else row.module)
        else:
            value = self.values.imported(row, file)
        if value is None or value.kind in ("outside", "local", "cycle"):
            return [((value.name if value else "") or dotted.lstrip(".").replace("::", "."), CERTAIN)]
        if value.kind == "file":
            found = self.table.file(value.name)
            return [(found.sym(F.FILE), CERTAIN)] if found else []
        if value.kind == "folder":
            return self._folder_targets(value.name, dotted)
        return [(value.sym, CERTAIN)] if value.sym else []

    def _folder_targets(self, folder: str, dotted: str) -> list[tuple[Sym | str, float]]:
        """A whole package: every file of it that is not a test."""
        self.table.located(folder.rpartition("/")[2])
        files = [f for p in self.table.folders.get(folder, ()) if (f := self.table.file(p)) and not f.test]
        files = [f for f in files if f.language.kin == self.file.language.kin]
        if not files:
            return [(dotted.lstrip("."), CERTAIN)]
        return [(f.sym(F.FILE), CERTAIN) for f in files]

    def _namespace_targets(self, row: F.Import, dotted: str) -> list[tuple[Sym | str, float]]:
        dotted = dotted.replace("\\", ".").replace("::", ".").strip(".")
        kin = self.file.language.kin
        if row.name == "*" or (self.file.language.visible == "namespace" and not row.alias):
            self.table.reads.add(f"imports:{dotted}")
            namespaces = [s for s in self.table.named(dotted.rpartition(".")[2], kin) if s.kind == "namespace"]
            for name in self.values.space_names(row, self.file) if row.name != "*" else [dotted]:
                spaces = [s for s in namespaces if s.symbol.replace("::", ".") == name]
                if spaces:
                    return [(s, CERTAIN) for s in spaces]
        value = self.values._full_name(row, self.file)
        if value and value.kind == "item" and value.sym:
            return [(value.sym, CERTAIN)]
        package = self._package_types(dotted) if row.name == "*" else []
        return [(sym, CERTAIN) for sym in package] or [(dotted, CERTAIN)]

    def _package_types(self, package: str) -> list[Sym]:
        """The top-level types of a package: those in files that declare it, which lie in folders called like it."""
        if self.file.language.visible != "package":
            return []
        tail = package.replace(".", "/")
        self.table.located(tail.rpartition("/")[2])
        out: list[Sym] = []
        for folder in sorted(f for f in self.table.folders if f == tail or f.endswith("/" + tail)):
            for path in self.table.folders[folder]:
                other = self.table.scope(path)
                if other and other.facts.namespace == package and not (other.test and not self.file.test):
                    out += [s for indexes in other.top.values() for i in indexes if (s := other.sym(i)).kind in TYPE_KINDS]
        self.table.reads |= {sym.name for sym in out}
        return out

    # -- references ------------------------------------------------------------------------------------------------

    def _reference(self, row: F.Reference) -> None:
        source = self.file.sym(row.source)
        if row.role in (F.CALL, F.NEW):
            self._call(row, source)
        elif row.role == F.ACCESS:
            self._access(row, source)
        elif row.role == F.MENTION:
            self._mention(row.chain, source, row)
            self._conventions(row, source)
        elif row.role == F.HINT:
            for name in type_names(row.chain):
                value = self.values.type_named(name, self.file, row.source, row.line)
                if value and value.kind == "item" and value.sym and value.sym.kind in _TYPE_LIKE:
                    self._add(source, value.sym, "type_hint_of", RESOLVED, "resolved", row.line)
        elif row.role == F.THROW:
            self._throw(row, source)
        elif row.role == F.DECORATE:
            self._decorate(row, source)

    def _call(self, row: F.Reference, source: Sym) -> None:
        outcome = self._outcome(row, source)
        if outcome.items:
            single = len(outcome.items) == 1
            self.counts[0 if single else 1] += 1
            for sym, confidence, provenance in outcome.items:
                if sym.kind in _FIELD_LIKE and (self.file.language.uniform_access or self.file.language.overloads):
                    self._add(source, sym, "accesses_field", confidence, provenance, row.line)
                    continue
                self._add(source, sym, "calls", confidence, provenance, row.line)
                if single or confidence >= 0.3:
                    self.called[row.source].setdefault(sym, row.line)
        elif outcome.external:
            self.counts[2] += 1
            self.counts[4] += outcome.everyday
            self._add(source, outcome.external, "calls", RESOLVED, "resolved", row.line)
        elif outcome.unresolved:
            self.counts[3] += 1
        self._conventions(row, source)

    def _outcome(self, row: F.Reference, source: Sym) -> _Outcome:
        """The target of a call, remembered for the same words in the same place unless a local is involved."""
        first = bare(row.chain.partition(".")[0])
        place = row.source
        if first in self.file.language.self_names and place != F.FILE and self.file.facts.symbols[place].kind in _MEMBERS:
            place = -2 - self.file.facts.symbols[place].parent  # `self` is the same in all methods of a type
        elif first in self.file.local_names:
            return self._call_target(row, source)
        key = (place, row.chain, row.role, row.arity, row.generics)
        known = self._outcomes.get(key)
        if known is None:
            known = self._call_target(row, source)
            if place == row.source or not known.items or known.items[0][2] != "inferred":  # a guess depends on who makes it
                self._outcomes[key] = known
        return known

    def _call_target(self, row: F.Reference, source: Sym) -> _Outcome:
        receiver, _, last = row.chain.rpartition(".")
        name = bare(last)
        if name != last:
            return _NOTHING  # the element of a collection, or the result of a call, is called: nothing is named
        if not receiver:
            return self._plain_call(name, row)
        value = self.values.evaluate(receiver, self.file, row.source, row.line)
        if value is None or value.kind in ("local", "cycle"):
            return self._by_name(name, receiver, source)
        if value.kind == "item" and value.sym and value.sym.kind in ("variable", "constant", "field", "property"):
            own = self.values.own_member(value.sym, name)
            if own:
                return self._among(own, row)
            value = self.values.type_of(value.sym)
            if value is None or value.kind in ("local", "cycle"):
                return self._by_name(name, receiver, source)
        return self._member_call(value, name, receiver, row, source)

    def _member_call(self, value: Value, name: str, receiver: str, row: F.Reference, source: Sym) -> _Outcome:
        sym = value.sym
        if value.kind in ("instance", "super", "item") and sym is not None and sym.kind in _TYPE_LIKE:
            found = self.values.member(sym, name, above=value.kind == "super")
            if found and self.file.language.twin_names and (meant := self.values.meant(Value("item", found[0]), True).sym):
                found = [meant] if meant != found[0] else found
            if found:
                return self._among(self._further_up(found, sym, row), row)
            if value.kind == "item":
                inner = self.values.attribute(value, name, self.file)
                if inner and inner.kind == "item" and inner.sym:
                    return self._definitions(inner.sym, row)
                if name in ("new", "New") or name in self.file.language.constructors:
                    return _one(sym, RESOLVED)
            if value.kind == "instance" and (delegate := self.values.delegate(sym)):
                return self._member_call(delegate, name, receiver, row, source)
            ancestry = self.values.ancestry(sym)
            if added := self.values.extensions(value, name, self.file):
                return self._among(added, _with_receiver(row))
            if value.kind == "super" or ancestry.outside or value.kind == "item":
                return _Outcome(external="." + name)
            return self._by_name(name, receiver, source, strict=True)
        if value.kind in ("instance", "item") and sym is not None and sym.kind in CALLABLE_KINDS:
            own = self.values.own_member(sym, name)
            if own:
                return self._among(own, row)
            if value.kind == "item" and name in self.file.language.invokers:
                return self._definitions(sym, row)
            return self._by_name(name, receiver, source)
        if added := self.values.extensions(value, name, self.file):
            return self._among(added, _with_receiver(row))
        if value.kind == "outside" and self.file.language.imports == "namespace":
            full = self.values.attribute(value, name, self.file)
            if full and full.kind == "item" and full.sym:
                return self._definitions(full.sym, row)
        if value.kind in ("outside", "object"):
            return _Outcome(external=_outside_name(value, name))
        found_value = self.values.attribute(value, name, self.file)
        if found_value and found_value.kind == "item" and found_value.sym:
            return self._definitions(found_value.sym, row)
        if found_value and found_value.kind == "file":
            default = self.values.export(found_value.name, "default")
            if default and default.sym:
                return _one(default.sym, RESOLVED)
        if found_value and found_value.kind == "outside":
            return _Outcome(external=found_value.name)
        return self._unknown(name)

    def _plain_call(self, name: str, row: F.Reference) -> _Outcome:
        language = self.file.language
        if name in language.super_names:
            owner = self.values.enclosing_type(self.file, row.source)
            return self._super_call(owner, row) if owner else _NOTHING
        if name in language.self_names:
            owner = self.values.enclosing_type(self.file, row.source)
            constructors = self.values.own_member(owner, owner.name) if owner else []
            if constructors:
                return self._among(constructors, row)
            return _one(owner, RESOLVED) if owner and (name == "cls" or row.role == F.NEW) else _NOTHING
        if name == language.construct:
            owner = self.values.enclosing_type(self.file, row.source)
            return _one(self.values.primary(owner), RESOLVED) if owner else _Outcome(external=name)
        value = self.values.lookup(name, self.file, row.source, row.line, local=not language.uniform_access)
        value = self.values.meant(value, True) if value else value
        if value is None and language.uniform_access and row.role == F.CALL:
            outcome = self._by_name(name, "", self.file.sym(row.source))
            return _Outcome(external=name) if outcome.external else outcome
        if value is None and row.role == F.CALL and language.implicit_self:
            owner = self.values.enclosing_type(self.file, row.source)
            members = self.values.member(owner, name) if owner else []
            if members:
                return self._among(members, row)
        if value is None:
            started = self.values._start(name, self.file, row.source, row.line)
            value = started if started and started.kind != "outside" else None
        if value is None and name not in language.common:
            macros = [s for s in self.table.named(name, language.kin) if s.kind == "macro"]
            if macros:  # seen without an import; of several, the one defined nearest
                return _one(min(macros, key=lambda s: (-len(commonprefix([s.path, self.file.path])), s.id)), RESOLVED)
        if value is None:
            if language.visible == "global":
                return self._global(name)
            return _Outcome(external=name)
        if value.kind == "outside":
            return _Outcome(external=value.name)
        if value.kind == "file":
            value = self.values.export(value.name, "default") or value
        if value.kind == "instance" or value.kind == "object":
            return _NOTHING  # a call of an object: nothing is named
        if value.kind != "item" or value.sym is None:
            return _NOTHING
        sym = value.sym
        if sym.kind in ("variable", "constant", "field", "property"):
            held = self.values.type_of(sym)
            if held and held.kind == "item" and held.sym and held.sym.kind in CALLABLE_KINDS | TYPE_KINDS:
                sym = held.sym
            elif held and (held.sym == sym or held.kind == "outside"):
                return _Outcome(external=held.name or sym.name)  # `local insert = table.insert`: another name for it
        return self._definitions(sym, row)

    def _super_call(self, owner: Sym, row: F.Reference) -> _Outcome:
        """`super(…)`: the nearest constructor above; in Ruby, the method of the same name."""
        at = row.source
        name = self.file.facts.symbols[at].name if at != F.FILE else ""
        ancestry = self.values.ancestry(owner)
        if self.file.language.uniform_access:
            above = self.values.member(owner, name, above=True) if name else []
            return self._among(above, row) if above else _Outcome(external="." + name) if name else _NOTHING
        for ancestor in ancestry.types[1:]:
            for wanted in (name, ancestor.name, *self.file.language.constructors):
                found = self.values.own_member(ancestor, wanted)
                if found:
                    return self._among(found, row)
        if self.file.language.name == "python":
            return _NOTHING
        return _Outcome(external=ancestry.outside[0]) if ancestry.outside else _NOTHING

    def _further_up(self, found: list[Sym], owner: Sym, row: F.Reference) -> list[Sym]:
        """Overloads are inherited one by one: when the nearest do not take that many arguments, those of an ancestor may."""
        if not self.file.language.overloads or row.arity < 0 or any(self._accepts(s, row.arity) for s in found):
            return found
        for ancestor in self.values.ancestry(owner).types[1:]:
            fitting = [s for s in self.values.own_member(ancestor, found[0].name) if self._accepts(s, row.arity)]
            if fitting:
                return fitting
        return found

    def _accepts(self, sym: Sym, count: int) -> bool:
        file = self.table.file(sym.path)
        return file is not None and sym.kind in CALLABLE_KINDS and _takes(file.facts.symbols[sym.index], count)

    def _definitions(self, sym: Sym, row: F.Reference) -> _Outcome:
        """A named item, or whichever of its namesakes in the same place is meant."""
        other = self.table.file(sym.path)
        if row.role == F.NEW and sym.kind in TYPE_KINDS and self.file.language.overloads:
            namesakes = [s for s in self.table.named(sym.name, sym.kin) if s.symbol == sym.symbol and s.path == sym.path]
            sym = next((s for s in namesakes if self._type_parameter_count(s) == row.generics), sym)
        if sym.kind not in CALLABLE_KINDS or other is None or sym.index == F.FILE:
            return _one(sym, RESOLVED)
        parent = other.facts.symbols[sym.index].parent
        same = [other.sym(i) for i in other.children[parent].get(sym.name, ())]
        same = [s for s in same if s.symbol == sym.symbol] or [sym]
        if self.file.language.prototypes and sym.path != self.file.path:
            return self._linked(sym, same, row)
        return self._among(same, row)

    def _linked(self, sym: Sym, same: list[Sym], row: F.Reference) -> _Outcome:
        """A function that several files define (one per platform, say): those nearest to the caller share the call."""
        rivals = [s for s in self.table.named(sym.name, sym.kin) if (s.symbol, s.kind) == (sym.symbol, sym.kind) and not self.values.is_stub(s)]
        rivals = [s for s in rivals if s.path.rpartition("/")[0] == self.file.folder] or rivals
        rivals = [s for s in rivals if not s.test] or rivals
        first = {path: s for s in reversed(rivals) for path in (s.path,)}
        if len(first) < 2 or self.values.is_stub(sym):
            return self._among(same if not rivals or sym in rivals else [s for s in rivals if s.path == rivals[0].path], row)
        if len(first) > MAX_CANDIDATES:
            return _Outcome(unresolved=True)
        share = BY_NAME / len(first)
        return _Outcome(items=tuple((first[path], share, "inferred") for path in sorted(first)))

    def _among(self, syms: list[Sym], row: F.Reference) -> _Outcome:
        """Of several definitions of one name in one place: implementations before overload stubs, then the number of parameters;
        what is still undecided (a function defined in both branches of an if) shares the call."""
        if self.file.language.overloads:
            syms = [s for s in syms if s.kind in CALLABLE_KINDS] or syms
        if len(syms) == 1 or syms[0].kind in _FIELD_LIKE:
            return _one(syms[0], RESOLVED)
        facts = {s: f.facts.symbols[s.index] for s in syms if (f := self.table.file(s.path)) is not None}
        fits = syms if self.file.language.overloads else [s for s in syms if not facts[s].stub] or syms
        if row.generics:
            fits = [s for s in fits if self._type_parameter_count(s) == row.generics] or fits
        if row.arity >= 0:
            exact = [s for s in fits if max(facts[s].arity, 0) == row.arity and not facts[s].variadic]
            loose = [s for s in fits if _takes(facts[s], row.arity)]
            fits = (loose if any(facts[s].optional for s in loose) else exact or loose) or fits
        if self.file.language.prototypes:
            fits = [s for s in fits if not facts[s].stub] or fits
        if len(fits) == 1 or (len({s.path for s in fits}) > 1 and not self.file.language.overloads):
            return _one(fits[0], RESOLVED)
        share = RESOLVED / len(fits[:MAX_CANDIDATES])
        return _Outcome(items=tuple((s, share, "inferred") for s in fits[:MAX_CANDIDATES]))

    def _type_parameter_count(self, sym: Sym) -> int:
        file = self.table.file(sym.path)
        return sum(name[0] == "<" and name != "<this>" for name in file.bindings.get(sym.index, ())) if file else 0

    # -- by name -------------------------------------------------------------------------------------------------

    def _by_name(self, name: str, receiver: str, source: Sym, strict: bool = False) -> _Outcome:
        """A method of an object of unknown type: by its name alone, when the name says enough."""
        file = self.file
        if name in file.language.common:
            return _Outcome(external="." + name, everyday=self._defines(name))
        all_named = self.table.named(name, file.language.kin)
        namesakes = [
            s for s in all_named
            if s.kind in _MEMBERS or (s.kind == "function" and s.owner) or (s.kind == "field" and self._holds_function(s))
        ]
        if not source.test:
            namesakes = [s for s in namesakes if not s.test]
        if receiver:  # a method that calls its own name on something else passes the call on
            namesakes = [s for s in namesakes if s != source]
        namesakes = [s for s in namesakes if self._through_object(s)]
        if not namesakes:
            return _Outcome(external="." + name)
        if len(namesakes) > MAX_NAMESAKES:
            return _Outcome(unresolved=True)
        roots = self.table.remembered(
            f"roots:{file.language.kin}:{name}:{source.test}:{source.id if source in all_named else ''}", lambda: self._without_overrides(namesakes)
        )
        hinted = [s for s in roots if _named_like(receiver, s)]
        if len(hinted) == 1:
            return _one(hinted[0], BY_NAME_AND_HINT if hinted[0].kind != "field" else BY_NAME_OF_FIELD, "inferred")
        roots = hinted or roots
        if len(roots) == 1 and roots[0].kind == "field":
            return _one(roots[0], BY_NAME_OF_FIELD, "inferred")
        if len(roots) > MAX_CANDIDATES:
            return _Outcome(unresolved=True)
        share = BY_NAME / len(roots)
        return _Outcome(items=tuple((s, share, "inferred") for s in roots))

    def _defines(self, name: str) -> bool:
        """Whether the repository has a method of this name, outside tests unless a test asks."""
        named = self.table.named(name, self.file.language.kin)
        return any(s.kind in _MEMBERS and (self.file.test or not s.test) for s in named)

    def _holds_function(self, sym: Sym) -> bool:
        """A field that may be called, by its declared type: anything but plain data."""
        file = self.table.file(sym.path)
        if file is None or not file.language.callable_fields:
            return False
        declared = file.facts.symbols[sym.index].type.lstrip(": ")
        return bool(declared) and not _PLAIN_DATA.match(declared)

    def _through_object(self, sym: Sym) -> bool:
        """Static methods are not called through objects, unless they extend a type."""
        file = self.table.file(sym.path)
        return file is None or not file.facts.symbols[sym.index].static or "<this>" in file.bindings.get(sym.index, ())

    def _without_overrides(self, syms: list[Sym]) -> list[Sym]:
        """Leaves out methods that override another of the list: a call through the base reaches them all."""
        owners: dict[str, Sym] = {}
        for sym in syms:
            owner = self._owner(sym)
            if owner:
                owners[sym.id] = owner
        out = []
        for sym in syms:
            owner = owners.get(sym.id)
            above = (*self.values.ancestry(owner).types[1:], *self.values.satisfied(owner)) if owner else ()
            if not any(other in above for key, other in owners.items() if key != sym.id):
                out.append(sym)
        return out or syms

    def _owner(self, sym: Sym) -> Sym | None:
        file = self.table.file(sym.path)
        owner = self.values.enclosing_type(file, sym.index) if file and sym.index != F.FILE else None
        return self.values.primary(owner) if owner else None

    def _global(self, name: str) -> _Outcome:
        """A bare call in a language where every function is visible everywhere."""
        found = [s for s in self.table.named(name, self.file.language.kin) if s.kind in CALLABLE_KINDS | TYPE_KINDS]
        if not self.file.test:
            found = [s for s in found if not s.test]
        free = [s for s in found if not s.owner]
        if not free:
            return _Outcome(external=name)
        if len(free) > MAX_CANDIDATES:
            return _Outcome(unresolved=True)
        share = BY_NAME / len(free)
        return _Outcome(items=tuple((s, share, "inferred") for s in free))

    def _unknown(self, name: str) -> _Outcome:
        """A name missing where it was looked for: unresolved if the repository has a callable of that name."""
        callables = [s for s in self.table.named(name, self.file.language.kin) if s.kind in CALLABLE_KINDS]
        if callables and name not in self.file.language.common:
            return _Outcome(unresolved=True)
        return _Outcome(external="." + name)

    # -- other roles ---------------------------------------------------------------------------------------------

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
        if value and value.kind == "item" and value.sym and value.sym.kind in ("variable", "constant", "field", "property"):
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
        if value and value.kind == "item" and value.sym and value.sym.kind not in _TYPE_LIKE:
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
            owner = self.values.enclosing_type(self.file, row.source)
            return self._point(source, owner, row) if owner else None
        value = self.values.lookup(name, self.file, row.source, row.line)
        if value and value.kind == "item" and value.sym and value.sym.kind not in ("namespace", "file"):
            self._point(source, value.sym, row)

    def _point(self, source: Sym, target: Sym, row: F.Reference) -> None:
        """A field is accessed, anything else is referenced."""
        if target.kind in _FIELD_LIKE:
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
        elif name in ROUTES and row.handler == "do" and row.literal.startswith("/"):  # a block, which belongs to the item around it
            self._route(source, name, row)
        elif name in ROUTES and row.handler and row.literal.startswith(("/", "^")) or (name in ("path", "re_path", "HandleFunc", "Handle") and row.handler):
            pairs = re.findall(r"(\w+)\(([\w.:]*)\)", row.handler) or [(name, row.handler)]  # `get(show).post(place)` says the verbs itself
            for verb, text in pairs:
                handler = self.values.evaluate(text.replace("::", "."), self.file, row.source, row.line)
                if handler and handler.kind == "item" and handler.sym and handler.sym.kind in CALLABLE_KINDS | TYPE_KINDS:
                    self._route(handler.sym, verb, row)

    def _route(self, handler: Sym, name: str, row: F.Reference) -> None:
        verb = ROUTES[name]
        target = f"route:{verb} {row.literal}" if verb and " " not in row.literal else f"route:{row.literal}"
        self._add(handler, target, "handles_route", RESOLVED, "parsed", row.line)

    # -- types ---------------------------------------------------------------------------------------------------

    def _types(self) -> None:
        """Containment, bases, overrides and inherited members of everything defined here."""
        file = self.file
        for index, fact in enumerate(file.facts.symbols):
            sym = file.sym(index)
            self._add(self._container(file, index), sym, "contains", CERTAIN, "parsed", fact.start)
            if fact.kind in _TYPE_LIKE:
                self._bases(sym, index)
                self._structural(sym, fact)
                self._inherited(sym)
            elif sym.owner and fact.kind in _MEMBERS:
                self._overrides(sym, index)
        for row in file.impls:
            value = self.values.evaluate(row.literal, file, row.source, row.line)
            if value and value.kind == "item" and value.sym:
                self._base_edge(value.sym, row, row.source)

    def _container(self, file: File, index: int) -> Sym:
        fact = file.facts.symbols[index]
        if fact.scope:
            owner = self.values._scope_type(file, index)
            if owner:
                return owner
        return file.sym(fact.parent)

    def _bases(self, sym: Sym, index: int) -> None:
        for row in self.file.bases.get(index, ()):
            self._base_edge(sym, row, self.values.base_scope(row, self.file, index))

    def _base_edge(self, sym: Sym, row: F.Reference, at: int) -> None:
        value = self.values._base(row.chain, self.file, at)
        kind = "implements" if row.role == F.IMPLEMENTS else "extends"
        if value.sym is not None:
            if kind == "extends" and value.sym.kind in ("interface", "trait") and sym.kind not in ("interface", "trait"):
                kind = "implements"
            self._add(sym, value.sym, kind, RESOLVED, "resolved", row.line)
        elif value.name:
            if self.file.language.name == "csharp" and _looks_like_interface(value.name):
                kind = "implements"
            self._add(sym, value.name, kind, RESOLVED, "resolved", row.line)

    def _overrides(self, sym: Sym, index: int) -> None:
        owner = self.values.enclosing_type(self.file, index)
        if owner is None:
            return
        bases = [base.sym for base in self.values.direct_bases(owner)]
        for base in (*bases, *self.values.satisfied(owner)):
            if base is not None:
                for found in self.values.member(base, sym.name)[:1]:
                    if found.kind in _MEMBERS:
                        self._add(sym, found, "overrides", RESOLVED, "resolved", self.file.facts.symbols[index].start)

    def _inherited(self, sym: Sym) -> None:
        if sym.test or self.values.primary(sym) != sym:
            return
        ancestry = self.values.ancestry(sym)
        if len(ancestry.types) == 1:
            return
        seen = {m.name for m in self._all_members(sym)}
        for ancestor in ancestry.types[1:]:
            members = self._all_members(ancestor)
            written = {m.name for m in members if not self.values.is_stub(m)} if self.file.language.prototypes else set()
            for member in members:
                if member.name in written and self.values.is_stub(member):
                    continue
                if member.name not in seen and member.kind in _MEMBERS:
                    self._add(sym, member, "inherits", RESOLVED, "resolved", self.file.facts.symbols[sym.index].start)
            seen |= {m.name for m in self._all_members(ancestor)}

    def _all_members(self, sym: Sym) -> list[Sym]:
        file = self.table.file(sym.path)
        if file is None:
            return []
        return [m for key in dict.fromkeys(file.type_keys(sym.index)) for m in self.table.members(key)]

    def _structural(self, sym: Sym, fact: F.SymbolFact) -> None:
        """Go: a type implements every interface of the repository whose methods it all has."""
        for interface in self.values.satisfied(sym):
            confidence = RESOLVED if len(self._all_members(interface)) > 1 else BY_NAME
            self._add(sym, interface, "implements", confidence, "inferred", fact.start)

    # -- tests -----------------------------------------------------------------------------------------------------

    def _tests(self) -> None:
        """What test items call is tested by them; what one test function calls is tested together."""
        pairs: set[tuple[str, str]] = set()
        for at, targets in self.called.items():
            source = self.file.sym(at)
            if not source.test:
                continue
            tested = [t for t in targets if not t.test]
            for target in tested:
                self._add(source, target, "tests", RESOLVED, "resolved", targets[target])
            if at != F.FILE:
                ids = sorted(tested, key=lambda t: t.id)[:CO_TESTED]
                for first in range(len(ids)):
                    for second in ids[first + 1 :]:
                        if (ids[first].id, second.id) not in pairs:
                            pairs.add((ids[first].id, second.id))
                            self._add(ids[first], second, "co_tested_with", BY_NAME, "inferred", targets[second])

    def _similar(self) -> None:
        """Functions of one file whose names share most of their words."""
        candidates = [
            (set(words(f.name)), i) for i, f in enumerate(self.file.facts.symbols) if f.kind in ("function", "method") and not f.test
        ]
        candidates = [(w, i) for w, i in candidates if len(w) > 1]
        if self.file.test or len(candidates) > 300:
            return
        for at, (mine, first) in enumerate(candidates):
            for theirs, second in candidates[at + 1 :]:
                shared = len(mine & theirs)
                if shared and shared / len(mine | theirs) > 0.5:
                    a, b = sorted((self.file.sym(first), self.file.sym(second)), key=lambda s: s.id)
                    self._add(a, b, "similar_to", shared / len(mine | theirs), "inferred", self.file.facts.symbols[first].start)


def _one(sym: Sym, confidence: float, provenance: str = "resolved") -> _Outcome:
    return _Outcome(items=((sym, confidence, provenance),))


def _with_receiver(row: F.Reference) -> F.Reference:
    """A call of an extension method as that of the function it is: the receiver is its first argument."""
    return msgspec.structs.replace(row, arity=row.arity + 1) if row.arity >= 0 else row


def _takes(fact: F.SymbolFact, count: int) -> bool:
    """Whether a function can be called with that many arguments."""
    most = max(fact.arity, 0)
    return most - fact.optional - fact.variadic <= count and (fact.variadic or count <= most)


def _outside_name(value: Value, name: str) -> str:
    return f"{value.name}.{name}" if value.kind == "outside" or "." in value.name else f".{name}"


def _looks_like_interface(name: str) -> bool:
    last = name.rpartition(".")[2]
    return len(last) > 1 and last[0] == "I" and last[1].isupper()


def _named_like(receiver: str, sym: Sym) -> bool:
    """`request.x()` and class Request: the last words agree."""
    last = bare(receiver.rpartition(".")[2]).lstrip("_")
    owner = sym.symbol.replace("::", ".").split(".")[-2:-1]
    if len(last) < 3 or not owner or last == sym.name:  # `q.filter().filter()` says nothing about a class Filter
        return False
    mine, theirs = words(last), words(owner[0])
    return bool(mine) and mine == theirs[-len(mine) :]
