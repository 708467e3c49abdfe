"""Definitions, references, imports and declared types of a language family as columns of integers, for joins by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain as flattened

import numpy as np
from numpy.typing import NDArray

from assay.core.items import CALLABLE_KINDS, SPACE_KINDS, TYPE_KINDS
from assay.index.chains import bare, last, type_names
from assay.index.expressions import Evaluator
from assay.index.facts import FILE, HINT, IMPLEMENTS, Import, decode_bindings
from assay.index.file import File, Sym
from assay.index.table import BudgetExceeded, Table, TimeBudgetExceeded
from assay.index.values import EXTERNALS, Folder, Item, Module

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

TYPE, CALLABLE, FIELD, DATA, SPACE, INTERFACE, MODULE = 1, 2, 4, 8, 16, 32, 64  # kinds of definitions, as bits
KINDS = (
    dict.fromkeys(TYPE_KINDS, TYPE)
    | dict.fromkeys(CALLABLE_KINDS, CALLABLE)
    | dict.fromkeys(SPACE_KINDS, SPACE)
    | dict.fromkeys(("field", "property"), FIELD)
    | dict.fromkeys(("constant", "variable"), DATA)
    | dict.fromkeys(("interface", "trait"), TYPE | INTERFACE)
    | {"module": SPACE | MODULE}
)
OUTSIDE = -1  # a declared type that the repository does not define


class Ids(dict[str, int]):
    """Numbers of strings in order of appearance; 0 is the empty string."""

    def __init__(self) -> None:
        super().__init__({"": 0})

    def __missing__(self, text: str) -> int:
        number = self[text] = len(self)
        return number


class Lookup:
    """Rows by key: a sorted array."""

    def __init__(self, keys: Ints, rows: Ints) -> None:
        order = np.argsort(keys, kind="stable")
        self._keys, self._rows = keys[order], rows[order]

    def pairs(self, keys: Ints, most: int) -> tuple[Ints, Ints]:
        """Return (position in `keys`, row) of every match, by position; keys with more than `most` rows have none."""
        first = np.searchsorted(self._keys, keys)
        counts = np.searchsorted(self._keys, keys, "right") - first
        counts[counts > most] = 0
        return np.repeat(np.arange(len(keys)), counts), self._rows[ranges(first, counts)]

    def first(self, keys: Ints) -> Ints:
        """Return the first row of each key; 0 if it has none."""
        if not len(self._keys):
            return np.zeros(len(keys), np.int64)
        places = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where(self._keys[places] == keys, self._rows[places], 0)

    def has(self, keys: Ints) -> Mask:
        if not len(self._keys):
            return np.zeros(len(keys), bool)
        return np.asarray(self._keys[np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)] == keys)


def ranges(first: Ints, counts: Ints) -> Ints:
    """Return the concatenated integer ranges that start at each `first` and have `counts` elements."""
    places = np.repeat(first - (counts.cumsum() - counts), counts)
    return np.asarray(places + np.arange(len(places)), np.int64)


def column(values: Iterable[int]) -> Ints:
    return np.fromiter(values, np.int64)


def key(left: Ints, right: Ints) -> Ints:
    """Return two columns of numbers below 2³¹ as one."""
    return left << 32 | right


class Definitions:
    """The items of a family: each file's own, followed by its symbols. A row is a position in all columns."""

    def __init__(self, files: Sequence[File], numbers: Mapping[str, int], names: Ids) -> None:
        self.files, self.names = files, names
        sizes = column(1 + len(file.facts.symbols) for file in files)
        self.start = np.concatenate([[0], sizes.cumsum()])
        self.size = int(self.start[-1])
        self.file = np.repeat(np.arange(len(files)), sizes)
        is_symbol = np.ones(self.size, bool)
        is_symbol[self.start[:-1]] = False
        self._symbols = np.flatnonzero(is_symbol)
        facts = [fact for file in files for fact in file.facts.symbols]
        self.facts = facts
        self.name = self.spread(column(map(names.__getitem__, [fact.name for fact in facts])))
        self.kind = self.spread(column(KINDS.get(fact.kind, 0) for fact in facts))
        self.kind[self.start[:-1]] = SPACE
        self.line = self.spread(column(fact.start for fact in facts))
        self.arity = self.spread(column(fact.arity for fact in facts))
        self.parent = self.start[self.file] + 1 + self.spread(column(fact.parent for fact in facts))
        self.parent[self.start[:-1]] = self.start[:-1]
        self.test = self.spread(column(fact.test for fact in facts)).astype(bool)
        self.test |= np.array([file.test for file in files], bool)[self.file]
        self.number = column(
            numbers[file.sym(index).id] for file in files for index in range(FILE, len(file.facts.symbols))
        )
        folders = Ids()
        self.folders = folders
        self.folder = column(folders[file.folder] for file in files)
        scope = self.spread(column(names[last(fact.scope)] if fact.scope else 0 for fact in facts))
        owning = self.kind & (TYPE | MODULE) > 0
        self.owner = np.where(owning[self.parent], self.name[self.parent], 0)
        self.scope = scope
        self.owner = np.where(scope > 0, scope, self.owner)
        self.enclosing = np.where(owning, self.name, self.owner)  # type that a reference stands in
        for _ in range(8):
            missing = np.flatnonzero(self.enclosing == 0)
            around = self.enclosing[self.parent[missing]]
            if not around.any():
                break
            self.enclosing[missing] = around

    def spread(self, values: Ints) -> Ints:
        """Return a column of all rows from one of the symbols."""
        out = np.zeros(self.size, np.int64)
        out[self._symbols] = values
        return out


