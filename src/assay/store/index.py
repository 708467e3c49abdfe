"""Opening an index: the catalogue, the edges and the words of the current generation, checked before anything is believed."""

from __future__ import annotations

import io
import math
import mmap
import os
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from assay.core.items import EDGE_NAMES, EXTERNAL, PROVENANCES, Edge, Item
from assay.errors import AssayError
from assay.store import catalogue
from assay.store.catalogue import Catalogue, FileRow
from assay.store.layout import Home
from assay.store.seal import is_sealed
from assay.system.files import UnsafeFolder, files_in

if TYPE_CHECKING:
    import numpy.typing as npt

Held = Mapping[str, mmap.mmap]

_ENDING = ".npy"
_MOST_COLUMNS = 1 << 16  # of an array without rows
_MOST_HEADER = 4096  # bytes; ours have some two hundred

# held while numpy reads headers: it parses them as Python, and CPython 3.11 can take fright when several threads parse at once
HEADERS = threading.Lock()


def hold(folder: Path, names: Iterable[str]) -> Held:
    """The array files among those of a folder, by name."""
    base = os.path.join(folder, "")
    return {name: _map(base + name) for name in names if name.endswith(_ENDING)}


def _map(path: str) -> mmap.mmap:
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0))
    try:
        return mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)
    finally:
        os.close(descriptor)


def array_of(held: Held, name: str, kind: npt.DTypeLike, columns: int = 0) -> npt.NDArray[Any]:
    """One of the arrays, of a type and with so many columns (0: a row); FileNotFoundError when it is not there, nearly anything when damaged."""
    if name not in held:
        raise FileNotFoundError(name)
    array = array_in(memoryview(held[name]), 0)
    if array.dtype != kind or array.shape[1:] != ((columns,) if columns else ()):
        raise ValueError(f"{name} is not of the type that was written")
    return array


def array_in(memory: memoryview, start: int) -> npt.NDArray[Any]:
    """The array that was saved at a place of some memory, without reading it; ValueError when it does not fit or holds no plain values.

    numpy believes what it is told of a buffer: objects in it would be addresses, and sizes below 0 lead out of it.
    """
    import numpy as np

    head = io.BytesIO(memory[start : start + _MOST_HEADER])
    try:
        with HEADERS:
            np.lib.format.read_magic(head)
            shape, by_column, kind = np.lib.format.read_array_header_1_0(head)
    except Exception as error:  # numpy tokenizes and evaluates the header: damage may raise anything
        raise ValueError("a damaged header") from error
    if kind.hasobject:
        raise ValueError("objects in an array")
    room = len(memory) - start - head.tell()
    if any(not 0 <= size <= max(room, _MOST_COLUMNS) for size in shape) or math.prod(shape) * kind.itemsize > room:
        raise ValueError("an array larger than its file")
    return np.ndarray(shape, kind, memory, start + head.tell(), order="F" if by_column else "C")


# Opening an index: the catalogue, the edges and the words of the current generation, checked before anything is
# believed.

if TYPE_CHECKING:
    from assay.store.columns import Columns
    from assay.store.edges import Edges
    from assay.store.history import History
    from assay.store.postings import Postings
    from assay.store.sections import Sections

    Arrays = TypeVar("Arrays", Edges, Postings, Columns)

_ITEM = (
    "SELECT s.number, s.id, s.kind, s.name, s.symbol, f.path, s.start, s.end, coalesce(t.signature, ''), coalesce(t.doc, ''), s.test "
    "FROM symbols s JOIN files f ON f.number = s.file LEFT JOIN texts t ON t.number = s.number "
)


class NoIndex(AssayError):
    """There is no index yet."""


class UnusableIndex(AssayError):
    """There is an index, but it is damaged or of another version."""


@dataclass(frozen=True, slots=True)
class Part:
    """One of the indexes that are asked as one: what its paths begin with, and where the numbers of its items and files do."""

    label: str
    index: Index
    first: int
    first_file: int


