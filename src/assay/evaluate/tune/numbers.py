"""What is tuned, and over which values. Every number is one of a profile (docs/retrieval.md); 0 switches its mechanism off."""

from __future__ import annotations

from collections.abc import Collection, Mapping

Values = Mapping[str, tuple[float, ...]]
Changes = tuple[tuple[str, float], ...]  # numbers with other values than the base has, by name

# a few steps to either side of the default, wide enough that the best is rarely outside
TUNED: Values = {
    "coverage": (0.3, 0.5, 0.85, 1.0),
    "name_precision": (0.0, 0.15, 0.6, 1.0),
    "phrase": (0.25, 0.5),
    "authority": (0.0, 0.35, 1.2, 2.0),
    "history": (0.0, 0.7, 1.5, 3.0),
    "touched": (0.0, 0.3, 1.0, 2.0),
    "documents": (0.0, 0.25, 1.0, 2.0),
    "fusion": (0.0, 0.25, 1.0, 2.0),
    "container_share": (0.0, 0.2, 0.6, 0.8),
    "member_share": (0.0, 0.15, 0.3, 0.8),
    "walk": (0.0, 0.5, 1.0, 2.5),
    "hits": (0.0, 0.25, 1.0),
    "folder": (0.0, 0.15, 0.6, 1.0),
    "test_weight": (0.1, 0.5, 1.0),
    "overload": (0.1, 0.5, 1.0),
    "namesake": (0.25, 0.75, 1.0),
    "own": (0.0, 1.0, 4.0),
}

OF_HISTORY = ("history", "touched")  # know the answers of a set that was mined from the history they read


def without(names: Collection[str], values: Values = TUNED) -> Values:
    """The table without some numbers."""
    return {name: tried for name, tried in values.items() if name not in names}


def changed(changes: Changes, name: str, value: float | None) -> Changes:
    """The changes with one more, or another value of one; None takes it back."""
    rest = {known: number for known, number in changes if known != name}
    return tuple(sorted((rest if value is None else rest | {name: value}).items()))


def written(changes: Changes) -> str:
    """As in a SPEC: `hits=0.25,walk=1`; empty for none."""
    return ",".join(f"{name}={value:g}" for name, value in changes)
