"""The weights that were learned. What a candidate is worth is a sum, so every feature's part of it can be told."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np

from assay.rank.ranker.features import Candidates
from assay.rank.ranking import Floats, share_of_best

FORMAT = 1  # of the data file
DATA = "ranker.json"
DEPTH = 300  # candidates that are ordered anew


@dataclass(frozen=True, slots=True)
class Ranker:
    """Names of features, what each is on average, and what one more of it is worth on a logarithmic scale."""

    features: tuple[str, ...]
    averages: Floats
    weights: Floats

    @classmethod
    def of(cls, learned: Mapping[str, tuple[float, float]]) -> Ranker:
        """From averages and weights by feature."""
        averages, weights = np.array([*learned.values()], np.float64).reshape(-1, 2).T
        return cls(tuple(learned), averages, weights)

    def worth(self, candidates: Candidates) -> Floats:
        """What each candidate is worth, on a logarithmic scale."""
        return np.asarray((candidates.values(self.features) - self.averages) @ self.weights, np.float64)

    def told(self, candidates: Candidates) -> dict[int, dict[str, float]]:
        """What each feature adds to each candidate's worth, by its number, most first."""
        rows = (candidates.values(self.features) - self.averages) * self.weights
        most = np.argsort(-np.abs(rows), axis=1, kind="stable")
        return {
            number: {self.features[at]: float(row[at]) for at in order}
            for number, row, order in zip(candidates.numbers.tolist(), rows, most, strict=True)
        }


@cache
def shipped() -> Ranker:
    """The ranker that comes with assay."""
    stored = json.loads((files(__package__) / DATA).read_text("utf-8"))
    return Ranker.of({name: (average, weight) for name, (average, weight) in stored["features"].items()})


# From what candidates are worth to scores in place of those by hand.

_SPREAD = 0.3  # packing gives room by score, and the scores by hand lie closer together than what is learned


def gain(candidates: Candidates, scores: Floats, weight: float) -> Floats:
    """What turns scores by hand into those that were learned, mixed by weight; what is no candidate keeps its order behind them."""
    before = scores[candidates.numbers]
    by_hand = np.log(share_of_best(before))
    worth = by_hand + weight * (shipped().worth(candidates) - by_hand)
    after = np.exp(_SPREAD * (worth - worth.max(initial=-np.inf)))
    gains = np.full(len(scores), after.min(initial=1.0) / before.min(initial=np.inf))
    gains[candidates.numbers] = after / before
    return gains
