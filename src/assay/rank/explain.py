"""Explanation of a ranking: an item's terms, channels, factors, score parts and graph-walk edges."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import dropwhile

import numpy as np

from assay.core.items import Item
from assay.rank.engine import Engine
from assay.rank.query import ParsedTask, parse_task
from assay.rank.ranking import Ranking
from assay.store.postings import FIELDS

_SHOWN_EDGES = 5  # incoming edges of the graph walk that are shown


@dataclass(frozen=True, slots=True)
class TermMatch:
    """A query term that an item contains: its rarity (IDF), its score and its count in each field."""

    term: str
    rarity: float
    score: float
    fields: dict[str, int]


@dataclass(frozen=True, slots=True)
class WalkEdge:
    """An edge over which the graph walk reached an item, and its share of the incoming probability."""

    source: str
    edge: str
    share: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """An item's rank for a task, decomposed. `rank` is None when it was not ranked; `lost` then names the step.

    The scores of `words` sum to the factor `lexical`. The product of the factors plus `pointed` and `shared` is the
    direct score; its ratio to the best direct score is a part. The sum of the parts times all of `times` is the score.
    """

    item: Item
    rank: int | None
    score: float
    best: float
    words: list[TermMatch]
    channels: dict[str, int]  # rank in each channel that returned it, from 1
    factors: dict[str, float]
    pointed: float
    shared: float
    parts: dict[str, float]
    times: dict[str, float]
    ranker: dict[str, float]  # log-scale contribution of each feature of the learned ranker, largest first
    ways: list[WalkEdge]
    lost: str


def explain(engine: Engine, ranking: Ranking, items: Iterable[Item], k: int) -> list[Explanation]:
    """Explain the ranks of items; items outside the first `k` get the step that lost them."""
    reading, learned = parse_task(ranking.task, engine.profile), _ranker_contributions(engine, ranking)
    return [_explain_item(engine, ranking, reading, learned.get(item.number, {}), item, k) for item in items]


def _explain_item(
    engine: Engine, ranking: Ranking, reading: ParsedTask, learned: dict[str, float], item: Item, k: int
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
        words=_matched_terms(engine, reading, number),
        channels={
            name: list(numbers).index(number) + 1 for name, numbers in ranking.channels.items() if number in numbers
        },
        factors={name: float(values[number]) for name, values in ranking.factors.items()},
        pointed=float(ranking.pointed[number]),
        shared=float(ranking.shared[number]),
        parts={name: float(values[number]) for name, values in ranking.parts.items()},
        times={name: float(values[number]) for name, values in ranking.times.items()},
        ranker=learned,
        ways=_walk_edges(engine, ranking, number),
        lost=_lost_at(ranking, number, rank, k),
    )


def _matched_terms(engine: Engine, reading: ParsedTask, number: int) -> list[TermMatch]:
    """Return the query terms and expansion terms that the item contains, highest score first."""
    matches = []
    for term, weight in {**reading.terms, **reading.related}.items():
        rarity, score, counts = engine.word(term, number)
        if score:
            fields = {FIELDS[field]: int(count) for field, count in enumerate(counts) if count}
            matches.append(TermMatch(term, rarity, weight * score, fields))
    return sorted(matches, key=lambda word: (-word.score, word.term))


def _walk_edges(engine: Engine, ranking: Ranking, number: int) -> list[WalkEdge]:
    if not ranking.walked.any():
        return []
    brought = engine.graph.incoming_flow(ranking.walked, number)
    ids = engine.index.ids({source for source, _, _ in brought})
    return [WalkEdge(ids[source], edge, share) for source, edge, share in brought[:_SHOWN_EDGES]]


def _ranker_contributions(engine: Engine, ranking: Ranking) -> dict[int, dict[str, float]]:
    """Return the feature contributions of every candidate, computed from the scores before the ranker's multiplier."""
    if "ranker" not in ranking.times:
        return {}
    from assay.rank.ranker.model import shipped

    ranker_and_later = dropwhile(lambda name: name != "ranker", ranking.times)
    before = ranking.scores / math.prod(ranking.times[name] for name in ranker_and_later)
    return shipped().told(engine.candidates(dataclasses.replace(ranking, scores=before)))


