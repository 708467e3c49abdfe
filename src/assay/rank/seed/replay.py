"""The pipeline of seed 003, step by step: the profile `seed`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from assay.core.items import TYPE_KINDS
from assay.core.packs import NOTHING, Learned
from assay.rank.arrays import Floats, Ints, share_of_best, sum_arrays
from assay.rank.context import QueryContext
from assay.rank.engine import Engine
from assay.rank.profile import PROFILES, SEED, Profile
from assay.rank.query import parse_task
from assay.rank.ranking import Ranking, WalkResult
from assay.rank.recency import UNKNOWN
from assay.rank.recency import score as recency_score
from assay.rank.seed import specification
from assay.rank.seed.bm25 import Columns, expansions, has_phrase
from assay.rank.seed.noise import noise_reasons
from assay.rank.seed.paths import path_context
from assay.rank.signals.classes import EquivalenceClass, class_hits
from assay.rank.signals.feedback import VOCABULARY
from assay.rank.signals.fusion import Channel, fused_scores
from assay.rank.signals.lexical import Lexical, TermWeights
from assay.rank.signals.names import called, names
from assay.rank.signals.signal import Signal, Stage
from assay.store.index import Index
from assay.store.links.traces import age_of_last_call, observations

_CHECKED = 100  # top items that are checked for noise: more than any caller requests


class SeedEngine(Engine):
    """An engine that ranks as seed 003 says."""

    def __init__(self, index: Index, classes: Sequence[EquivalenceClass] = ()) -> None:
        profile = PROFILES[SEED]
        super().__init__(index, profile, classes)
        columns = Columns(index.postings, self.resources.items)
        self.resources.term_weights = TermWeights(columns, profile)

    def varied(self, profile: Profile) -> Engine:
        return self  # a specification has no variations

    def read(self, task: str, learned: Learned = NOTHING) -> QueryContext:
        """Extract the keywords of a task (1), and match its words and those of the thesaurus."""
        parsed = parse_task(task, self.profile)
        lexical = Lexical(self.resources.term_weights, parsed.terms)
        related = expansions(parsed)
        lexical.score += specification.EXPANSION * self.resources.term_weights.scores(related)
        lexical.weights |= dict.fromkeys(related, specification.EXPANSION)
        return QueryContext(self.profile, self.resources, parsed, lexical, learned)

    def score(self, query: QueryContext) -> Ranking:
        """Score every item for a query; the numbers are those of the specification's overview."""
        lexical, items, graph = query.lexical, query.items, query.graph
        ranking = Ranking.empty(query.task.task, lexical.rarity, lexical.unseen, lexical.coverage, items)
        ranking.called = called(query)
        phrase = 1 + specification.PHRASE * has_phrase(self.resources.term_weights, query.task.sequence)
        ranking.direct = lexical.score * phrase

        # 2. the channels, fused
        by_name = [hit.number for hit in names(self.resources.names, query.task.keywords)]
        by_text = items.highest(ranking.direct, specification.LEXICAL_CANDIDATES).tolist()
        by_class = [hit.number for hit in class_hits(query, by_name, by_text)]
        for name, hits in {"names": by_name, "lexical": by_text, "classes": by_class}.items():
            ranking.channels[name] = Channel(specification.CHANNELS[name], hits)
        ranking.channels |= query.apply(VOCABULARY, ranking)
        candidates = fuse(ranking.channels, items.order)
        if not candidates:
            return ranking
        ranking.factors = {"lexical": lexical.score, "phrase": phrase}

        # 3. implementors of interfaces among them; 4. noise
        implementors = graph.sources(np.array(candidates, dtype=np.int64), "implements")
        candidates += [number for number in implementors.tolist() if number not in candidates]
        noise = self._find_noise(query, ranking, candidates)
        candidates = [number for number in candidates if number not in noise]

        # 4b. types first in a dense graph, the largest folder first; then types under the paths of the task
        if items.count > specification.DENSE:
            kinds = {number: item.kind for number, item in self.index.numbered(candidates).items()}
            candidates.sort(key=lambda number: kinds[number] not in TYPE_KINDS)
        candidates = largest_folder_first(candidates, items.folders)
        seeds = by_rank(candidates, items.size, seed_count(items.count))
        under_paths = path_context(self.index, query.task.task, query.task.keywords)
        seeds[under_paths] = np.maximum(seeds[under_paths], specification.PATH_SEED)

        # 5. the random walk; 6. HITS
        visits = graph.walk(seeds, self.profile.restart, self.profile.steps)
        visits[items.not_retrieved] = 0
        ranking.walk = WalkResult(visits, seeds, graph.adjustment(visits, seeds, specification.NEIGHBOURHOOD))

        # 7. the scoring formula
        recency = query.cached("recency", lambda: recency_of(self.index, items.size))
        ranking.parts = composite(ranking.walk, graph.confidence, recency)
        tests = np.ones(items.size) if query.task.about_tests else items.tests
        ranking.multipliers = {"tests": tests}
        ranking.scores = sum_arrays(ranking.parts.values(), items.size).clip(min=0) * tests
        self._boost(query, ranking)
        ranking.scores[self._find_noise(query, ranking, ranking.best(_CHECKED))] = 0
        return ranking

    def _find_noise(self, query: QueryContext, ranking: Ranking, numbers: Sequence[int]) -> list[int]:
        """Return the items that are noise, with all found before; the ranking keeps their reasons."""
        ranking.noise |= noise_reasons(self.index.numbered(numbers), query.task.about_tests)
        return list(ranking.noise)


