"""Explanation of a ranking: an item's terms, channels, factors, score parts and graph-walk edges."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile

import numpy as np

from assay.core.items import Item
from assay.rank.arrays import Floats, sum_arrays
from assay.rank.context import QueryContext
from assay.rank.engine import Engine
from assay.rank.ranking import Ranking
from assay.rank.seed import replay
from assay.rank.seed.specification import COLUMNS
from assay.rank.signals.classes import EquivalenceHit, class_hits
from assay.rank.signals.names import names
from assay.rank.signals.places import project_hits
from assay.rank.signals.signal import COMPONENTS, Stage
from assay.rank.signals.table import SIGNALS
from assay.store.links.traces import summary

_SHOWN_EDGES = 5  # incoming edges of the graph walk that are shown
_FIELDS = tuple(COLUMNS)  # those of the postings, then that of the replay
_SIGNALS = {
    stage: {signal.name: signal for signal in (*replay.SIGNALS, *SIGNALS) if signal.stage is stage} for stage in Stage
}


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

    The scores of `words` sum to the factor `lexical`. The product of the factors plus the additions is the direct
    score; its ratio to the best direct score is a part. The sum of the parts times all multipliers plus the boosts,
    divided by the scale, is the score. Factors, additions, parts, multipliers and boosts are by signal.
    """

    item: Item
    rank: int | None
    score: float
    best: float
    words: list[TermMatch]
    channels: dict[str, int]  # rank in each channel that returned it, from 1
    matched: dict[str, str]  # by channel: the keyword and tier of a name, the class and phrase of a concept
    uses: int  # calls, references and subtypes of it: what `authority` is made of
    factors: dict[str, float]
    additions: dict[str, float]
    parts: dict[str, float]
    multipliers: dict[str, float]
    boosts: dict[str, float]  # added after the multipliers
    scale: float  # by which the sum is divided, so that the best score is 1
    ranker: dict[str, float]  # log-scale contribution of each feature of the learned ranker, largest first
    walk_edges: list[WalkEdge]
    lost: str
    observed: str = ""  # its calls in traces: `called 1,204 times in the last day, p95 12 ms`

    @property
    def direct(self) -> float:
        """Direct score: the product of the factors plus the additions."""
        return math.prod(self.factors.values()) + sum(self.additions.values())


def explain(engine: Engine, ranking: Ranking, items: Iterable[Item], k: int) -> list[Explanation]:
    """Explain the ranks of items; items outside the first `k` get the step that lost them."""
    query, learned = engine.read(ranking.task), _ranker_contributions(engine, ranking)
    matched, weights = _channel_matches(query, ranking), query.lexical.weights
    return [_explain_item(engine, ranking, weights, matched, learned.get(item.number, {}), item, k) for item in items]


def _channel_matches(query: QueryContext, ranking: Ranking) -> dict[str, dict[int, str]]:
    """Return what matched, by channel and item: `prefix "cookie"`, `class PERSISTENCE by "keep things"`."""
    matched: dict[str, dict[int, str]] = {}
    if "names" in ranking.channels:
        hits = names(query.resources.names, query.task.keywords)
        matched["names"] = {hit.number: f'{hit.tier} "{hit.keyword}"' for hit in hits}
    if "classes" in ranking.channels:
        primary = (ranking.channels[name].items for name in ("names", "lexical") if name in ranking.channels)
        matched["classes"] = _classes_and_phrases(class_hits(query, *primary))
    if "direct_hits" in ranking.channels:
        matched["direct_hits"] = _classes_and_phrases(project_hits(query))
    return matched


def _classes_and_phrases(hits: Iterable[EquivalenceHit]) -> dict[int, str]:
    return {hit.number: f'class {hit.match.equivalence.concept} by "{hit.match.phrases[0]}"' for hit in hits}


def _explain_item(
    engine: Engine,
    ranking: Ranking,
    weights: Mapping[str, float],
    matched: Mapping[str, Mapping[int, str]],
    learned: dict[str, float],
    item: Item,
    k: int,
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
        words=_matched_terms(engine, weights, number),
        channels={
            name: list(channel.items).index(number) + 1
            for name, channel in ranking.channels.items()
            if number in channel.items
        },
        matched={name: texts[number] for name, texts in matched.items() if number in texts},
        uses=engine.graph.use_count(number),
        factors=_at(number, ranking.factors),
        additions=_at(number, ranking.additions),
        parts=_at(number, ranking.parts),
        multipliers=_at(number, ranking.multipliers),
        boosts=_at(number, ranking.boosts),
        scale=ranking.scale,
        ranker=learned,
        walk_edges=_walk_edges(engine, ranking, number),
        lost=_lost_at(ranking, number, rank, k),
        observed=summary(engine.index, item),
    )


