"""Symbol lookup by name, place or pattern; nearest names when nothing matches.

`NameTable` looks up without regard to case: by exact name, prefix, substring of the qualified name, or path segment.
It queries the catalogue; only substring search loads all names into memory.
"""

from __future__ import annotations

import re
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from heapq import merge
from typing import Any, NamedTuple

from assay.core.items import TYPE_KINDS, Item, Outline
from assay.errors import AssayError
from assay.store.index import Index
from assay.text.terms import words
from assay.text.tokens import LONGEST_NAME

_SUGGESTED = 5
_SHOWN = 80  # characters shown of an overlong name


class NoSuchSymbol(AssayError):
    """No symbol of that name; the message suggests the nearest names."""

    exit_code = 1

    def __init__(self, name: str, near: list[str], message: str = "") -> None:
        hint = f" Nearest: {', '.join(near)}" if near else ""
        shown = name if len(name) <= LONGEST_NAME else f"{name[:_SHOWN]}… ({len(name):,} characters)"
        super().__init__((message or f"no symbol called '{shown}'.") + hint)
        self.near = near


def match(index: Index, pattern: str) -> list[Item]:
    """Return items whose id, name or qualified name matches.

    A name with `*`, `?` or `[` is a pattern; otherwise a name as in `resolve`, else a substring.
    """
    if len(pattern) > LONGEST_NAME:
        return []
    if any(wildcard in pattern for wildcard in "*?["):
        return index.matching(pattern)
    if exact := resolve(index, pattern):
        return exact
    like = "%" + pattern.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
    return index.items("s.ordinal >= 0 AND s.symbol LIKE ? ESCAPE '\\'", (like,))


def resolve(index: Index, name: str) -> list[Item]:
    """Return the items meant by a name; all that fit.

    A name is `run`, `Flask.run`, a file (`src/app.py`), a name in a file (`src/app.py::Flask.run`), a line in it
    (`src/app.py:120`: the innermost definition there) or a name in a module (`flask.app.Flask.run`, `flask/app.Flask`).
    """
    if len(name) > LONGEST_NAME:
        return []
    exact = index.by_id(name)
    if exact is not None:
        return [exact]
    return _by_suffix(index, name) or _in_file(index, name) or _around_line(index, name) or _in_module(index, name)


def _by_suffix(index: Index, name: str) -> list[Item]:
    """Return items whose qualified name ends with the name."""
    dotted = name.replace("::", ".").replace("#", ".")
    return [
        item
        for item in index.items("s.name = ? AND s.ordinal >= 0", (dotted.rpartition(".")[2],))
        if _has_suffix(item.symbol.replace("::", "."), dotted)
    ]


def _in_file(index: Index, name: str) -> list[Item]:
    """Return items named `path::symbol`, where the path may lack leading folders."""
    path, separator, symbol = name.partition("::")  # at most 500 deep: every level takes two of LONGEST_NAME characters
    if not separator:
        return []
    named = _by_suffix(index, symbol) or _in_file(index, symbol)
    return [item for item in named if item.path == path or item.path.endswith("/" + path)]


def _has_suffix(symbol: str, suffix: str) -> bool:
    return symbol == suffix or symbol.endswith("." + suffix)


# Places: a file, or lines of it as compilers, grep and search results write them (12, 12:5, 12-40)

_PLACE = re.compile(r"(?P<path>.+?):(?P<first>[0-9]{1,9})(?:-(?P<last>[0-9]{1,9})|:[0-9]{1,9})?:?", re.DOTALL)


def _around_line(index: Index, name: str) -> list[Item]:
    """Return the innermost definitions around the lines of a place, or the file itself where there is none."""
    place = _PLACE.fullmatch(name)
    files = _files_called(index, place["path"] if place else name)
    if place is None:
        return [item for path in files if (item := index.by_id(path))]
    first, last = int(place["first"]), int(place["last"] or place["first"])
    found = []
    for path in files:
        if 1 <= first <= last <= index.files[path].lines:
            innermost = Outline(index.in_file(path)).touched([(first, last)])
            found += innermost or [item for item in [index.by_id(path)] if item]
    return found


def _files_called(index: Index, name: str) -> list[str]:
    """Return the indexed files of that path, which may lack leading folders or have those outside the repository."""
    path = name.removeprefix("./")
    if path in index.files:
        return [path]
    if "." not in path and "/" not in path:
        return []  # a plain name
    return [indexed for indexed in index.files if indexed.endswith("/" + path) or path.endswith("/" + indexed)]


# Modules: a path without its suffix, and names in it, joined by dots or slashes

_PACKAGE_FILES = frozenset({"__init__", "index", "mod"})  # files that stand for their folder


def _in_module(index: Index, name: str) -> list[Item]:
    """Return items whose module and qualified name end with the name, or the files of a module.

    Without any, items whose module and qualified name have its parts in this order: `flask.Flask` is exported by
    `flask`, but defined in `flask.app`.
    """
    wanted = _dotted(name.removeprefix("./")).split(".")
    if len(wanted) < 2 or not all(wanted):
        return []
    items = index.items("s.name = ? AND s.ordinal >= 0", (wanted[-1],))
    parts = {item.id: _module_and_name(item) for item in items}
    if defined := [item for item in items if parts[item.id][-len(wanted) :] == wanted]:
        return defined
    if files := [path for path in index.files if _module(path)[-len(wanted) :] == wanted]:
        return [item for path in files if (item := index.by_id(path))]
    return [item for item in items if _in_order(wanted, parts[item.id])]


