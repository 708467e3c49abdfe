"""Recency of items: how lately each was changed or observed running, on the specification's scale.

`AGES` is the table of evidence: each source returns the age of an item in seconds, or None without evidence. Ages are
relative to the newest evidence of their source, not to the clock, so that answers do not change by themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from assay.core.items import Item
from assay.store.index import Index

_DAY = 86400  # seconds
_SCALE = ((1 * _DAY, 1.0), (7 * _DAY, 0.8), (30 * _DAY, 0.5))  # the score within each age
OLD = 0.2
UNKNOWN = 0.3  # without evidence: a repository without traces or history does not lose the whole component


def age_of_last_commit(index: Index, item: Item) -> float | None:
    """Return the seconds between the newest commit and the last one that touched an item; None if none is recorded."""
    history = index.history
    commits = history.symbol_changes(item) if item.path in index.files else []
    if not commits:
        return None
    return float(history.times.max() - history.times[commits].max())


AGES: Mapping[str, Callable[[Index, Item], float | None]] = {"commits": age_of_last_commit}


def recency(index: Index, item: Item) -> float:
    """Return the recency of an item from 0.2 to 1, by its newest evidence."""
    ages = [age for source in AGES.values() if (age := source(index, item)) is not None]
    return score(min(ages)) if ages else UNKNOWN


def score(age: float) -> float:
    """Return the score of an age in seconds."""
    return next((value for limit, value in _SCALE if age <= limit), OLD)
