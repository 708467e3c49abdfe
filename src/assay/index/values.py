"""Values: the denotation of an expression, as a small type for each case.

`None` stands for "cannot tell" wherever a value is expected.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from assay.core.items import TYPE_KINDS

if TYPE_CHECKING:
    from assay.index.file import File, Sym

TYPE_LIKE: Final = TYPE_KINDS | {"module"}


class Item(msgspec.Struct, frozen=True, gc=False):
    """A symbol itself."""

    sym: Sym


class Instance(msgspec.Struct, frozen=True, gc=False):
    """An object of type `sym`."""

    sym: Sym
    arguments: str = ""  # type arguments as written, to find element types
    path: str = ""  # file in whose scope the arguments are resolved


class Super(msgspec.Struct, frozen=True, gc=False):
    """The object of the enclosing type `sym`, seen as an object of its bases."""

    sym: Sym


class Module(msgspec.Struct, frozen=True, gc=False):
    """A module that is a file."""

    path: str


class Folder(msgspec.Struct, frozen=True, gc=False):
    """A package that is a folder."""

    path: str


class External(msgspec.Struct, frozen=True, gc=False):
    """An item of a library, by dotted name."""

    name: str


class ExternalObject(msgspec.Struct, frozen=True, gc=False):
    """An object of a library type; `[]` is a collection and `()` a tuple."""

    name: str
    arguments: str = ""
    path: str = ""


class Local(msgspec.Struct, frozen=True, gc=False):
    """A local of unknown value."""


class Cycle(msgspec.Struct, frozen=True, gc=False):
    """An expression that depends on itself; propagates, so that no result depends on where evaluation started."""


Value = Item | Instance | Super | Module | Folder | External | ExternalObject | Local | Cycle

LOCAL: Final = Local()
CYCLE: Final = Cycle()
WITH_SYMBOL: Final = (Item, Instance, Super)
DEFINED: Final = (Item, Instance)
OBJECTS: Final = (Instance, ExternalObject)
EXTERNALS: Final = (External, ExternalObject)
UNKNOWN: Final = (Local, Cycle)

# visited (path, name) pairs of a search through re-exports and their results; None if there is none (yet). As in any
# graph search one visit per node suffices: a visit that stops at a node in progress is continued by that node
Search = dict[tuple[str, str], Value | None]


def symbol_of(value: Value | None) -> Sym | None:
    """Return the symbol that a value is, or is an object of."""
    return value.sym if isinstance(value, WITH_SYMBOL) else None


def is_top_level(sym: Sym) -> bool:
    return not sym.owner and "." not in sym.symbol and "::" not in sym.symbol


def prefer(syms: list[Sym], file: File) -> Sym:
    """Choose among several definitions: this file's, then one outside tests, then the first by path."""
    return min(
        syms, key=lambda s: (s.path != file.path, s.test and not file.test, s.kind not in TYPE_KINDS, s.path, s.index)
    )
