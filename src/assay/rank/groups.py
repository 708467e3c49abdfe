"""Lexical evidence of groups: files, folders, and containers with their members, each taken as one text.

A task's words are often spread over a class or a file of which no single definition has them all. Only the groups of
candidates are scored: a query's postings are read once, and most of them belong to no candidate's group.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from assay.rank.arrays import Floats, Ints, share_of_best, sorted_unique, sum_by_index

if TYPE_CHECKING:
    from assay.rank.context import QueryContext

_SATURATION, _LENGTH = 1.2, 0.6  # BM25 over groups
_FLOOR = 1e-3  # floor of relative scores before taking logarithms


class Matches:
    """The postings of all terms of a task, one term after the other, so that all are summed at once."""

    def __init__(self, postings: Iterable[tuple[Ints, Floats]]) -> None:
        """Take the items of each term and its frequency in each of them."""
        lists = [(np.empty(0, np.int64), np.empty(0)), *postings]  # concatenating needs at least one array
        self.terms = len(lists) - 1
        self.items: Ints = np.concatenate([items for items, _ in lists])
        self.frequencies: Floats = np.concatenate([frequencies for _, frequencies in lists])
        self.term_numbers: Ints = np.repeat(np.arange(self.terms), [len(items) for items, _ in lists[1:]])


class Groups:
    """The groups of some candidates: a number per item, or several, and the relative length of each group's text."""

    def __init__(self, memberships: Sequence[Ints | None], of_candidates: Ints, lengths: Floats) -> None:
        """Take the groups that each item belongs to, those of the candidates, and the text lengths of all groups.

        A membership of None is that of items in themselves.
        """
        numbers = sorted_unique(of_candidates)
        self._memberships, self.size = memberships, len(numbers)
        self._slots = np.full(len(lengths), -1)
        self._slots[numbers] = np.arange(len(numbers))
        self.lengths: Floats = lengths[numbers]

    def slots(self, groups: Ints) -> Ints:
        """Return the place of each of some groups in sums and lengths; -1 if it has no candidate."""
        return self._slots[groups]

    def sums(self, matches: Matches) -> Floats:
        """Sum the frequencies of each term by group: terms × groups."""
        total = np.zeros(matches.terms * self.size)
        for membership in self._memberships:
            slots = self._slots[matches.items if membership is None else membership[matches.items]]
            inside = np.flatnonzero(slots >= 0)
            places = matches.term_numbers[inside] * self.size + slots[inside]
            total += sum_by_index(places, matches.frequencies[inside], len(total))
        return total.reshape(matches.terms, self.size)


class Match(NamedTuple):
    """The match of a task with one group of each candidate."""

    lexical: Floats  # BM25 score, as the logarithm of its share of the best candidate's
    coverage: Floats  # share of the task's terms, by rarity


class GroupEvidence:
    """The match of one task with the files, folders and containers of candidates. Arrays are by candidate."""

    file: Match
    folder: Match
    container: Match  # its container and its siblings; itself without a container
    family: Match  # itself and its members

    def __init__(self, query: QueryContext, numbers: Ints) -> None:
        items, parent, lengths, rarity = query.items, query.graph.parent, query.items.text_lengths, query.lexical.rarity
        total = max(sum(rarity.values()), 1e-9)
        self._matches = Matches(query.resources.term_weights[term][:2] for term in rarity)
        self._weights = np.array([query.task.terms[term] * rarity[term] * (_SATURATION + 1) for term in rarity])
        self._shares = np.array([rarity[term] / total for term in rarity])
        files, folders = items.files[numbers], items.folders[numbers]
        containers = np.where(parent[numbers] > 0, parent[numbers], numbers)
        families = Groups([None, parent], np.concatenate([containers, numbers]), lengths.families)
        (self.file,) = self._matched(Groups([items.files], files, lengths.files), files)
        (self.folder,) = self._matched(Groups([items.folders], folders, lengths.folders), folders)
        self.container, self.family = self._matched(families, containers, numbers)

    def _matched(self, groups: Groups, *of_candidates: Ints) -> list[Match]:
        """Match the task with groups; return the match for each way in which a candidate belongs to one."""
        frequency = groups.sums(self._matches)
        norm = _SATURATION * (1 - _LENGTH + _LENGTH * groups.lengths)
        scores = (self._weights[:, np.newaxis] * frequency / (frequency + norm)).sum(axis=0)
        coverage = ((frequency > 0) * self._shares[:, np.newaxis]).sum(axis=0)
        slots = [groups.slots(group) for group in of_candidates]
        return [Match(np.log(np.maximum(share_of_best(scores[slot]), _FLOOR)), coverage[slot]) for slot in slots]


def file_scores(query: QueryContext) -> Floats:
    """Return the BM25 score of every file as one text, by file number."""
    files, lengths = query.items.files, query.items.text_lengths.files
    norm = _SATURATION * (1 - _LENGTH + _LENGTH * lengths)
    scores = np.zeros(len(lengths))
    for term, rarity in query.lexical.rarity.items():
        matched, frequencies, _ = query.resources.term_weights[term]
        frequency = sum_by_index(files[matched], frequencies, len(lengths))
        scores += rarity * frequency * (_SATURATION + 1) / (frequency + norm)
    return scores
