"""Several indexes queried as one: one numbering of items and files, paths that begin with the label of their repository."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import accumulate, chain
from typing import Any

import numpy as np

from assay.core.items import Item, Passage
from assay.store.arrays import Array
from assay.store.catalogue import FileRow
from assay.store.columns import DTYPE as COLUMN
from assay.store.columns import Columns
from assay.store.edges import Edges
from assay.store.history import History
from assay.store.index import Index, Part
from assay.store.multi_repo_words import PostingsOfAll
from assay.store.passages import FIELDS, Passages
from assay.store.sections import MOST_NAMESAKES, Sections, shares


class Histories:
    """The commits of several histories; what they touched are numbers of all indexes."""

    def __init__(self, parts: Sequence[tuple[Part, History]]) -> None:
        self._parts = parts
        self._firsts = firsts([len(history) for _, history in parts])

    @cached_property
    def lengths(self) -> Array:
        return np.concatenate([history.lengths for _, history in self._parts])

    @cached_property
    def sizes(self) -> Array:
        return np.concatenate([history.sizes for _, history in self._parts])

    @cached_property
    def counts(self) -> Array:
        return self._by_file([history.counts for _, history in self._parts])

    @cached_property
    def ages(self) -> Array:
        return self._by_file([history.ages for _, history in self._parts])

    def _by_file(self, parts: Sequence[Array]) -> Array:
        """Values by number of a file, as values by number in all."""
        placed = [(part.first_file, values) for (part, _), values in zip(self._parts, parts, strict=True)]
        out = np.zeros(max((first + len(values) for first, values in placed), default=1), "<i8")
        for first, values in placed:
            out[first + 1 : first + len(values)] = values[1:]
        return out

    def commits(self, term: str) -> tuple[Array, Array]:
        return joined([history.commits(term) for _, history in self._parts], self._firsts)

    def touched(self, commit: int) -> Array:
        place, own = within(self._firsts, commit)
        part, history = self._parts[place]
        return history.touched(own) + np.int64(part.first_file)

    def symbols(self, commit: int) -> Array:
        place, own = within(self._firsts, commit)
        part, history = self._parts[place]
        return history.symbols(own) + np.int64(part.first)


class SectionsOfAll:
    """The sections of several. What a section names is sought in its own repository first, then in the others: manuals stand beside the code."""

    def __init__(self, parts: Sequence[tuple[Part, Sections]]) -> None:
        self._parts = parts
        self._firsts = firsts([len(sections) for _, sections in parts])

    @cached_property
    def lengths(self) -> Array:
        return np.concatenate([sections.lengths for _, sections in self._parts])

    def having(self, term: str) -> tuple[Array, Array]:
        return joined([sections.having(term) for _, sections in self._parts], self._firsts)

    def symbols(self, section: int) -> dict[int, float]:
        place, own = within(self._firsts, section)
        return shares(self._named(name, place) for name in self._parts[place][1].names(own))

    def _named(self, name: str, place: int) -> list[int]:
        found = [[number + part.first for number in sections.named(name)] for part, sections in self._parts]
        elsewhere = list(chain.from_iterable(found))
        return found[place] or (elsewhere if len(elsewhere) <= MOST_NAMESAKES else [])


def firsts(sizes: Sequence[int]) -> list[int]:
    """Where each begins, one after the other."""
    return [0, *accumulate(sizes)][: len(sizes)]


def within(starts: Sequence[int], number: int) -> tuple[int, int]:
    """Whose a number is, and what it is there."""
    place = bisect_right(starts, number) - 1
    return place, number - starts[place]


def joined(found: Sequence[tuple[Array, Array]], starts: Sequence[int]) -> tuple[Array, Array]:
    """Rows and their counts, the rows moved to where each begins."""
    rows = [rows + np.int64(first) for (rows, _), first in zip(found, starts, strict=True)]
    return np.concatenate(rows), np.concatenate([counts for _, counts in found])


# Several indexes as one `Index`: numbers are moved, paths and ids are labelled, and questions go to the index they
# are about.


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


# The passages of several repositories, numbered one after the other.


class PassagesOfAll(Passages):
    """The passages of several repositories by the same chunker."""

    def __init__(self, parts: Sequence[tuple[str, Passages]]) -> None:
        self._parts = parts
        self._firsts = firsts([len(passages) for _, passages in parts])
        self._size = sum(len(passages) for _, passages in parts)

    def __len__(self) -> int:
        return self._size

    @property
    def starts(self) -> Sequence[int]:
        return self._firsts

    def __getitem__(self, number: int) -> Passage:
        place, own = within(self._firsts, number)
        label, passages = self._parts[place]
        one = passages[own]
        return replace(one, number=number, id=f"{label}/{one.id}", path=f"{label}/{one.path}", repository=label)

    @cached_property
    def documents(self) -> Array:
        before = firsts([len(passages.paths) for _, passages in self._parts])
        return np.concatenate(
            [passages.documents + first for (_, passages), first in zip(self._parts, before, strict=True)]
        )

    @cached_property
    def lengths(self) -> Array:
        return np.concatenate([np.zeros((0, len(FIELDS)), "<i4"), *(passages.lengths for _, passages in self._parts)])

    @cached_property
    def paths(self) -> list[str]:
        return [f"{label}/{path}" for label, passages in self._parts for path in passages.paths]

    @cached_property
    def languages(self) -> list[str]:
        return [language for _, passages in self._parts for language in passages.languages]

    def having(self, term: str) -> tuple[Array, Array]:
        return joined([passages.having(term) for _, passages in self._parts], self._firsts)


# Several indexes asked as one: one numbering of items and files, paths that begin with the label of their
# repository, counts over all of them.
