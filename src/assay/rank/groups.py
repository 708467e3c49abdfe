"""Lexical evidence of groups: files, folders, and containers with their members, each taken as one text.

A task's words are often spread over a class or a file of which no single definition has them all.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from assay.rank.arrays import Floats, Ints, share_of_best, sum_by_index
from assay.rank.signals.lexical import inverse_document_frequency

if TYPE_CHECKING:
    from assay.rank.context import QueryContext, Resources

_SATURATION, _LENGTH = 1.2, 0.6  # BM25 over groups
_FLOOR = 1e-3  # floor of relative scores before taking logarithms


class Grouping(NamedTuple):
    """The group of each item, and the length of each group relative to the average."""

    of: Ints
    lengths: Floats

    @classmethod
    def by(cls, groups: Ints, item_lengths: Floats) -> Grouping:
        lengths = sum_by_index(groups, item_lengths, int(groups.max(initial=0)) + 1)
        average = lengths.sum() / max(np.count_nonzero(lengths), 1)
        return cls(groups, lengths / max(average, 1e-9))


class Groupings:
    """The groups of an index: files, folders and containers. A container's group has its number."""

    def __init__(self, resources: Resources) -> None:
        items, parent = resources.items, resources.graph.parent
        lengths = resources.index.postings.lengths.sum(axis=1, dtype=np.float64)
        self.files = Grouping.by(items.files, lengths)
        self.folders = Grouping.by(items.folders, lengths)
        self.containers = Grouping.by(np.where(parent > 0, parent, np.arange(items.size)), lengths)


class GroupEvidence:
    """The match of one task with files, folders and containers."""

    def __init__(self, query: QueryContext) -> None:
        self._query, self._groupings = query, query.resources.groupings

    @cached_property
    def _scores(self) -> tuple[Floats, Floats, Floats]:
        """BM25 scores of files, folders and containers, as logarithms of their share of the best."""
        groupings = (self._groupings.files, self._groupings.folders, self._groupings.containers)
        scores = tuple(np.zeros(len(grouping.lengths)) for grouping in groupings)
        for term, weight in self._query.task.terms.items():
            items, counts = self._query.index.postings.get(term)
            frequencies = counts.sum(axis=1, dtype=np.float64)
            for grouping, score in zip(groupings, scores, strict=True):
                frequency = sum_by_index(grouping.of[items], frequencies, len(score))
                having = np.flatnonzero(frequency)
                rarity = inverse_document_frequency(int(np.count_nonzero(grouping.lengths)), len(having))
                norm = _SATURATION * (1 - _LENGTH + _LENGTH * grouping.lengths[having])
                score[having] += weight * rarity * (_SATURATION + 1) * frequency[having] / (frequency[having] + norm)
        files, folders, containers = (np.log(np.maximum(share_of_best(score), _FLOOR)) for score in scores)
        return files, folders, containers

    @property
    def files(self) -> Floats:
        return self._scores[0]

    @property
    def folders(self) -> Floats:
        return self._scores[1]

    @property
    def containers(self) -> Floats:
        return self._scores[2]

    @cached_property
    def _coverage(self) -> tuple[Floats, Floats]:
        """Share of the task's terms, by rarity among files, in each file, and in each item and its members."""
        query, files = self._query, self._query.items.files
        in_file, in_family = np.zeros(len(self._groupings.files.lengths)), np.zeros(query.items.size)
        total = 0.0
        for term in query.lexical.rarity:
            items, _ = query.index.postings.get(term)
            has = np.zeros(len(in_file), bool)
            has[files[items]] = True
            rarity = inverse_document_frequency(len(has), int(np.count_nonzero(has)))
            total += rarity
            in_file[has] += rarity
            contains = np.zeros(len(in_family), bool)
            contains[items] = True
            contains[query.graph.parent[items]] = True
            in_family[contains] += rarity
        return in_file / max(total, 1e-9), in_family / max(total, 1e-9)

    @property
    def file_coverage(self) -> Floats:
        return self._coverage[0]

    @property
    def family_coverage(self) -> Floats:
        return self._coverage[1]
