"""Lexical evidence of groups: files, folders, and containers with their members, each taken as one text.

A task's words are often spread over a class or a file of which no single definition has them all. Only the groups of
candidates are scored: a query's postings are read once, and most of them belong to no candidate's group.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from assay.rank.arrays import Floats, Ints, share_of_best, sorted_unique, sum_by_index

if TYPE_CHECKING:
    from assay.rank.context import QueryContext

_SATURATION, _LENGTH = 1.2, 0.6  # BM25 over groups
_FLOOR = 1e-3  # floor of relative scores before taking logarithms


class Groups:
    """The groups of some candidates: a number per item, or several, and the length of each group's text."""

    def __init__(self, memberships: Sequence[Ints], of_candidates: Ints, lengths: Floats) -> None:
        """Take the groups that each item belongs to, those of the candidates, and the text lengths of all groups."""
        numbers = sorted_unique(of_candidates)
        self._memberships, self.size = memberships, len(numbers)
        self._slots = np.full(len(lengths), -1)
        self._slots[numbers] = np.arange(len(numbers))
        self.lengths: Floats = lengths[numbers] / max(lengths.sum() / max(np.count_nonzero(lengths), 1), 1e-9)
        self.candidates: Ints = self._slots[of_candidates]  # slot of each candidate's group

    def sums(self, items: Ints, values: Floats) -> Floats:
        """Sum values of items by group."""
        total = np.zeros(self.size)
        for membership in self._memberships:
            slots = self._slots[membership[items]]
            inside = slots >= 0
            total += sum_by_index(slots[inside], values[inside], self.size)
        return total


class GroupEvidence:
    """The match of one task with the files, folders and containers of candidates. Arrays are by candidate."""

    def __init__(self, query: QueryContext, numbers: Ints) -> None:
        items, parent, lengths = query.items, query.graph.parent, query.items.text_lengths
        own = np.arange(items.size)
        containers = np.where(parent[numbers] > 0, parent[numbers], numbers)
        self._files = Groups([items.files], items.files[numbers], lengths.files)
        self._folders = Groups([items.folders], items.folders[numbers], lengths.folders)
        self._containers = Groups([own, parent], containers, lengths.families)
        self._families = Groups([own, parent], numbers, lengths.families)
        groups = (self._files, self._folders, self._containers, self._families)
        self._scores = [np.zeros(group.size) for group in groups]
        self._coverage = [np.zeros(group.size) for group in groups]
        self._groups = groups
        total = max(sum(query.lexical.rarity.values()), 1e-9)
        for term, rarity in query.lexical.rarity.items():
            matched, frequencies, _ = query.resources.term_weights[term]
            weight = query.task.terms[term] * rarity * (_SATURATION + 1)
            for group, score, coverage in zip(groups, self._scores, self._coverage, strict=True):
                frequency = group.sums(matched, frequencies)
                norm = _SATURATION * (1 - _LENGTH + _LENGTH * group.lengths)
                score += weight * frequency / (frequency + norm)
                coverage += (frequency > 0) * (rarity / total)

    def _log_share(self, place: int) -> Floats:
        """Return BM25 scores as logarithms of their share of the best candidate's."""
        shares = share_of_best(self._scores[place])
        return np.log(np.maximum(shares, _FLOOR))[self._groups[place].candidates]

    @property
    def file_lexical(self) -> Floats:
        return self._log_share(0)

    @property
    def folder_lexical(self) -> Floats:
        return self._log_share(1)

    @property
    def container_lexical(self) -> Floats:
        return self._log_share(2)

    @property
    def file_coverage(self) -> Floats:
        """Share of the task's terms, by rarity, in its file."""
        return self._coverage[0][self._files.candidates]

    @property
    def container_coverage(self) -> Floats:
        """Share of the task's terms in its container and its siblings."""
        return self._coverage[2][self._containers.candidates]

    @property
    def family_coverage(self) -> Floats:
        """Share of the task's terms in itself and its members."""
        return self._coverage[3][self._families.candidates]


def file_scores(query: QueryContext) -> Floats:
    """Return the BM25 score of every file as one text, by file number."""
    items = query.items
    lengths = items.text_lengths.files
    relative = lengths / max(lengths.sum() / max(np.count_nonzero(lengths), 1), 1e-9)
    norm = _SATURATION * (1 - _LENGTH + _LENGTH * relative)
    scores = np.zeros(len(lengths))
    for term, rarity in query.lexical.rarity.items():
        matched, frequencies, _ = query.resources.term_weights[term]
        frequency = sum_by_index(items.files[matched], frequencies, len(lengths))
        scores += rarity * frequency * (_SATURATION + 1) / (frequency + norm)
    return scores
