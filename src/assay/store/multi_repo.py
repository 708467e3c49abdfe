"""Several indexes as one: items and files get one numbering, paths and ids are prefixed with the repository label.

Queries are forwarded to the index they concern.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
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
from assay.store.passages import FIELDS, Passages
from assay.store.postings import FIELDS as POSTING_FIELDS
from assay.store.postings import Postings
from assay.store.sections import MOST_NAMESAKES, Sections, shares


class MultiHistory:
    """The concatenated commits of several histories, with joint file and symbol numbers."""

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
        """Map values by local file number to joint numbers."""
        shifted = [(part.first_file, values) for (part, _), values in zip(self._parts, parts, strict=True)]
        out = np.zeros(max((first + len(values) for first, values in shifted), default=1), "<i8")
        for first, values in shifted:
            out[first + 1 : first + len(values)] = values[1:]
        return out

    def commits(self, term: str) -> tuple[Array, Array]:
        return concatenate_postings([history.commits(term) for _, history in self._parts], self._firsts)

    def touched(self, commit: int) -> Array:
        place, own = locate(self._firsts, commit)
        part, history = self._parts[place]
        return history.touched(own) + np.int64(part.first_file)

    def symbols(self, commit: int) -> Array:
        place, own = locate(self._firsts, commit)
        part, history = self._parts[place]
        return history.symbols(own) + np.int64(part.first)


class MultiSections:
    """The concatenated sections of several repositories.

    Mentioned names are resolved in the section's own repository first, then in the others: a manual may be in a
    repository of its own.
    """

    def __init__(self, parts: Sequence[tuple[Part, Sections]]) -> None:
        self._parts = parts
        self._firsts = firsts([len(sections) for _, sections in parts])

    @cached_property
    def lengths(self) -> Array:
        return np.concatenate([sections.lengths for _, sections in self._parts])

    def having(self, term: str) -> tuple[Array, Array]:
        return concatenate_postings([sections.having(term) for _, sections in self._parts], self._firsts)

    def symbols(self, section: int) -> dict[int, float]:
        place, own = locate(self._firsts, section)
        return shares(self._named(name, place) for name in self._parts[place][1].names(own))

    def _named(self, name: str, place: int) -> list[int]:
        matches = [[number + part.first for number in sections.named(name)] for part, sections in self._parts]
        everywhere = list(chain.from_iterable(matches))
        return matches[place] or (everywhere if len(everywhere) <= MOST_NAMESAKES else [])


def firsts(sizes: Sequence[int]) -> list[int]:
    """Return the offset of each part."""
    return [0, *accumulate(sizes)][: len(sizes)]


def locate(starts: Sequence[int], number: int) -> tuple[int, int]:
    """Return the part that a joint number belongs to, and the local number."""
    place = bisect_right(starts, number) - 1
    return place, number - starts[place]


def concatenate_postings(found: Sequence[tuple[Array, Array]], starts: Sequence[int]) -> tuple[Array, Array]:
    """Concatenate rows and counts, shifting rows by the offset of their part."""
    rows = [rows + np.int64(first) for (rows, _), first in zip(found, starts, strict=True)]
    return np.concatenate(rows), np.concatenate([counts for _, counts in found])


# The joint index


class MultiPostings(Postings):
    """Concatenated postings, each with its item offset. Term positions are concatenated, too."""

    def __init__(self, parts: Sequence[tuple[Postings, int]], size: int) -> None:
        self._parts = parts
        self.lengths = np.zeros((size, len(POSTING_FIELDS)), "<u2")
        for postings, first in parts:
            self.lengths[first : first + len(postings.lengths)] = postings.lengths

    def __len__(self) -> int:
        return sum(len(postings) for postings, _ in self._parts)

    def get(self, term: str) -> tuple[Array, Array]:
        results = [(postings.get(term), first) for postings, first in self._parts]
        items = np.concatenate([items + np.int64(first) for (items, _), first in results])
        return items, np.concatenate([counts for (_, counts), _ in results])

    def document_frequency(self, term: str) -> int:
        return sum(postings.document_frequency(term) for postings, _ in self._parts)

    @cached_property
    def frequencies(self) -> Array:
        """Document frequency over all indexes of each term, by position."""
        totals: Counter[bytes] = Counter()
        vocabularies = [postings.vocabulary() for postings, _ in self._parts]
        for vocabulary, (postings, _) in zip(vocabularies, self._parts, strict=True):
            totals.update(dict(zip(vocabulary, postings.frequencies.tolist(), strict=True)))
        terms = (totals[term] for vocabulary in vocabularies for term in vocabulary)
        return np.fromiter(terms, np.int64, len(self))

    def terms_like(self, prefix: str) -> list[str]:
        return sorted({term for postings, _ in self._parts for term in postings.terms_like(prefix)})

    def having(self, field: int) -> tuple[Array, Array]:
        terms, items, offset = [], [], 0
        for postings, first in self._parts:
            places, numbers = postings.having(field)
            terms.append(places + offset)
            items.append(numbers + np.int64(first))
            offset += len(postings)
        return np.concatenate(terms), np.concatenate(items)


class MultiIndex(Index):
    """Indexes by label, in the order of labels, so that numbers do not depend on the order of arguments."""

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
        """Do nothing: the indexes belong to whoever opened them."""

    # arrays

    @cached_property
    def postings(self) -> MultiPostings:
        return MultiPostings([(part.index.postings, part.first) for part in self._parts], self._size)

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
        """All edges by source; in target order, external targets come first, as in a single index."""
        edges, external, internal, offset = [], [], [], 0
        for part in self._parts:
            part_edges = part.index.edges.all.copy()
            order = part.index.edges.by_target + np.int32(offset)
            external_count = int((part_edges["target"] < 0).sum())
            part_edges["source"] += part.first
            part_edges["target"][part_edges["target"] > 0] += part.first
            part_edges["file"] += part.first_file
            edges.append(part_edges)
            external.append(order[:external_count])
            internal.append(order[external_count:])
            offset += len(part_edges)
        return Edges(np.concatenate(edges), np.concatenate([*external, *internal]))

    def history(self) -> MultiHistory:  # type: ignore[override]
        return MultiHistory([(part, part.index.history()) for part in self._parts])

    def sections(self) -> MultiSections:  # type: ignore[override]
        return MultiSections([(part, part.index.sections()) for part in self._parts])

    # files and items

    @cached_property
    def files(self) -> dict[str, FileRow]:
        return {
            f"{part.label}/{path}": row._replace(number=row.number + part.first_file, path=f"{part.label}/{path}")
            for part in self._parts
            for path, row in part.index.files.items()
        }

    def items(self, where: str, parameters: tuple[object, ...] = ()) -> list[Item]:
        """Query each index; for conditions without numbers, paths or ids."""
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
        item = part.index.by_id(own) if part else None
        return next(_labelled(part, [item])) if part and item else None

    def in_file(self, path: str) -> list[Item]:
        part, own = self.divided(path)
        return list(_labelled(part, part.index.in_file(own))) if part else []

    def matching(self, pattern: str) -> list[Item]:
        """Match in every index; a pattern that starts with a label is also matched in that repository."""
        labelled_part, own = self.divided(pattern)
        items = {item.id: item for part in self._parts for item in _labelled(part, part.index.matching(pattern))}
        items |= (
            {item.id: item for item in _labelled(labelled_part, labelled_part.index.matching(own))}
            if labelled_part
            else {}
        )
        return sorted(items.values(), key=lambda item: item.id)

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
        number = part.index.first_in(file - part.first_file, where, parameters)
        return None if number is None else number + part.first

    def rows_of(self, query: str, files: Sequence[int]) -> Iterator[tuple[Any, ...]]:
        local_files: defaultdict[str, list[int]] = defaultdict(list)
        for file in files:
            part = self._owner_of_file(file)
            local_files[part.label].append(file - part.first_file)
        for part in self._parts:
            if part.label in local_files:
                for number, *columns in part.index.rows_of(query, local_files[part.label]):
                    yield number + part.first, *columns

    def divided(self, path: str) -> tuple[Part | None, str]:
        """Split a path or id into the part of its label and the local path; None without a known label."""
        label, _, own = path.partition("/")
        return next((part for part in self._parts if part.label == label), None), own

    def _owner(self, number: int) -> Part:
        return self._parts[bisect_right([part.first for part in self._parts], number) - 1]

    def _owner_of_file(self, file: int) -> Part:
        return self._parts[bisect_right([part.first_file for part in self._parts], file) - 1]

    def _by_owner(self, numbers: Iterable[int]) -> Iterator[tuple[Part, list[int]]]:
        """Yield the parts that contain some items, each with the local numbers."""
        local_numbers: defaultdict[str, list[int]] = defaultdict(list)
        for number in numbers:
            part = self._owner(number)
            local_numbers[part.label].append(number - part.first)
        yield from ((part, local_numbers[part.label]) for part in self._parts if part.label in local_numbers)


def _labelled(part: Part, items: Iterable[Item]) -> Iterator[Item]:
    for item in items:
        yield replace(
            item, number=item.number + part.first, id=f"{part.label}/{item.id}", path=f"{part.label}/{item.path}",
            repository=part.label,
        )  # fmt: skip


# Joint passages


class MultiPassages(Passages):
    """The concatenated passages of several repositories, by the same chunker."""

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
        place, own = locate(self._firsts, number)
        label, passages = self._parts[place]
        passage = passages[own]
        return replace(
            passage, number=number, id=f"{label}/{passage.id}", path=f"{label}/{passage.path}", repository=label
        )

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
        return concatenate_postings([passages.having(term) for _, passages in self._parts], self._firsts)
