"""The engine: from a task to the right symbols, explained. `rank` is the algorithm, top to bottom; each step is one call below it.

task ──▶ reading ──▶ BM25F × factors ─┬─▶ containers ↔ members ──▶ seeds ──▶ walk ──▶ HITS ──▶ parts of the score ──▶ ranking
             └────▶ channels ──▶ RRF ─┘
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from assay.core.packs import NOTHING, Learned, Ranked
from assay.rank import graph as seeds
from assay.rank import ranking as scoring
from assay.rank.candidates import Channel, Channels, Evidence, K, Vectors, fuse, read_alike, totals
from assay.rank.graph import Graph
from assay.rank.profile import Profile
from assay.rank.query import Reading, read
from assay.rank.ranking import Floats, Ranking, Walked, highest, line, multiplied, summed
from assay.rank.signals import items as gains
from assay.rank.signals import items as noise
from assay.rank.signals.classes import EquivalenceClass
from assay.rank.signals.documents import symbol_shares
from assay.rank.signals.history import Commits
from assay.rank.signals.items import Everything
from assay.rank.signals.lexical import Lexical, Weighed, rarity_of, saturated
from assay.store.index import Index

if TYPE_CHECKING:
    from assay.rank.ranker.features import Candidates
    from assay.store.history import History
    from assay.store.multi_repo import Histories, SectionsOfAll
    from assay.store.sections import Sections

_NEIGHBOURHOOD = 200  # items of the walk among which HITS is run
_CHECKED = 100  # of the best that are looked at for noise: more than anybody asks for


class Engine:
    """An index, ready to be asked. Opens nothing but the index: no feedback, no session, nothing learned."""

    def __init__(
        self, index: Index, profile: Profile, classes: Sequence[EquivalenceClass] = (), vectors: Vectors | None = None
    ) -> None:
        self.index, self.profile, self._more = index, profile, (classes, vectors)
        self._words = index.postings
        self._all = Everything(index, profile)
        self._weighed = Weighed(self._words, profile)
        self._channels = Channels(index, lambda: self.graph, classes, vectors)

    @cached_property
    def graph(self) -> Graph:
        return Graph(self.index.edges, self._all.size, self.profile, [part.first for part in self.index.parts])

    @cached_property
    def _history(self) -> History | Histories:
        return self.index.history()

    @cached_property
    def _sections(self) -> Sections | SectionsOfAll:
        return self.index.sections()

    def varied(self, profile: Profile) -> Engine:
        """The same index weighed by another profile. One that reads tasks alike shares all that is open, and can weigh the same evidence."""
        if not read_alike(self.profile, profile):
            return Engine(self.index, profile, *self._more)
        other = copy.copy(self)
        other.profile, other.graph = profile, self.graph  # made here at the latest, so that all of them share it
        if (profile.kind_weights, profile.test_weight) != (self.profile.kind_weights, self.profile.test_weight):
            other._all = Everything(self.index, profile)
        return other

    def rank(self, task: str, learned: Learned = NOTHING) -> Ranking:
        """Scores every item for a task; `learned` is what use has taught about it, nothing for a cold start."""
        return self.weighed(self.evidence(task, learned), learned)

    def evidence(self, task: str, learned: Learned = NOTHING) -> Evidence:
        """What the index says about a task, for this profile and all that read alike."""
        profile = self.profile
        reading = read(task, profile)
        lexical = Lexical(self._weighed, reading.terms)
        lexical.add_related(reading.related)
        channels = self._channels.lists(reading, lexical.score, profile.channels)
        return Evidence(reading, lexical, channels | _vocabulary(learned))

    def weighed(self, evidence: Evidence, learned: Learned = NOTHING) -> Ranking:
        """Scores every item by what is known about a task."""
        profile = self.profile
        reading, lexical, channels = evidence.reading, evidence.lexical, evidence.channels
        places = (
            evidence.once("places", lambda: self._channels.places(reading)) if profile.certain or profile.place else []
        )
        certain = (
            [*places, *evidence.once("certain", lambda: self._channels.certain(reading))] if profile.certain else []
        )
        if not (
            lexical.score.any()
            or places
            or certain
            or learned.vocabulary
            or any(channel.items for channel in channels.values())
        ):
            return Ranking.nothing(reading.task, self._all.size, lexical.unseen)
        tests = np.ones(self._all.size) if reading.about_tests else self._all.tests
        called = evidence.once("called", lambda: self._channels.called(reading))
        kinds = self._kinds_for(called)
        factors = self._factors(evidence, places) | {"kind": kinds, "tests": tests}
        direct = multiplied(factors.values())
        pointed = self._pointed_at(direct, certain, learned)
        told = direct + pointed
        shared = self.graph.shared(told, profile.container_share, profile.member_share)
        shared *= kinds
        dropped: dict[int, str] = {}
        walked = self._walk(_SEEDING[profile.seeding](self, reading, shared, channels, dropped))
        parts = _SCORING[profile.scoring](self, shared, walked, kinds * tests)
        if learned.feedback or learned.session:
            parts["learned"] = self._all.by_symbol(learned.adjustments())
        scores = summed(parts.values(), self._all.size)
        scores.clip(min=0, out=scores)
        task, found = reading.task, {name: channel.items for name, channel in channels.items()} | {"certain": certain}
        ranking = Ranking(
            task, lexical.rarity, lexical.unseen, called, lexical.coverage, scores, factors, direct, pointed, shared - told,
            walked.found, parts, {}, found, dropped,
        )  # fmt: skip
        for name, gain in self._gains().items():
            ranking.times[name] = gain(ranking)
            scores *= ranking.times[name]
        self._leave_out_noise(scores, reading, dropped)
        return ranking

    # -- what multiplies, and what is added ----------------------------------------------------------------------------

    def _factors(self, evidence: Evidence, places: Sequence[int]) -> dict[str, Floats]:
        """What the direct score is the product of. A factor that is switched off is not there."""
        profile, reading, lexical = self.profile, evidence.reading, evidence.lexical

        def commits() -> Commits:
            return evidence.once("commits", lambda: Commits(self._history, reading.terms))

        weighted: dict[str, tuple[float, Callable[[], Floats]]] = {
            "name": (profile.name_precision, lambda: lexical.name_precision(self._all.name_rarity)),
            "phrase": (profile.phrase, lambda: lexical.has_phrase(reading.phrases)),
            "authority": (profile.authority, lambda: self.graph.uses),
            "history": (profile.history, lambda: self._all.by_file(commits().files())),
            "touched": (profile.touched, lambda: self._all.by_item(commits().symbols())),
            "documents": (profile.documents, lambda: self._all.by_item(symbol_shares(self._sections, reading.terms))),
            "place": (
                profile.place,
                lambda: self._all.by_file({int(self._all.files[number]): 1.0 for number in places}),
            ),
            "channels": (profile.fusion, lambda: self._fused(evidence.channels)),
        }
        factors = {"lexical": lexical.score}
        if profile.coverage:
            factors["coverage"] = line(lexical.coverage, profile.coverage, 1 - profile.coverage)
        return factors | {
            name: line(evidence.once(name, values), weight, 1) for name, (weight, values) in weighted.items() if weight
        }

    def _kinds_for(self, called: Sequence[int]) -> Floats:
        """The weight of each item's kind, which does not count against what the task calls by its name."""
        if not self.profile.kind_weights:
            return self._all.kinds
        kinds = self._all.kinds.copy()
        kinds[list(called)] = 1.0
        return kinds

    def _fused(self, channels: Mapping[str, Channel]) -> Floats:
        """The fused channels; 1 for what is first in a single channel of weight 1."""
        return self._all.by_item({number: score * (K + 1) for number, score in totals(channels).items()})

    def _pointed_at(self, direct: Floats, certain: Sequence[int], learned: Learned) -> Floats:
        """What the task points at gains a share of the best score, the first most, and what its words led to before as far as that is sure.

        Neither needs to have a word of the task.
        """
        gain = self.profile.certain * (float(direct.max()) or 1.0)
        found = {one.number: one.weight * gain * K / (K + rank) for rank, one in enumerate(learned.vocabulary)}
        found |= {number: gain * K / (K + rank) for rank, number in enumerate(certain)}
        return self._all.by_symbol(found)

    # -- seeds, walk and score -----------------------------------------------------------------------------------------

    def _seeds_by_score(
        self, reading: Reading, direct: Floats, channels: Mapping[str, Channel], dropped: dict[int, str]
    ) -> Floats:
        return seeds.from_scores(direct, self.profile.seeds(self._all.size))

    def _seeds_by_fusion(
        self, reading: Reading, direct: Floats, channels: Mapping[str, Channel], dropped: dict[int, str]
    ) -> Floats:
        """As in seed 003: fused candidates, implementors, noise, types first where it is dense, the largest folder first."""
        profile = self.profile
        candidates = [one.number for one in fuse(channels, seeds.CANDIDATES)]
        if profile.implementors:
            found = self.graph.sources(np.array(candidates, dtype=np.int64), "implements")
            candidates += [number for number in found.tolist() if number not in candidates]
        dropped |= self._noisy(candidates, reading)
        candidates = [number for number in candidates if number not in dropped]
        if profile.dense and self._all.size > profile.dense:
            items = self.index.numbered(candidates)
            candidates = seeds.types_first(candidates, {number: item.kind for number, item in items.items()})
        if profile.focused:
            candidates = seeds.largest_folder_first(candidates, self._all.folders)
        chosen = seeds.by_rank(candidates, self._all.size, profile.seeds(self._all.size))
        if profile.path_seeds:
            beside = self._channels.paths(reading)
            chosen[beside] = np.maximum(chosen[beside], profile.path_seeds)
        return chosen

    def _walk(self, chosen: Floats) -> Walked:
        profile = self.profile
        if not profile.walk:
            return Walked(np.zeros(self._all.size), chosen, np.zeros(self._all.size))
        found = self.graph.walk(chosen, profile.restart, profile.steps)
        found[self._all.no_symbols] = 0
        adjustment = self.graph.adjustment(found, chosen, _NEIGHBOURHOOD) if profile.hits else np.zeros(self._all.size)
        return Walked(found, chosen, adjustment)

    def _shares(self, direct: Floats, walked: Walked, lowered_by: Floats) -> dict[str, Floats]:
        lowered = Walked(walked.found * lowered_by, walked.seeds, walked.adjustment)
        return scoring.shares(direct, lowered, self.profile.walk, self.profile.hits)

    def _composite(self, direct: Floats, walked: Walked, lowered_by: Floats) -> dict[str, Floats]:
        parts = scoring.composite(walked, self.graph.confidence, self.profile.hits)
        return {name: values * lowered_by for name, values in parts.items()}

    def _gains(self) -> dict[str, Callable[[Ranking], Floats]]:
        """What multiplies the sum of the parts, one after the other: the learned order comes before names that repeat are lowered in it."""
        profile, everything = self.profile, self._all
        found: dict[str, Callable[[Ranking], Floats]] = {}
        found["folder"] = lambda ranking: gains.folder(ranking, everything, profile.folder)
        if profile.ranker:
            found["ranker"] = self._learned_order
        found["repeated"] = lambda ranking: gains.repeated(ranking, everything, self.index, profile)
        if profile.own and not profile.ranker:
            found["own"] = lambda ranking: gains.own(ranking, profile.own)
        return found

    def _learned_order(self, ranking: Ranking) -> Floats:
        from assay.rank.ranker.model import gain

        return gain(self.candidates(ranking), ranking.scores, self.profile.ranker)

    def candidates(self, ranking: Ranking) -> Candidates:
        """What the learned ranker orders anew: the best of a ranking, as far as it goes."""
        from assay.rank.ranker.features import Asked, Candidates
        from assay.rank.ranker.model import DEPTH

        return Candidates(Asked(self.index, self._all, self.graph, self._history, ranking), DEPTH)

    def _leave_out_noise(self, scores: Floats, reading: Reading, dropped: dict[int, str]) -> None:
        if self.profile.noise:
            dropped |= self._noisy(highest(scores, _CHECKED).tolist(), reading)
            scores[list(dropped)] = 0

    def _noisy(self, numbers: Sequence[int], reading: Reading) -> dict[int, str]:
        """Which of some items are nobody's answer, and why."""
        if not self.profile.noise:
            return {}
        reasons = {n: noise.reason(item, reading.about_tests) for n, item in self.index.numbered(numbers).items()}
        return {number: reason for number, reason in reasons.items() if reason}

    # -- what explaining and packing ask -------------------------------------------------------------------------------

    def word(self, term: str, number: int) -> tuple[float, float, list[int]]:
        """One word in one item: its rarity here, the score it brings, and how often each field has it."""
        items, counts = self._words.get(term)
        here = counts[items == number]
        if not len(here):
            return 0.0, 0.0, []
        rarity = rarity_of(len(self._words.numbers), len(items))
        score = rarity * float(saturated(here, self._weighed.norms[np.array([number])], self.profile)[0])
        return rarity, score, here[0].tolist()

    def ranked(self, task: str, k: int, learned: Learned = NOTHING) -> list[Ranked]:
        """The best `k` items for a task, best first, for packing."""
        return self.first(self.rank(task, learned), k)

    def first(self, ranking: Ranking, k: int) -> list[Ranked]:
        """The best `k` items of a ranking, best first, for packing."""
        best = ranking.best(k)
        items = self.index.numbered(best)
        near = ranking.walked if ranking.walked.any() else ranking.scores
        nearest = float(near.max(initial=0.0)) or 1.0
        return [Ranked(items[number], float(ranking.scores[number]), float(near[number]) / nearest) for number in best]


def _vocabulary(learned: Learned) -> dict[str, Channel]:
    """What the task's words led to before, as channels by how sure that is: a share is the weight over the rank."""
    weights = sorted({one.weight for one in learned.vocabulary}, reverse=True)
    return {
        f"learned {weight:.2f}": Channel(weight, [one.number for one in learned.vocabulary if one.weight == weight])
        for weight in weights
    }


_SEEDING = {"scores": Engine._seeds_by_score, "fusion": Engine._seeds_by_fusion}
_SCORING = {"shares": Engine._shares, "composite": Engine._composite}