def _lost_at(ranking: Ranking, number: int, rank: int | None, k: int) -> str:
    """Return the step that kept an item out of the first k; empty when it is among them."""
    if rank is not None and rank <= k:
        return ""
    if not ranking.factors:
        return "no term of the task is in the index"
    if number in ranking.noise:
        return f"filtered as {ranking.noise[number]}"
    if rank is None:
        return "no term of the task matches, and the graph walk does not reach it"
    lexical_scores = ranking.factors["lexical"]
    if not lexical_scores[number]:
        return f"no term of the task matches; the graph walk alone puts it at rank {rank}"
    lexical_rank = int((lexical_scores > lexical_scores[number]).sum()) + 1
    lowered = [name for name, values in ranking.factors.items() if values[number] < min(1.0, _typical(ranking, name))]
    reason = f"; lowered by {', '.join(lowered)}" if lowered and lexical_rank < rank else ""
    return f"ranked low: {lexical_rank} by terms, {rank} overall{reason}"


def _typical(ranking: Ranking, factor: str) -> float:
    """Return the median of a factor over the ten best items."""
    return float(np.median(ranking.factors[factor][ranking.best(10)]))


# Rendering as text, for a terminal or an agent.

FACTORS = {
    "coverage": "share of the task's words found in it, weighted by rarity",
    "name": "share of its name's words that are in the task",
    "phrase": "adjacent words of the task occur in its name",
    "authority": "how often the repository uses it (in-degree)",
    "history": "commits with matching messages changed its file",
    "touched": "commits with matching messages changed it",
    "documents": "matching documentation sections mention it",
    "place": "the task names its file",
    "channels": "the task names it or a related concept (rank fusion)",
    "kind": "weight of its kind; fields and constants count less",
    "tests": "test code, and the task is not about tests",
}
PARTS = {
    "direct": "the score above, relative to the top result",
    "walk": "visit probability (personalized PageRank), relative to the top result",
    "hits": "hub and authority scores (HITS) among the results of the walk",
    "learned": "feedback, and what the session was given",
    "blast radius": "visit probability (personalized PageRank)",
    "confidence": "confidence of the surest incoming edge",
    "recency": "constant: the index has no runtime traces",
    "distance": "seed of the walk, or one step away",
}
MULTIPLIERS = {
    "folder": "many of the top results are in the same folder",
    "ranker": "learned reranker, replaces the score so far; log-scale contributions",
    "repeated": "a higher-ranked symbol has the same name",
    "own": "top-10 reorder: by direct evidence only",
}
_SHOWN_FEATURES = 10  # features of the learned ranker that are shown: the others contribute little
_NEUTRAL = 0.005  # factors closer to 1 than this are not shown: two digits would print 1.00


def render_explanation(explanation: Explanation) -> Iterator[str]:
    """Yield the explanation as lines: rank, terms, factors, score parts and the edges of the graph walk."""
    item = explanation.item
    rank = (
        f"rank {explanation.rank}, score {explanation.score:.3f}; top result {explanation.best:.3f}"
        if explanation.rank
        else "not ranked"
    )
    yield f"{item.kind} {item.symbol}  {item.path}:{item.start}"
    yield f"  {rank}"
    if explanation.lost:
        yield f"  lost: {explanation.lost}"
    if explanation.factors:
        yield from _direct_lines(explanation)
        yield from _score_lines(explanation)
    if explanation.ways:
        yield "  reached by the graph walk through"
    for step in explanation.ways:
        yield f"      {step.share:6.0%}  {step.source}, {step.edge.replace('_', ' ')} it"


def _direct_lines(explanation: Explanation) -> Iterator[str]:
    """Yield the terms, the factors that multiply them and the additions."""
    yield "  query terms (stemmed)"
    for word in explanation.words:
        fields = ", ".join(f"{name} {count}" for name, count in word.fields.items())
        yield _line("+", word.score, f"{word.term} (rarity {word.rarity:.1f}; {fields})")
    if not explanation.words:
        yield _line("+", 0.0, "none found")
    for name, value in explanation.factors.items():
        if explanation.words and name != "lexical" and abs(value - 1) >= _NEUTRAL:
            yield _line("×", value, f"{name}: {FACTORS.get(name, '')}")
    if explanation.pointed:
        yield _line("+", explanation.pointed, "the task points at it (path, frame or rare name)")
    if explanation.shared:
        yield _line("+", explanation.shared, "from its container and members")
    yield _line("=", math.prod(explanation.factors.values()) + explanation.pointed + explanation.shared, "")
    if explanation.channels:
        yield "    found by " + ", ".join(f"{name} at rank {rank}" for name, rank in explanation.channels.items())


