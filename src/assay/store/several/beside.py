"""What stands beside several indexes, numbered one after the other: their commits, the sections of their documents, their passages."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import accumulate, chain

import numpy as np

from assay.core.passages import Passage
from assay.store.arrays import Array
from assay.store.history import History
from assay.store.index import Part
from assay.store.passages import FIELDS, Passages
from assay.store.sections import MOST_NAMESAKES, Sections


class Histories:
    """The commits of several histories; what they touched are numbers of all indexes."""

    def __init__(self, parts: Sequence[tuple[Part, History]]) -> None:
        self._parts = parts
        self._firsts = _firsts([len(history) for _, history in parts])

    @cached_property
    def lengths(self) -> Array:
        return np.concatenate([history.lengths for _, history in self._parts])

    @cached_property
    def sizes(self) -> Array:
        return np.concatenate([history.sizes for _, history in self._parts])

    def commits(self, term: str) -> tuple[Array, Array]:
        return _joined([history.commits(term) for _, history in self._parts], self._firsts)

    def touched(self, commit: int) -> Array:
        place, own = _within(self._firsts, commit)
        part, history = self._parts[place]
        return history.touched(own) + np.int64(part.first_file)

    def symbols(self, commit: int) -> Array:
        place, own = _within(self._firsts, commit)
        part, history = self._parts[place]
        return history.symbols(own) + np.int64(part.first)


class SectionsOfAll:
    """The sections of several. What a section names is sought in its own repository first, then in the others: manuals stand beside the code."""

    def __init__(self, parts: Sequence[tuple[Part, Sections]]) -> None:
        self._parts = parts
        self._firsts = _firsts([len(sections) for _, sections in parts])

    @cached_property
    def lengths(self) -> Array:
        return np.concatenate([sections.lengths for _, sections in self._parts])

    def having(self, term: str) -> tuple[Array, Array]:
        return _joined([sections.having(term) for _, sections in self._parts], self._firsts)

    def symbols(self, section: int) -> dict[int, float]:
        place, own = _within(self._firsts, section)
        out: defaultdict[int, float] = defaultdict(float)
        for name in self._parts[place][1].names(own):
            named = self._named(name, place)
            for number in named:
                out[number] = max(out[number], 1 / len(named))
        return out

    def _named(self, name: str, place: int) -> list[int]:
        found = [[number + part.first for number in sections.named(name)] for part, sections in self._parts]
        elsewhere = list(chain.from_iterable(found))
        return found[place] or (elsewhere if len(elsewhere) <= MOST_NAMESAKES else [])


class PassagesOfAll(Passages):
    """The passages of several repositories by the same chunker."""

    def __init__(self, parts: Sequence[tuple[str, Passages]]) -> None:
        self._parts = parts
        self._firsts = _firsts([len(passages) for _, passages in parts])
        self._size = sum(len(passages) for _, passages in parts)

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, number: int) -> Passage:
        place, own = _within(self._firsts, number)
        label, passages = self._parts[place]
        one = passages[own]
        return replace(one, number=number, id=f"{label}/{one.id}", path=f"{label}/{one.path}", repository=label)

    @cached_property
    def documents(self) -> Array:
        before = _firsts([len(passages.paths) for _, passages in self._parts])
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
        return _joined([passages.having(term) for _, passages in self._parts], self._firsts)


def _firsts(sizes: Sequence[int]) -> list[int]:
    """Where each begins, one after the other."""
    return [0, *accumulate(sizes)][: len(sizes)]


def _within(firsts: Sequence[int], number: int) -> tuple[int, int]:
    """Whose a number is, and what it is there."""
    place = bisect_right(firsts, number) - 1
    return place, number - firsts[place]


def _joined(found: Sequence[tuple[Array, Array]], firsts: Sequence[int]) -> tuple[Array, Array]:
    """Rows and their counts, the rows moved to where each begins."""
    rows = [rows + np.int64(first) for (rows, _), first in zip(found, firsts, strict=True)]
    return np.concatenate(rows), np.concatenate([counts for _, counts in found])
