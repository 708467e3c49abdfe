"""Usual frequency of terms in code: what a repository says more often than others is what it is about.

background.npz has, for terms of many public repositories, the mean share of definitions that contain them and that have
them in their name. `scripts/train_background.py` counts them.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from assay.rank.arrays import Floats
from assay.store.postings import NAME, Postings

TABLE = "background.npz"
LEAST = 1e-5  # share of a term that is not in the table, and of one that a repository lacks
STEPS = 20.0  # codes per unit of the natural logarithm: a code is one byte
_SMOOTHING = 300  # definitions
_CLIP = 4.0  # of log ratios: one odd term must not decide


@dataclass(frozen=True)
class Background:
    """Shares of definitions by term, sorted."""

    terms: np.ndarray[tuple[int], np.dtype[np.bytes_]]
    shares: Floats  # by term: of definitions that contain it, and of those that have it in their name

    def usual(self, terms: Collection[str]) -> Floats:
        """Return the two shares of each term; zeros for one that is not in the table."""
        keys = np.array([term.encode() for term in terms], self.terms.dtype)
        rows = np.minimum(np.searchsorted(self.terms, keys), len(self.terms) - 1)
        return np.where((self.terms[rows] == keys)[:, None], self.shares[rows], 0.0)


def ratios(usual: Floats, words: Postings, terms: Collection[str]) -> Floats:
    """Return, for each term, the log ratios of its two shares in an index to the usual ones.

    Both are smoothed as if some more definitions had the term as often as usual: a small repository says little.
    """
    here = np.zeros((len(terms), 2))
    for row, term in enumerate(terms):
        here[row] = shares(words, term)
    usual = usual + LEAST
    weight = len(words.numbers) / (len(words.numbers) + _SMOOTHING)
    return np.asarray(np.clip(np.log(weight * here / usual + (1 - weight)), -_CLIP, _CLIP), np.float64)


def shares(words: Postings, term: str) -> tuple[float, float]:
    """Return the share of definitions that contain a term, and of those that have it in their name."""
    items, counts = words.get(term)
    total = max(len(words.numbers), 1)
    return len(items) / total, int(np.count_nonzero(counts[:, NAME])) / total


@cache
def background() -> Background:
    """Return the shipped table."""
    with np.load(Path(__file__).with_name(TABLE), allow_pickle=False) as stored:
        return Background(stored["terms"], np.exp(stored["codes"] / -STEPS))
