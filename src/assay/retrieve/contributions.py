"""What each component contributed to a score: the parts of an explanation as amounts that add up to it."""

from __future__ import annotations

import math

from assay.retrieve.explain import Explanation

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
    direct = _direct(one)
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
    from assay.retrieve.ranker.features import FEATURES

    found: dict[str, float] = {}
    for name, worth in one.ranker.items():
        component = FEATURES[name].component
        found[component] = found.get(component, 0.0) + worth
    return found


def _direct(one: Explanation) -> dict[str, float]:
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
