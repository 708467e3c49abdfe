"""Looking names up, whatever their case: whole, by their beginning, by a part of the qualified name, by a segment of the path.

Only the different names are held in memory; the symbols behind a name are read when it is asked for.
"""

from __future__ import annotations

import re
import sqlite3
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property
from posixpath import splitext
from typing import NamedTuple

from assay.core.items import TYPE_KINDS
from assay.text.identifiers import words

_SEPARATOR = re.compile(r"::|#|/")
_LAST = "\U0010ffff"  # sorts behind every continuation of a prefix
FILES = 40  # looked into for one segment of a path: the channel keeps no more symbols than that

_ROW = "SELECT number, name, symbol, file FROM symbols WHERE ordinal >= 0"
# among equals: product code before tests, outer before inner; ids make it total
_PREFERENCE = "test, length(symbol), id"
_TYPES_FIRST = f"kind NOT IN ({', '.join(repr(kind) for kind in sorted(TYPE_KINDS))})"


class Row(NamedTuple):
    """One symbol."""

    number: int
    name: str
    symbol: str
    file: int


class NameTable:
    """The names of one catalogue. Made once when an index is opened, then only read."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._spellings: dict[str, list[str]] = defaultdict(list)
        for (name,) in connection.execute("SELECT DISTINCT name FROM symbols ORDER BY name"):
            self._spellings[name.lower()].append(name)

    @cached_property
    def _names(self) -> list[str]:
        return sorted(self._spellings)

    def exact(self, keyword: str) -> Iterator[Row]:
        """Symbols called so, whatever the case; `Type.name` and `package.module.name` must agree with all they say."""
        qualifier, name = _divided(keyword)
        return self._within(qualifier, self._called(self._spellings.get(name, ())))

    def prefixed(self, keyword: str) -> Iterator[Row]:
        """Symbols whose name begins so, the shortest first."""
        qualifier, start = _divided(keyword)
        names = self._names[bisect_left(self._names, start) : bisect_left(self._names, start + _LAST)]
        for name in sorted(names, key=lambda name: (len(name), name)):
            yield from self._within(qualifier, self._called(self._spellings[name]))

    def containing(self, keyword: str) -> Iterator[Row]:
        """Symbols with the keyword anywhere in the qualified name."""
        text, wanted = self._text, keyword.lower()
        start = text.find(wanted) if "\n" not in wanted else -1
        while start >= 0:
            place = bisect_right(self._starts, start) - 1
            yield self._rows[place]
            start = text.find(wanted, self._starts[place + 1])

    def under(self, segment: str) -> Iterator[Row]:
        """Symbols of files with that folder or file name in their path, types first."""
        files = self._segments.get(segment.lower(), [])[:FILES]
        return self._select(f"file IN ({_marks(files)})", files, f"{_TYPES_FIRST}, {_PREFERENCE}")

    def squeezed(self, name: str) -> Iterator[Row]:
        """Symbols whose name is the same but for case and underscores: `parse_config`, `parseConfig`, `ParseConfig`."""
        plain, joined = squeeze(name), "_".join(words(name))
        spelled = dict.fromkeys(f"{private}{one}" for one in (joined, plain) for private in ("", "_", "__"))
        return self._called([found for one in spelled for found in self._spellings.get(one, ())])

    def _called(self, spellings: Sequence[str]) -> Iterator[Row]:
        return self._select(f"name IN ({_marks(spellings)})", spellings, _PREFERENCE)

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
        files: dict[str, list[int]] = defaultdict(list)
        for file, path in self._paths.items():
            parts = path.lower().split("/")
            for segment in {*parts, splitext(parts[-1])[0]}:
                files[segment].append(file)
        return files

    @cached_property
    def _rows(self) -> list[Row]:
        return list(map(Row._make, self._connection.execute(f"{_ROW} ORDER BY test, number")))

    @cached_property
    def _text(self) -> str:
        return "\n".join(row.symbol for row in self._rows).lower()

    @cached_property
    def _starts(self) -> list[int]:
        """Where each symbol begins in the text, and the end."""
        starts = [0]
        for line in self._text.split("\n"):
            starts.append(starts[-1] + len(line) + 1)
        return starts


def squeeze(name: str) -> str:
    return name.lower().replace("_", "")


def _divided(keyword: str) -> tuple[str, str]:
    qualifier, _, name = _dotted(keyword.lower()).rpartition(".")
    return qualifier, name


def _dotted(name: str) -> str:
    return _SEPARATOR.sub(".", name)


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))