class References:
    """The references of a family, equal ones once: role, source row, first line, and chain."""

    def __init__(self, files: Sequence[File], definitions: Definitions) -> None:
        chains = Ids()
        roles: list[int] = []
        sources: list[int] = []
        lines: list[int] = []
        texts: list[int] = []
        arities: list[int] = []
        for file, start in zip(files, (definitions.start[:-1] + 1).tolist(), strict=True):
            rows = [*file.references(), *file.facts.supertypes]
            roles += [row.role for row in rows]
            sources += [start + row.source for row in rows]
            impls = len(sources) - len(file.facts.supertypes)
            for place, row in enumerate(file.facts.supertypes, impls):
                if row.literal:  # `impl Trait for Type`
                    sources[place] = start + file.types_here.get(last(row.literal), FILE)
            lines += [row.line for row in rows]
            texts += [chains[row.chain] for row in rows]
            arities += [row.arity for row in rows]
        role, source, line, text, arity = (
            np.array(values, np.int64) for values in (roles, sources, lines, texts, arities)
        )
        hints = [type_names(hint) if hint else [] for hint in _texts_of(chains, text[role == HINT])]
        role, source, line, text, arity = _expand_hints(role, source, line, text, arity, hints, chains)
        keys = key(source, text * (IMPLEMENTS + 1) + role)
        _, first = np.unique(keys, return_index=True)
        self.role, self.source, self.line, self.arity = role[first], source[first], line[first], arity[first]
        self._read_chains(list(chains), text[first], definitions, files)

    def _read_chains(self, chains: list[str], text: Ints, definitions: Definitions, files: Sequence[File]) -> None:
        names = definitions.names
        languages = {file.language for file in files}
        own = {name for language in languages for name in language.self_names} - {""}
        above = {name for language in languages for name in language.super_names}
        rows = []
        for chain in chains:
            receiver, _, name = chain.rpartition(".")
            if name.endswith(("]", "}", ")")):
                stripped = bare(name)
                name = stripped if name == stripped + "()" or name == stripped + "{}" else ""
            before, _, nearest = receiver.rpartition(".")
            held = bare(nearest)
            rows.append(
                (
                    names[name],
                    names[held],
                    nearest.endswith(")"),
                    held in own and not before,
                    held in above and not before,
                    before in own,
                    bool(before),
                )
            )
        table = np.array(rows, np.int64).reshape(-1, 7)[text]
        self.name, self.receiver = table[:, 0], table[:, 1]
        self.called, self.on_self, self.on_super, self.on_own_field, self.nested = table[:, 2:].astype(bool).T


def _texts_of(chains: Ids, hints: Ints) -> list[str]:
    """Return the texts of the chains that are annotations, by number; others are empty."""
    is_hint = np.zeros(len(chains), bool)
    is_hint[hints] = True
    return [text if hint else "" for text, hint in zip(chains, is_hint.tolist(), strict=True)]


