"""Opening an index: catalogue, edges, postings and columns of the current generation, verified before use."""

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

MappedFiles = Mapping[str, mmap.mmap]

_SUFFIX = ".npy"
_MAX_EMPTY_SIZE = 1 << 16  # largest dimension of an array without rows
_MAX_HEADER = 4096  # bytes; ours have about two hundred

# numpy parses headers as Python source, which can crash CPython 3.11 when several threads do it at once
HEADERS = threading.Lock()


def hold(folder: Path, names: Iterable[str]) -> MappedFiles:
    """Memory-map the array files among `names`, by name."""
    base = os.path.join(folder, "")
    return {name: _map(base + name) for name in names if name.endswith(_SUFFIX)}


def _map(path: str) -> mmap.mmap:
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0))
    try:
        return mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)
    finally:
        os.close(descriptor)


def array_of(held: MappedFiles, name: str, kind: npt.DTypeLike, columns: int = 0) -> npt.NDArray[Any]:
    """Return an array of an expected dtype and number of columns (0: one-dimensional).

    Raises FileNotFoundError if it is missing; damage may raise nearly anything.
    """
    if name not in held:
        raise FileNotFoundError(name)
    array = array_in(memoryview(held[name]), 0)
    if array.dtype != kind or array.shape[1:] != ((columns,) if columns else ()):
        raise ValueError(f"{name} is not of the type that was written")
    return array


def array_in(memory: memoryview, start: int) -> npt.NDArray[Any]:
    """Return the saved array at an offset without reading it; ValueError if it does not fit or holds objects.

    numpy trusts the header: objects would be raw addresses, and negative sizes would leave the buffer.
    """
    import numpy as np

    header = io.BytesIO(memory[start : start + _MAX_HEADER])
    try:
        with HEADERS:
            np.lib.format.read_magic(header)
            shape, fortran_order, dtype = np.lib.format.read_array_header_1_0(header)
    except Exception as error:  # numpy tokenizes and evaluates the header: damage may raise anything
        raise ValueError("a damaged header") from error
    if dtype.hasobject:
        raise ValueError("objects in an array")
    available = len(memory) - start - header.tell()
    if (
        any(not 0 <= size <= max(available, _MAX_EMPTY_SIZE) for size in shape)
        or math.prod(shape) * dtype.itemsize > available
    ):
        raise ValueError("an array larger than its file")
    return np.ndarray(shape, dtype, memory, start + header.tell(), order="F" if fortran_order else "C")


# The reader

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
    """No index exists yet."""


class UnusableIndex(AssayError):
    """The index is damaged or of another version."""


@dataclass(frozen=True, slots=True)
class Part:
    """One index of a multi-repository index: its label and the offsets of its item and file numbers."""

    label: str
    index: Index
    first: int
    first_file: int


