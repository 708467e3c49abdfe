"""The linear ranking model: the score of a candidate is a weighted sum, so each feature's contribution can be shown."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np

from assay.rank.arrays import Floats, share_of_best
from assay.rank.ranker.features import Candidates

FORMAT = 1  # version of the data file
DATA = "ranker.json"
DEPTH = 300  # candidates that are reordered


@dataclass(frozen=True, slots=True)
class Ranker:
    """A linear model: feature names, their means and their weights, on a log scale."""

    features: tuple[str, ...]
    averages: Floats
    weights: Floats

    @classmethod
    def of(cls, learned: Mapping[str, tuple[float, float]]) -> Ranker:
        """Build a model from (mean, weight) by feature."""
        averages, weights = np.array([*learned.values()], np.float64).reshape(-1, 2).T
        return cls(tuple(learned), averages, weights)

    def scores(self, candidates: Candidates) -> Floats:
        """Return the log-scale score of each candidate."""
        return np.asarray((candidates.values(self.features) - self.averages) @ self.weights, np.float64)

    def contributions(self, candidates: Candidates) -> dict[int, dict[str, float]]:
        """Return the contribution of each feature to each candidate's score, by item number, largest first."""
        terms = (candidates.values(self.features) - self.averages) * self.weights
        orders = np.argsort(-np.abs(terms), axis=1, kind="stable")
        return {
            number: {self.features[column]: float(row[column]) for column in order}
            for number, row, order in zip(candidates.numbers.tolist(), terms, orders, strict=True)
        }


@cache
def shipped() -> Ranker:
    """Return the model that ships with assay."""
    stored = json.loads((files(__package__) / DATA).read_text("utf-8"))
    return Ranker.of({name: (average, weight) for name, (average, weight) in stored["features"].items()})


# Conversion of model scores to score multipliers.

_SPREAD = 0.3  # packing allots tokens by score, and hand-tuned scores lie closer together than model scores


def gain(candidates: Candidates, scores: Floats, weight: float) -> Floats:
    """Return multipliers that turn hand-tuned scores into model scores, mixed by `weight`.

    Items that are no candidates stay behind the candidates, in their order.
    """
    before = scores[candidates.numbers]
    hand_tuned = np.log(share_of_best(before))
    mixed = hand_tuned + weight * (shipped().scores(candidates) - hand_tuned)
    after = np.exp(_SPREAD * (mixed - mixed.max(initial=-np.inf)))
    gains = np.full(len(scores), after.min(initial=1.0) / before.min(initial=np.inf))
    gains[candidates.numbers] = after / before
    return gains