# 2. Fusion


def fuse(channels: Mapping[str, Channel], order: Ints) -> list[int]:
    """Return the best items of the fused channels, best first, ties by `order`."""
    best = sorted(fused_scores(channels).items(), key=lambda item: (-item[1], order[item[0]]))
    return [number for number, _ in best[: specification.CANDIDATES]]


# 4b. Seeds


def largest_folder_first(candidates: Sequence[int], folders: Ints) -> list[int]:
    """Sort the folder with most candidates first: nearby seeds keep the walk on topic."""
    counts = Counter(folders[list(candidates)].tolist()).most_common(1)
    return sorted(candidates, key=lambda number: folders[number] != counts[0][0])


def seed_count(items: int) -> int:
    """Return the number of seeds for an index of that many items."""
    return max((least, count) for least, count in specification.SEED_COUNTS if least <= items)[1]


def by_rank(candidates: Sequence[int], size: int, count: int) -> Floats:
    """Return seed weights of the first candidates, falling linearly with rank."""
    chosen = np.array(candidates[:count], dtype=np.int64)
    seeds = np.zeros(size)
    seeds[chosen] = (
        np.linspace(specification.FIRST_SEED, specification.LAST_SEED, len(chosen))
        if len(chosen) > 1
        else specification.FIRST_SEED
    )
    return seeds


# 7. Scoring formula


def composite(walk: WalkResult, confidence: Floats, recency: Floats) -> dict[str, Floats]:
    """Return the parts of the score by name; items that the walk hardly reached have none."""
    radius = share_of_best(walk.visits)
    distance = np.where(walk.seeds > 0, 1.0, specification.NEXT)
    parts = {"blast radius": radius, "confidence": confidence, "recency": recency, "distance": distance}
    weighted = {name: specification.SCORE[name] * values for name, values in parts.items()} | {"hits": walk.adjustment}
    return {name: np.where(radius >= specification.REACHED, values, 0.0) for name, values in weighted.items()}


def recency_of(index: Index, size: int) -> Floats:
    """Return the recency of every item: how lately traces saw it running."""
    values = np.full(size, UNKNOWN)
    for id in observations(index).calls:
        item = index.by_id(id)
        if item is not None and (age := age_of_last_call(index, item)) is not None:
            values[item.number] = recency_score(age)
    return values


# what `assay why` says of the factors, parts and multipliers that the live engine does not have
SIGNALS = (
    Signal("phrase", Stage.FACTOR, "names", "adjacent words of the task occur in its name"),
    Signal("blast radius", Stage.PART, "graph", "visit probability (personalized PageRank)"),
    Signal("confidence", Stage.PART, "graph", "confidence of the surest incoming edge"),
    Signal("recency", Stage.PART, "graph", "how lately traces saw it running; 0.3 of the weight if never"),
    Signal("distance", Stage.PART, "graph", "seed of the walk, or one step away"),
    Signal("tests", Stage.MULTIPLIER, "itself", "test code, and the task is not about tests"),
)
