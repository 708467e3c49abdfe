"""What is known of each candidate, as numbers. FEATURES is the table; a model names those it uses, and only they are worked out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from assay.core.items import CALLABLE_KINDS, DATA_KINDS, TYPE_KINDS
from assay.rank.graph import Graph
from assay.rank.ranking import Floats, Ints, Ranking, added_up, share_of_best
from assay.rank.signals.items import Everything
from assay.store.columns import KIND_NAMES
from assay.store.index import Index
from assay.store.postings import DOC, FIELDS, IDENTIFIERS, NAME
from assay.text.terms import terms

if TYPE_CHECKING:
    from assay.store.history import History
    from assay.store.multi_repo import Histories

_FIRST = 100  # candidates whose company counts: further down it is chance
_LEAST = 1e-3  # share of the best below which logarithms are not told apart
_DEEPEST = 6  # containers around one another


class Asked(NamedTuple):
    """What candidates are described from: an index with what is known of it, and a ranking of its items."""

    opened: Index
    everything: Everything
    graph: Graph
    history: History | Histories
    ranking: Ranking


class Candidates:
    """The best items of a ranking. Arrays are by candidate, best first, unless they are said to be by item."""

    def __init__(self, asked: Asked, depth: int) -> None:
        self._index, self._all, self._graph, self._history, self.ranking = asked
        self.numbers: Ints = np.array(self.ranking.best(depth), np.int64)

    def values(self, names: tuple[str, ...]) -> Floats:
        """A row for each candidate, a column for each feature."""
        columns = [np.asarray(FEATURES[name].of(self), np.float64) for name in names]
        return np.stack(columns, axis=1) if columns else np.zeros((len(self.numbers), 0))

    # -- what the ranking says ------------------------------------------------------------------------------------------

    @cached_property
    def shares(self) -> Floats:
        """The share of the best score."""
        return share_of_best(self.ranking.scores[self.numbers])

    def log_share(self, by_item: Floats) -> Floats:
        """How far below the best among the candidates, on a logarithmic scale."""
        return np.log(np.maximum(share_of_best(by_item[self.numbers]), _LEAST))

    def log_place(self, by_item: Floats) -> Floats:
        """The place among the candidates, on a logarithmic scale: 0 for the first."""
        places = np.empty(len(self.numbers))
        places[np.argsort(-by_item[self.numbers], kind="stable")] = np.arange(len(self.numbers))
        return np.log1p(places)

    def factor(self, name: str) -> Floats:
        """A factor of the direct score; 1 where the profile has it switched off."""
        found = self.ranking.factors.get(name)
        return found[self.numbers] if found is not None else np.ones(len(self.numbers))

    def part(self, name: str) -> Floats:
        found = self.ranking.parts.get(name)
        return found[self.numbers] if found is not None else np.zeros(len(self.numbers))

    def channel(self, name: str) -> Floats:
        """One over the place in a channel; 0 for what it did not find."""
        found = np.zeros(self._all.size)
        listed = self.ranking.channels.get(name, ())
        found[list(reversed(listed))] = 1 / np.arange(len(listed), 0, -1)
        return found[self.numbers]

    # -- words ----------------------------------------------------------------------------------------------------------

    @cached_property
    def _words(self) -> tuple[Floats, Floats, Floats]:
        """Of the task's words: the rarity found in each field, how many are found, and the rarity of those of the title."""
        by_field = np.zeros((len(self.numbers), len(FIELDS)))
        found, titled = np.zeros(len(self.numbers)), np.zeros(len(self.numbers))
        title = set(terms(self.ranking.task.strip().partition("\n")[0]))
        whole = sum(rarity for term, rarity in self.ranking.terms.items() if term in title)
        for term, rarity in self.ranking.terms.items():
            items, counts = self._index.postings.get(term)
            wanted = self.numbers.astype(items.dtype)  # else numpy converts all items
            rows = np.minimum(np.searchsorted(items, wanted), len(items) - 1)
            here = items[rows] == wanted
            by_field[here] += rarity * (counts[rows[here]] > 0)
            found[here] += 1
            if term in title:
                titled[here] += rarity / whole
        return by_field, found, titled

    def said_in(self, field: int) -> Floats:
        """The share of the task's words, by rarity, that a field has."""
        return self._words[0][:, field] / max(sum(self.ranking.terms.values()), 1e-9)

    @property
    def words_found(self) -> Floats:
        """The share of the task's words that are found at all."""
        return np.asarray(self._words[1] / max(len(self.ranking.terms), 1), np.float64)

    @property
    def title_found(self) -> Floats:
        """The share of the words of the task's first line, by rarity."""
        return self._words[2]

    @property
    def name_precision(self) -> Floats:
        """The share of the name's words, by rarity, that the task has."""
        return self._words[0][:, NAME] / self._all.name_rarity[self.numbers]

    def length(self, field: int) -> Floats:
        lengths: Floats = self._index.postings.lengths[self.numbers, field].astype(np.float64)
        return np.log1p(lengths)

    # -- company --------------------------------------------------------------------------------------------------------

    @cached_property
    def parents(self) -> Ints:
        """The container of each candidate; 0: none."""
        return self._graph.parent[self.numbers]

    @cached_property
    def files(self) -> Ints:
        return self._all.files[self.numbers]

    def share_of_parent(self, by_item: Floats) -> Floats:
        """The share of the highest value that its container has."""
        return np.where(self.parents > 0, by_item[self.parents] / (by_item.max(initial=0.0) or 1.0), 0.0)

    @property
    def best_member(self) -> Floats:
        """The share of the best score that the best of its members has."""
        best = np.zeros(self._all.size)
        np.maximum.at(best, self.parents, self.shares)
        return best[self.numbers]

    @property
    def siblings(self) -> Floats:
        """How many of the first candidates have the same container."""
        same = self.parents[:, np.newaxis] == self.parents[:_FIRST]
        return np.log1p(np.where(self.parents > 0, np.count_nonzero(same, axis=1), 0))

    @property
    def file_best(self) -> Floats:
        """The share of the best score that the best of its file has."""
        best = np.zeros(int(self.files.max(initial=0)) + 1)
        np.maximum.at(best, self.files, self.shares)
        return best[self.files]

    @property
    def file_count(self) -> Floats:
        """How many of the first candidates are in the same file."""
        return np.log1p(np.bincount(self.files[:_FIRST], minlength=int(self.files.max(initial=0)) + 1)[self.files])

    @property
    def file_mass(self) -> Floats:
        """How much of the first candidates' scores is in the same file, as a share of the most."""
        first = self.files[:_FIRST]
        mass = added_up(first, self.shares[:_FIRST], int(self.files.max(initial=0)) + 1)
        return share_of_best(mass)[self.files]

    def place_among(self, groups: Ints) -> Floats:
        """The place among the candidates of the same group, on a logarithmic scale."""
        order = np.argsort(groups, kind="stable")
        ordered = groups[order]
        places = np.empty(len(groups))
        places[order] = np.arange(len(groups)) - np.searchsorted(ordered, ordered)
        return np.log1p(places)

    # -- the candidate itself -------------------------------------------------------------------------------------------

    def is_kind(self, kinds: frozenset[str]) -> Floats:
        is_one = np.array([float(name in kinds) for name in KIND_NAMES])  # by code
        return is_one[self._index.columns.kind[self.numbers]]

    @property
    def lines(self) -> Floats:
        lines = self._index.lines_of(self.numbers.tolist())
        return np.log1p([lines[number] for number in self.numbers.tolist()])

    @property
    def depth(self) -> Floats:
        """How many containers are around it."""
        around, depth = self.parents, np.zeros(len(self.numbers))
        for _ in range(_DEEPEST):
            depth += around > 0
            around = self._graph.parent[around]
        return depth

    def degree(self, backwards: bool) -> Floats:
        """How many edges lead to it (backwards), or away from it."""
        return np.log1p(self._graph.degrees(backwards)[self.numbers].astype(np.float64))

    @property
    def changes(self) -> Floats:
        """How often its file was changed."""
        return np.log1p(self._history.counts[self.files])

    @property
    def age(self) -> Floats:
        """Days since its file was changed."""
        return np.log1p(self._history.ages[self.files] / 86400)


