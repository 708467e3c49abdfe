"""Edges by name: references joined to definitions by name, import and container, without evaluating types.

The edges of the first generation of an index, until `resolve_all` replaces them. References and definitions of a
language family are columns of integers. A rule of visibility is one join of them; a reference keeps the matches of the
first rule that has any. A name with more than MOST matches is skipped, so that time and memory grow with the size of
the repository whatever its names are.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping

import numpy as np

from assay.core.items import EDGE_TYPES, PROVENANCES
from assay.index.chains import last
from assay.index.facts import ACCESS, BASE, CALL, DECORATE, HINT, IMPLEMENTS, MENTION, NEW, THROW
from assay.index.file import File
from assay.index.imports.namespaces import outer_namespaces
from assay.index.resolve.columns import (
    CALLABLE,
    DATA,
    FIELD,
    INTERFACE,
    MODULE,
    OUTSIDE,
    SPACE,
    TYPE,
    Definitions,
    Ids,
    Imports,
    Ints,
    Lookup,
    Mask,
    References,
    Types,
    column,
    key,
    ranges,
)
from assay.index.resolve.edges import BY_NAME, CERTAIN, CO_TESTED, RESOLVED
from assay.index.resolve.guesses import MAX_CANDIDATES, MAX_NAMESAKES
from assay.index.table import Table
from assay.store import edges as edge_store
from assay.store.arrays import Array

MOST = MAX_NAMESAKES  # definitions that a key may have in one join
MOST_ANCESTORS = 12  # of a type
TYPED = 0.8  # confidence of a member of a declared type
_PROVENANCE = {name: code for code, name in enumerate(PROVENANCES)}
_TYPE = {name: row.code for name, row in EDGE_TYPES.items()}

# kinds of definitions that a reference of each role may mean
_MEANT = {
    CALL: TYPE | CALLABLE | FIELD | DATA, NEW: TYPE | CALLABLE, MENTION: TYPE | CALLABLE | FIELD | DATA,
    ACCESS: TYPE | CALLABLE | FIELD | DATA, HINT: TYPE, THROW: TYPE, DECORATE: TYPE | CALLABLE | DATA,
    BASE: TYPE | MODULE, IMPLEMENTS: TYPE | MODULE,
}  # fmt: skip
_NAMES_TYPE = (HINT, THROW, BASE, IMPLEMENTS)


def resolve_by_name(
    table: Table, files: Mapping[str, File], numbers: Mapping[str, int], file_numbers: Mapping[str, int]
) -> Array:
    """Return the edges of all files by name, as `resolve_all` returns those by type.

    `numbers` and `file_numbers` map ids and paths to numbers. The table remembers what was asked: it must not be the one
    of `resolve_all`, which records who depends on an answer.
    """
    families: dict[str, list[File]] = defaultdict(list)
    for path in sorted(files):
        families[files[path].language.kin].append(files[path])
    parts = [edge_store.from_rows([])]
    for members in families.values():
        definitions = Definitions(members, numbers, Ids())
        parts.append(_Joins(definitions, table).edges(column(file_numbers[file.path] for file in members)))
    return np.concatenate(parts)


class _Joins:
    """The edges of one language family."""

    def __init__(self, definitions: Definitions, table: Table) -> None:
        self.definitions = d = definitions
        languages = [file.language for file in d.files]
        self._implicit = any(language.implicit_self or language.uniform_access for language in languages)
        self._everywhere = any(language.visible.everywhere for language in languages)
        self._by_folder = any(language.visible.folder for language in languages)
        self._fields_called = any(language.uniform_access or language.overloads for language in languages)
        self._bare_calls = any(language.bare_calls for language in languages)
        common = {name for language in languages for name in language.common}
        self.references = r = References(d.files, d)
        self.imports = Imports(d, table)
        self.types = Types(d)
        self._common = np.zeros(len(d.names), bool)
        self._common[[number for name, number in d.names.items() if name in common]] = True
        self._is_type_name = np.zeros(len(d.names), bool)
        self._is_type_name[d.name[d.kind & TYPE > 0]] = True
        self._is_container_name = np.zeros(len(d.names), bool)
        self._is_container_name[d.name[d.kind & (TYPE | SPACE) > 0]] = True
        self._sees = Lookup(*_pairs_as_keys(self.imports.sees))
        self._find_namespaces()
        self._meant = np.array([_MEANT[role] for role in range(IMPLEMENTS + 1)], np.int64)
        rows = np.arange(d.size)
        real = (d.kind > 0) & (rows != d.start[d.file])
        self._free = rows[real & ((d.owner == 0) | (d.kind & (TYPE | MODULE) > 0))]
        self._members = rows[real & (d.owner > 0)]
        self._by_owner = Lookup(key(d.owner[self._members], d.name[self._members]), self._members)
        self._open = np.ones(len(r.role), bool)
        self._found: list[tuple[Ints, Ints, Ints]] = []  # reference, row, confidence × 1000
        self._file = d.file[r.source]  # of each reference
        self._owner = d.enclosing[r.source]
        self._interfaces: list[tuple[int, int]] = []  # name of a type, name of an interface whose methods it has
        self._ancestors = self._find_ancestors()
        self._overriding = self._find_overrides()

    # What a file sees

    def _find_namespaces(self) -> None:
        """Number the namespaces of definitions, and list those that each file sees."""
        d, spaces = self.definitions, Ids()
        self._space = np.zeros(d.size, np.int64)
        sees = {(file, spaces[name]) for file, name in self.imports.spaces}
        for number, file in enumerate(d.files):
            if not file.language.visible.namespaces:
                continue
            start = int(d.start[number]) + 1
            for index, fact in enumerate(file.facts.symbols):
                if fact.kind != "namespace" and fact.kind != "module" and not d.owner[start + index]:
                    full = file.full(index).rpartition(".")[0]
                    self._space[start + index] = spaces[full]
                    sees.add((number, spaces[full]))
                    sees |= {(number, spaces[outer]) for outer in outer_namespaces(full)}
        self._sees_space = Lookup(*_pairs_as_keys(sees))

    def _nearness(self, reference: Ints, row: Ints) -> Ints:
        """Return how near each definition is to a reference: the same file, a visible one, the same folder."""
        d, file = self.definitions, self._file[reference]
        seen = self._sees.has(key(file, d.file[row]))
        seen |= (self._space[row] > 0) & self._sees_space.has(key(file, self._space[row]))
        near = np.where(
            d.file[row] == file, 8, np.where(seen, 4, np.where(d.folder[d.file[row]] == d.folder[file], 2, 0))
        )
        return near * 2 + (~d.test[row]).astype(np.int64)

    # Joins

    def _join(
        self,
        which: Mask | Ints,
        lookup: Lookup,
        keys: Ints,
        confidence: float,
        least: int = 0,
        most: int = MAX_CANDIDATES,
    ) -> None:
        """Match the open ones of some references with the rows that have their keys; `least` is a nearness."""
        references: Ints = np.flatnonzero(which & self._open) if which.dtype == bool else which.astype(np.int64)
        if not len(references):
            return
        places, rows = lookup.pairs(keys[references] if len(keys) == len(self._open) else keys, MOST)
        self._keep(references[places], rows, confidence, least, most)

    def _keep(
        self,
        reference: Ints,
        row: Ints,
        confidence: float,
        least: int = 0,
        most: int = MAX_CANDIDATES,
        alike: Mask | None = None,
    ) -> None:
        """Keep the nearest allowed matches of each reference, unless they are too many; those that are `alike` first."""
        d, r = self.definitions, self.references
        allowed = (self._meant[r.role[reference]] & d.kind[row]) > 0
        allowed &= d.test[r.source[reference]] | ~d.test[row]
        reference, row = reference[allowed], row[allowed]
        near = self._nearness(reference, row) * 2
        if alike is not None:
            near += 64 * alike[allowed]
        near += (r.arity[reference] < 0) | (d.arity[row] < 0) | (r.arity[reference] == d.arity[row])
        best = np.zeros(len(self._open), np.int64)
        np.maximum.at(best, reference, near)
        chosen = (near == best[reference]) & (near >= 4 * least)
        reference, row = reference[chosen], row[chosen]
        counts = np.bincount(reference, minlength=len(self._open))
        chosen = counts[reference] <= most
        reference, row = reference[chosen], row[chosen]
        self._open[reference] = False
        self._found.append((reference, row, np.int64(1000 * confidence) // counts[reference]))

    def _join_members(self, which: Mask, owners: Ints, confidence: float) -> None:
        """Match references with the members of a type, else with those of its nearest ancestor that has any."""
        which = which & (owners > 0)
        self._join(which, self._by_owner, key(owners, self.references.name), confidence)
        self._join_inherited(which, owners, confidence)

    def _join_inherited(self, which: Mask, owners: Ints, confidence: float) -> None:
        """Match references with the members of the nearest ancestor of a type that has any."""
        first, counts, ancestors = self._ancestors
        open_ = np.flatnonzero(which & self._open)
        for level in range(MOST_ANCESTORS):
            open_ = open_[self._open[open_] & (counts[owners[open_]] > level)]
            above = ancestors[first[owners[open_]] + level]
            self._join(open_, self._by_owner, key(above, self.references.name[open_]), confidence)

    def _find_ancestors(self) -> tuple[Ints, Ints, Ints]:
        """Return the ancestors of types by name, nearest first: where they begin and how many there are, by name."""
        d, names = self.definitions, self.definitions.names
        bases: dict[int, dict[int, None]] = defaultdict(dict)
        for number, file in enumerate(d.files):
            start = int(d.start[number]) + 1
            for row in file.facts.supertypes:
                base = names.get(last(row.chain), 0)
                sub = names.get(last(row.literal), 0) if row.literal else int(d.name[start + row.source])
                if base and sub and base != sub:
                    bases[sub].setdefault(base)
        if any(file.language.structural for file in d.files):
            for sub, interface in self._satisfied():
                bases[sub].setdefault(interface)
        first, counts = np.zeros(len(names), np.int64), np.zeros(len(names), np.int64)
        flat: list[int] = []
        for sub in bases:
            above = dict.fromkeys([*bases[sub]][:MOST_ANCESTORS])
            for base in (queue := [*above]):
                if len(above) < MOST_ANCESTORS:
                    fresh = [other for other in bases.get(base, ()) if other not in above and other != sub]
                    fresh = fresh[: MOST_ANCESTORS - len(above)]
                    above |= dict.fromkeys(fresh)
                    queue += fresh
            first[sub], counts[sub] = len(flat), len(above)
            flat += above
        return first, counts, np.array(flat, np.int64)

    def _satisfied(self) -> list[tuple[int, int]]:
        """Return the names of types with those of the interfaces whose methods they have."""
        d = self.definitions
        methods: dict[int, set[int]] = defaultdict(set)
        owners: dict[int, set[int]] = defaultdict(set)
        rows = self._members[d.kind[self._members] & CALLABLE > 0]
        for owner, name in zip(d.owner[rows].tolist(), d.name[rows].tolist(), strict=True):
            methods[owner].add(name)
            owners[name].add(owner)
        interfaces = set(d.name[d.kind & INTERFACE > 0].tolist()) & methods.keys()
        for interface in sorted(interfaces):
            rarest = min((owners[name] for name in methods[interface]), key=len)
            if len(rarest) <= MOST:
                fits = (sub for sub in sorted(rarest - interfaces) if methods[interface] <= methods[sub])
                self._interfaces += [(sub, interface) for sub in fits]
        return self._interfaces

    # Rules

    def _resolve(self) -> None:
        d, r = self.definitions, self.references
        self._open &= r.name > 0
        bare = r.receiver == 0
        by_file = Lookup(key(d.file[self._free], d.name[self._free]), self._free)
        by_name = Lookup(d.name[self._free], self._free)
        names_type = np.isin(r.role, _NAMES_TYPE)

        for suffix in sorted({file.language.decorator_suffix for file in d.files} - {""}):
            longer = {number: d.names[name + suffix] for name, number in [*d.names.items()] if name + suffix in d.names}
            aliases = np.arange(len(d.names))
            aliases[list(longer)] = list(longer.values())
            r.name = np.where(r.role == DECORATE, aliases[r.name], r.name)

        # self, super
        self._join_members(r.on_self, self._owner, RESOLVED)
        self._join_inherited(r.on_super, self._owner, RESOLVED)
        self._open[r.on_super] = False

        # bare names
        local_rows, local_names = self.types.all_locals
        is_local = Lookup(key(local_rows, local_names), local_names).has(key(r.source, r.name))
        self._open &= ~(bare & is_local & ~names_type)
        if self._implicit:
            self._join_members(bare & ~names_type, self._owner, RESOLVED)
        self._join(bare, by_file, key(self._file, r.name), RESOLVED)
        self._join(bare, self.imports.items, key(self._file, r.name), RESOLVED)
        self._open &= ~(bare & self.imports.outside.has(key(self._file, r.name)))
        self._join(
            bare, by_name, r.name, TYPED, least=2 if self._by_folder or self._everywhere or self._implicit else 4
        )
        if self._everywhere:
            self._join(bare, by_name, r.name, BY_NAME)

        # members of modules
        dotted = ~bare & ~r.nested & ~r.called
        held = key(self._file, r.receiver)
        module = self.imports.modules.first(held)
        of_module = dotted & self.imports.modules.has(held)
        self._join(of_module, by_file, key(module, r.name), RESOLVED)
        open_ = np.flatnonzero(of_module & self._open)
        exported = self.imports.exports(module[open_], r.name[open_])
        self._keep(open_[exported > 0], exported[exported > 0], RESOLVED)
        self._open &= ~of_module
        folder = self.imports.folders.first(held)
        by_folder = Lookup(key(d.folder[d.file[self._free]], d.name[self._free]), self._free)
        self._join(dotted & self.imports.folders.has(held), by_folder, key(folder, r.name), RESOLVED)
        self._open &= ~(dotted & (self.imports.folders.has(held) | self.imports.outside.has(held)))

        # members of types
        self._join_members(~bare & self._is_type_name[r.receiver], r.receiver, RESOLVED)
        held_type = self._held_types()
        self._join_members(~bare & (held_type > 0), held_type, TYPED)
        self._open &= ~(~bare & (held_type == OUTSIDE))
        named = (bare | self._is_container_name[r.receiver]) & (names_type | (r.role == NEW))
        self._join(named, by_name, r.name, BY_NAME, most=3)

        # members of objects of unknown type
        self._guess(~bare & (r.role == CALL) & ~self._common[r.name])

    def _held_types(self) -> Ints:
        """Return the declared type of each reference's receiver; 0 if it is unknown."""
        d, r, types = self.definitions, self.references, self.types
        plain = ~r.nested & ~r.called & (r.receiver > 0)
        out = np.where(r.called, types.returned.first(r.receiver), 0)
        scope = r.source
        for _ in range(3):  # of the function itself and those around it
            out = np.where((out == 0) & plain, types.locals.first(key(scope, r.receiver)), out)
            scope = d.parent[scope]
        own_field = (r.on_own_field | (plain & self._implicit)) & ~r.called
        out = np.where((out == 0) & own_field, types.fields.first(key(self._owner, r.receiver)), out)
        out = np.where((out == 0) & plain, types.variables.first(key(self._file, r.receiver)), out)
        return np.where((out == 0) & ~r.called, types.anywhere.first(r.receiver), out)

    def _guess(self, which: Mask) -> None:
        """Match calls on objects of unknown type with members of that name; overrides of another match are dropped."""
        d, r = self.definitions, self.references
        is_root = d.kind & CALLABLE > 0
        is_root[self._overriding[0]] = False
        rows = self._members[is_root[self._members]]
        references = np.flatnonzero(which & self._open)
        places, rows = Lookup(d.name[rows], rows).pairs(r.name[references], MOST)
        tails = np.array([tail_word(name) for name in d.names], object)
        alike = (tails[r.receiver[references[places]]] == tails[d.owner[rows]]) & (tails[d.owner[rows]] != "")
        self._keep(references[places], rows, BY_NAME, alike=alike)

    # Edges

    def edges(self, file_numbers: Ints) -> Array:
        self._resolve()
        d, r = self.definitions, self.references
        reference, row, confidence = (np.concatenate(parts) for parts in zip(*self._found, strict=True))
        role, source, line = r.role[reference], r.source[reference], r.line[reference]
        kind = d.kind[row]
        is_call = (role == CALL) | (role == NEW)
        is_use = (role == ACCESS) | (role == MENTION)
        of_field = (kind & FIELD > 0) & (is_use | (is_call & self._fields_called))
        called = is_call & ~of_field
        if self._bare_calls:
            called |= is_use & (kind & CALLABLE > 0) & (d.arity[row] < 1)
        implements = (kind & INTERFACE > 0) & (d.kind[source] & INTERFACE == 0) | (role == IMPLEMENTS)
        type_ = np.select(
            [called, of_field, role == HINT, role == THROW, role == DECORATE, (role == BASE) | (role == IMPLEMENTS)],
            [_TYPE["calls"], _TYPE["accesses_field"], _TYPE["type_hint_of"], _TYPE["throws"], _TYPE["decorates"],
             np.where(implements, _TYPE["implements"], _TYPE["extends"])],
            _TYPE["references"],
        )  # fmt: skip
        decorates = role == DECORATE
        source, row = np.where(decorates, row, source), np.where(decorates, source, row)
        guessed = confidence < 1000 * TYPED
        provenance = np.where(guessed, _PROVENANCE["inferred"], _PROVENANCE["resolved"])
        parts = [np.stack([source, row, type_, provenance, confidence, line])]
        parts += [
            self._contains(),
            self._imported(),
            self._overrides(),
            self._inherits(),
            self._structural(),
            *self._tests(source, row, called, confidence, line),
        ]
        return self._as_edges(np.concatenate(parts, axis=1), file_numbers)

    def _rows(self, source: Ints, row: Ints, type_: str, provenance: str, confidence: float, line: Ints) -> Ints:
        size = len(source)
        filled = [np.full(size, value) for value in (_TYPE[type_], _PROVENANCE[provenance], int(1000 * confidence))]
        return np.stack([source, row, *filled, line])

    def _contains(self) -> Ints:
        """Return the containment of every symbol; one defined outside its type's body is in the type."""
        d = self.definitions
        rows = np.delete(np.arange(d.size), d.start[:-1])
        parent = d.parent.copy()
        types = self._free[d.kind[self._free] & TYPE > 0]
        outside = rows[d.scope[rows] > 0]
        for unit in (d.folder[d.file], d.file):  # the nearer one last
            lookup = Lookup(key(unit[types], d.name[types]), types)
            keys = key(unit[outside], d.scope[outside])
            parent[outside] = np.where(lookup.has(keys), lookup.first(keys), parent[outside])
        return self._rows(parent[rows], rows, "contains", "parsed", CERTAIN, d.line[rows])

    def _imported(self) -> Ints:
        source, row, line = np.array(self.imports.edges, np.int64).reshape(-1, 3).T
        return self._rows(source, row, "imports", "resolved", CERTAIN, line)

    def _find_overrides(self) -> tuple[Ints, Ints]:
        """Return the methods that an ancestor has, too, with that of the nearest ancestor."""
        d = self.definitions
        first, counts, ancestors = self._ancestors
        methods = self._members[d.kind[self._members] & (CALLABLE | FIELD) > 0]
        lookup = Lookup(key(d.owner[methods], d.name[methods]), methods)
        owners = d.owner[methods]
        repeated = np.repeat(np.arange(len(methods)), counts[owners])
        above = ancestors[ranges(first[owners], counts[owners])]
        places, rows = lookup.pairs(key(above, d.name[methods][repeated]), 1)
        _, nearest = np.unique(repeated[places], return_index=True)
        return methods[repeated[places[nearest]]], rows[nearest]

    def _overrides(self) -> Ints:
        source, row = self._overriding
        return self._rows(source, row, "overrides", "resolved", RESOLVED, self.definitions.line[source])

    def _inherits(self) -> Ints:
        """Return the edges from types to the members of their ancestors that they do not define."""
        d = self.definitions
        first, counts, ancestors = self._ancestors
        types = np.flatnonzero((d.kind & TYPE > 0) & ~d.test)
        members = self._members[d.kind[self._members] & (CALLABLE | FIELD) > 0]
        names = d.name[types]
        repeated = np.repeat(types, counts[names])
        places, rows = Lookup(d.owner[members], members).pairs(ancestors[ranges(first[names], counts[names])], MOST)
        source = repeated[places]
        keys = key(source, d.name[rows])
        is_own = Lookup(key(d.owner[members], d.name[members]), members).has(key(d.name[source], d.name[rows]))
        _, nearest = np.unique(keys[~is_own], return_index=True)
        source, rows = source[~is_own][nearest], rows[~is_own][nearest]
        return self._rows(source, rows, "inherits", "resolved", RESOLVED, d.line[source])

    def _structural(self) -> Ints:
        """Return the edges from types to the interfaces whose methods they have."""
        d = self.definitions
        sub, interface = np.array(self._interfaces, np.int64).reshape(-1, 2).T
        types = np.flatnonzero((d.kind & TYPE > 0) & (d.kind & INTERFACE == 0))
        contracts = np.flatnonzero(d.kind & INTERFACE > 0)
        places, source = Lookup(d.name[types], types).pairs(sub, 3)
        more, row = Lookup(d.name[contracts], contracts).pairs(interface[places], 3)
        return self._rows(source[more], row, "implements", "inferred", RESOLVED, d.line[source[more]])

    def _tests(self, source: Ints, row: Ints, called: Mask, confidence: Ints, line: Ints) -> list[Ints]:
        """Return the edges from tests to what they call, and those between what one test function calls."""
        d = self.definitions
        tested = called & (confidence >= 300) & d.test[source] & ~d.test[row]
        source, row, line = source[tested], row[tested], line[tested]
        tests = self._rows(source, row, "tests", "resolved", RESOLVED, line)
        function = source != d.start[d.file[source]]
        _, unique = np.unique(key(source[function], row[function]), return_index=True)
        source, row, line = (values[function][unique] for values in (source, row, line))
        place = np.arange(len(source)) - np.searchsorted(source, source)
        few = place < CO_TESTED
        source, row, line = source[few], row[few], line[few]
        together = [np.zeros((3, 0), np.int64)]
        for step in range(1, CO_TESTED):
            same = source[step:] == source[:-step]
            together.append(np.stack([row[:-step][same], row[step:][same], line[step:][same]]))
        left, right, line = np.concatenate(together, axis=1)
        return [tests, self._rows(left, right, "co_tested_with", "inferred", BY_NAME, line)]

    def _as_edges(self, columns: Ints, file_numbers: Ints) -> Array:
        """Return the edges as they are stored, equal ones once with the highest confidence and the first line."""
        d = self.definitions
        source, row, type_, provenance, confidence, line = columns
        file = d.file[np.where(type_ == _TYPE["decorates"], row, source)]
        stays = (source != row) | (type_ == _TYPE["calls"])
        order = np.lexsort((line, -confidence, type_, row, source))
        order = order[stays[order]]
        same = np.zeros(len(order), bool)
        same[1:] = (np.diff(source[order]) == 0) & (np.diff(row[order]) == 0) & (np.diff(type_[order]) == 0)
        order = order[~same]
        out = np.zeros(len(order), edge_store.DTYPE)
        out["source"], out["target"], out["type"] = d.number[source[order]], d.number[row[order]], type_[order]
        out["provenance"], out["confidence"] = provenance[order], confidence[order] / 1000
        out["line"], out["file"] = line[order], file_numbers[file[order]]
        return out


_LAST_WORD = re.compile(r"[a-z0-9]+[A-Z]?|[A-Z]+")  # of a name written backwards


def tail_word(name: str) -> str:
    """Return the last word of a name in lower case; empty if it is short."""
    match = _LAST_WORD.match(name[::-1])
    return match[0][::-1].lower() if match and len(match[0]) > 2 else ""


def _pairs_as_keys(pairs: set[tuple[int, int]]) -> tuple[Ints, Ints]:
    left, right = np.array(sorted(pairs), np.int64).reshape(-1, 2).T
    return key(left, right), right