def _score_lines(explanation: Explanation) -> Iterator[str]:
    """Yield the parts of the score and the multipliers applied after they are summed."""
    yield "  score"
    for name, value in explanation.parts.items():
        if value:
            yield _line("+", value, f"{name}: {PARTS.get(name, '')}", 3)
    for name, value in explanation.times.items():
        if abs(value - 1) >= _NEUTRAL:
            yield _line("×", value, f"{name}: {MULTIPLIERS.get(name, '')}", 3)
        if name == "ranker":
            yield from (
                f"        {contribution:+6.2f}  {feature}" for feature, contribution in top_features(explanation)
            )
    yield _line("=", explanation.score, "", 3)


def top_features(explanation: Explanation) -> Iterator[tuple[str, float]]:
    """Yield the meaning and log-scale contribution of the learned ranker's strongest features."""
    from assay.rank.ranker.features import FEATURES

    for name, contribution in list(explanation.ranker.items())[:_SHOWN_FEATURES]:
        yield FEATURES[name].meaning, contribution


def _line(sign: str, value: float, text: str, digits: int = 2) -> str:
    return f"    {sign} {value:6.{digits}f}  {text}".rstrip()


# Contributions: the score split into amounts per component.

# component → description shown to users, in display order
COMPONENTS = {
    "words": "terms of the task in its text",
    "names": "terms or phrases of the task in its name",
    "use": "how often the repository uses it",
    "history": "commits with matching messages changed it",
    "documents": "matching documentation sections mention it",
    "pointed at": "the task names it, its file or a related concept",
    "family": "scores of its container and members",
    "graph": "graph walk and links to other results",
    "learned": "feedback, and what the session was given",
    "itself": "its kind, size and nesting",
}
_FACTOR_COMPONENTS = {
    "name": "names",
    "phrase": "names",
    "authority": "use",
    "history": "history",
    "touched": "history",
    "documents": "documents",
    "place": "pointed at",
    "channels": "pointed at",
}
_PART_COMPONENTS = {"learned": "learned"}  # all other parts except the direct one come from the graph


def contributions(explanation: Explanation) -> dict[str, float]:
    """Split the score into non-negative amounts per component; negative contributions shrink the others.

    The lexical score is the base. The gain from multiplying factors is divided among them by their logarithms, so their
    order does not matter.
    """
    amounts = dict.fromkeys(COMPONENTS, 0.0)
    if explanation.ranker:
        return _scale_to(_ranker_amounts(explanation), explanation.score)
    for name, value in explanation.parts.items():
        if name != "direct":
            amounts[_PART_COMPONENTS.get(name, "graph")] += value
    direct = _direct_amounts(explanation)
    direct_total = sum(direct.values())
    for name, value in direct.items():
        amounts[name] += explanation.parts.get("direct", 0.0) * value / direct_total if direct_total > 0 else 0.0
    return _scale_to(amounts, explanation.score)


def _scale_to(amounts: dict[str, float], score: float) -> dict[str, float]:
    """Drop negative amounts and scale the others to sum to the score."""
    positive = {name: max(0.0, amounts.get(name, 0.0)) for name in COMPONENTS}
    total = sum(positive.values())
    return {name: value * score / total for name, value in positive.items() if value > 0} if total > 0 else {}


def _ranker_amounts(explanation: Explanation) -> dict[str, float]:
    """Sum the learned ranker's feature contributions per component."""
    from assay.rank.ranker.features import FEATURES

    amounts: dict[str, float] = {}
    for name, contribution in explanation.ranker.items():
        component = FEATURES[name].component
        amounts[component] = amounts.get(component, 0.0) + contribution
    return amounts


def _direct_amounts(explanation: Explanation) -> dict[str, float]:
    """Split the direct score into components."""
    lowered = math.prod(min(1.0, value) for name, value in explanation.factors.items() if name != "lexical")
    base = explanation.factors.get("lexical", 0.0) * lowered
    gains = {name: math.log(value) for name, value in explanation.factors.items() if name != "lexical" and value > 1}
    total_gain = base * (math.exp(sum(gains.values())) - 1)
    amounts = {"words": base, "pointed at": explanation.pointed, "family": explanation.shared}
    for name, gain in gains.items():
        component = _FACTOR_COMPONENTS.get(name, "words")
        amounts[component] = amounts.get(component, 0.0) + total_gain * gain / sum(gains.values())
    return amounts
