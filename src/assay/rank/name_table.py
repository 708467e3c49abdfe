"""Looking names up, whatever their case: whole, by their beginning, by a part of the qualified name, by a segment of the path.

The catalogue is asked; only looking for a part of a name needs all names in memory.
"""

from __future__ import annotations

import re
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from heapq import merge
from typing import Any, NamedTuple

from assay.core.items import TYPE_KINDS
from assay.store.index import Index
from assay.text.terms import words

_SEPARATOR = re.compile(r"::|#|/")
_LAST = "\U0010ffff"  # sorts behind every continuation of a prefix
FILES = 40  # looked into for one segment of a path: the channel keeps no more symbols than that

_ROW = "SELECT number, name, symbol, file, test, kind FROM symbols WHERE ordinal >= 0"
_BEGINNING = "SELECT DISTINCT lower FROM symbols WHERE lower >= ? AND lower < ?"
_LINES = (
    "SELECT group_concat(symbol || char(9) || number || char(10), '') FROM "
    "(SELECT symbol, number FROM symbols WHERE ordinal >= 0 AND test = ? ORDER BY number)"
)
# among equals: product code before tests, outer before inner; ids make it total
_PREFERENCE = "test, length(symbol), id"
_TYPES_FIRST = f"kind NOT IN ({', '.join(repr(kind) for kind in sorted(TYPE_KINDS))})"


class Row(NamedTuple):
    """One symbol."""

    number: int
    name: str
    symbol: str
    file: int
    test: bool = False
    kind: str = ""


