"""An explanation in words, line by line: for a terminal, or for an agent."""

from __future__ import annotations

import math
from collections.abc import Iterator

from assay.retrieve.explain import Explanation

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
    from assay.retrieve.ranker.features import FEATURES

    for name, worth in list(one.ranker.items())[:_FEATURES]:
        yield FEATURES[name].meaning, worth


def _line(sign: str, value: float, told: str, digits: int = 2) -> str:
    return f"    {sign} {value:6.{digits}f}  {told}".rstrip()