def _expand_hints(
    role: Ints, source: Ints, line: Ints, text: Ints, arity: Ints, hints: list[list[str]], chains: Ids
) -> tuple[Ints, ...]:
    """Replace each annotation by the names in it."""
    counts = np.array([len(names) for names in hints], np.int64)
    first = counts.cumsum() - counts
    flat = column(chains[name] for name in flattened.from_iterable(hints))
    is_hint = role == HINT
    texts = text[is_hint]
    repeated = [np.repeat(values[is_hint], counts[texts]) for values in (role, source, line, arity)]
    parts = [*repeated[:3], flat[ranges(first[texts], counts[texts])], repeated[3]]
    stays = ~is_hint
    return tuple(
        np.concatenate([values[stays], part])
        for values, part in zip((role, source, line, text, arity), parts, strict=True)
    )


class Imports:
    """Bindings and visible names of the imports of a family, evaluated as the resolver does it: that needs no types.

    `items`, `modules`, `folders` and `outside` have the key (file, local name); `sees` has pairs of a file and a
    file, folder or namespace whose names it sees.
    """

    def __init__(self, definitions: Definitions, table: Table) -> None:
        self._definitions, self._table, self._evaluator = definitions, table, Evaluator(table)
        self._numbers = {file.path: number for number, file in enumerate(definitions.files)}
        self._items: list[tuple[int, int, int]] = []
        self._modules: list[tuple[int, int, int]] = []
        self._folders: list[tuple[int, int, int]] = []
        self._outside: list[tuple[int, int, int]] = []
        self.sees: set[tuple[int, int]] = set()  # number of a file, number of a file
        self.spaces: set[tuple[int, str]] = set()  # number of a file, full name of a namespace
        self.edges: list[tuple[int, int, int]] = []  # row of the importing file, target row, line
        for number, file in enumerate(definitions.files):
            table.begin_file()
            local_names = {id(row): name for name, rows in file.imported.items() for row in rows}
            for row in file.facts.imports:
                if row.module:
                    table.begin_query()
                    try:
                        self._add(number, file, row, local_names.get(id(row), ""))
                    except BudgetExceeded:
                        continue
                    except TimeBudgetExceeded:
                        break
        self.items, self.modules, self.folders, self.outside = map(
            self._lookup, (self._items, self._modules, self._folders, self._outside)
        )

    def _add(self, number: int, file: File, row: Import, local: str) -> None:
        names, source = self._definitions.names, int(self._definitions.start[number])
        for target in file.style.targets(self._evaluator, row, file):
            if not isinstance(target, str) and target.path != file.path:
                self.edges.append((source, self.row(target), row.line))
                if row.name == "*" or not local:
                    self._see(number, target)
        if not local:
            return
        value = self._evaluator.imports.value(row, file)
        name = names[local]
        if isinstance(value, Item):
            self._items.append((number, name, self.row(value.sym)))
            self._see(number, value.sym)
        elif isinstance(value, Module) and value.path in self._numbers:
            self._modules.append((number, name, self._numbers[value.path]))
        elif isinstance(value, Folder):
            self._folders.append((number, name, self._definitions.folders[value.path]))
        elif isinstance(value, EXTERNALS):
            self._outside.append((number, name, 1))

    def _see(self, number: int, target: Sym) -> None:
        if target.index == FILE:
            self.sees.add((number, self._numbers[target.path]))
        elif target.kind == "namespace":
            self.spaces.add((number, self._definitions.files[self._numbers[target.path]].full(target.index)))

    def row(self, sym: Sym) -> int:
        """Return the row of a symbol."""
        return int(self._definitions.start[self._numbers[sym.path]]) + 1 + sym.index

    def exports(self, files: Ints, names: Ints) -> Ints:
        """Return the rows of names that files export from other files; 0 if they do not."""
        texts = list(self._definitions.names)
        pairs, inverse = np.unique(key(files, names), return_inverse=True)
        rows = []
        self._table.begin_file()  # one time budget for all
        for file, name in zip((pairs >> 32).tolist(), (pairs & 0xFFFFFFFF).tolist(), strict=True):
            self._table.begin_query()
            try:
                value = self._evaluator.imports.export(self._definitions.files[file].path, texts[name])
            except (BudgetExceeded, TimeBudgetExceeded):
                value = None
            rows.append(self.row(value.sym) if isinstance(value, Item) else 0)
        return np.array(rows, np.int64)[inverse]

    def _lookup(self, rows: list[tuple[int, int, int]]) -> Lookup:
        file, name, value = np.array(rows, np.int64).reshape(-1, 3).T
        return Lookup(key(file, name), value)


