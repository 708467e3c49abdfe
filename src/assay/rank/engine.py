"""The retrieval engine: ranks the symbols of an index for a task. `Engine.score` is the algorithm, one step per stage.

task ──▶ terms, keywords ──▶ channels ──▶ factors × … ──▶ + additions ──▶ containers ↔ members ─┐
ranking ◀── + boosts ◀── × multipliers ◀── Σ parts ◀── HITS ◀── graph walk ◀── seeds ◀──────────────────────┘

What contributes to each stage stands in `signals/table.py`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

from assay.core.packs import NOTHING, Learned, Ranked
from assay.rank.arrays import multiplied, sum_arrays
from assay.rank.candidates import Candidates
from assay.rank.context import QueryContext, Resources
from assay.rank.graph import Graph
from assay.rank.profile import SEED, Profile
from assay.rank.query import parse_task
from assay.rank.ranking import Ranking
from assay.rank.signals.classes import EquivalenceClass
from assay.rank.signals.lexical import Lexical
from assay.rank.signals.names import called
from assay.rank.signals.signal import Stage
from assay.rank.signals.table import BY_STAGE, can_share_evidence
from assay.rank.signals.walk import walk
from assay.store.index import Index


def open_engine(index: Index, profile: Profile, classes: Sequence[EquivalenceClass] = ()) -> Engine:
    """Return the engine of a profile."""
    if profile.name == SEED:
        from assay.rank.seed.replay import SeedEngine

        return SeedEngine(index, classes)
    return Engine(index, profile, classes)


class Engine:
    """Ranking over one index. Reads nothing but the index: no feedback, no session state."""

    def __init__(
        self,
        index: Index,
        profile: Profile,
        classes: Sequence[EquivalenceClass] = (),
        resources: Resources | None = None,
    ) -> None:
        self.index, self.profile = index, profile
        self.resources = resources or Resources(index, profile, classes)
        self._signals = {
            stage: [signal for signal in signals.values() if signal.is_on(profile)]
            for stage, signals in BY_STAGE.items()
        }

    @property
    def graph(self) -> Graph:
        return self.resources.graph

    def varied(self, profile: Profile) -> Engine:
        """Return an engine for the same index with another profile; it shares what both profiles read alike."""
        shared = self.resources.under(profile) if can_share_evidence(self.profile, profile) else None
        return Engine(self.index, profile, self.resources.classes, shared)

    def rank(self, task: str, learned: Learned = NOTHING) -> Ranking:
        """Score every item for a task; `learned` holds feedback and session signals, empty for a cold start."""
        return self.score(self.read(task, learned))

    def read(self, task: str, learned: Learned = NOTHING) -> QueryContext:
        """Parse a task and match its terms. Engines of varied profiles may score the result, too."""
        parsed = parse_task(task, self.profile)
        lexical = Lexical(self.resources.term_weights, parsed.terms)
        return QueryContext(self.profile, self.resources, parsed, lexical, learned)

    def score(self, query: QueryContext) -> Ranking:
        """Score every item for a query."""
        query = self._adopted(query)
        lexical = query.lexical
        ranking = Ranking.empty(query.task.task, lexical.rarity, lexical.unseen, lexical.coverage, query.items)
        for _, channels in self._values(Stage.CHANNEL, query, ranking):
            ranking.channels |= channels
        if not (lexical.score.any() or any(channel.items for channel in ranking.channels.values())):
            return ranking
        ranking.called = called(query)
        ranking.factors = dict(self._values(Stage.FACTOR, query, ranking))
        ranking.direct = ranking.scores = multiplied(ranking.factors.values())
        for name, addition in self._values(Stage.ADDITION, query, ranking):
            ranking.additions[name] = addition
            ranking.scores = ranking.scores + addition
        for name, shared in self._values(Stage.PROPAGATION, query, ranking):
            ranking.additions[name] = shared - ranking.scores
            ranking.scores = shared
        ranking.walk = walk(query, ranking)
        ranking.parts = dict(self._values(Stage.PART, query, ranking))
        ranking.scores = sum_arrays(ranking.parts.values(), query.items.size)
        ranking.scores.clip(min=0, out=ranking.scores)
        ranking.candidates = Candidates(query, ranking)
        for name, multiplier in self._values(Stage.MULTIPLIER, query, ranking):
            ranking.multipliers[name] = multiplier
            ranking.scores *= multiplier
        self._boost(query, ranking)
        return ranking

    def _boost(self, query: QueryContext, ranking: Ranking) -> None:
        """Add what the user said, relative to the best score, and scale the scores to 0 … 1."""
        best = float(ranking.scores.max(initial=0.0)) or 1.0
        for name, boost in self._values(Stage.BOOST, query, ranking):
            ranking.boosts[name] = best * boost
            ranking.scores = ranking.scores + ranking.boosts[name]
        ranking.scores.clip(min=0, out=ranking.scores)
        ranking.scale = float(ranking.scores.max(initial=0.0)) or 1.0
        ranking.scores /= ranking.scale

    def _values(self, stage: Stage, query: QueryContext, ranking: Ranking) -> Iterator[tuple[str, Any]]:
        """Yield the name and the values of every signal of a stage that contributes; each sees the ranking so far."""
        for signal in self._signals[stage]:
            values = query.apply(signal, ranking)
            if values is not None:
                yield signal.name, values

    def _adopted(self, query: QueryContext) -> QueryContext:
        """Return the query under this engine's profile, with its evidence if that is the same under both."""
        if query.profile is self.profile:
            return query
        if not can_share_evidence(query.profile, self.profile):
            return self.read(query.task.task, query.learned)
        return dataclasses.replace(query, profile=self.profile, resources=self.resources)

    def candidates(self, ranking: Ranking) -> Candidates:
        """Return the candidates of a ranking that the learned ranker orders."""
        return Candidates(self.read(ranking.task), ranking)

    def ranked(self, task: str, k: int, learned: Learned = NOTHING) -> list[Ranked]:
        """Rank a task and return the best `k` items for packing, best first."""
        return self.first(self.rank(task, learned), k)

    def first(self, ranking: Ranking, k: int) -> list[Ranked]:
        """Return the best `k` items of a ranking for packing, best first."""
        best = ranking.best(k)
        items = self.index.numbered(best)
        near = ranking.walk.visits if ranking.walk.visits.any() else ranking.scores
        nearest = float(near.max(initial=0.0)) or 1.0
        return [Ranked(items[number], float(ranking.scores[number]), float(near[number]) / nearest) for number in best]