class Feature(NamedTuple):
    """A number about a candidate: where it comes from, as a component of the score, and how it is worked out.

    `sense` says whether more of it may only speak for a candidate (1), only against it (-1), or either (0): a weight against that is not learned.
    """

    component: str
    meaning: str
    of: Callable[[Candidates], Floats]
    sense: int = 1


FOR, AGAINST, EITHER = 1, -1, 0

FEATURES: Mapping[str, Feature] = {
    "score": Feature("words", "its score by hand", lambda one: one.log_share(one.ranking.scores)),
    "direct": Feature("words", "its direct score", lambda one: one.log_share(one.ranking.parts["direct"])),
    "lexical": Feature("words", "its score by words", lambda one: one.log_share(one.ranking.factors["lexical"])),
    "lexical place": Feature("words", "its place by words", lambda one: one.log_place(one.ranking.factors["lexical"]), AGAINST),
    "coverage": Feature("words", "the task's words in it, by rarity", lambda one: one.factor("coverage")),
    "found": Feature("words", "the task's words in it", lambda one: one.words_found),
    "title": Feature("words", "words of the task's first line in it", lambda one: one.title_found),
    **{
        f"in {name}": Feature("names" if name == "name" else "words", f"words in its {name}", partial(Candidates.said_in, field=at))
        for at, name in enumerate(FIELDS)
    },
    "name precision": Feature("names", "words of its name in the task", lambda one: one.name_precision),
    "names": Feature("pointed at", "found by its name", lambda one: one.channel("names")),
    "classes": Feature("pointed at", "found by an equivalence", lambda one: one.channel("classes")),
    "certain": Feature("pointed at", "called by the task", lambda one: one.channel("certain")),
    "place": Feature("pointed at", "the task names its file", lambda one: one.factor("place")),
    "walk": Feature("graph", "how often the walk came by", lambda one: one.log_share(one.ranking.walked)),
    "walk place": Feature("graph", "its place in the walk", lambda one: one.log_place(one.ranking.walked), AGAINST),
    "hits": Feature("graph", "its links with others found", lambda one: one.part("hits")),
    "used": Feature("use", "how many edges lead to it", lambda one: one.degree(backwards=True), EITHER),
    "uses": Feature("graph", "how many edges lead from it", lambda one: one.degree(backwards=False), EITHER),
    "authority": Feature("use", "how often it is called and referred to", lambda one: one.factor("authority")),
    "container": Feature("family", "the score of its container", lambda one: one.share_of_parent(one.ranking.scores)),
    "container words": Feature("family", "words in its container", lambda one: one.share_of_parent(one.ranking.factors["lexical"])),
    "best member": Feature("family", "the score of its best member", lambda one: one.best_member),
    "siblings": Feature("family", "others of its container that were found", lambda one: one.siblings, EITHER),
    "place in container": Feature("family", "its place in its container", lambda one: one.place_among(one.parents), AGAINST),
    "file best": Feature("family", "the best score in its file", lambda one: one.file_best),
    "file mass": Feature("family", "the scores in its file", lambda one: one.file_mass, EITHER),
    "file count": Feature("family", "others of its file that were found", lambda one: one.file_count, EITHER),
    "place in file": Feature("family", "its place in its file", lambda one: one.place_among(one.files), AGAINST),
    "history": Feature("history", "commits with words of the task changed its file", lambda one: one.factor("history")),
    "touched": Feature("history", "commits with words of the task changed it", lambda one: one.factor("touched")),
    "changes": Feature("history", "how often its file changes", lambda one: one.changes, EITHER),
    "age": Feature("history", "how long ago its file changed", lambda one: one.age, EITHER),
    "documents": Feature("documents", "documents that speak of the task name it", lambda one: one.factor("documents")),
    "test": Feature("itself", "whether it is a test and the task is not about tests", lambda one: np.log(one.factor("tests"))),
    "type": Feature("itself", "whether it is a type", lambda one: one.is_kind(TYPE_KINDS), EITHER),
    "callable": Feature("itself", "whether it can be called", lambda one: one.is_kind(CALLABLE_KINDS), EITHER),
    "value": Feature("itself", "whether it holds a value", lambda one: one.is_kind(DATA_KINDS), EITHER),
    "lines": Feature("itself", "how long it is", lambda one: one.lines, EITHER),
    "depth": Feature("itself", "how deep it is nested", lambda one: one.depth, EITHER),
    "body": Feature("itself", "how much its body says", lambda one: one.length(IDENTIFIERS), EITHER),
    "doc": Feature("itself", "how much is said about it", lambda one: one.length(DOC), EITHER),
}  # fmt: skip
