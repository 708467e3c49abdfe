"""What stands beside several indexes, numbered one after the other: their commits, the sections of their documents."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate, chain

import numpy as np

from assay.store.arrays import Array
from assay.store.history import History
from assay.store.index import Part
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
