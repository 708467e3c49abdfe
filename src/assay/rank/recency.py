"""Recency of items: how lately each was changed or observed running, on the specification's scale.

`AGES` is the table of evidence: each source returns the age of an item in seconds, or None without evidence. Ages are
relative to the newest evidence of their source, not to the clock, so that answers do not change by themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from assay.core.items import Item
from assay.rank.arrays import Floats
from assay.store.arrays import Array
from assay.store.index import Index
from assay.store.links.traces import age_of_last_call

_DAY = 86400  # seconds
_LIMITS, _SCORES = np.array([1, 7, 30]) * _DAY, np.array([1.0, 0.8, 0.5, 0.2])  # the score within each age, and beyond
UNKNOWN = 0.3  # without evidence: a repository without traces or history does not lose the whole component


def age_of_last_commit(index: Index, item: Item) -> float | None:
    """Return the seconds between the newest commit and the last one that touched an item; None if none is recorded."""
    history = index.history
    commits = history.symbol_changes(item) if item.path in index.files else []
    if not commits:
        return None
    return float(history.times.max() - history.times[commits].max())


AGES: Mapping[str, Callable[[Index, Item], float | None]] = {
    "commits": age_of_last_commit,
    "traces": age_of_last_call,
}


def recency(index: Index, item: Item) -> float:
    """Return the recency of an item from 0.2 to 1, by its newest evidence."""
    ages = [age for source in AGES.values() if (age := source(index, item)) is not None]
    return score(min(ages)) if ages else UNKNOWN


def score(age: float) -> float:
    """Return the score of an age in seconds."""
    return float(scores(np.array([age]))[0])


def scores(ages: Array) -> Floats:
    """Return the scores of ages in seconds."""
    return np.asarray(_SCORES[np.searchsorted(_LIMITS, ages)])