def _module(path: str) -> list[str]:
    parts = _dotted(path.rpartition(".")[0] or path).split(".")
    return parts[:-1] if parts[-1] in _PACKAGE_FILES else parts


def _module_and_name(item: Item) -> list[str]:
    return [*_module(item.path), *_dotted(item.symbol).split(".")]


def _in_order(wanted: list[str], parts: list[str]) -> bool:
    remaining = iter(parts)
    return parts[-1] == wanted[-1] and all(part in remaining for part in wanted)


# Names that must exist


def require(index: Index, name: str) -> list[Item]:
    """Resolve a name; raise NoSuchSymbol with the nearest names if nothing matches."""
    matches = resolve(index, name)
    if not matches:
        raise missing(index, name)
    return matches


def missing(index: Index, name: str) -> NoSuchSymbol:
    """Return the error for a name that nothing has, with the nearest names or files."""
    from assay.text.terms import nearest

    if len(name) > LONGEST_NAME:
        return NoSuchSymbol(name, [])
    place = _PLACE.fullmatch(name)
    if place is None:
        own_part = ".".join(_dotted(name.strip("*?")).split(".")[-2:])  # without its file or module
        return NoSuchSymbol(name, nearest(own_part, index.names(), _SUGGESTED))
    if _files_called(index, place["path"]):
        return NoSuchSymbol(name, [], f"{name}: the file has no such line.")
    near = nearest(place["path"], index.files, _SUGGESTED)
    return NoSuchSymbol(name, near, f"{place['path']}: not in the index.")


def require_one(index: Index, name: str) -> Item:
    """Resolve a name to exactly one item, so that feedback is never recorded for the wrong one.

    Raises AssayError for no match and for several.
    """
    try:
        matches = require(index, name)
    except NoSuchSymbol as error:
        raise AssayError(str(error)) from None
    if len(matches) > 1:
        ids = ", ".join(item.id for item in matches[:_SUGGESTED]) + (" …" if len(matches) > _SUGGESTED else "")
        raise AssayError(f"'{name}' could be any of {len(matches)} symbols; name one of them: {ids}")
    return matches[0]


# The name table

_SEPARATOR = re.compile(r"::|#|/")
_AFTER_PREFIX = "\U0010ffff"  # sorts after every continuation of a prefix
FILES = 40  # files per path segment: the channel keeps no more symbols than that

_ROW = "SELECT number, name, symbol, file, test, kind FROM symbols WHERE ordinal >= 0"
_PREFIX = "SELECT DISTINCT lower FROM symbols WHERE lower >= ? AND lower < ?"
_ALL_SYMBOLS = (
    "SELECT group_concat(symbol || char(9) || number || char(10), '') FROM "
    "(SELECT s.symbol, s.number FROM files f JOIN symbols s ON s.file = f.number "
    "WHERE s.ordinal >= 0 AND s.test = ? ORDER BY f.path, s.ordinal)"
)
# tie-break: product code before tests, outer before inner; ids make the order total
_TIE_BREAK = "test, length(symbol), id"
_TYPES_FIRST = f"kind NOT IN ({', '.join(repr(kind) for kind in sorted(TYPE_KINDS))})"


class Row(NamedTuple):
    """A symbol."""

    number: int
    name: str
    symbol: str
    file: int
    test: bool = False
    kind: str = ""


