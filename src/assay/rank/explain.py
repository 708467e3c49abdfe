"""Why an item stands where it stands: every word, channel, factor and part of its score, and the way the walk came."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import dropwhile

import numpy as np

from assay.core.items import Item
from assay.rank.engine import Engine
from assay.rank.query import Reading, read
from assay.rank.ranking import Ranking
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
    from assay.rank.ranker.model import shipped

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


# An explanation in words, line by line: for a terminal, or for an agent.

FACTORS = {
    "coverage": "the share of the task's words that it has, rare ones first",
    "name": "its name is made of words of the task",
    "phrase": "words of the task stand in it side by side",
    "authority": "much of the repository uses it",
    "history": "commits with words of the task changed its file",
    "touched": "commits with words of the task changed it",
    "documents": "documents that speak of the task name it",
    "place": "the task names its file",
    "channels": "the task names it, or something like it",
    "kind": "fields and constants are seldom the answer",
    "tests": "it is a test, and the task is not about tests",
}
PARTS = {
    "direct": "the above as a share of the best",
    "walk": "how often a random walk from the best comes by, as a share of the best",
    "hits": "linked with others that the walk found",
    "learned": "feedback, and what the session was given",
    "blast radius": "how often a random walk from the best comes by",
    "confidence": "how sure the edges to it are",
    "recency": "the same for all",
    "distance": "whether the walk began here",
}
TIMES = {
    "folder": "much of the answer is in the same one",
    "ranker": "the order that was learned from commits, in place of the score so far; of the logarithm behind it",
    "repeated": "a better one of the same name stands for it",
    "own": "among the first, what is said of each itself decides",
}
_FEATURES = 10  # of the learned ranker that are told: the others say little
_TOLD = 0.005  # a factor nearer to 1 than this is not worth a line: two digits would say 1.00


def told(one: Explanation) -> Iterator[str]:
    """Where it stands, what each word, factor and part of the score added, and the way the walk came."""
    item = one.item
    place = f"rank {one.rank}, score {one.score:.3f}; the best has {one.best:.3f}" if one.rank else "not ranked"
    yield f"{item.kind} {item.symbol}  {item.path}:{item.start}"
    yield f"  {place}"
    if one.lost:
        yield f"  lost: {one.lost}"
    if one.factors:
        yield from _direct(one)
        yield from _score(one)
    if one.ways:
        yield "  the walk came by"
    for way in one.ways:
        yield f"      {way.share:6.0%}  {way.source}, {way.edge.replace('_', ' ')} it"


def _direct(one: Explanation) -> Iterator[str]:
    """The words, what multiplies them, and what is added."""
    yield "  words of the task, by their stems"
    for word in one.words:
        fields = ", ".join(f"{name} {count}" for name, count in word.fields.items())
        yield _line("+", word.score, f"{word.term} (rarity {word.rarity:.1f}; {fields})")
    if not one.words:
        yield _line("+", 0.0, "it has none")
    for name, value in one.factors.items():
        if one.words and name != "lexical" and abs(value - 1) >= _TOLD:
            yield _line("×", value, f"{name}: {FACTORS.get(name, '')}")
    if one.pointed:
        yield _line("+", one.pointed, "the task points at it")
    if one.shared:
        yield _line("+", one.shared, "from what contains it and what it contains")
    yield _line("=", math.prod(one.factors.values()) + one.pointed + one.shared, "")
    if one.channels:
        yield "    found as " + ", ".join(f"number {rank} by {name}" for name, rank in one.channels.items())


def _score(one: Explanation) -> Iterator[str]:
    """The parts that add up to the score."""
    yield "  score"
    for name, value in one.parts.items():
        if value:
            yield _line("+", value, f"{name}: {PARTS.get(name, '')}", 3)
    for name, value in one.times.items():
        if abs(value - 1) >= _TOLD:
            yield _line("×", value, f"{name}: {TIMES.get(name, '')}", 3)
        if name == "ranker":
            yield from (f"        {worth:+6.2f}  {told}" for told, worth in learned(one))
    yield _line("=", one.score, "", 3)


def learned(one: Explanation) -> Iterator[tuple[str, float]]:
    """What counted most for the learned ranker, in words, and how much, on a logarithmic scale."""
    from assay.rank.ranker.features import FEATURES

    for name, worth in list(one.ranker.items())[:_FEATURES]:
        yield FEATURES[name].meaning, worth


def _line(sign: str, value: float, told: str, digits: int = 2) -> str:
    return f"    {sign} {value:6.{digits}f}  {told}".rstrip()


# What each component contributed to a score: the parts of an explanation as amounts that add up to it.

# component → what it is, for people; in the order they are shown
COMPONENTS = {
    "words": "words of the task in its text",
    "names": "its name, or a phrase of the task in it",
    "use": "much of the repository uses it",
    "history": "commits with words of the task changed it",
    "documents": "documents that speak of the task name it",
    "pointed at": "the task names it, its file or something like it",
    "family": "what contains it and what it contains",
    "graph": "linked with others that were found",
    "learned": "feedback, and what the session was given",
    "itself": "what kind of definition it is, and how long",
}
_FACTORS = {
    "name": "names",
    "phrase": "names",
    "authority": "use",
    "history": "history",
    "touched": "history",
    "documents": "documents",
    "place": "pointed at",
    "channels": "pointed at",
}
_PARTS = {"learned": "learned"}  # the other parts but the direct one come from the graph


def contributions(one: Explanation) -> dict[str, float]:
    """Amounts of the score by component, none below 0; what took away from the score has made the others smaller.

    The words are the base. What factors add to it by multiplying is divided among them by their logarithms, so the order does not matter.
    """
    found = dict.fromkeys(COMPONENTS, 0.0)
    if one.ranker:
        return _scaled(_by_feature(one), one.score)
    for name, value in one.parts.items():
        if name != "direct":
            found[_PARTS.get(name, "graph")] += value
    direct = _direct_contribution(one)
    whole = sum(direct.values())
    for name, value in direct.items():
        found[name] += one.parts.get("direct", 0.0) * value / whole if whole > 0 else 0.0
    return _scaled(found, one.score)


def _scaled(found: dict[str, float], score: float) -> dict[str, float]:
    """What is above 0, so that it adds up to the score."""
    positive = {name: max(0.0, found.get(name, 0.0)) for name in COMPONENTS}
    total = sum(positive.values())
    return {name: value * score / total for name, value in positive.items() if value > 0} if total > 0 else {}


def _by_feature(one: Explanation) -> dict[str, float]:
    """What the learned ranker found, by component."""
    from assay.rank.ranker.features import FEATURES

    found: dict[str, float] = {}
    for name, worth in one.ranker.items():
        component = FEATURES[name].component
        found[component] = found.get(component, 0.0) + worth
    return found


def _direct_contribution(one: Explanation) -> dict[str, float]:
    """The direct score by component."""
    lowered = math.prod(min(1.0, value) for name, value in one.factors.items() if name != "lexical")
    base = one.factors.get("lexical", 0.0) * lowered
    gains = {name: math.log(value) for name, value in one.factors.items() if name != "lexical" and value > 1}
    gained = base * (math.exp(sum(gains.values())) - 1)
    found = {"words": base, "pointed at": one.pointed, "family": one.shared}
    for name, gain in gains.items():
        component = _FACTORS.get(name, "words")
        found[component] = found.get(component, 0.0) + gained * gain / sum(gains.values())
    return found