class Types:
    """Declared types by name: of variables and fields, and what functions return."""

    def __init__(self, definitions: Definitions) -> None:
        self._definitions = definitions
        names = definitions.names
        is_type = definitions.kind & TYPE > 0
        self._named = set(definitions.name[is_type].tolist())
        self._texts: dict[str, int] = {}
        self._words = {name: number for name, number in names.items() if number in self._named}
        self._returned: dict[int, int] = {}
        facts = definitions.facts
        declared = column(self._of_text(fact.type) if fact.type else 0 for fact in facts)
        declared = definitions.spread(declared)
        callables = definitions.kind & CALLABLE > 0
        returning = _unanimous(definitions.name[callables], declared[callables])
        self._returned = dict(zip(*(values.tolist() for values in returning), strict=True))
        valued = definitions.spread(column(self._of_values(fact.values) if fact.values else 0 for fact in facts))
        declared = np.where(declared == 0, valued, declared)
        returning = _unanimous(definitions.name[callables], declared[callables])
        self._returned = dict(zip(*(values.tolist() for values in returning), strict=True))
        self.returned = Lookup(*returning)
        rows, bound, types = self._bindings()
        data = np.flatnonzero((definitions.kind & (FIELD | DATA) > 0) & (declared != 0))
        self.locals = Lookup(key(rows, bound), types)
        self.fields = Lookup(key(definitions.owner[data], definitions.name[data]), declared[data])
        self.variables = Lookup(key(definitions.file[data], definitions.name[data]), declared[data])
        self.anywhere = Lookup(
            *_unanimous(np.concatenate([definitions.name[data], bound]), np.concatenate([declared[data], types]))
        )

    def _bindings(self) -> tuple[Ints, Ints, Ints]:
        """Return the row, name and type of each local whose type is known; type 0 for locals of unknown type."""
        names = self._definitions.names
        rows: list[tuple[int, int, int]] = []
        for file, start in zip(self._definitions.files, (self._definitions.start[:-1] + 1).tolist(), strict=True):
            inferred = file.language.inferred
            for binding in decode_bindings(file.facts.bindings):
                type_ = self._of_text(binding.type) if binding.type and binding.type not in inferred else 0
                if not type_ and binding.value:
                    type_ = self._of_value(binding.value)
                rows.append((start + binding.source, names[binding.name], type_))
        row, name, types = np.array(rows, np.int64).reshape(-1, 3).T
        self.all_locals = row, name
        return row[types != 0], name[types != 0], types[types != 0]

    def _of_text(self, text: str) -> int:
        """Return the first type of the repository that an annotation names, else OUTSIDE."""
        type_ = self._texts.get(text)
        if type_ is None:
            types = (self._words.get(last(name)) for name in type_names(text))
            type_ = self._texts[text] = next((number for number in types if number), OUTSIDE)
        return type_

    def _of_values(self, values: list[str]) -> int:
        return next((type_ for value in values if (type_ := self._of_value(value))), 0)

    def _of_value(self, value: str) -> int:
        """Return the type of a call or construction; 0 if unknown."""
        if not value.endswith(("()", "{}")):
            return 0
        name = self._definitions.names.get(last(value), 0)
        return name if name in self._named else self._returned.get(name, 0)


def _unanimous(names: Ints, types: Ints) -> tuple[Ints, Ints]:
    """Return the names that have one known type only, with it."""
    has_type = types != 0
    pairs = np.unique(np.stack([names[has_type], types[has_type]]), axis=1)
    single = np.ones(pairs.shape[1], bool)
    same = pairs[0][1:] == pairs[0][:-1]
    single[1:] &= ~same
    single[:-1] &= ~same
    return pairs[0][single], pairs[1][single]
