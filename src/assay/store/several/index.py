"""Several indexes as one `Index`: numbers are moved, paths and ids are labelled, and questions go to the index they are about."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from assay.core.items import Item
from assay.store.catalogue import FileRow
from assay.store.columns import DTYPE as COLUMN
from assay.store.columns import Columns
from assay.store.edges import Edges
from assay.store.index import Index, Part
from assay.store.several.beside import Histories, SectionsOfAll
from assay.store.several.words import PostingsOfAll


class Several(Index):
    """Indexes by label, in the order of their labels: so whoever names them, the numbers are the same."""

    def __init__(self, indexes: Mapping[str, Index]) -> None:
        first = first_file = 0
        parts = []
        for label, index in sorted(indexes.items()):
            parts.append(Part(label, index, first, first_file))
            first += max(len(index.postings.lengths), len(index.columns))
            first_file += max((row.number for row in index.files.values()), default=0) + 1
        self._parts, self._size = tuple(parts), first

    @property
    def parts(self) -> tuple[Part, ...]:
        return self._parts

    def close(self) -> None:
        """Lets go of nothing: the indexes belong to whoever opened them."""

    # arrays

    @cached_property
    def postings(self) -> PostingsOfAll:
        return PostingsOfAll([(part.index.postings, part.first) for part in self._parts], self._size)

    @cached_property
    def columns(self) -> Columns:
        rows = np.zeros(self._size, COLUMN)
        for part in self._parts:
            columns = part.index.columns
            place = slice(part.first, part.first + len(columns))
            rows["file"][place] = columns.file + part.first_file
            rows["kind"][place], rows["test"][place] = columns.kind, columns.test
        return Columns(rows)

    @cached_property
    def edges(self) -> Edges:
        """Edges by source; in the order of targets those that lead outside come first, as they do in one index."""
        edges, outside, inside, before = [], [], [], 0
        for part in self._parts:
            all_ = part.index.edges.all.copy()
            order = part.index.edges.by_target + np.int32(before)
            leading_out = int((all_["target"] < 0).sum())
            all_["source"] += part.first
            all_["target"][all_["target"] > 0] += part.first
            all_["file"] += part.first_file
            edges.append(all_)
            outside.append(order[:leading_out])
            inside.append(order[leading_out:])
            before += len(all_)
        return Edges(np.concatenate(edges), np.concatenate([*outside, *inside]))

    def history(self) -> Histories:  # type: ignore[override]
        return Histories([(part, part.index.history()) for part in self._parts])

    def sections(self) -> SectionsOfAll:  # type: ignore[override]
        return SectionsOfAll([(part, part.index.sections()) for part in self._parts])

    # files and items

    @cached_property
    def files(self) -> dict[str, FileRow]:
        return {
            f"{part.label}/{path}": row._replace(number=row.number + part.first_file, path=f"{part.label}/{path}")
            for part in self._parts
            for path, row in part.index.files.items()
        }

    def items(self, where: str, parameters: tuple[object, ...] = ()) -> list[Item]:
        """Asks each index; for conditions that name no number, path or id."""
        return [item for part in self._parts for item in _labelled(part, part.index.items(where, parameters))]

    def item(self, number: int) -> Item:
        part = self._owner(number)
        return next(_labelled(part, [part.index.item(number - part.first)]))

    def numbered(self, numbers: Iterable[int]) -> dict[int, Item]:
        return {
            item.number: item
            for part, own in self._by_owner(numbers)
            for item in _labelled(part, part.index.numbered(own).values())
        }

    def by_id(self, one: str) -> Item | None:
        part, own = self.divided(one)
        found = part.index.by_id(own) if part else None
        return next(_labelled(part, [found])) if part and found else None

    def in_file(self, path: str) -> list[Item]:
        part, own = self.divided(path)
        return list(_labelled(part, part.index.in_file(own))) if part else []

    def matching(self, pattern: str) -> list[Item]:
        """Asks all, as in each alone; what begins with a label is asked of that repository."""
        named, own = self.divided(pattern)
        found = {item.id: item for part in self._parts for item in _labelled(part, part.index.matching(pattern))}
        found |= {item.id: item for item in _labelled(named, named.index.matching(own))} if named else {}
        return sorted(found.values(), key=lambda item: item.id)

    def _column(self, column: str, numbers: Iterable[int]) -> dict[int, Any]:
        return {
            number + part.first: f"{part.label}/{value}" if column == "id" else value
            for part, own in self._by_owner(numbers)
            for number, value in part.index._column(column, own).items()
        }

    def names(self) -> list[str]:
        return list(dict.fromkeys(name for part in self._parts for name in part.index.names()))

    def first_in(self, file: int, where: str, parameters: Sequence[object]) -> int | None:
        part = self._owner_of_file(file)
        found = part.index.first_in(file - part.first_file, where, parameters)
        return None if found is None else found + part.first

    def rows_of(self, query: str, files: Sequence[int]) -> Iterator[tuple[Any, ...]]:
        owned: defaultdict[str, list[int]] = defaultdict(list)
        for file in files:
            part = self._owner_of_file(file)
            owned[part.label].append(file - part.first_file)
        for part in self._parts:
            if part.label in owned:
                for number, *rest in part.index.rows_of(query, owned[part.label]):
                    yield number + part.first, *rest

    def divided(self, path: str) -> tuple[Part | None, str]:
        """The part that a path or an id begins with, and what it is called there; None when it begins with no label."""
        label, _, own = path.partition("/")
        return next((part for part in self._parts if part.label == label), None), own

    def _owner(self, number: int) -> Part:
        return self._parts[bisect_right([part.first for part in self._parts], number) - 1]

    def _owner_of_file(self, file: int) -> Part:
        return self._parts[bisect_right([part.first_file for part in self._parts], file) - 1]

    def _by_owner(self, numbers: Iterable[int]) -> Iterator[tuple[Part, list[int]]]:
        """The parts that some items are in, each with their numbers there."""
        owned: defaultdict[str, list[int]] = defaultdict(list)
        for number in numbers:
            part = self._owner(number)
            owned[part.label].append(number - part.first)
        yield from ((part, owned[part.label]) for part in self._parts if part.label in owned)


def _labelled(part: Part, items: Iterable[Item]) -> Iterator[Item]:
    for item in items:
        yield replace(
            item, number=item.number + part.first, id=f"{part.label}/{item.id}", path=f"{part.label}/{item.path}",
            repository=part.label,
        )  # fmt: skip
