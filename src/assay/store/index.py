"""The index of one repository or several, open for reading: items, edges and arrays with one numbering.

An index is a list of parts, one per repository and usually a single one. With several, item and file numbers of each
part are shifted by its offsets, and ids and paths are prefixed with its label.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.core.items import EDGE_NAMES, EXTERNAL, PROVENANCES, Edge, Item
from assay.store.catalogue import Catalogue, FileRow
from assay.store.generation import Generation, NoIndex, UnusableIndex
from assay.store.layout import Home

if TYPE_CHECKING:
    from assay.store.columns import Columns
    from assay.store.edges import Edges
    from assay.store.history import History
    from assay.store.links import Links
    from assay.store.links.stated import Stated
    from assay.store.postings import Postings
    from assay.store.sections import Sections

__all__ = ["Index", "NoIndex", "Part", "UnusableIndex"]

_ITEM = (
    "SELECT s.number, s.id, s.kind, s.name, s.symbol, f.path, s.start, s.end, coalesce(t.signature, ''), coalesce(t.doc, ''), s.test "
    "FROM symbols s JOIN files f ON f.number = s.file LEFT JOIN texts t ON t.number = s.number "
)
_MOST_PARAMETERS = 10_000  # of one statement: SQLite allows 32,766 by default
_FIRST: Callable[[Part], int] = attrgetter("first")
_FIRST_FILE: Callable[[Part], int] = attrgetter("first_file")


@dataclass(frozen=True, slots=True)
class Part:
    """One repository of an index: its label (empty if it is the only one) and the offsets of its numbers."""

    label: str
    generation: Generation
    first: int = 0
    first_file: int = 0

    def path(self, local: str) -> str:
        """Return the path or id that a local one has in the whole index."""
        return f"{self.label}/{local}" if self.label else local

    def execute(self, query: str, parameters: Sequence[object] = ()) -> Iterator[tuple[Any, ...]]:
        return self.generation.catalogue.connection.execute(query, parameters)

    def items(self, where: str, parameters: Sequence[object] = ()) -> list[Item]:
        """Return the items that satisfy a condition on local numbers, ids and paths, by id."""
        items = [Item(*row) for row in self.execute(f"{_ITEM} WHERE {where} ORDER BY s.id", parameters)]
        if not self.label:
            return items
        return [
            replace(
                item, number=item.number + self.first, id=self.path(item.id), path=self.path(item.path),
                repository=self.label,
            )
            for item in items
        ]  # fmt: skip


class Index:
    """One or several repositories, open for reading. Properties of a single repository raise ValueError for several."""

    def __init__(self, parts: Iterable[Part]) -> None:
        self.parts = tuple(parts)

    @classmethod
    def open(cls, root: Path, home: Home) -> Index:
        """Open the index of a repository. Raises NoIndex or UnusableIndex."""
        return cls([Part("", Generation.open(root, home))])

    @classmethod
    def joined(cls, indexes: Mapping[str, Index]) -> Index:
        """Join indexes in the order of their labels, so that numbers do not depend on the order of arguments."""
        parts, first, first_file = list[Part](), 0, 0
        for label, index in sorted(indexes.items()):
            generation = index.generation
            parts.append(Part(label, generation, first, first_file))
            first += len(generation.columns)  # never fewer than its postings
            first_file += generation.last_file + 1
        return cls(parts)

    def close(self) -> None:
        for part in self.parts:
            part.generation.close()

    # a single repository

    @property
    def generation(self) -> Generation:
        (part,) = self.parts
        return part.generation

    @property
    def root(self) -> Path:
        return self.generation.root

    @property
    def folder(self) -> Path:
        return self.generation.folder

    @property
    def catalogue(self) -> Catalogue:
        return self.generation.catalogue

    @property
    def meta(self) -> dict[str, str]:
        return self.generation.meta

    def problems(self, most: int) -> list[tuple[str, str]]:
        """Return at most `most` unreadable files with the reason, by path."""
        rows = self.catalogue.connection.execute(
            "SELECT path, reason FROM skipped WHERE problem = 1 ORDER BY path LIMIT ?", (most,)
        )
        return rows.fetchall()

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
        word_digests = {ids[number]: digest for number, digest in self.generation.postings.digests().items()}
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

    # arrays

    @cached_property
    def edges(self) -> Edges:
        from assay.store.edges import Edges

        return Edges.joined([(part.generation.edges, part.first, part.first_file) for part in self.parts])

    @cached_property
    def postings(self) -> Postings:
        from assay.store.postings import Postings

        return Postings([(part.generation.postings, part.first) for part in self.parts])

    @cached_property
    def columns(self) -> Columns:
        from assay.store.columns import Columns

        return Columns.joined([(part.generation.columns, part.first, part.first_file) for part in self.parts])

    @cached_property
    def links(self) -> Links:
        """Statements about items from outside the code, of all repositories together."""
        from assay.store.links import Links

        return Links(self)

    # beside the generations

    @cached_property
    def stated(self) -> list[Stated]:
        """Statements of manifests, deployments and CODEOWNERS files, by part."""
        from assay.store.links.stated import Stated

        return [Stated(part) for part in self.parts]

    @cached_property
    def history(self) -> History:
        """Commits of all repositories."""
        from assay.store.history import History

        return History.open(self)

    @cached_property
    def sections(self) -> Sections:
        """Sections of documents of all repositories."""
        from assay.store.sections import Sections

        return Sections.open(self)

    # files and items

    @cached_property
    def files(self) -> dict[str, FileRow]:
        """Indexed files by path."""
        if not self.parts[0].label:
            return self.generation.files
        return {
            part.path(path): row._replace(number=row.number + part.first_file, path=part.path(path))
            for part in self.parts
            for path, row in part.generation.files.items()
        }

    def items(self, where: str, parameters: Sequence[object] = ()) -> list[Item]:
        """Return the items of every part that satisfy a condition without numbers, ids and paths."""
        return [item for part in self.parts for item in part.items(where, parameters)]

    def item(self, number: int) -> Item:
        part = self._owner(number, _FIRST)
        return part.items("s.number = ?", (number - part.first,))[0]

    def numbered(self, numbers: Iterable[int]) -> dict[int, Item]:
        """Return items by number."""
        return {
            item.number: item
            for part, local in self._by_owner(numbers, _FIRST)
            for item in part.items(f"s.number IN ({_marks(local)})", local)
        }

    def by_id(self, id: str) -> Item | None:
        part, local = self._divided(id)
        items = part.items("s.id = ?", (local,)) if part else []
        return items[0] if items else None

    def external(self, source: int, number: int) -> str:
        """Return the external name with a number, as an edge from the item `source` has it."""
        part = self._owner(source, _FIRST)
        return next((name for (name,) in part.execute("SELECT name FROM externals WHERE number = ?", (number,))), "")

    def in_file(self, path: str) -> list[Item]:
        """Return all items of a file, including its own."""
        part, local = self._divided(path)
        return part.items("f.path = ?", (local,)) if part else []

    def matching(self, pattern: str) -> list[Item]:
        """Return symbols whose name, qualified name or id matches a `*`/`?` pattern.

        With several repositories, a pattern that starts with a label is also matched in that repository.
        """
        where = "s.ordinal >= 0 AND (s.symbol GLOB ? OR s.name GLOB ? OR s.id GLOB ?)"
        items = self.items(where, (pattern,) * 3)
        part, local = self._divided(pattern)
        if part and part.label:
            items += part.items(where, (local,) * 3)
        return sorted({item.id: item for item in items}.values(), key=lambda item: item.id)

    def symbols_of(self, numbers: Iterable[int]) -> dict[int, str]:
        """Return qualified names by item number."""
        return self._column("symbol", numbers)

    def names_of(self, numbers: Iterable[int]) -> dict[int, str]:
        """Return names by item number."""
        return self._column("name", numbers)

    def names_and_lines_of(self, numbers: Iterable[int]) -> dict[int, tuple[str, int]]:
        """Return names and line counts by item number."""
        found: dict[int, tuple[str, int]] = {}
        for part, local in self._by_owner(numbers, _FIRST):
            query = (
                f"SELECT number, name, symbols.end - symbols.start + 1 FROM symbols WHERE number IN ({_marks(local)})"
            )
            found |= {number + part.first: (name, lines) for number, name, lines in part.execute(query, local)}
        return found

    def descriptions_of(self, numbers: Iterable[int], characters: int) -> dict[int, tuple[str, str]]:
        """Return the name of each item and its text (`Catalogue.descriptions`), by item number."""
        return {
            number + part.first: (name, text)
            for part, local in self._by_owner(numbers, _FIRST)
            for number, _, name, text in part.generation.catalogue.descriptions(
                characters, f"s.number IN ({_marks(local)})", local
            )
        }

    def ids(self, numbers: Iterable[int]) -> dict[int, str]:
        """Return ids by item number."""
        return {number + part.first: part.path(id) for part, number, id in self._values("id", numbers)}

    def _column(self, column: str, numbers: Iterable[int]) -> dict[int, Any]:
        return {number + part.first: value for part, number, value in self._values(column, numbers)}

    def _values(self, column: str, numbers: Iterable[int]) -> Iterator[tuple[Part, int, Any]]:
        """Yield the part, the local number and the value of each item."""
        for part, local in self._by_owner(numbers, _FIRST):
            query = f"SELECT number, {column} FROM symbols WHERE number IN ({_marks(local)})"
            yield from ((part, number, value) for number, value in part.execute(query, local))

    def names(self) -> list[str]:
        """Return every qualified name, for suggestions."""
        query = "SELECT DISTINCT symbol FROM symbols WHERE symbol != ''"
        return list(dict.fromkeys(name for part in self.parts for (name,) in part.execute(query)))

    def first_in(self, file: int, where: str, parameters: Sequence[object]) -> int | None:
        """Return the number of the first item of a file that satisfies a condition (which may include ORDER BY)."""
        part = self._owner(file, _FIRST_FILE)
        query = f"SELECT number FROM symbols WHERE file = ? AND {where} LIMIT 1"
        return next((row[0] + part.first for row in part.execute(query, (file - part.first_file, *parameters))), None)

    def rows_of(self, query: str, files: Iterable[int]) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query about `{files}`; the first column must be an item number."""
        for part, local in self._by_owner(files, _FIRST_FILE):
            for number, *columns in part.execute(query.format(files=", ".join(map(str, local)))):
                yield number + part.first, *columns

    def _divided(self, path: str) -> tuple[Part | None, str]:
        """Split a path or id into the part of its label and the local path; None without a known label."""
        if not self.parts[0].label:
            return self.parts[0], path
        label, _, local = path.partition("/")
        return next((part for part in self.parts if part.label == label), None), local

    def _owner(self, number: int, offset: Callable[[Part], int]) -> Part:
        """Return the part that an item (offset: `_FIRST`) or file (`_FIRST_FILE`) belongs to."""
        return self.parts[bisect_right(self.parts, number, key=offset) - 1]

    def _by_owner(self, numbers: Iterable[int], offset: Callable[[Part], int]) -> Iterator[tuple[Part, list[int]]]:
        """Yield the parts that contain some items or files with their local numbers, ascending, in batches."""
        for part, own in groupby(sorted(numbers), lambda number: self._owner(number, offset)):
            local = [number - offset(part) for number in own]
            for start in range(0, len(local), _MOST_PARAMETERS):
                yield part, local[start : start + _MOST_PARAMETERS]


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))
