"""The candidates of a ranking and what is known of each: the values behind the features of the learned ranker."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from assay.rank.arrays import Floats, Ints, descending, share_of_best, sum_by_index
from assay.rank.descriptions import ItemDescription, mentions_support
from assay.rank.groups import GroupEvidence
from assay.rank.ranking import Ranking
from assay.rank.signals.central import central_types
from assay.rank.similarity import Similarity
from assay.store.columns import KIND_NAMES
from assay.store.postings import FIELDS, NAME, PATH
from assay.text.terms import terms, terms_of

if TYPE_CHECKING:
    from assay.rank.context import QueryContext

DEPTH = 300  # best items by score that are candidates; the first items of every channel join them
_CONTEXT = 100  # top candidates that count as context: further down it is chance
_FLOOR = 1e-3  # floor of relative scores before taking logarithms
_TESTS = 40  # matching tests that count
_MAX_NESTING = 6  # maximum nesting depth


class Candidates:
    """The top items of a ranking. Arrays are by candidate, best first, unless a parameter says `by_item`."""

    def __init__(self, query: QueryContext, ranking: Ranking) -> None:
        self.query, self.ranking = query, ranking
        self._index, self._items, self._graph = query.index, query.items, query.graph
        self.numbers: Ints = np.array(self._chosen(), np.int64)

    def _chosen(self) -> list[int]:
        """Return the best items by score, then what only a channel found."""
        generated = (int(number) for channel in self.ranking.channels.values() for number in channel.items)
        scores = self.ranking.scores
        return list(dict.fromkeys([*self.ranking.best(DEPTH), *(number for number in generated if scores[number] > 0)]))

    # -- from the ranking ----------------------------------------------------------------------------------------------

    @cached_property
    def shares(self) -> Floats:
        """Score relative to the best."""
        return share_of_best(self.ranking.scores[self.numbers])

    def log_share(self, by_item: Floats) -> Floats:
        """Return the log ratio to the best value among the candidates."""
        return np.log(np.maximum(share_of_best(by_item[self.numbers]), _FLOOR))

    def log_rank(self, by_item: Floats) -> Floats:
        """Return the log rank among the candidates: 0 for the first."""
        return log_ranks(by_item[self.numbers])

    def factor(self, name: str) -> Floats:
        """Return a factor of the direct score; 1 where the profile has it switched off."""
        values = self.ranking.factors.get(name)
        return values[self.numbers] if values is not None else np.ones(len(self.numbers))

    def part(self, name: str) -> Floats:
        values = self.ranking.parts.get(name)
        return values[self.numbers] if values is not None else np.zeros(len(self.numbers))

    @property
    def direct(self) -> Floats:
        """Direct score by item; the composite score has no such part."""
        return self.ranking.parts.get("direct", self.ranking.direct)

    def channel(self, name: str) -> Floats:
        """Return the reciprocal rank in a channel; 0 for items it did not return."""
        reciprocal = np.zeros(self._items.size)
        ranked = self.ranking.channels[name].items if name in self.ranking.channels else ()
        reciprocal[list(reversed(ranked))] = 1 / np.arange(len(ranked), 0, -1)
        return reciprocal[self.numbers]

    # -- terms ---------------------------------------------------------------------------------------------------------

    @cached_property
    def _term_matches(self) -> Floats:
        """Terms of the task × candidates × fields: 1 where the field contains the term."""
        matches = np.zeros((len(self.ranking.terms), len(self.numbers), len(FIELDS)), bool)
        order = np.argsort(self.numbers)  # ascending numbers are searched faster
        ascending = self.numbers[order]
        for place, term in enumerate(self.ranking.terms):
            items, counts = self._index.postings.get(term)
            numbers = ascending.astype(items.dtype, copy=False)  # otherwise numpy converts all items
            rows = np.minimum(np.searchsorted(items, numbers), len(items) - 1)
            here = np.flatnonzero(items[rows] == numbers)
            matches[place, order[here]] = counts[rows[here]] > 0
        return matches

    def placed(self, term: str) -> Ints:
        """Return all items that have a term in their qualified name or path."""
        items, counts = self._index.postings.get(term)
        return np.asarray(items[(counts[:, : PATH + 1] > 0).any(axis=1)], np.int64)

    @cached_property
    def _rarity(self) -> Floats:
        """Rarity of each term of the task."""
        return np.array([*self.ranking.terms.values()], np.float64)

    @cached_property
    def _matched(self) -> Floats:
        """Terms of the task × candidates: 1 where any field contains the term."""
        return np.asarray(self._term_matches.any(axis=2), np.float64)

    def field_coverage(self, field: int) -> Floats:
        """Return the share of the task's terms, by rarity, that a field contains."""
        return np.asarray(self._rarity @ self._term_matches[:, :, field] / max(self._rarity.sum(), 1e-9), np.float64)

    @property
    def term_share(self) -> Floats:
        """Share of the task's terms that match."""
        return np.asarray(self._matched.sum(axis=0) / max(len(self._rarity), 1), np.float64)

    def coverage_of(self, some: Iterable[str]) -> Floats:
        """Return the share of some of the task's terms, by rarity, that match."""
        chosen = set(some)
        rarity = self._rarity * np.array([term in chosen for term in self.ranking.terms], np.float64)
        return np.asarray(rarity @ self._matched / max(rarity.sum(), 1e-9), np.float64)

    @property
    def title_coverage(self) -> Floats:
        """Share of the terms of the task's first line that match, by rarity."""
        return self.coverage_of(terms(self.ranking.task.strip().partition("\n")[0]))

    @property
    def name_precision(self) -> Floats:
        """Share of the name's terms, by rarity, that the task contains."""
        return np.asarray(
            self._rarity @ self._term_matches[:, :, NAME] / self._items.name_rarity[self.numbers], np.float64
        )

    def length(self, field: int) -> Floats:
        lengths: Floats = self._index.postings.lengths[self.numbers, field].astype(np.float64)
        return np.log1p(lengths)

    # -- words of names ------------------------------------------------------------------------------------------------

    @cached_property
    def _descriptions(self) -> list[ItemDescription]:
        return self._items.descriptions[self.numbers.tolist()]

    @cached_property
    def name_matches(self) -> Floats:
        """Candidates × (words of the name, those in the task, adjacent ones adjacent there, place there of the first)."""
        task_terms = self.query.task.sequence
        places = {term: place for place, term in reversed([*enumerate(task_terms)])}
        rows = np.zeros((len(self.numbers), 4))
        rows[:, 0], rows[:, 3] = self._index.postings.lengths[self.numbers, NAME], 1.0
        matching = np.flatnonzero(self._term_matches[:, :, NAME].any(axis=0))
        names = [*terms_of(self._descriptions[row].name for row in matching.tolist())]
        # the words of all names, one name after the other: their places in the task, its length where it lacks them
        row = np.repeat(matching, [len(name) for name in names])
        word = np.array([places.get(part, len(task_terms)) for name in names for part in name], np.int64)
        in_task = word < len(task_terms)
        rows[:, 1] = np.bincount(row[in_task], minlength=len(rows))
        adjacent = np.zeros((len(task_terms) + 1, len(task_terms) + 1), bool)
        for first, second in pairwise(task_terms):
            adjacent[places[first], places[second]] = True
        phrases = adjacent[word[:-1], word[1:]] & (row[:-1] == row[1:])
        rows[:, 2] = np.bincount(row[:-1][phrases], minlength=len(rows))
        first_places = np.full(len(rows), len(task_terms))
        np.minimum.at(first_places, row, word)
        rows[matching, 3] = first_places[matching] / max(len(task_terms), 1)
        return rows

    @property
    def whole_name(self) -> Floats:
        """Number of words of the name if the task has all of them; else 0."""
        words, matched = self.name_matches[:, 0], self.name_matches[:, 1]
        return np.where(matched == words, words, 0.0)

    # -- meaning -------------------------------------------------------------------------------------------------------

    @cached_property
    def similarity(self) -> Similarity:
        """Similarity to the task by general word vectors."""
        return Similarity(self.query.resources.item_words, self.query.task.task, self.numbers.tolist())

    @cached_property
    def containers(self) -> Ints:
        """Number of the group of candidates with the same container, or without one in the same file."""
        _, groups = np.unique(np.stack([self.parents, self.files]), axis=1, return_inverse=True)
        return np.asarray(groups.reshape(-1), np.int64)

    # -- files and folders ---------------------------------------------------------------------------------------------

    def _by_file(self, value_of: Callable[[int], float]) -> Floats:
        """Return a value of each candidate's file."""
        values = {file: value_of(file) for file in dict.fromkeys(self.files.tolist())}
        return np.array([values[file] for file in self.files.tolist()])

    @property
    def support_path(self) -> Floats:
        """1 for examples, scripts, migrations, benchmarks and the like, by folder; 0 if the task is about them."""
        if mentions_support(self.ranking.task):
            return np.zeros(len(self.numbers))
        return self._by_file(lambda file: float(self._items.file_descriptions[file].is_support))

    @property
    def stem_precision(self) -> Floats:
        """Share of the words of the file's name that the task has."""
        in_task = set(self.query.task.sequence)

        def precision(file: int) -> float:
            parts = self._items.file_descriptions[file].terms
            return sum(part in in_task for part in parts) / max(len(parts), 1)

        return self._by_file(precision)

    @property
    def language_share(self) -> Floats:
        """Share of the repository's items that are in the same language."""
        return self._items.language_shares[self.files]

    @cached_property
    def groups(self) -> GroupEvidence:
        """Evidence of whole files, folders and containers."""
        return GroupEvidence(self.query, self.numbers)

    @cached_property
    def _uses(self) -> tuple[Ints, Ints]:
        """Edges of use out of the candidates."""
        return self._graph.outgoing_uses(self.numbers)

    @property
    def works_on_central(self) -> Floats:
        """Centrality of the most central type that it mentions."""
        sources, targets = self._uses
        best = np.zeros(self._items.size)
        np.maximum.at(best, sources, self._centrality[targets])
        return best[self.numbers]

    @property
    def linked_results(self) -> Floats:
        """Sum of the relative scores of the top candidates that it uses or that use it, over the root of its degree."""
        shares = np.zeros(self._items.size)
        shares[self.numbers[:_CONTEXT]] = self.shares[:_CONTEXT]
        sources, targets = self._uses
        ends, starts = self._graph.incoming(self.numbers)
        linked = shares[np.concatenate([targets, starts])]
        total = sum_by_index(np.concatenate([sources, ends]), linked, self._items.size)
        degree = self._graph.degrees(True)[self.numbers] + self._graph.degrees(False)[self.numbers]
        return np.asarray(total[self.numbers] / np.sqrt(1 + degree), np.float64)

    @property
    def own_file(self) -> Floats:
        """1 when its file has its name."""
        return np.array([float(item.names_file) for item in self._descriptions])

    @property
    def tested(self) -> Floats:
        """Scores of the best matching tests that use it, relative to the largest sum."""
        scores = self.ranking.factors["lexical"] * np.asarray(self._index.columns.test)
        best = self.ranking.highest(scores, _TESTS)
        sources, targets = self._graph.outgoing_uses(best)
        total = sum_by_index(targets, scores[sources], self._items.size)
        return share_of_best(total[self.numbers])

    # -- central types -------------------------------------------------------------------------------------------------

    @cached_property
    def _centrality(self) -> Floats:
        """Centrality, by item."""
        central = central_types(self.query)
        return self._items.by_item(dict(zip(central.numbers.tolist(), central.scores.tolist(), strict=True)))

    @property
    def container_centrality(self) -> Floats:
        """Centrality of its container."""
        return np.where(self.parents > 0, self._centrality[self.parents], 0.0)

    @property
    def file_centrality(self) -> Floats:
        """Centrality of the most central type of its file."""
        best = np.zeros(len(self._items.file_folders))
        central = central_types(self.query)
        np.maximum.at(best, self._items.files[central.numbers], central.scores)
        return best[self.files]

    # -- containers, files and neighbours among the candidates ---------------------------------------------------------

    @cached_property
    def parents(self) -> Ints:
        """Container of each candidate; 0 if none."""
        return self._graph.parent[self.numbers]

    @cached_property
    def files(self) -> Ints:
        return self._items.files[self.numbers]

    @cached_property
    def folders(self) -> Ints:
        return self._items.folders[self.numbers]

    def share_of_parent(self, by_item: Floats) -> Floats:
        """Return the container's value relative to the maximum."""
        return np.where(self.parents > 0, by_item[self.parents] / (by_item.max(initial=0.0) or 1.0), 0.0)

    @property
    def best_member(self) -> Floats:
        """Relative score of its best member."""
        best = np.zeros(self._items.size)
        np.maximum.at(best, self.parents, self.shares)
        return best[self.numbers]

    @property
    def siblings(self) -> Floats:
        """Log number of top candidates with the same container."""
        same = self.parents[:, np.newaxis] == self.parents[:_CONTEXT]
        return np.log1p(np.where(self.parents > 0, np.count_nonzero(same, axis=1), 0))

    def group_best(self, groups: Ints) -> Floats:
        """Return the relative score of the best candidate of the same group."""
        best = np.zeros(int(groups.max(initial=0)) + 1)
        np.maximum.at(best, groups, self.shares)
        return best[groups]

    def group_count(self, groups: Ints) -> Floats:
        """Return the log number of top candidates in the same group."""
        return np.log1p(np.bincount(groups[:_CONTEXT], minlength=int(groups.max(initial=0)) + 1)[groups])

    def group_mass(self, groups: Ints) -> Floats:
        """Return the sum of the top candidates' scores in the same group, relative to the largest sum."""
        first = groups[:_CONTEXT]
        return share_of_best(sum_by_index(first, self.shares[:_CONTEXT], int(groups.max(initial=0)) + 1))[groups]

    def rank_within(self, groups: Ints) -> Floats:
        """Return the log rank among the candidates of the same group."""
        order = np.argsort(groups, kind="stable")
        ordered = groups[order]
        ranks = np.empty(len(groups))
        ranks[order] = np.arange(len(groups)) - np.searchsorted(ordered, ordered)
        return np.log1p(ranks)

    @cached_property
    def _calls(self) -> tuple[Ints, Ints]:
        """Calls among the top candidates: places of callers and of callees."""
        place = np.full(self._items.size, -1)
        place[self.numbers[:_CONTEXT]] = np.arange(min(len(self.numbers), _CONTEXT))
        callers, callees = self._graph.outgoing(self.numbers, "calls")
        candidate = np.full(self._items.size, -1)
        candidate[self.numbers] = np.arange(len(self.numbers))
        among = place[callees] >= 0
        return candidate[callers[among]], place[callees[among]]

    @property
    def calls_candidates(self) -> Floats:
        """Log number of top candidates that it calls: high for what orchestrates the others."""
        return np.log1p(np.bincount(self._calls[0], minlength=len(self.numbers)))

    # -- the candidate itself ------------------------------------------------------------------------------------------

    def is_kind(self, kinds: frozenset[str]) -> Floats:
        in_kinds = np.array([float(name in kinds) for name in KIND_NAMES])  # by kind code
        return in_kinds[self._index.columns.kind[self.numbers]]

    @property
    def lines(self) -> Floats:
        return np.log1p([item.lines for item in self._descriptions])

    @property
    def depth(self) -> Floats:
        """Number of enclosing containers."""
        containers, depth = self.parents, np.zeros(len(self.numbers))
        for _ in range(_MAX_NESTING):
            depth += containers > 0
            containers = self._graph.parent[containers]
        return depth

    def degree(self, backwards: bool) -> Floats:
        """Return the log in-degree (backwards) or out-degree."""
        return np.log1p(self._graph.degrees(backwards)[self.numbers].astype(np.float64))

    @property
    def authority(self) -> Floats:
        return self._graph.uses[self.numbers]

    @property
    def changes(self) -> Floats:
        """Log number of commits that changed its file."""
        return np.log1p(self.query.resources.history.counts[self.files])

    @property
    def age(self) -> Floats:
        """Log days since its file last changed."""
        return np.log1p(self.query.resources.history.ages[self.files] / 86400)

    # -- the task ------------------------------------------------------------------------------------------------------

    def constant(self, value: float) -> Floats:
        """Return a value of the task or the repository for every candidate; only trees make use of it."""
        return np.full(len(self.numbers), value)

    @property
    def size(self) -> Floats:
        return self.constant(np.log1p(self._items.count))

    @property
    def task_length(self) -> Floats:
        return self.constant(np.log1p(len(self.query.task.terms)))


def log_ranks(values: Floats) -> Floats:
    """Return the log rank of each value: 0 for the highest."""
    ranks = np.empty(len(values))
    ranks[np.argsort(descending(values), kind="stable")] = np.arange(len(values))
    return np.log1p(ranks)
