"""Features of the learned ranker. FEATURES is the table; only the features that a model names are computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from assay.core.items import CALLABLE_KINDS, DATA_KINDS, TYPE_KINDS
from assay.rank.graph import Graph
from assay.rank.ranking import Floats, Ints, Ranking, share_of_best, sum_by_index
from assay.rank.signals.items import ItemArrays
from assay.store.columns import KIND_NAMES
from assay.store.index import Index
from assay.store.postings import DOC, FIELDS, IDENTIFIERS, NAME
from assay.text.terms import terms

if TYPE_CHECKING:
    from assay.store.history import History

_CONTEXT = 100  # top candidates that count as context: further down it is chance
_FLOOR = 1e-3  # floor of relative scores before taking logarithms
_MAX_NESTING = 6  # maximum nesting depth


class FeatureInputs(NamedTuple):
    """Inputs of the features: an index with its derived arrays, and a ranking of its items."""

    source_index: Index
    items: ItemArrays
    graph: Graph
    history: History
    ranking: Ranking


class Candidates:
    """The top items of a ranking. Arrays are by candidate, best first, unless a parameter says `by_item`."""

    def __init__(self, inputs: FeatureInputs, depth: int) -> None:
        self._index, self._items, self._graph, self._history, self.ranking = inputs
        self.numbers: Ints = np.array(self.ranking.best(depth), np.int64)

    def values(self, names: tuple[str, ...]) -> Floats:
        """Return the feature matrix: a row per candidate, a column per feature."""
        columns = [np.asarray(FEATURES[name].of(self), np.float64) for name in names]
        return np.stack(columns, axis=1) if columns else np.zeros((len(self.numbers), 0))

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
        ranks = np.empty(len(self.numbers))
        ranks[np.argsort(-by_item[self.numbers], kind="stable")] = np.arange(len(self.numbers))
        return np.log1p(ranks)

    def factor(self, name: str) -> Floats:
        """Return a factor of the direct score; 1 where the profile has it switched off."""
        values = self.ranking.factors.get(name)
        return values[self.numbers] if values is not None else np.ones(len(self.numbers))

    def part(self, name: str) -> Floats:
        values = self.ranking.parts.get(name)
        return values[self.numbers] if values is not None else np.zeros(len(self.numbers))

    def channel(self, name: str) -> Floats:
        """Return the reciprocal rank in a channel; 0 for items it did not return."""
        reciprocal = np.zeros(self._items.size)
        ranked = self.ranking.channels.get(name, ())
        reciprocal[list(reversed(ranked))] = 1 / np.arange(len(ranked), 0, -1)
        return reciprocal[self.numbers]

    # -- terms ---------------------------------------------------------------------------------------------------------

    @cached_property
    def _term_matches(self) -> tuple[Floats, Floats, Floats]:
        """Matched rarity per field, number of matched terms, and share of the title's rarity that matches."""
        by_field = np.zeros((len(self.numbers), len(FIELDS)))
        matched, title_share = np.zeros(len(self.numbers)), np.zeros(len(self.numbers))
        title = set(terms(self.ranking.task.strip().partition("\n")[0]))
        title_rarity = sum(rarity for term, rarity in self.ranking.terms.items() if term in title)
        for term, rarity in self.ranking.terms.items():
            items, counts = self._index.postings.get(term)
            numbers = self.numbers.astype(items.dtype)  # otherwise numpy converts all items
            rows = np.minimum(np.searchsorted(items, numbers), len(items) - 1)
            here = items[rows] == numbers
            by_field[here] += rarity * (counts[rows[here]] > 0)
            matched[here] += 1
            if term in title:
                title_share[here] += rarity / title_rarity
        return by_field, matched, title_share

    def field_coverage(self, field: int) -> Floats:
        """Return the share of the task's terms, by rarity, that a field contains."""
        return self._term_matches[0][:, field] / max(sum(self.ranking.terms.values()), 1e-9)

    @property
    def term_share(self) -> Floats:
        """Share of the task's terms that match."""
        return np.asarray(self._term_matches[1] / max(len(self.ranking.terms), 1), np.float64)

    @property
    def title_coverage(self) -> Floats:
        """Share of the terms of the task's first line that match, by rarity."""
        return self._term_matches[2]

    @property
    def name_precision(self) -> Floats:
        """Share of the name's terms, by rarity, that the task contains."""
        return self._term_matches[0][:, NAME] / self._items.name_rarity[self.numbers]

    def length(self, field: int) -> Floats:
        lengths: Floats = self._index.postings.lengths[self.numbers, field].astype(np.float64)
        return np.log1p(lengths)

    # -- context -------------------------------------------------------------------------------------------------------

    @cached_property
    def parents(self) -> Ints:
        """Container of each candidate; 0 if none."""
        return self._graph.parent[self.numbers]

    @cached_property
    def files(self) -> Ints:
        return self._items.files[self.numbers]

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

    @property
    def file_best(self) -> Floats:
        """Relative score of the best candidate of its file."""
        best = np.zeros(int(self.files.max(initial=0)) + 1)
        np.maximum.at(best, self.files, self.shares)
        return best[self.files]

    @property
    def file_count(self) -> Floats:
        """Log number of top candidates in the same file."""
        return np.log1p(np.bincount(self.files[:_CONTEXT], minlength=int(self.files.max(initial=0)) + 1)[self.files])

    @property
    def file_mass(self) -> Floats:
        """Sum of the top candidates' scores in the same file, relative to the largest sum."""
        first = self.files[:_CONTEXT]
        mass = sum_by_index(first, self.shares[:_CONTEXT], int(self.files.max(initial=0)) + 1)
        return share_of_best(mass)[self.files]

    def rank_within(self, groups: Ints) -> Floats:
        """Return the log rank among the candidates of the same group."""
        order = np.argsort(groups, kind="stable")
        ordered = groups[order]
        ranks = np.empty(len(groups))
        ranks[order] = np.arange(len(groups)) - np.searchsorted(ordered, ordered)
        return np.log1p(ranks)

    # -- the candidate itself ------------------------------------------------------------------------------------------

    def is_kind(self, kinds: frozenset[str]) -> Floats:
        in_kinds = np.array([float(name in kinds) for name in KIND_NAMES])  # by kind code
        return in_kinds[self._index.columns.kind[self.numbers]]

    @property
    def lines(self) -> Floats:
        lines = self._index.lines_of(self.numbers.tolist())
        return np.log1p([lines[number] for number in self.numbers.tolist()])

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
    def changes(self) -> Floats:
        """Log number of commits that changed its file."""
        return np.log1p(self._history.counts[self.files])

    @property
    def age(self) -> Floats:
        """Log days since its file last changed."""
        return np.log1p(self._history.ages[self.files] / 86400)


