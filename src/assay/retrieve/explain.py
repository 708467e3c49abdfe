"""Why an item stands where it stands: every word, channel, factor and part of its score, and the way the walk came."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import dropwhile

import numpy as np

from assay.core.items import Item
from assay.retrieve.engine import Engine
from assay.retrieve.ranking import Ranking
from assay.retrieve.reading import Reading, read
from assay.store.postings import FIELDS

_WAYS = 5  # edges shown by which the walk came


@dataclass(frozen=True, slots=True)
class Word:
    """One word of the task in an item: how rare it is here, what it added, and in which fields it stands."""

    term: str
    rarity: float
    score: float
    fields: dict[str, int]


@dataclass(frozen=True, slots=True)
class Way:
    """An edge by which the walk came, and the share of the walker it brought."""

    source: str
    edge: str
    share: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """One item's place for a task. `rank` is None when it was not ranked at all; then `lost` says where it was lost.

    The words add up to the factor `lexical`; the product of the factors, with what was gained because the task points at the item and from
    container and members, is the direct score, whose share of the best is a part; the sum of the parts times all of `times` is the score.
    """

    item: Item
    rank: int | None
    score: float
    best: float
    words: list[Word]
    channels: dict[str, int]  # rank in each channel that found it, from 1
    factors: dict[str, float]
    pointed: float
    shared: float
    parts: dict[str, float]
    times: dict[str, float]
    ranker: dict[str, float]  # what each feature is worth to the learned ranker, on a logarithmic scale, most first
    ways: list[Way]
    lost: str


def explain(engine: Engine, ranking: Ranking, items: Iterable[Item], k: int) -> list[Explanation]:
    """Where items stand in a ranking, and why."""
    reading, learned = read(ranking.task, engine.profile), _ranker(engine, ranking)
    return [_explained(engine, ranking, reading, learned.get(item.number, {}), item, k) for item in items]


def _explained(
    engine: Engine, ranking: Ranking, reading: Reading, learned: dict[str, float], item: Item, k: int
) -> Explanation:
    number = item.number
    score = float(ranking.scores[number])
    # as in the ranking: higher first, equal ones by number
    above = int((ranking.scores > score).sum() + (ranking.scores[:number] == score).sum())
    rank = above + 1 if score > 0 else None
    return Explanation(
        item=item,
        rank=rank,
        score=score,
        best=float(ranking.scores.max(initial=0.0)),
        words=_words(engine, reading, number),
        channels={name: list(found).index(number) + 1 for name, found in ranking.channels.items() if number in found},
        factors={name: float(values[number]) for name, values in ranking.factors.items()},
        pointed=float(ranking.pointed[number]),
        shared=float(ranking.shared[number]),
        parts={name: float(values[number]) for name, values in ranking.parts.items()},
        times={name: float(values[number]) for name, values in ranking.times.items()},
        ranker=learned,
        ways=_ways(engine, ranking, number),
        lost=_lost(ranking, number, rank, k),
    )


def _words(engine: Engine, reading: Reading, number: int) -> list[Word]:
    """The task's words that the item has, and their relatives, what counts most first."""
    found = []
    for term, times in {**reading.terms, **reading.related}.items():
        rarity, score, counts = engine.word(term, number)
        if score:
            fields = {FIELDS[at]: int(count) for at, count in enumerate(counts) if count}
            found.append(Word(term, rarity, times * score, fields))
    return sorted(found, key=lambda word: (-word.score, word.term))


def _ways(engine: Engine, ranking: Ranking, number: int) -> list[Way]:
    if not ranking.walked.any():
        return []
    brought = engine.graph.brought(ranking.walked, number)
    ids = engine.index.ids({source for source, _, _ in brought})
    return [Way(ids[source], edge, share) for source, edge, share in brought[:_WAYS]]


def _ranker(engine: Engine, ranking: Ranking) -> dict[int, dict[str, float]]:
    """What every candidate's features were worth to the learned ranker, from the scores before it gave its factor."""
    if "ranker" not in ranking.times:
        return {}
    from assay.retrieve.ranker.model import shipped

    since = dropwhile(lambda name: name != "ranker", ranking.times)
    before = ranking.scores / math.prod(ranking.times[name] for name in since)
    return shipped().told(engine.candidates(dataclasses.replace(ranking, scores=before)))


def _lost(ranking: Ranking, number: int, rank: int | None, k: int) -> str:
    """The step that kept an item out of the first k; empty when it is among them."""
    if rank is not None and rank <= k:
        return ""
    if not ranking.factors:
        return "no word of the task is in the index"
    if number in ranking.noise:
        return f"left out as {ranking.noise[number]}"
    if rank is None:
        return "it has no word of the task, and the walk did not come to it"
    words = ranking.factors["lexical"]
    if not words[number]:
        return f"it has no word of the task; the walk alone brings it to rank {rank}"
    lexical = int((words > words[number]).sum()) + 1
    lowered = [name for name, values in ranking.factors.items() if values[number] < min(1.0, _usual(ranking, name))]
    why = f"; lowered by {', '.join(lowered)}" if lowered and lexical < rank else ""
    return f"ranked low: {lexical} by its words, {rank} in all{why}"


def _usual(ranking: Ranking, factor: str) -> float:
    """What the best items have of a factor."""
    return float(np.median(ranking.factors[factor][ranking.best(10)]))