def _at(number: int, values_by_signal: Mapping[str, Floats]) -> dict[str, float]:
    return {name: float(values[number]) for name, values in values_by_signal.items()}


def _matched_terms(engine: Engine, weights: Mapping[str, float], number: int) -> list[TermMatch]:
    """Return the query terms and expansion terms that the item contains, highest score first."""
    matches = []
    for term, weight in weights.items():
        rarity, score, counts = engine.resources.term_weights.explain(term, number)
        if score:
            fields = {_FIELDS[field]: int(count) for field, count in enumerate(counts) if count}
            matches.append(TermMatch(term, rarity, weight * score, fields))
    return sorted(matches, key=lambda word: (-word.score, word.term))


def _walk_edges(engine: Engine, ranking: Ranking, number: int) -> list[WalkEdge]:
    if not ranking.walk.visits.any():
        return []
    brought = engine.graph.incoming_flow(ranking.walk.visits, number)
    ids = engine.index.ids({source for source, _, _ in brought})
    return [WalkEdge(ids[source], edge, share) for source, edge, share in brought[:_SHOWN_EDGES]]


def _ranker_contributions(engine: Engine, ranking: Ranking) -> dict[int, dict[str, float]]:
    """Return the feature contributions of every candidate, computed from the scores before the ranker's multiplier."""
    if "ranker" not in ranking.multipliers:
        return {}
    from assay.rank.ranker import contributions, model_of

    before = sum_arrays(ranking.parts.values(), len(ranking.scores)).clip(min=0)
    for name in takewhile(lambda name: name != "ranker", ranking.multipliers):
        before *= ranking.multipliers[name]
    candidates = engine.candidates(dataclasses.replace(ranking, scores=before))
    return contributions(model_of(engine.profile, engine.index), candidates)


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


# Steps of the score in words, shared by the text and the web page.

_SHOWN_FEATURES = 10  # features of the learned ranker that are shown: the others contribute little
_NEUTRAL = 0.005  # multipliers closer to 1 than this are not shown: two digits would print 1.00


@dataclass(frozen=True, slots=True)
class Step:
    """A step of the arithmetic: `+`, `×`, `÷` or `=` a value. An empty sign marks a feature of the learned ranker."""

    sign: str
    value: float
    text: str


def direct_steps(explanation: Explanation) -> Iterator[Step]:
    """Yield the steps from the query terms to the direct score."""
    if explanation.words:
        yield from _multiplications(Stage.FACTOR, explanation.factors, "lexical", explanation.uses)
    yield from _additions((Stage.ADDITION, Stage.PROPAGATION), explanation.additions)
    yield Step("=", explanation.direct, "direct")


def score_steps(explanation: Explanation) -> Iterator[Step]:
    """Yield the steps from the direct score to the score."""
    yield from _additions((Stage.PART,), explanation.parts)
    for name, value in explanation.multipliers.items():
        yield from _multiplications(Stage.MULTIPLIER, {name: value})
        if name == "ranker":
            yield from _ranker_steps(explanation)
    yield from _additions((Stage.BOOST,), explanation.boosts)
    if abs(explanation.scale - 1) >= _NEUTRAL:
        yield Step("÷", explanation.scale, "the best score, so that scores are from 0 to 1")
    yield Step("=", explanation.score, "score")


def _multiplications(stage: Stage, values: Mapping[str, float], without: str = "", uses: int = 0) -> Iterator[Step]:
    for name, value in values.items():
        if name != without and abs(value - 1) >= _NEUTRAL:
            count = f" ({uses:,} uses)" if name == "authority" else ""
            yield Step("×", value, f"{name}: {_SIGNALS[stage][name].meaning}{count}")


def _additions(stages: Iterable[Stage], values: Mapping[str, float]) -> Iterator[Step]:
    meanings = {name: signal.meaning for stage in stages for name, signal in _SIGNALS[stage].items()}
    for name, value in values.items():
        if value:
            yield Step("+", value, f"{name.replace('_', ' ')}: {meanings[name]}")


def _ranker_steps(explanation: Explanation) -> Iterator[Step]:
    """Yield the learned ranker's strongest features."""
    from assay.rank.features import FEATURES

    for name, contribution in list(explanation.ranker.items())[:_SHOWN_FEATURES]:
        yield Step("", contribution, FEATURES[name].meaning)