class Feature(NamedTuple):
    """A feature: the score component it belongs to, its meaning and its computation.

    `sense` constrains the sign of its weight: 1 only positive, -1 only negative, 0 either.
    """

    component: str
    meaning: str
    of: Callable[[Candidates], Floats]
    sense: int = 1


FOR, AGAINST, EITHER = 1, -1, 0

FEATURES: Mapping[str, Feature] = {
    "score": Feature("words", "hand-tuned score", lambda candidates: candidates.log_share(candidates.ranking.scores)),
    "direct": Feature("words", "direct score", lambda candidates: candidates.log_share(candidates.ranking.parts["direct"])),
    "lexical": Feature("words", "lexical score (BM25F)", lambda candidates: candidates.log_share(candidates.ranking.factors["lexical"])),
    "lexical place": Feature("words", "lexical rank", lambda candidates: candidates.log_rank(candidates.ranking.factors["lexical"]), AGAINST),
    "coverage": Feature("words", "task terms found, by rarity", lambda candidates: candidates.factor("coverage")),
    "found": Feature("words", "task terms found", lambda candidates: candidates.term_share),
    "title": Feature("words", "terms of the task's title found", lambda candidates: candidates.title_coverage),
    **{
        f"in {name}": Feature("names" if name == "name" else "words", f"task terms in its {name}", partial(Candidates.field_coverage, field=at))
        for at, name in enumerate(FIELDS)
    },
    "name precision": Feature("names", "share of its name's terms in the task", lambda candidates: candidates.name_precision),
    "names": Feature("pointed at", "matched by name", lambda candidates: candidates.channel("names")),
    "classes": Feature("pointed at", "matched by an equivalence class", lambda candidates: candidates.channel("classes")),
    "certain": Feature("pointed at", "named by the task", lambda candidates: candidates.channel("certain")),
    "place": Feature("pointed at", "the task names its file", lambda candidates: candidates.factor("place")),
    "walk": Feature("graph", "visit probability of the graph walk", lambda candidates: candidates.log_share(candidates.ranking.walked)),
    "walk place": Feature("graph", "rank by the graph walk", lambda candidates: candidates.log_rank(candidates.ranking.walked), AGAINST),
    "hits": Feature("graph", "hub and authority scores (HITS)", lambda candidates: candidates.part("hits")),
    "used": Feature("use", "in-degree", lambda candidates: candidates.degree(backwards=True), EITHER),
    "uses": Feature("graph", "out-degree", lambda candidates: candidates.degree(backwards=False), EITHER),
    "authority": Feature("use", "in-degree of calls and references", lambda candidates: candidates.factor("authority")),
    "container": Feature("family", "score of its container", lambda candidates: candidates.share_of_parent(candidates.ranking.scores)),
    "container words": Feature(
        "family", "lexical score of its container", lambda candidates: candidates.share_of_parent(candidates.ranking.factors["lexical"])
    ),
    "best member": Feature("family", "score of its best member", lambda candidates: candidates.best_member),
    "siblings": Feature("family", "candidates with the same container", lambda candidates: candidates.siblings, EITHER),
    "place in container": Feature("family", "rank within its container", lambda candidates: candidates.rank_within(candidates.parents), AGAINST),
    "file best": Feature("family", "best score in its file", lambda candidates: candidates.file_best),
    "file mass": Feature("family", "sum of scores in its file", lambda candidates: candidates.file_mass, EITHER),
    "file count": Feature("family", "candidates in its file", lambda candidates: candidates.file_count, EITHER),
    "place in file": Feature("family", "rank within its file", lambda candidates: candidates.rank_within(candidates.files), AGAINST),
    "history": Feature("history", "commits with matching messages changed its file", lambda candidates: candidates.factor("history")),
    "touched": Feature("history", "commits with matching messages changed it", lambda candidates: candidates.factor("touched")),
    "changes": Feature("history", "number of changes of its file", lambda candidates: candidates.changes, EITHER),
    "age": Feature("history", "days since its file changed", lambda candidates: candidates.age, EITHER),
    "documents": Feature("documents", "matching documentation sections mention it", lambda candidates: candidates.factor("documents")),
    "test": Feature("itself", "test code, and the task is not about tests", lambda candidates: np.log(candidates.factor("tests"))),
    "type": Feature("itself", "is a type", lambda candidates: candidates.is_kind(TYPE_KINDS), EITHER),
    "callable": Feature("itself", "is callable", lambda candidates: candidates.is_kind(CALLABLE_KINDS), EITHER),
    "value": Feature("itself", "is a field, variable or constant", lambda candidates: candidates.is_kind(DATA_KINDS), EITHER),
    "lines": Feature("itself", "number of lines", lambda candidates: candidates.lines, EITHER),
    "depth": Feature("itself", "nesting depth", lambda candidates: candidates.depth, EITHER),
    "body": Feature("itself", "length of its body", lambda candidates: candidates.length(IDENTIFIERS), EITHER),
    "doc": Feature("itself", "length of its documentation", lambda candidates: candidates.length(DOC), EITHER),
}  # fmt: skip
