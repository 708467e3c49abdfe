"""Feedback as a signal: how often a symbol was useful, of all the times somebody could tell."""

from __future__ import annotations


def score(useful: int, not_useful: int) -> float:
    """The share of useful times; a half when nothing is known."""
    told = useful + not_useful
    return useful / told if told else 0.5


def signal(useful: int, not_useful: int) -> float:
    """The score from -1 (never useful) over 0 (nothing is known, or as often as not) to 1 (always)."""
    return 2 * score(useful, not_useful) - 1
