"""Values, shared state, and the interface between the mixins of the evaluator."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import msgspec

from assay.core.items import TYPE_KINDS
from assay.index.facts import FILE, Binding, Import
from assay.index.file import File, Sym
from assay.index.table import MemoEntry, T, Table

DATA = frozenset({"variable", "constant", "field", "property"})
TYPE_LIKE = TYPE_KINDS | {"module"}
MAX_ANCESTORS = 150  # per type; larger hierarchies are truncated
MAX_LOOKUPS = 12  # nested type expressions


class Value(msgspec.Struct, frozen=True, gc=False):
    """The denotation of an expression.

    - item: the symbol itself.
    - instance: an object of type `sym`.
    - file/folder/space: a module, package folder or namespace called `name`.
    - outside: an item of a library, by dotted `name`.
    - object: an object of library type `name`.
    - local: a local of unknown value.
    """

    kind: str
    sym: Sym | None = None
    name: str = ""
    arguments: str = ""  # type arguments as written, to find element types
    path: str = ""  # file in whose scope the arguments are resolved


LOCAL = Value("local")
# the expression depends on itself; propagates, so that no result depends on where evaluation started
CYCLE = Value("cycle")


class Ancestry(NamedTuple):
    """A type and its ancestors, nearest first, and the names of ancestors outside the repository."""

    types: tuple[Sym, ...]
    outside: tuple[str, ...]


# visited (path, name) pairs of a search through re-exports and their results; None if there is none (yet). As in any
# graph search one visit per node suffices: a visit that stops at a node in progress is continued by that node
Search = dict[tuple[str, str], Value | None]


def binding_key(row: Binding, file: File) -> str:
    return f"{file.path}\0{row.name}\0{row.line}"


def last_name(name: str) -> str:
    return name.rpartition(".")[2]


def top_level(sym: Sym) -> bool:
    return not sym.owner and "." not in sym.symbol and "::" not in sym.symbol


def prefer(syms: list[Sym], file: File) -> Sym:
    """Choose among several definitions: this file's, then one outside tests, then the first by path."""
    return min(
        syms, key=lambda s: (s.path != file.path, s.test and not file.test, s.kind not in TYPE_KINDS, s.path, s.index)
    )


class EvaluatorBase:
    """State and interface of the evaluator. Each mixin is a module of this package.

    Answers about symbols are memoized by the table, together with the lookups they made.
    """

    def __init__(self, table: Table) -> None:
        self.table = table
        self._declared_types: dict[tuple[str, str, int, bool], MemoEntry] = {}
        self._import_values: dict[tuple[str, str, str, str, int, bool], MemoEntry] = {}
        self._primaries: dict[tuple[str, str | None, bool], Sym] = {}
        self._parts_by_name: dict[tuple[str, str], list[Sym]] = {}
        self._top_level: dict[str, list[Sym]] = {}
        self._own_members: dict[tuple[str, str], list[Sym]] = {}
        self.begin_file()

    def begin_file(self) -> None:
        """Reset the evaluation state for the next file."""
        self._base_lookups = 0  # > 0 while resolving bases: inherited members are not available yet
        # symbols whose type or ancestry is being computed → depth of that query
        self._types_in_progress: dict[tuple[str, int], int] = {}
        self._ancestries_in_progress: dict[tuple[str, int], int] = {}

    def _remember(self, token: str, answer: Callable[[], T]) -> T:
        """Memoize an answer. Those computed while resolving bases see less and are stored separately."""
        return self.table.remembered(f"~{token}" if self._base_lookups else token, answer)

    # implemented by the mixins

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
