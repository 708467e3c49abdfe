"""The engine: from a task to the right symbols, explained. `rank` is the algorithm, top to bottom; each step is one call below it.

task ──▶ terms ──▶ BM25F × coverage × name × authority × history ──▶ containers ↔ members ──▶ walk ──▶ ranking
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from assay.core.packs import Ranked
from assay.retrieve.commits import file_shares
from assay.retrieve.documents import symbol_shares
from assay.retrieve.graph import Floats, Graph, Ints
from assay.retrieve.lexical import Lexical, name_rarity_of, norms_of, query_terms, rarity_of, saturated
from assay.retrieve.noise import is_about_tests
from assay.retrieve.profile import Profile
from assay.store.history import History
from assay.store.index import Index
from assay.store.sections import Sections


@dataclass(frozen=True, slots=True)
class Ranking:
    """The order of an index's items for one task. `components` are what the scores were made of, each by item number."""

    task: str
    terms: dict[str, float]  # the words searched by, with their rarity here
    scores: Floats
    components: dict[str, Floats] = field(default_factory=dict)

    def best(self, k: int) -> list[int]:
        """The numbers of the best items, best first; ties by number."""
        return _highest(self.scores, k)

    def best_by(self, component: str, k: int) -> list[int]:
        """The numbers of the items highest in one component."""
        return _highest(self.components[component], k)


class Engine:
    """An index, ready to be asked. Opens nothing but the index: no feedback, no session, nothing learned."""

    def __init__(self, index: Index, profile: Profile) -> None:
        self.index, self.profile = index, profile
        self._words = index.postings
        self._size = len(self._words.lengths)
        self._norms = norms_of(self._words, profile)

    @cached_property
    def _graph(self) -> Graph:
        return Graph(self.index.edges, self._size, self.profile)

    @cached_property
    def _history(self) -> History:
        return History.open(self.index)

    @cached_property
    def _sections(self) -> Sections:
        return Sections.open(self.index)

    @cached_property
    def _files(self) -> Ints:
        """The number of the file each item is in."""
        files = np.zeros(self._size, np.int64)
        for number, file in self.index.catalogue.connection.execute("SELECT number, file FROM symbols"):
            files[number] = file
        return files

    @cached_property
    def _kinds(self) -> Floats:
        """The weight of each item's kind. Files are not retrieved themselves: their symbols are."""
        weights = np.zeros(self._size)
        for number, kind in self.index.catalogue.connection.execute(
            "SELECT number, kind FROM symbols WHERE ordinal >= 0"
        ):
            weights[number] = self.profile.kind_weights.get(kind, 1.0)
        return weights

    @cached_property
    def _tests(self) -> Floats:
        """The weight of what belongs to tests."""
        weights = np.ones(self._size)
        rows = self.index.catalogue.connection.execute(
            "SELECT s.number FROM symbols s JOIN files f ON f.number = s.file WHERE s.test OR f.test"
        )
        weights[[number for (number,) in rows]] = self.profile.test_weight
        return weights

    @cached_property
    def _name_rarity(self) -> Floats:
        return name_rarity_of(self._words)

    def rank(self, task: str) -> Ranking:
        """Scores every item for a task."""
        profile, about_tests = self.profile, is_about_tests(task)
        query = query_terms(task, profile.repeats)
        lexical = Lexical(self._words, self._norms, query, profile)
        if not lexical.score.any():
            return Ranking(task, lexical.rarity, np.zeros(self._size))
        components = {
            "lexical": lexical.score,
            "coverage": 1 - profile.coverage + profile.coverage * lexical.coverage,
            "name": 1 + profile.name_precision * lexical.name_precision(self._name_rarity),
            "authority": 1 + profile.authority * self._graph.authority,
            "history": 1 + profile.history * self._touched(query),
            "documents": 1 + profile.documents * self._named(query),
            "kind": self._kinds,
            "tests": np.ones(self._size) if about_tests else self._tests,
        }
        direct = np.prod(list(components.values()), axis=0)
        shared = self._graph.shared(direct, profile.container_share, profile.member_share) * self._kinds
        walked = self._walk(shared) * self._kinds * components["tests"]
        components |= {"containers": shared - direct, "walk": walked}
        return Ranking(task, lexical.rarity, _share_of_best(shared) + profile.walk * _share_of_best(walked), components)

    def _touched(self, query: dict[str, int]) -> Floats:
        """How much commits with such messages touched the file of each item, from 0 to 1."""
        shares = np.zeros(int(self._files.max(initial=0)) + 1)
        if self.profile.history:
            for file, share in file_shares(self._history, query).items():
                shares[file] = share
        return np.asarray(shares[self._files], dtype=np.float64)

    def _named(self, query: dict[str, int]) -> Floats:
        """How much documents that speak of such things name each item, from 0 to 1."""
        shares = np.zeros(self._size)
        if self.profile.documents:
            for number, share in symbol_shares(self._sections, query).items():
                shares[number] = share
        return shares

    def _walk(self, scores: Floats) -> Floats:
        """A walk from the best items; a better one is a likelier start, by the square of its score."""
        if not self.profile.walk:
            return np.zeros(self._size)
        best = np.argsort(-scores, kind="stable")[: self.profile.seeds]
        seeds = np.zeros(self._size)
        seeds[best] = scores[best] ** 2
        return self._graph.walk(seeds, self.profile.restart, self.profile.steps)

    def word(self, term: str, number: int) -> tuple[float, float, list[int]]:
        """One word in one item: its rarity here, the score it brings, and how often each field has it."""
        items, counts = self._words.get(term)
        here = counts[items == number]
        if not len(here):
            return 0.0, 0.0, []
        rarity = rarity_of(len(self._words.numbers), len(items))
        score = rarity * float(saturated(here, self._norms[[number]], self.profile)[0])
        return rarity, score, here[0].tolist()

    def brought(self, ranking: Ranking, number: int) -> list[tuple[int, str, float]]:
        """By which edges the walk came to an item, most first: (from, edge type, share of what came)."""
        return self._graph.brought(ranking.components["walk"], number)

    def ranked(self, task: str, k: int) -> list[Ranked]:
        """The best `k` items for a task, best first, for packing."""
        ranking = self.rank(task)
        nearness = _share_of_best(ranking.components.get("walk", ranking.scores))
        return [
            Ranked(self.index.item(number), float(ranking.scores[number]), float(nearness[number]))
            for number in ranking.best(k)
        ]


def _highest(values: Floats, k: int) -> list[int]:
    order = np.argsort(-values, kind="stable")[:k]
    return [int(number) for number in order if values[number] > 0]


def _share_of_best(values: Floats) -> Floats:
    """Values as shares of the highest."""
    highest = values.max(initial=0.0)
    return np.asarray(values / highest if highest > 0 else values, dtype=np.float64)
