"""Logistic calibration of probabilities from features, and its quality measures. Pure functions of arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

RIDGE = 5.0  # of standardised signs; from 1 to 50 the repositories left out come out the same
STEPS = 30  # of Newton's method, which needs about six
BINS = 10


@dataclass(frozen=True, slots=True)
class Sample:
    """Signs by row, what came of each (1 or 0), how much it counts, and the group it belongs to."""

    signs: Floats
    outcome: Floats
    weight: Floats
    group: NDArray[np.str_]

    def __getitem__(self, rows: NDArray[np.bool_]) -> Sample:
        return Sample(self.signs[rows], self.outcome[rows], self.weight[rows], self.group[rows])


@dataclass(frozen=True, slots=True)
class Bin:
    """A part of the cases, least likely first: how many, what was said of them on average, and what came."""

    cases: int
    said: float
    came: float


def fit(sample: Sample, limits: Floats) -> Floats:
    """The base and the weight of every sign by logistic regression; a weight that is on the wrong side of 0 (`limits`: -1, 0 for free, 1) is 0."""
    used = np.ones(sample.signs.shape[1], dtype=bool)
    while True:
        weights = _fit(sample, used)
        wrong = used & (weights[1:] * limits < 0)
        if not wrong.any():
            return weights
        used &= ~wrong


def _fit(sample: Sample, used: NDArray[np.bool_]) -> Floats:
    middle, spread = sample.signs.mean(axis=0), np.maximum(sample.signs.std(axis=0), 1e-9)
    standard = np.column_stack([np.ones(len(sample.signs)), (sample.signs - middle) / spread * used])
    ridge = RIDGE * np.diag(np.r_[0.0, np.ones(len(used))])
    weights = np.zeros(len(used) + 1)
    for _ in range(STEPS):
        said = _chance(standard @ weights)
        slope = standard.T @ (sample.weight * (sample.outcome - said)) - ridge @ weights
        bend = (standard * (sample.weight * said * (1 - said))[:, None]).T @ standard + ridge
        weights = weights + np.linalg.solve(bend, slope)
    raw = weights[1:] / spread * used
    return np.concatenate([[weights[0] - float(raw @ middle)], raw])


def _chance(odds: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-odds)), dtype=np.float64)


def said_by(weights: Floats, signs: Floats) -> Floats:
    """The chance that weights give each row of signs."""
    return _chance(weights[0] + signs @ weights[1:])


def left_out(sample: Sample, limits: Floats) -> Floats:
    """Predict each group with weights fitted on the other groups."""
    said = np.zeros(len(sample.outcome))
    for group in np.unique(sample.group):
        here = sample.group == group
        said[here] = said_by(fit(sample[~here], limits), sample.signs[here])
    return said


def bins(said: Floats, came: Floats, weight: Floats, parts: int = BINS) -> list[Bin]:
    """The cases in parts of equal numbers, least likely first."""
    rows = [part for part in np.array_split(np.argsort(said, kind="stable"), parts) if len(part)]
    return [
        Bin(len(part), float(np.average(said[part], weights=weight[part])), float(np.average(came[part], weights=weight[part])))
        for part in rows
    ]  # fmt: skip


def figures(said: Floats, came: Floats, weight: Floats) -> dict[str, float]:
    """Return discrimination (AUC), the Brier score and the expected calibration error (ECE)."""
    parts = bins(said, came, weight)
    shares = [part.cases / len(said) for part in parts]
    return {
        "cases": float(len(said)),
        "came": float(np.average(came, weights=weight)),
        "said": float(np.average(said, weights=weight)),
        "AUC": auc(said, came, weight),
        "Brier": float(np.average((said - came) ** 2, weights=weight)),
        "ECE": sum(share * abs(part.said - part.came) for share, part in zip(shares, parts, strict=True)),
    }


def auc(said: Floats, came: Floats, weight: Floats) -> float:
    """The chance that more is said of a case that came than of one that did not; equal ones count half."""
    right, wrong = came == 1, came == 0
    if not right.any() or not wrong.any():
        return float("nan")
    more = (said[right][:, None] > said[wrong]) + 0.5 * (said[right][:, None] == said[wrong])
    both = weight[right][:, None] * weight[wrong]
    return float((more * both).sum() / both.sum())
