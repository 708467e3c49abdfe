"""Every symbol's name in memory, sorted: looked up whole, by its beginning, by a part of the qualified name, by a segment of the path."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import PurePosixPath
from typing import NamedTuple

from assay.core.items import TYPE_KINDS
from assay.store.index import Index

_SEPARATOR = re.compile(r"::|#|/")
_LAST = "\U0010ffff"  # sorts behind every continuation of a prefix

# the order within one keyword: product code before tests, outer before inner; ids make it total
_ROWS = (
    "SELECT number, lower(name), lower(symbol), file, kind FROM symbols WHERE ordinal >= 0 "
    "ORDER BY test, length(symbol), id"
)


class Row(NamedTuple):
    """One symbol, its names in lower case. Its place in the table is its preference among equals."""

    number: int
    name: str
    symbol: str
    file: int
    kind: str


class NameTable:
    """The names of one index. Built once when it is opened, then only read."""

    def __init__(self, rows: Iterable[Row], paths: dict[int, str]) -> None:
        self.rows = list(rows)
        self._paths = {file: path.lower() for file, path in paths.items()}
        order = sorted(range(len(self.rows)), key=lambda place: self.rows[place].name)
        self._order = order  # sorting is stable: equal names stay in order of preference
        self._names = [self.rows[place].name for place in order]

    @classmethod
    def read(cls, index: Index) -> NameTable:
        connection = index.catalogue.connection
        paths = dict(connection.execute("SELECT number, path FROM files").fetchall())
        return cls(map(Row._make, connection.execute(_ROWS)), paths)

    def exact(self, keyword: str) -> list[Row]:
        """Symbols called so, whatever the case; `Type.name` and `package.module.name` must agree with all they say."""
        qualifier, name = _divided(keyword)
        found = self._order[bisect_left(self._names, name) : bisect_right(self._names, name)]
        return [self.rows[place] for place in found if self._is_within(place, qualifier)]

    def prefixed(self, keyword: str) -> list[Row]:
        """Symbols whose name begins so, the shortest first."""
        qualifier, name = _divided(keyword)
        found = self._order[bisect_left(self._names, name) : bisect_left(self._names, name + _LAST)]
        places = sorted(found, key=lambda place: (len(self.rows[place].name), place))
        return [self.rows[place] for place in places if self._is_within(place, qualifier)]

    def containing(self, keyword: str) -> Iterator[Row]:
        """Symbols with the keyword anywhere in the qualified name."""
        text, wanted = self._text, keyword.lower()
        start = text.find(wanted) if "\n" not in wanted else -1
        while start >= 0:
            place = bisect_right(self._starts, start) - 1
            yield self.rows[place]
            following = self._starts[place + 1] if place + 1 < len(self._starts) else len(text)
            start = text.find(wanted, following)

    def under(self, segment: str) -> list[Row]:
        """Symbols of files with that folder or file name in their path, types first."""
        files = self._segments.get(segment.lower(), ())
        places = [place for file in files for place in self._places[file]]
        return [self.rows[place] for place in sorted(places, key=lambda p: (self.rows[p].kind not in TYPE_KINDS, p))]

    def squeezed(self, name: str) -> list[Row]:
        """Symbols whose name is the same but for case and underscores: `parse_config`, `parseConfig`, `ParseConfig`."""
        return [self.rows[place] for place in self._squeezed.get(squeeze(name), ())]

    def _is_within(self, place: int, qualifier: str) -> bool:
        if not qualifier:
            return True
        row = self.rows[place]
        module = self._paths[row.file].rpartition(".")[0]
        owner = _dotted(f"{module}.{row.symbol}").removesuffix(row.name).rstrip(".")
        return f".{owner}".endswith(f".{qualifier}")

    @cached_property
    def _text(self) -> str:
        return "\n".join(row.symbol for row in self.rows)

    @cached_property
    def _starts(self) -> list[int]:
        starts, position = [], 0
        for row in self.rows:
            starts.append(position)
            position += len(row.symbol) + 1
        return starts

    @cached_property
    def _places(self) -> dict[int, list[int]]:
        places: dict[int, list[int]] = defaultdict(list)
        for place, row in enumerate(self.rows):
            places[row.file].append(place)
        return places

    @cached_property
    def _segments(self) -> dict[str, list[int]]:
        files: dict[str, list[int]] = defaultdict(list)
        for file, path in self._paths.items():
            parts = PurePosixPath(path).parts
            for segment in {*parts, PurePosixPath(path).stem}:
                files[segment].append(file)
        return files

    @cached_property
    def _squeezed(self) -> dict[str, list[int]]:
        places: dict[str, list[int]] = defaultdict(list)
        for place, row in enumerate(self.rows):
            places[squeeze(row.name)].append(place)
        return places


def squeeze(name: str) -> str:
    return name.lower().replace("_", "")


def _divided(keyword: str) -> tuple[str, str]:
    qualifier, _, name = _dotted(keyword.lower()).rpartition(".")
    return qualifier, name


def _dotted(name: str) -> str:
    return _SEPARATOR.sub(".", name)