class Index:
    """One generation of an index, open for reading. Array files are mapped on opening and parsed on first use."""

    def __init__(self, root: Path, folder: Path, opened: Catalogue, held: MappedFiles, hint: str, sealed: bool) -> None:
        self.root, self.folder, self.catalogue = root, folder, opened
        self.sealed = sealed  # written by this user on this machine, and unchanged since
        self._maps, self._hint = held, hint

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
                if name == before:  # otherwise a writer removed that generation meanwhile
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
        if not sealed:  # from a clone, copied, or damaged
            home.refuse_tracked()
        try:
            opened = Catalogue.read(path)
        except sqlite3.DatabaseError as error:
            raise UnusableIndex(f"{path}: the index is damaged ({error}). {hint}") from None
        try:
            meta = _meta(opened, path, files[catalogue.NAME].st_size, hint)
            index = cls(root, folder, opened, _maps(folder, files, hint), hint, sealed)
            if not sealed:  # sealed content needs no verification
                index._check(meta)
        except BaseException:
            opened.close()
            raise
        return index

    def _check(self, meta: dict[str, str]) -> None:
        """Verify the arrays against their stored digests and against each other.

        The digests alone prove nothing: whoever wrote the arrays could write them, too.
        """
        for name, arrays in (("edges", self.edges), ("words", self.postings), ("columns", self.columns)):
            if arrays.digest != meta.get(name, ""):
                raise UnusableIndex(f"{self.folder}: the index is damaged ({name}: wrong checksum). {self._hint}")

        if not (
            self.columns.is_consistent
            and self.postings.is_consistent
            and self.edges.is_consistent(len(self.columns))
            and len(self.postings.lengths) <= len(self.columns)
        ):
            raise UnusableIndex(f"{self.folder}: the index is damaged (numbers out of range). {self._hint}")

    @cached_property
    def edges(self) -> Edges:
        from assay.store.edges import Edges

        return self._read_arrays(Edges.open)

    @cached_property
    def postings(self) -> Postings:
        from assay.store.postings import Postings

        return self._read_arrays(Postings.open)

    @cached_property
    def columns(self) -> Columns:
        from assay.store.columns import Columns

        return self._read_arrays(Columns.open)

    def history(self) -> History:
        """Open the commit history of this index."""
        from assay.store.history import History

        return History.open(self)

    def sections(self) -> Sections:
        """Open the document sections of this index."""
        from assay.store.sections import Sections

        return Sections.open(self)

    @property
    def parts(self) -> tuple[Part, ...]:
        """The indexes it consists of: itself."""
        return (Part("", self, 0, 0),)

    def _read_arrays(self, read: Callable[[MappedFiles], Arrays]) -> Arrays:
        try:
            return read(self._maps)
        except FileNotFoundError:
            raise
        except Exception as error:  # numpy parses headers as Python, so damage can raise nearly anything
            raise _damage_error(self.folder, error, self._hint) from None

    def damage(self) -> str:
        """Return what is wrong with the catalogue, or an empty string. Sealed generations are not checked."""
        if self.sealed:
            return ""
        try:
            result = self.catalogue.connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        except sqlite3.DatabaseError as error:
            return str(error)
        return "" if result == "ok" else str(result)

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
        """Return all items of a file, including its own."""
        return self.items("f.path = ?", (path,))

    def matching(self, pattern: str) -> list[Item]:
        """Return symbols whose name, qualified name or id matches a `*`/`?` pattern."""
        return self.items("s.ordinal >= 0 AND (s.symbol GLOB ? OR s.name GLOB ? OR s.id GLOB ?)", (pattern,) * 3)

    def first_in(self, file: int, where: str, parameters: Sequence[object]) -> int | None:
        """Return the number of the first item of a file that satisfies a condition (which may include ORDER BY)."""
        query = f"SELECT number FROM symbols WHERE file = ? AND {where} LIMIT 1"
        row = self.catalogue.connection.execute(query, (file, *parameters)).fetchone()
        return None if row is None else int(row[0])

    def rows_of(self, query: str, files: Sequence[int]) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query about `{files}`; the first column must be an item number."""
        return iter(self.catalogue.connection.execute(query.format(files=", ".join(map(str, files)))))

    def items(self, where: str, parameters: tuple[object, ...] = ()) -> list[Item]:
        rows = self.catalogue.connection.execute(f"{_ITEM} WHERE {where} ORDER BY s.id", parameters)
        return [Item(*row) for row in rows]

    def item(self, number: int) -> Item:
        return self.items("s.number = ?", (number,))[0]

    def numbered(self, numbers: Iterable[int]) -> dict[int, Item]:
        """Return items by number."""
        ordered = tuple(sorted(numbers))
        return {item.number: item for item in self.items(f"s.number IN ({', '.join('?' * len(ordered))})", ordered)}

    def by_id(self, one: str) -> Item | None:
        items = self.items("s.id = ?", (one,))
        return items[0] if items else None

    def symbols_of(self, numbers: Iterable[int]) -> dict[int, str]:
        """Return qualified names by item number."""
        return self._column("symbol", numbers)

    def names_of(self, numbers: Iterable[int]) -> dict[int, str]:
        """Return names by item number."""
        return self._column("name", numbers)

    def lines_of(self, numbers: Iterable[int]) -> dict[int, int]:
        """Return line counts by item number."""
        return self._column("symbols.end - symbols.start + 1", numbers)

    def ids(self, numbers: Iterable[int]) -> dict[int, str]:
        """Return ids by item number."""
        return self._column("id", numbers)

    def _column(self, column: str, numbers: Iterable[int]) -> dict[int, Any]:
        ordered = sorted(numbers)
        query = f"SELECT number, {column} FROM symbols WHERE number IN ({', '.join('?' * len(ordered))})"
        return dict(self.catalogue.connection.execute(query, ordered).fetchall())

    def names(self) -> list[str]:
        """Return every qualified name, for suggestions."""
        return [
            row[0]
            for row in self.catalogue.connection.execute("SELECT DISTINCT symbol FROM symbols WHERE symbol != ''")
        ]

    def problems(self, most: int) -> list[tuple[str, str]]:
        """Return at most `most` unreadable files with the reason, by path."""
        rows = self.catalogue.connection.execute(
            "SELECT path, reason FROM skipped WHERE problem = 1 ORDER BY path LIMIT ?", (most,)
        )
        return rows.fetchall()

    # edges

    def external(self, number: int) -> str:
        row = self.catalogue.connection.execute("SELECT name FROM externals WHERE number = ?", (number,)).fetchone()
        return EXTERNAL + str(row[0]) if row else EXTERNAL + "?"

    def export(self) -> tuple[list[tuple[object, ...]], list[Edge]]:
        """Return all symbols and edges in an order that depends on content only, for comparing two indexes."""
        connection = self.catalogue.connection
        ids = dict(connection.execute("SELECT number, id FROM symbols").fetchall())
        externals = {
            -number: EXTERNAL + name for number, name in connection.execute("SELECT number, name FROM externals")
        }
        ids.update(externals)
        symbols = connection.execute(
            "SELECT s.id, s.kind, s.symbol, s.start, s.end, s.test, s.owner, f.language, t.signature, t.doc, t.identifiers, t.literals "
            "FROM symbols s JOIN files f ON f.number = s.file LEFT JOIN texts t ON t.number = s.number ORDER BY s.id"
        ).fetchall()
        word_digests = {ids[number]: digest for number, digest in self.postings.digests().items()}
        symbols = [(*row, word_digests.get(row[0])) for row in symbols]
        edges = [
            Edge(
                ids[int(edge["source"])],
                ids[int(edge["target"])],
                EDGE_NAMES[edge["type"]],
                PROVENANCES[edge["provenance"]],
                round(float(edge["confidence"]), 4),
                int(edge["line"]),
            )
            for edge in self.edges.all
        ]
        edges.sort(key=lambda edge: (edge.type, edge.source, edge.target, edge.line))
        return symbols, edges


def _meta(opened: Catalogue, path: Path, size: int, hint: str) -> dict[str, str]:
    """Read the metadata of a catalogue; raises UnusableIndex if it is truncated or of another version."""
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


def _maps(folder: Path, files: Iterable[str], hint: str) -> MappedFiles:
    try:
        return hold(folder, files)
    except ValueError as error:  # an empty file
        raise _damage_error(folder, error, hint) from None


def _damage_error(folder: Path, error: Exception, hint: str) -> UnusableIndex:
    problem = (str(error) or type(error).__name__).splitlines()[0]
    return UnusableIndex(f"{folder}: the index is damaged ({problem}). {hint}")