# Rendering as text, for a terminal or an agent.


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
    if explanation.observed:
        yield f"  observed: {explanation.observed}"
    if explanation.factors:
        yield "  query terms (stemmed)"
        for word in explanation.words:
            fields = ", ".join(f"{name} {count}" for name, count in word.fields.items())
            yield _line(Step("+", word.score, f"{word.term} (rarity {word.rarity:.1f}; {fields})"), 2)
        if not explanation.words:
            yield _line(Step("+", 0.0, "none found"), 2)
        yield from (_line(step, 2) for step in direct_steps(explanation))
        if explanation.channels:
            ranks = (_channel(explanation, name, rank) for name, rank in explanation.channels.items())
            yield "    found by " + ", ".join(ranks)
        yield "  score"
        yield from (_line(step, 3) for step in score_steps(explanation))
    if explanation.walk_edges:
        yield "  reached by the graph walk through"
    for edge in explanation.walk_edges:
        yield f"      {edge.share:6.0%}  {edge.source}, {edge.edge.replace('_', ' ')} it"


def _channel(explanation: Explanation, name: str, rank: int) -> str:
    reason = f" ({explanation.matched[name]})" if name in explanation.matched else ""
    return f"{name.replace('_', ' ')} at rank {rank}{reason}"


def _line(step: Step, digits: int) -> str:
    if not step.sign:
        return f"        {step.value:+6.2f}  {step.text}"
    return f"    {step.sign} {step.value:6.{digits}f}  {step.text if step.sign != '=' else ''}".rstrip()


# Contributions: the score split into amounts per component.


def contributions(explanation: Explanation) -> dict[str, float]:
    """Split the score into non-negative amounts per component; negative contributions shrink the others.

    The lexical score is the base. The gain from multiplying factors is divided among them by their logarithms, so their
    order does not matter.
    """
    boosts = {name: value / explanation.scale for name, value in explanation.boosts.items()}
    amounts = _scale_to(_amounts(explanation), explanation.score - sum(boosts.values()))
    for name, value in boosts.items():
        component = _SIGNALS[Stage.BOOST][name].component
        amounts[component] = amounts.get(component, 0.0) + value
    return _scale_to(amounts, explanation.score)


def _amounts(explanation: Explanation) -> dict[str, float]:
    """Return what each component contributed to the score before the boosts, on any scale."""
    if explanation.ranker:
        return _ranker_amounts(explanation)
    amounts = dict.fromkeys(COMPONENTS, 0.0)
    for name, value in explanation.parts.items():
        if name != "direct":
            amounts[_SIGNALS[Stage.PART][name].component] += value
    direct = _direct_amounts(explanation)
    direct_total = sum(direct.values())
    for component, value in direct.items():
        amounts[component] += explanation.parts.get("direct", 0.0) * value / direct_total if direct_total > 0 else 0.0
    return amounts


def _scale_to(amounts: dict[str, float], score: float) -> dict[str, float]:
    """Drop negative amounts and scale the others to sum to the score."""
    positive = {name: max(0.0, amounts.get(name, 0.0)) for name in COMPONENTS}
    total, score = sum(positive.values()), max(0.0, score)
    return {name: value * score / total for name, value in positive.items() if value > 0} if total > 0 else {}


def _ranker_amounts(explanation: Explanation) -> dict[str, float]:
    """Sum the learned ranker's feature contributions per component."""
    from assay.rank.features import FEATURES

    amounts: dict[str, float] = {}
    for name, contribution in explanation.ranker.items():
        component = FEATURES[name].component
        amounts[component] = amounts.get(component, 0.0) + contribution
    return amounts


def _direct_amounts(explanation: Explanation) -> dict[str, float]:
    """Split the direct score into components."""
    factors = {name: value for name, value in explanation.factors.items() if name != "lexical"}
    base = explanation.factors.get("lexical", 0.0) * math.prod(min(1.0, value) for value in factors.values())
    gains = {name: math.log(value) for name, value in factors.items() if value > 1}
    total_gain = base * (math.exp(sum(gains.values())) - 1)
    amounts = dict.fromkeys(COMPONENTS, 0.0) | {"words": base}
    for name, gain in gains.items():
        amounts[_SIGNALS[Stage.FACTOR][name].component] += total_gain * gain / sum(gains.values())
    for name, value in explanation.additions.items():
        signal = _SIGNALS[Stage.ADDITION].get(name) or _SIGNALS[Stage.PROPAGATION][name]
        amounts[signal.component] += value
    return amounts