class NameTable:
    """The names of one catalogue."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def exact(self, keyword: str) -> Iterator[Row]:
        """Symbols called so, whatever the case; `Type.name` and `package.module.name` must agree with all they say."""
        qualifier, name = _divided(keyword)
        return self._within(qualifier, self._called([name]))

    def prefixed(self, keyword: str) -> Iterator[Row]:
        """Symbols whose name begins so, the shortest first."""
        qualifier, start = _divided(keyword)
        names = self._connection.execute(_BEGINNING, (start, start + _LAST)).fetchall()
        for (name,) in sorted(names, key=lambda row: (len(row[0]), row[0])):
            yield from self._within(qualifier, self._called([name]))

    def containing(self, keyword: str) -> Iterator[Row]:
        """Symbols with the keyword anywhere in the qualified name, product code before tests."""
        text, wanted = self._text, keyword.lower()
        start = text.find(wanted) if "\n" not in wanted and "\t" not in wanted else -1
        while start >= 0:
            end = text.index("\n", start)
            if "\t" in text[start:end]:  # else it was found in the number
                yield from self._select("number = ?", [int(text[text.rindex("\t", start, end) : end])], "number")
            start = text.find(wanted, end)

    def under(self, segment: str) -> Iterator[Row]:
        """Symbols of files with that folder or file name in their path, types first."""
        files = self._segments.get(segment.lower(), [])[:FILES]
        return self._select(f"file IN ({_marks(files)})", files, f"{_TYPES_FIRST}, {_PREFERENCE}")

    def squeezed(self, name: str) -> Iterator[Row]:
        """Symbols whose name is the same but for case and underscores: `parse_config`, `parseConfig`, `ParseConfig`."""
        plain, joined = squeeze(name), "_".join(words(name))
        spelled = dict.fromkeys(f"{private}{one}" for one in (joined, plain) for private in ("", "_", "__"))
        return self._called(list(spelled))

    def _called(self, names: Sequence[str]) -> Iterator[Row]:
        """Symbols that have one of some names, which are in lower case."""
        return self._select(f"lower IN ({_marks(names)})", names, _PREFERENCE)

    def _select(self, where: str, parameters: Sequence[object], order: str) -> Iterator[Row]:
        if not parameters:
            return iter(())
        return map(Row._make, self._connection.execute(f"{_ROW} AND {where} ORDER BY {order}", parameters))

    def _within(self, qualifier: str, rows: Iterator[Row]) -> Iterator[Row]:
        """Those whose path and qualified name, up to the name itself, end with the qualifier."""
        for row in rows:
            if not qualifier or f".{self._owner(row)}".endswith(f".{qualifier}"):
                yield row

    def _owner(self, row: Row) -> str:
        module = self._paths[row.file].rpartition(".")[0]
        return _dotted(f"{module}.{row.symbol}").lower().removesuffix(row.name.lower()).rstrip(".")

    @cached_property
    def _paths(self) -> dict[int, str]:
        """Product code before tests, near the root before deep."""
        rows = self._connection.execute("SELECT test, path, number FROM files ORDER BY test, path").fetchall()
        return {number: path for _, path, number in sorted(rows, key=lambda row: (row[0], row[1].count("/")))}

    @cached_property
    def _segments(self) -> dict[str, list[int]]:
        """The files under every folder and file name, with and without its ending."""
        files: dict[str, list[int]] = defaultdict(list)
        above: dict[str, set[str]] = {}  # the names of folders, by the whole path of the innermost
        for file, path in self._paths.items():
            folder, _, name = path.lower().rpartition("/")
            if folder not in above:
                above[folder] = set(folder.split("/")) if folder else set()
            stem = name.rpartition(".")[0]
            for segment in above[folder] | {name, stem if stem.strip(".") else name}:
                files[segment].append(file)
        return files

    @cached_property
    def _text(self) -> str:
        """Every symbol in lower case on a line of its own, and its number behind a tab. SQLite joins them several times as fast as we could."""
        return "".join(self._connection.execute(_LINES, (test,)).fetchone()[0] or "" for test in (0, 1)).lower()


class TableOfAll(NameTable):
    """The names of several catalogues, each with where its numbers begin; in the order one table would have, equals by catalogue."""

    def __init__(self, parts: Sequence[tuple[NameTable, int]]) -> None:
        self._parts = parts

    def exact(self, keyword: str) -> Iterator[Row]:
        return self._merged(lambda table: table.exact(keyword), _preference)

    def prefixed(self, keyword: str) -> Iterator[Row]:
        return self._merged(
            lambda table: table.prefixed(keyword), lambda row: (len(row.name), row.name.lower(), *_preference(row))
        )

    def containing(self, keyword: str) -> Iterator[Row]:
        return self._merged(lambda table: table.containing(keyword), lambda row: (row.test,))

    def under(self, segment: str) -> Iterator[Row]:
        return self._merged(
            lambda table: table.under(segment), lambda row: (row.kind not in TYPE_KINDS, *_preference(row))
        )

    def squeezed(self, name: str) -> Iterator[Row]:
        return self._merged(lambda table: table.squeezed(name), _preference)

    def _merged(self, find: Callable[[NameTable], Iterator[Row]], key: Callable[[Row], Any]) -> Iterator[Row]:
        return merge(*(_moved(find(table), first) for table, first in self._parts), key=key)


def table_of(index: Index) -> NameTable:
    """The names of an index."""
    parts = [(NameTable(part.index.catalogue.connection), part.first) for part in index.parts]
    return parts[0][0] if len(parts) == 1 else TableOfAll(parts)


def _moved(rows: Iterator[Row], first: int) -> Iterator[Row]:
    return (row._replace(number=row.number + first) for row in rows)


def _preference(row: Row) -> tuple[bool, int]:
    return row.test, len(row.symbol)


def squeeze(name: str) -> str:
    return name.lower().replace("_", "")


def _divided(keyword: str) -> tuple[str, str]:
    qualifier, _, name = _dotted(keyword.lower()).rpartition(".")
    return qualifier, name.encode("utf-8", "replace").decode()  # no half of a character pair: SQLite takes none


def _dotted(name: str) -> str:
    return _SEPARATOR.sub(".", name)


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))