class Index:
    """One generation of an index, open for reading. Its arrays are held from the beginning and mapped when they are first asked for."""

    def __init__(self, root: Path, folder: Path, opened: Catalogue, held: Held, hint: str, sealed: bool) -> None:
        self.root, self.folder, self.catalogue = root, folder, opened
        self.sealed = sealed  # made by this user on this machine, and as it was then
        self._held, self._hint = held, hint

    @classmethod
    def open(cls, root: Path, home: Home) -> Index:
        arguments = str(root) if home.folder == Home.of(root).folder else f"{root} --index-dir {home.folder}"
        hint = f"Rebuild it with: assay index --rebuild {arguments}"
        home.check()
        name = home.named()
        while name is not None:
            try:
                return cls._open(root, home, home.generations / name, hint)
            except (FileNotFoundError, UnusableIndex) as error:
                before, name = name, home.named()
                if name == before:  # else a writer swept that generation away while it was being opened
                    if isinstance(error, UnusableIndex):
                        raise
                    raise UnusableIndex(f"{home.folder}: the index is incomplete. {hint}") from None
        raise NoIndex(f"{root}: no index yet. Make one with: assay index {arguments}")

    @classmethod
    def _open(cls, root: Path, home: Home, folder: Path, hint: str) -> Index:
        path = folder / catalogue.NAME
        try:
            files = files_in(folder, home.owners)
        except UnsafeFolder as error:
            raise UnusableIndex(f"{error} Or rebuild the index with: assay index --rebuild {root}") from None
        except NotADirectoryError:
            raise FileNotFoundError(folder) from None
        if catalogue.NAME not in files:
            raise FileNotFoundError(path)
        sealed = is_sealed(folder, files)
        if not sealed:  # a clone's, a copy, or damaged
            home.refuse_tracked()
        try:
            opened = Catalogue.read(path)
        except sqlite3.DatabaseError as error:
            raise UnusableIndex(f"{path}: the index is damaged ({error}). {hint}") from None
        try:
            meta = _meta(opened, path, files[catalogue.NAME].st_size, hint)
            index = cls(root, folder, opened, _held(folder, files, hint), hint, sealed)
            if not sealed:  # what is as it was sealed needs no second look
                index._check(meta)
        except BaseException:
            opened.close()
            raise
        return index

    def _check(self, meta: dict[str, str]) -> None:
        """Compares the arrays with the digests that were taken when they were written, and with each other: a digest is no proof of who wrote it."""
        for what, arrays in (("edges", self.edges), ("words", self.postings), ("columns", self.columns)):
            if arrays.digest != meta.get(what, ""):
                raise UnusableIndex(
                    f"{self.folder}: the index is damaged (not the {what} that were written). {self._hint}"
                )

        if not (
            self.columns.is_consistent
            and self.postings.is_consistent
            and self.edges.is_consistent(len(self.columns))
            and len(self.postings.lengths) <= len(self.columns)
        ):
            raise UnusableIndex(f"{self.folder}: the index is damaged (numbers that lead nowhere). {self._hint}")

    @cached_property
    def edges(self) -> Edges:
        from assay.store.edges import Edges

        return self._opened(Edges.open)

    @cached_property
    def postings(self) -> Postings:
        from assay.store.postings import Postings

        return self._opened(Postings.open)

    @cached_property
    def columns(self) -> Columns:
        from assay.store.columns import Columns

        return self._opened(Columns.open)

    def history(self) -> History:
        """The commits beside the index."""
        from assay.store.history import History

        return History.open(self)

    def sections(self) -> Sections:
        """The sections of the documents beside the index."""
        from assay.store.sections import Sections

        return Sections.open(self)

    @property
    def parts(self) -> tuple[Part, ...]:
        """The indexes it is made of: itself."""
        return (Part("", self, 0, 0),)

    def _opened(self, read: Callable[[Held], Arrays]) -> Arrays:
        try:
            return read(self._held)
        except FileNotFoundError:
            raise
        except Exception as error:  # numpy parses the header as Python: random bytes can raise nearly anything
            raise _damaged(self.folder, error, self._hint) from None

    def damage(self) -> str:
        """What is wrong with the catalogue; empty when nothing is. SQLite looks at all of it only if a file changed since it was sealed."""
        if self.sealed:
            return ""
        try:
            found = self.catalogue.connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        except sqlite3.DatabaseError as error:
            return str(error)
        return "" if found == "ok" else str(found)

    def close(self) -> None:
        self.catalogue.close()

    @cached_property
    def meta(self) -> dict[str, str]:
        return self.catalogue.meta()

    @cached_property
    def files(self) -> dict[str, FileRow]:
        return self.catalogue.files()

    # items

    def in_file(self, path: str) -> list[Item]:
        """All items of a file, itself included."""
        return self.items("f.path = ?", (path,))

    def matching(self, pattern: str) -> list[Item]:
        """Symbols whose name, qualified name or id matches a pattern with `*` and `?`."""
        return self.items("s.ordinal >= 0 AND (s.symbol GLOB ? OR s.name GLOB ? OR s.id GLOB ?)", (pattern,) * 3)

    def first_in(self, file: int, where: str, parameters: Sequence[object]) -> int | None:
        """The number of the first item of a file for which a condition holds, which may say what comes first."""
        query = f"SELECT number FROM symbols WHERE file = ? AND {where} LIMIT 1"
        row = self.catalogue.connection.execute(query, (file, *parameters)).fetchone()
        return None if row is None else int(row[0])

    def rows_of(self, query: str, files: Sequence[int]) -> Iterator[tuple[Any, ...]]:
        """The rows of a query about `{files}` that begin with the number of an item."""
        return iter(self.catalogue.connection.execute(query.format(files=", ".join(map(str, files)))))

    def items(self, where: str, parameters: tuple[object, ...] = ()) -> list[Item]:
        rows = self.catalogue.connection.execute(f"{_ITEM} WHERE {where} ORDER BY s.id", parameters)
        return [Item(*row) for row in rows]

    def item(self, number: int) -> Item:
        return self.items("s.number = ?", (number,))[0]

    def numbered(self, numbers: Iterable[int]) -> dict[int, Item]:
        """Items by their numbers."""
        wanted = tuple(sorted(numbers))
        return {item.number: item for item in self.items(f"s.number IN ({', '.join('?' * len(wanted))})", wanted)}

    def by_id(self, one: str) -> Item | None:
        found = self.items("s.id = ?", (one,))
        return found[0] if found else None

    def symbols_of(self, numbers: Iterable[int]) -> dict[int, str]:
        """The qualified names of items by their numbers."""
        return self._column("symbol", numbers)

    def names_of(self, numbers: Iterable[int]) -> dict[int, str]:
        """The names of items by their numbers."""
        return self._column("name", numbers)

    def lines_of(self, numbers: Iterable[int]) -> dict[int, int]:
        """How many lines items have, by their numbers."""
        return self._column("symbols.end - symbols.start + 1", numbers)

    def ids(self, numbers: Iterable[int]) -> dict[int, str]:
        """The ids of items by their numbers."""
        return self._column("id", numbers)

    def _column(self, column: str, numbers: Iterable[int]) -> dict[int, Any]:
        wanted = sorted(numbers)
        query = f"SELECT number, {column} FROM symbols WHERE number IN ({', '.join('?' * len(wanted))})"
        return dict(self.catalogue.connection.execute(query, wanted).fetchall())

    def names(self) -> list[str]:
        """Every qualified name, for suggestions."""
        return [
            row[0]
            for row in self.catalogue.connection.execute("SELECT DISTINCT symbol FROM symbols WHERE symbol != ''")
        ]

    def problems(self, most: int) -> list[tuple[str, str]]:
        """Files that could not be read, by path, each with the reason."""
        rows = self.catalogue.connection.execute(
            "SELECT path, reason FROM skipped WHERE problem = 1 ORDER BY path LIMIT ?", (most,)
        )
        return rows.fetchall()

    # edges

    def external(self, number: int) -> str:
        row = self.catalogue.connection.execute("SELECT name FROM externals WHERE number = ?", (number,)).fetchone()
        return EXTERNAL + str(row[0]) if row else EXTERNAL + "?"

    def export(self) -> tuple[list[tuple[object, ...]], list[Edge]]:
        """Everything the index says, in an order that depends on nothing but the content: for comparing two indexes."""
        connection = self.catalogue.connection
        ids = dict(connection.execute("SELECT number, id FROM symbols").fetchall())
        outside = {
            -number: EXTERNAL + name for number, name in connection.execute("SELECT number, name FROM externals")
        }
        ids.update(outside)
        symbols = connection.execute(
            "SELECT s.id, s.kind, s.symbol, s.start, s.end, s.test, s.owner, f.language, t.signature, t.doc, t.identifiers, t.literals "
            "FROM symbols s JOIN files f ON f.number = s.file LEFT JOIN texts t ON t.number = s.number ORDER BY s.id"
        ).fetchall()
        words = {ids[number]: digest for number, digest in self.postings.digests().items()}
        symbols = [(*row, words.get(row[0])) for row in symbols]
        found = [
            Edge(
                ids[int(e["source"])],
                ids[int(e["target"])],
                EDGE_NAMES[e["type"]],
                PROVENANCES[e["provenance"]],
                round(float(e["confidence"]), 4),
                int(e["line"]),
            )
            for e in self.edges.all
        ]
        found.sort(key=lambda e: (e.type, e.source, e.target, e.line))
        return symbols, found


def _meta(opened: Catalogue, path: Path, size: int, hint: str) -> dict[str, str]:
    """What a catalogue says of itself, when it is whole and of this version."""
    try:
        meta = opened.meta()
    except sqlite3.DatabaseError as error:
        raise UnusableIndex(f"{path}: the index is damaged ({error}). {hint}") from None
    if meta.get("schema") != str(catalogue.SCHEMA_VERSION):
        raise UnusableIndex(
            f"{path}: the index has format {meta.get('schema', '?')}, this version of assay writes {catalogue.SCHEMA_VERSION}. {hint}"
        )
    if meta.get("catalogue_bytes") != f"{size:012d}":
        raise UnusableIndex(f"{path}: the index is truncated. {hint}")
    return meta


def _held(folder: Path, files: Iterable[str], hint: str) -> Held:
    try:
        return hold(folder, files)
    except ValueError as error:  # nothing is in a file
        raise _damaged(folder, error, hint) from None


def _damaged(folder: Path, error: Exception, hint: str) -> UnusableIndex:
    problem = (str(error) or type(error).__name__).splitlines()[0]
    return UnusableIndex(f"{folder}: the index is damaged ({problem}). {hint}")
