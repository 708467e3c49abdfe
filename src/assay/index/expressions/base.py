"""The parts of an evaluator: values, what all parts share, and the questions they ask each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import msgspec

from assay.core.items import TYPE_KINDS
from assay.index.facts import FILE, Binding, Import
from assay.index.file import File, Sym
from assay.index.table import Kept, T, Table

DATA = frozenset({"variable", "constant", "field", "property"})
TYPE_LIKE = TYPE_KINDS | {"module"}
MAX_ANCESTORS = 150  # of one type; deeper hierarchies are cut
MAX_LOOKUPS = 12  # type expressions inside one another


class Value(msgspec.Struct, frozen=True, gc=False):
    """What an expression denotes.

    item: the symbol itself. instance: an object of type `sym`. file/folder/space: a module, package folder or namespace called `name`.
    outside: something of a library, by dotted `name`. object: an object of library type `name`. local: a local whose value cannot be told.
    """

    kind: str
    sym: Sym | None = None
    name: str = ""
    arguments: str = ""  # type arguments as written, for elements of collections
    path: str = ""  # the file in whose scope the arguments are to be read


LOCAL = Value("local")
CYCLE = Value(
    "cycle"
)  # met again while being evaluated: contagious, so that no answer depends on where evaluation began


class Ancestry(NamedTuple):
    """A type and its ancestors, nearest first, and whether some of them lie outside the repository."""

    types: tuple[Sym, ...]
    outside: tuple[str, ...]


# what a search through re-exports has met: where it led, None when nowhere or not known yet. One visit to each place is enough, as in any
# search of a graph: where a visit was cut short by a place under way, that place tries the rest
Search = dict[tuple[str, str], Value | None]


def binding_key(row: Binding, file: File) -> str:
    return f"{file.path}\0{row.name}\0{row.line}"


def last_name(name: str) -> str:
    return name.rpartition(".")[2]


def top_level(sym: Sym) -> bool:
    return not sym.owner and "." not in sym.symbol and "::" not in sym.symbol


def prefer(syms: list[Sym], file: File) -> Sym:
    """Of several parts or definitions: this file's, then one outside tests, then the first by path."""
    return min(
        syms, key=lambda s: (s.path != file.path, s.test and not file.test, s.kind not in TYPE_KINDS, s.path, s.index)
    )


class EvaluatorBase:
    """Evaluates chains against a table of names; each part of it is a module of this package.

    Answers about symbols are remembered with the questions they took.
    """

    def __init__(self, table: Table) -> None:
        self.table = table
        self._declared: dict[tuple[str, str, int, bool], Kept] = {}
        self._brought: dict[tuple[str, str, str, str, int, bool], Kept] = {}
        self._primaries: dict[tuple[str, str | None, bool], Sym] = {}
        self._parts_by_name: dict[tuple[str, str], list[Sym]] = {}
        self._tops: dict[str, list[Sym]] = {}
        self._owned: dict[tuple[str, str], list[Sym]] = {}
        self.begin_file()

    def begin_file(self) -> None:
        """Begins a file: no question is under way."""
        self._shallow = 0  # above 0 while bases are looked for: nothing inherited is known yet
        # symbols whose types, and those whose ancestors are being looked for, and the depth at which that was asked
        self._busy: dict[tuple[str, int], int] = {}
        self._climbing: dict[tuple[str, int], int] = {}

    def _remember(self, token: str, answer: Callable[[], T]) -> T:
        """A remembered answer; those found while bases are looked for know less and are kept apart."""
        return self.table.remembered(f"~{token}" if self._shallow else token, answer)

    # the questions the parts ask each other; each is answered in its own module

    def lookup(
        self, name: str, file: File, at: int, line: int = 0, own_members: bool = True, local: bool = True
    ) -> Value | None:
        raise NotImplementedError

    def _first(self, file: File, indexes: Iterable[int]) -> Sym | None:
        raise NotImplementedError

    def is_stub(self, sym: Sym) -> bool:
        raise NotImplementedError

    def _defined(self, syms: list[Sym]) -> list[Sym]:
        raise NotImplementedError

    def _from_outside(self, name: str, file: File, at: int) -> Value | None:
        raise NotImplementedError

    def imported(self, row: Import, file: File, seen: Search | None = None) -> Value | None:
        raise NotImplementedError

    def export(self, path: str, name: str, seen: Search | None = None) -> Value | None:
        raise NotImplementedError

    def _star(self, row: Import, file: File, name: str, seen: Search | None) -> Value | None:
        raise NotImplementedError

    def _rust_root(self, name: str, file: File, at: int) -> Value | None:
        raise NotImplementedError

    def rust_path(self, parts: list[str], file: File, seen: Search | None, at: int = FILE) -> Value | None:
        raise NotImplementedError

    def _named_fully(self, dotted: str, file: File) -> Sym | None:
        raise NotImplementedError

    def type_value(self, text: str, file: File, at: int, depth: int = 0) -> Value | None:
        raise NotImplementedError

    def _type_parameter(self, name: str, file: File, at: int) -> str | None:
        raise NotImplementedError

    def _members_of(self, sym: Sym) -> bool:
        raise NotImplementedError

    def type_of(self, sym: Sym) -> Value | None:
        raise NotImplementedError

    def ancestry(self, sym: Sym) -> Ancestry:
        raise NotImplementedError

    def direct_bases(self, sym: Sym) -> list[Value]:
        raise NotImplementedError

    def own_member(self, sym: Sym, name: str) -> list[Sym]:
        raise NotImplementedError

    def member(self, sym: Sym, name: str, above: bool = False) -> list[Sym]:
        raise NotImplementedError

    def delegate(self, sym: Sym) -> Value | None:
        raise NotImplementedError

    def enclosing_type(self, file: File, at: int) -> Sym | None:
        raise NotImplementedError

    def scope_type(self, file: File, at: int) -> Sym | None:
        raise NotImplementedError

    def primary(self, sym: Sym, near: File | None = None) -> Sym:
        raise NotImplementedError

    def evaluate(self, expression: str, file: File, at: int, line: int = 0, local: bool = True) -> Value | None:
        raise NotImplementedError

    def attribute(self, value: Value | None, name: str, file: File, seen: Search | None = None) -> Value | None:
        raise NotImplementedError
