"""The weights that were learned. What a candidate is worth is a sum, so every feature's part of it can be told."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np

from assay.retrieve.order import Floats
from assay.retrieve.ranker.features import Candidates

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
