"""Expanding the words of a task by the words that programs use for nearly the same thing."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from functools import cache
from importlib import resources

PER_WORD = 5  # more would dilute the task's own words


@cache
def clusters() -> tuple[tuple[str, ...], ...]:
    table = tomllib.loads(resources.files(__package__).joinpath("thesaurus.toml").read_text("utf-8"))
    return tuple(tuple(line.split()) for line in table["clusters"])


@cache
def _related() -> dict[str, tuple[str, ...]]:
    related: dict[str, dict[str, None]] = {}
    for cluster in clusters():
        for word in cluster:
            related.setdefault(word, {}).update(dict.fromkeys(other for other in cluster if other != word))
    return {word: tuple(others) for word, others in related.items()}


def expand(components: Iterable[str]) -> dict[str, list[str]]:
    """For each word that has any: its relatives that are not in the task already, at most five. A plural is looked up as its singular."""
    own = list(dict.fromkeys(word.lower() for word in components))
    expanded = {}
    for word in own:
        others = _related().get(word) or _related().get(word.removesuffix("s"), ())
        fresh = [other for other in others if other not in own and other != word.removesuffix("s")][:PER_WORD]
        if fresh:
            expanded[word] = fresh
    return expanded