class NameTable:
    """The symbol names of one catalogue."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def exact(self, keyword: str) -> Iterator[Row]:
        """Yield symbols of that name in any case; all qualifiers of `Type.name` or `package.module.name` must match."""
        qualifier, name = _split_qualifier(keyword)
        return self._matching_qualifier(qualifier, self._with_names([name]))

    def prefixed(self, keyword: str) -> Iterator[Row]:
        """Yield symbols whose name starts with the keyword, shortest first."""
        qualifier, start = _split_qualifier(keyword)
        names = self._connection.execute(_PREFIX, (start, start + _AFTER_PREFIX)).fetchall()
        for (name,) in sorted(names, key=lambda row: (len(row[0]), row[0])):
            yield from self._matching_qualifier(qualifier, self._with_names([name]))

    def containing(self, keyword: str) -> Iterator[Row]:
        """Yield symbols whose qualified name contains the keyword, product code before tests."""
        text, needle = self._text, keyword.lower()
        start = text.find(needle) if "\n" not in needle and "\t" not in needle else -1
        while start >= 0:
            end = text.index("\n", start)
            if "\t" in text[start:end]:  # otherwise the match is in the number
                yield from self._select("number = ?", [int(text[text.rindex("\t", start, end) : end])], "number")
            start = text.find(needle, end)

    def under(self, segment: str) -> Iterator[Row]:
        """Yield symbols of files with that folder or file name in their path, types first."""
        files = self._segments.get(segment.lower(), [])[:FILES]
        return self._select(f"file IN ({_placeholders(files)})", files, f"{_TYPES_FIRST}, {_TIE_BREAK}")

    def squeezed(self, name: str) -> Iterator[Row]:
        """Yield symbols of the same name up to case and underscores: `parse_config`, `parseConfig`, `ParseConfig`."""
        squeezed, joined = squeeze(name), "_".join(words(name))
        spellings = dict.fromkeys(f"{prefix}{base}" for base in (joined, squeezed) for prefix in ("", "_", "__"))
        return self._with_names(list(spellings))

    def _with_names(self, names: Sequence[str]) -> Iterator[Row]:
        """Yield symbols with one of some lower-case names."""
        return self._select(f"lower IN ({_placeholders(names)})", names, _TIE_BREAK)

    def _select(self, where: str, parameters: Sequence[object], order: str) -> Iterator[Row]:
        if not parameters:
            return iter(())
        return map(Row._make, self._connection.execute(f"{_ROW} AND {where} ORDER BY {order}", parameters))

    def _matching_qualifier(self, qualifier: str, rows: Iterator[Row]) -> Iterator[Row]:
        """Keep rows whose path and qualified name, without the name itself, end with the qualifier."""
        for row in rows:
            if not qualifier or f".{self._owner(row)}".endswith(f".{qualifier}"):
                yield row

    def _owner(self, row: Row) -> str:
        module = self._paths[row.file].rpartition(".")[0]
        return _dotted(f"{module}.{row.symbol}").lower().removesuffix(row.name.lower()).rstrip(".")

    @cached_property
    def _paths(self) -> dict[int, str]:
        """Paths by file number, product code before tests, shallow before deep."""
        rows = self._connection.execute("SELECT test, path, number FROM files ORDER BY test, path").fetchall()
        return {number: path for _, path, number in sorted(rows, key=lambda row: (row[0], row[1].count("/")))}

    @cached_property
    def _segments(self) -> dict[str, list[int]]:
        """Files by folder name and by file name with and without extension."""
        files: dict[str, list[int]] = defaultdict(list)
        folder_segments: dict[str, set[str]] = {}  # segments of each folder path
        for file, path in self._paths.items():
            folder, _, name = path.lower().rpartition("/")
            if folder not in folder_segments:
                folder_segments[folder] = set(folder.split("/")) if folder else set()
            stem = name.rpartition(".")[0]
            for segment in folder_segments[folder] | {name, stem if stem.strip(".") else name}:
                files[segment].append(file)
        return files

    @cached_property
    def _text(self) -> str:
        """Lower-case lines of symbol, tab, number. SQLite joins them several times as fast as Python."""
        return "".join(self._connection.execute(_ALL_SYMBOLS, (test,)).fetchone()[0] or "" for test in (0, 1)).lower()


class MergedNameTable(NameTable):
    """The symbol names of several catalogues with number offsets, merged in the order of a single table."""

    def __init__(self, parts: Sequence[tuple[NameTable, int]]) -> None:
        self._parts = parts

    def exact(self, keyword: str) -> Iterator[Row]:
        return self._merged(lambda table: table.exact(keyword), _tie_break)

    def prefixed(self, keyword: str) -> Iterator[Row]:
        return self._merged(
            lambda table: table.prefixed(keyword), lambda row: (len(row.name), row.name.lower(), *_tie_break(row))
        )

    def containing(self, keyword: str) -> Iterator[Row]:
        return self._merged(lambda table: table.containing(keyword), lambda row: (row.test,))

    def under(self, segment: str) -> Iterator[Row]:
        return self._merged(
            lambda table: table.under(segment), lambda row: (row.kind not in TYPE_KINDS, *_tie_break(row))
        )

    def squeezed(self, name: str) -> Iterator[Row]:
        return self._merged(lambda table: table.squeezed(name), _tie_break)

    def _merged(self, find: Callable[[NameTable], Iterator[Row]], key: Callable[[Row], Any]) -> Iterator[Row]:
        return merge(*(_offset(find(table), first) for table, first in self._parts), key=key)


def table_of(index: Index) -> NameTable:
    """Return the name table of an index."""
    parts = [(NameTable(part.generation.catalogue.connection), part.first) for part in index.parts]
    return parts[0][0] if len(parts) == 1 else MergedNameTable(parts)


def _offset(rows: Iterator[Row], first: int) -> Iterator[Row]:
    return (row._replace(number=row.number + first) for row in rows)


def _tie_break(row: Row) -> tuple[bool, int]:
    return row.test, len(row.symbol)


def squeeze(name: str) -> str:
    return name.lower().replace("_", "")


def _split_qualifier(keyword: str) -> tuple[str, str]:
    qualifier, _, name = _dotted(keyword.lower()).rpartition(".")
    return qualifier, name.encode("utf-8", "replace").decode()  # no lone surrogates: SQLite rejects them


def _dotted(name: str) -> str:
    return _SEPARATOR.sub(".", name)


def _placeholders(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))
