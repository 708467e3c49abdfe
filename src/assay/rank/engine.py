"""The retrieval engine: ranks the symbols of an index for a task. `rank` is the algorithm, one call per step.

task ──▶ reading ──▶ BM25F × factors ─┬─▶ containers ↔ members ──▶ seeds ──▶ walk ──▶ HITS ──▶ score parts ──▶ ranking
             └────▶ channels ──▶ RRF ─┘
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from assay.core.packs import NOTHING, Learned, Ranked
from assay.rank import graph as seeding
from assay.rank import ranking as scoring
from assay.rank.candidates import Channel, Channels, Evidence, K, Vectors, can_share_evidence, fuse, totals
from assay.rank.graph import Graph
from assay.rank.profile import Profile
from assay.rank.query import ParsedTask, parse_task
from assay.rank.ranking import Floats, Ranking, WalkResult, highest, line, multiplied, sum_arrays
from assay.rank.signals import items as item_signals
from assay.rank.signals.classes import EquivalenceClass
from assay.rank.signals.documents import symbol_shares
from assay.rank.signals.history import Commits
from assay.rank.signals.items import ItemArrays
from assay.rank.signals.lexical import Lexical, TermWeights, inverse_document_frequency, saturated
from assay.store.history import History
from assay.store.index import Index
from assay.store.sections import Sections

if TYPE_CHECKING:
    from assay.rank.ranker.features import Candidates

_NEIGHBOURHOOD = 200  # top items of the walk on which HITS runs
_CHECKED = 100  # top items that are checked for noise: more than any caller requests


class Engine:
    """Ranking over one index. Reads nothing but the index: no feedback, no session state."""

    def __init__(
        self, index: Index, profile: Profile, classes: Sequence[EquivalenceClass] = (), vectors: Vectors | None = None
    ) -> None:
        self.index, self.profile, self._options = index, profile, (classes, vectors)
        self._postings = index.postings
        self._items = ItemArrays(index, profile)
        self._term_weights = TermWeights(self._postings, profile)
        self._channels = Channels(index, lambda: self.graph, classes, vectors)

    @cached_property
    def graph(self) -> Graph:
        return Graph(self.index.edges, self._items.size, self.profile, [part.first for part in self.index.parts])

    @cached_property
    def _history(self) -> History:
        return History.open(self.index)

    @cached_property
    def _sections(self) -> Sections:
        return Sections.open(self.index)

    def varied(self, profile: Profile) -> Engine:
        """Return an engine for the same index with another profile.

        A profile that reads tasks alike shares everything opened and can score the same evidence.
        """
        if not can_share_evidence(self.profile, profile):
            return Engine(self.index, profile, *self._options)
        other = copy.copy(self)
        other.profile, other.graph = profile, self.graph  # built here at the latest, so that all variants share it
        if (profile.kind_weights, profile.test_weight) != (self.profile.kind_weights, self.profile.test_weight):
            other._items = ItemArrays(self.index, profile)
        return other

    def rank(self, task: str, learned: Learned = NOTHING) -> Ranking:
        """Score every item for a task; `learned` holds feedback and session signals, empty for a cold start."""
        return self.score_evidence(self.evidence(task, learned), learned)

    def evidence(self, task: str, learned: Learned = NOTHING) -> Evidence:
        """Collect the matches of a task, valid for this profile and all that read tasks alike."""
        profile = self.profile
        reading = parse_task(task, profile)
        lexical = Lexical(self._term_weights, reading.terms)
        lexical.add_related(reading.related)
        channels = self._channels.lists(reading, lexical.score, profile.channels)
        return Evidence(reading, lexical, channels | _vocabulary_channels(learned))

    def score_evidence(self, evidence: Evidence, learned: Learned = NOTHING) -> Ranking:
        """Score every item from the evidence of a task."""
        profile = self.profile
        reading, lexical, channels = evidence.reading, evidence.lexical, evidence.channels
        places = (
            evidence.cached("places", lambda: self._channels.places(reading))
            if profile.certain or profile.place
            else []
        )
        certain = (
            [*places, *evidence.cached("certain", lambda: self._channels.certain(reading))] if profile.certain else []
        )
        if not (
            lexical.score.any()
            or places
            or certain
            or learned.vocabulary
            or any(channel.items for channel in channels.values())
        ):
            return Ranking.nothing(reading.task, self._items.size, lexical.unseen)
        tests = np.ones(self._items.size) if reading.about_tests else self._items.tests
        called = evidence.cached("called", lambda: self._channels.called(reading))
        kinds = self._kind_weights(called)
        factors = self._factors(evidence, places) | {"kind": kinds, "tests": tests}
        direct = multiplied(factors.values())
        pointed = self._pointed_gain(direct, certain, learned)
        evidence_score = direct + pointed
        shared = self.graph.shared(evidence_score, profile.container_share, profile.member_share)
        shared *= kinds
        dropped: dict[int, str] = {}
        walked = self._walk(_SEEDING[profile.seeding](self, reading, shared, channels, dropped))
        parts = _SCORING[profile.scoring](self, shared, walked, kinds * tests)
        if learned.feedback or learned.session:
            parts["learned"] = self._items.by_symbol(learned.adjustments())
        scores = sum_arrays(parts.values(), self._items.size)
        scores.clip(min=0, out=scores)
        task, channel_items = (
            reading.task,
            {name: channel.items for name, channel in channels.items()} | {"certain": certain},
        )
        ranking = Ranking(
            task, lexical.rarity, lexical.unseen, called, lexical.coverage, scores, factors, direct, pointed, shared - evidence_score,
            walked.found, parts, {}, channel_items, dropped,
        )  # fmt: skip
        for name, gain in self._multipliers().items():
            ranking.times[name] = gain(ranking)
            scores *= ranking.times[name]
        self._drop_noise(scores, reading, dropped)
        return ranking

    # -- factors and additions -----------------------------------------------------------------------------------------

    def _factors(self, evidence: Evidence, places: Sequence[int]) -> dict[str, Floats]:
        """Return the factors of the direct score; a factor whose weight is 0 is absent."""
        profile, reading, lexical = self.profile, evidence.reading, evidence.lexical

        def commits() -> Commits:
            return evidence.cached("commits", lambda: Commits(self._history, reading.terms))

        weighted: dict[str, tuple[float, Callable[[], Floats]]] = {
            "name": (profile.name_precision, lambda: lexical.name_precision(self._items.name_rarity)),
            "phrase": (profile.phrase, lambda: lexical.has_phrase(reading.phrases)),
            "authority": (profile.authority, lambda: self.graph.uses),
            "history": (profile.history, lambda: self._items.by_file(commits().files())),
            "touched": (profile.touched, lambda: self._items.by_item(commits().symbols())),
            "documents": (profile.documents, lambda: self._items.by_item(symbol_shares(self._sections, reading.terms))),
            "place": (
                profile.place,
                lambda: self._items.by_file({int(self._items.files[number]): 1.0 for number in places}),
            ),
            "channels": (profile.fusion, lambda: self._fusion_scores(evidence.channels)),
        }
        factors = {"lexical": lexical.score}
        if profile.coverage:
            factors["coverage"] = line(lexical.coverage, profile.coverage, 1 - profile.coverage)
        return factors | {
            name: line(evidence.cached(name, values), weight, 1)
            for name, (weight, values) in weighted.items()
            if weight
        }

    def _kind_weights(self, called: Sequence[int]) -> Floats:
        """Return the kind weight of each item; items the task calls by name keep weight 1."""
        if not self.profile.kind_weights:
            return self._items.kinds
        kinds = self._items.kinds.copy()
        kinds[list(called)] = 1.0
        return kinds

    def _fusion_scores(self, channels: Mapping[str, Channel]) -> Floats:
        """Return reciprocal-rank-fusion scores; 1 for the first item of a single channel of weight 1."""
        return self._items.by_item({number: score * (K + 1) for number, score in totals(channels).items()})

    def _pointed_gain(self, direct: Floats, certain: Sequence[int], learned: Learned) -> Floats:
        """Return the gain of items the task points at: a share of the best score, falling with rank.

        Items that learned vocabulary associates with the task gain by its confidence. Neither needs a matching term.
        """
        gain = self.profile.certain * (float(direct.max()) or 1.0)
        gains = {
            association.number: association.weight * gain * K / (K + rank)
            for rank, association in enumerate(learned.vocabulary)
        }
        gains |= {number: gain * K / (K + rank) for rank, number in enumerate(certain)}
        return self._items.by_symbol(gains)

    # -- seeds, walk and score -----------------------------------------------------------------------------------------

    def _seeds_by_score(
        self, reading: ParsedTask, direct: Floats, channels: Mapping[str, Channel], dropped: dict[int, str]
    ) -> Floats:
        return seeding.from_scores(direct, self.profile.seeds(self._items.size))

    def _seeds_by_fusion(
        self, reading: ParsedTask, direct: Floats, channels: Mapping[str, Channel], dropped: dict[int, str]
    ) -> Floats:
        """Seed as in seed 003: fused candidates, implementors, no noise, types and the largest folder first."""
        profile = self.profile
        candidates = [fused.number for fused in fuse(channels, seeding.CANDIDATES)]
        if profile.implementors:
            implementors = self.graph.sources(np.array(candidates, dtype=np.int64), "implements")
            candidates += [number for number in implementors.tolist() if number not in candidates]
        dropped |= self._noise_reasons(candidates, reading)
        candidates = [number for number in candidates if number not in dropped]
        if profile.dense and self._items.size > profile.dense:
            items = self.index.numbered(candidates)
            candidates = seeding.types_first(candidates, {number: item.kind for number, item in items.items()})
        if profile.focused:
            candidates = seeding.largest_folder_first(candidates, self._items.folders)
        chosen = seeding.by_rank(candidates, self._items.size, profile.seeds(self._items.size))
        if profile.path_seeds:
            under_paths = self._channels.paths(reading)
            chosen[under_paths] = np.maximum(chosen[under_paths], profile.path_seeds)
        return chosen

    def _walk(self, chosen: Floats) -> WalkResult:
        profile = self.profile
        if not profile.walk:
            return WalkResult(np.zeros(self._items.size), chosen, np.zeros(self._items.size))
        mass = self.graph.walk(chosen, profile.restart, profile.steps)
        mass[self._items.not_retrieved] = 0
        adjustment = self.graph.adjustment(mass, chosen, _NEIGHBOURHOOD) if profile.hits else np.zeros(self._items.size)
        return WalkResult(mass, chosen, adjustment)

    def _shares(self, direct: Floats, walked: WalkResult, lowered_by: Floats) -> dict[str, Floats]:
        lowered = WalkResult(walked.found * lowered_by, walked.seeds, walked.adjustment)
        return scoring.shares(direct, lowered, self.profile.walk, self.profile.hits)

    def _composite(self, direct: Floats, walked: WalkResult, lowered_by: Floats) -> dict[str, Floats]:
        parts = scoring.composite(walked, self.graph.confidence, self.profile.hits)
        return {name: values * lowered_by for name, values in parts.items()}

    def _multipliers(self) -> dict[str, Callable[[Ranking], Floats]]:
        """Return the multipliers applied, in order, after the score parts are summed.

        The learned order comes before repeated names are lowered in it.
        """
        profile, items = self.profile, self._items
        multipliers: dict[str, Callable[[Ranking], Floats]] = {}
        multipliers["folder"] = lambda ranking: item_signals.folder(ranking, items, profile.folder)
        if profile.ranker:
            multipliers["ranker"] = self._ranker_gain
        multipliers["repeated"] = lambda ranking: item_signals.repeated(ranking, items, self.index, profile)
        if profile.own and not profile.ranker:
            multipliers["own"] = lambda ranking: item_signals.own(ranking, profile.own)
        return multipliers

    def _ranker_gain(self, ranking: Ranking) -> Floats:
        from assay.rank.ranker.model import gain

        return gain(self.candidates(ranking), ranking.scores, self.profile.ranker)

    def candidates(self, ranking: Ranking) -> Candidates:
        """Return the top candidates of a ranking that the learned ranker reorders."""
        from assay.rank.ranker.features import Candidates, FeatureInputs
        from assay.rank.ranker.model import DEPTH

        return Candidates(FeatureInputs(self.index, self._items, self.graph, self._history, ranking), DEPTH)

    def _drop_noise(self, scores: Floats, reading: ParsedTask, dropped: dict[int, str]) -> None:
        if self.profile.noise:
            dropped |= self._noise_reasons(highest(scores, _CHECKED).tolist(), reading)
            scores[list(dropped)] = 0

    def _noise_reasons(self, numbers: Sequence[int], reading: ParsedTask) -> dict[int, str]:
        """Return the noise reason of each item that is noise, by number."""
        if not self.profile.noise:
            return {}
        items = self.index.numbered(numbers)
        reasons = {number: item_signals.noise_reason(item, reading.about_tests) for number, item in items.items()}
        return {number: reason for number, reason in reasons.items() if reason}

    # -- access for explanations and packing ---------------------------------------------------------------------------

    def word(self, term: str, number: int) -> tuple[float, float, list[int]]:
        """Return the rarity of a term, its score in an item, and its count in each field."""
        items, counts = self._postings.get(term)
        here = counts[items == number]
        if not len(here):
            return 0.0, 0.0, []
        rarity = inverse_document_frequency(len(self._postings.numbers), len(items))
        score = rarity * float(saturated(here, self._term_weights.norms[np.array([number])], self.profile)[0])
        return rarity, score, here[0].tolist()

    def ranked(self, task: str, k: int, learned: Learned = NOTHING) -> list[Ranked]:
        """Rank a task and return the best `k` items for packing, best first."""
        return self.first(self.rank(task, learned), k)

    def first(self, ranking: Ranking, k: int) -> list[Ranked]:
        """Return the best `k` items of a ranking for packing, best first."""
        best = ranking.best(k)
        items = self.index.numbered(best)
        near = ranking.walked if ranking.walked.any() else ranking.scores
        nearest = float(near.max(initial=0.0)) or 1.0
        return [Ranked(items[number], float(ranking.scores[number]), float(near[number]) / nearest) for number in best]


def _vocabulary_channels(learned: Learned) -> dict[str, Channel]:
    """Return learned vocabulary as channels, one per confidence: reciprocal rank fusion weighs whole channels."""
    weights = sorted({association.weight for association in learned.vocabulary}, reverse=True)
    return {
        f"learned {weight:.2f}": Channel(
            weight, [association.number for association in learned.vocabulary if association.weight == weight]
        )
        for weight in weights
    }


_SEEDING = {"scores": Engine._seeds_by_score, "fusion": Engine._seeds_by_fusion}
_SCORING = {"shares": Engine._shares, "composite": Engine._composite}
