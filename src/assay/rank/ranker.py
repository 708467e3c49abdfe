"""The learned rankers: models that order the candidates of a ranking by their features.

`tasks` was trained on tasks labelled by reading the code and orders the profile `default`; `commits` was trained on what
commits changed and orders the profile `change`. `names` takes the place of `tasks` while the edges of an index are by
name and it has no history. `scripts/train_ranker.py` and `train_commit_ranker.py` train them; nothing here needs the
training dependencies.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from assay.core.progress import NAMES
from assay.rank.arrays import Floats, Ints, share_of_best
from assay.rank.candidates import Candidates
from assay.rank.features import matrix

if TYPE_CHECKING:
    from assay.rank.profile import Profile
    from assay.store.index import Index

FORMAT = 2  # version of the data files


class Model(Protocol):
    """A ranking model: features in, log-scale scores out, which the contributions of the features add up to."""

    @property
    def features(self) -> tuple[str, ...]: ...

    def scores(self, values: Floats) -> Floats:
        """Return the log-scale score of each row of feature values."""
        ...

    def contributions(self, values: Floats) -> Floats:
        """Return the contribution of each feature to the score of each row."""
        ...


@dataclass(frozen=True, slots=True)
class LinearModel:
    """A weighted sum of features: their names, means and weights."""

    features: tuple[str, ...]
    averages: Floats
    weights: Floats

    @classmethod
    def of(cls, learned: Mapping[str, Sequence[float]]) -> LinearModel:
        """Build a model from (mean, weight) by feature."""
        averages, weights = np.array([*learned.values()], np.float64).reshape(-1, 2).T
        return cls(tuple(learned), averages, weights)

    def scores(self, values: Floats) -> Floats:
        return np.asarray((values - self.averages) @ self.weights, np.float64)

    def contributions(self, values: Floats) -> Floats:
        return np.asarray((values - self.averages) * self.weights, np.float64)


_MOST_LEAVES = 16  # leaves of a tree: a bit of a mask each


@dataclass(frozen=True)
class TreeModel:
    """Boosted regression trees, all evaluated at once (QuickScorer).

    A split that is not satisfied rules out the leaves on its left; the first leaf that no split rules out is the one
    reached. Which leaves a value rules out in all trees depends only on how many thresholds of its feature it exceeds,
    so they are looked up by that number, feature by feature.
    """

    features: tuple[str, ...]
    trees: tuple[_Tree, ...]
    thresholds: tuple[Floats, ...]  # by feature: all its thresholds, ascending; satisfied by values up to one
    remaining: tuple[NDArray[np.unsignedinteger[Any]], ...]  # by feature: thresholds exceeded × trees → leaves, as bits
    leaves: Floats  # trees × leaves: score

    @classmethod
    def of(cls, names: Sequence[str], nested: Sequence[Any]) -> TreeModel:
        """Build a model from nested trees: a leaf is its value, a split is [feature, threshold, mean, left, right]."""
        trees = tuple(_Tree(tree, len(names)) for tree in nested)
        leaves = np.zeros((len(trees), max((len(tree.leaves) for tree in trees), default=1)))
        assert leaves.shape[1] <= _MOST_LEAVES, "a mask has 16 bits"
        splits: list[list[tuple[float, int, int]]] = [
            [] for _ in names
        ]  # by feature: threshold, tree, leaves on its left
        for row, tree in enumerate(trees):
            leaves[row, : len(tree.leaves)] = tree.leaves
            for feature, threshold, left in tree.splits:
                splits[feature].append((threshold, row, left))
        thresholds = tuple(np.array(sorted({split[0] for split in rows}), np.float64) for rows in splits)
        every = (1 << leaves.shape[1]) - 1
        remaining = tuple(
            np.full((len(values) + 1, len(trees)), every, np.min_scalar_type(every)) for values in thresholds
        )
        for rows, values, bits in zip(splits, thresholds, remaining, strict=True):
            for threshold, row, left in rows:
                bits[np.searchsorted(values, threshold) + 1 :, row] &= every & ~left
        return cls(tuple(names), trees, thresholds, remaining, leaves)

    def scores(self, values: Floats) -> Floats:
        return np.asarray(self.leaves[np.arange(len(self.leaves)), self._reached(values)].sum(axis=1), np.float64)

    def contributions(self, values: Floats) -> Floats:
        contributions = np.zeros((len(values), len(self.features)))
        for tree, reached in zip(self.trees, self._reached(values).T, strict=True):
            contributions += np.array(tree.shares)[reached]
        return contributions

    def _reached(self, values: Floats) -> Ints:
        """Return the leaf that each row reaches in each tree."""
        first = _first_bits(self.leaves.shape[1])
        left = np.full((len(values), len(self.leaves)), len(first) - 1, np.min_scalar_type(len(first) - 1))
        for column, (thresholds, remaining) in enumerate(zip(self.thresholds, self.remaining, strict=True)):
            if len(thresholds):
                left &= remaining[np.searchsorted(thresholds, values[:, column])]
        return first[left]


@cache
def _first_bits(bits: int) -> NDArray[np.uint8]:
    """Return the first bit that is set in each number of so many bits; 0 for none."""
    numbers, first = np.arange(1 << bits), np.zeros(1 << bits, np.uint8)
    for bit in reversed(range(bits)):
        first[numbers & (1 << bit) > 0] = bit
    return first


class _Tree:
    """A tree read from its nested form: splits with the leaves on their left, leaves with their contributions."""

    def __init__(self, tree: Any, features: int) -> None:
        self.splits: list[tuple[int, float, int]] = []
        self.leaves: list[float] = []
        self.shares: list[Floats] = []
        self._read(tree, np.zeros(features))

    def _read(self, node: Any, shares: Floats) -> int:
        """Read a subtree; return its leaves as bits."""
        if not isinstance(node, list):
            self.leaves.append(float(node))
            self.shares.append(shares)
            return 1 << (len(self.leaves) - 1)
        feature, threshold, mean, left, right = node
        branches = []
        place = len(self.splits)
        self.splits.append((feature, threshold, 0))
        for branch in (left, right):
            gained = shares.copy()
            gained[feature] += _mean(branch) - mean
            branches.append(self._read(branch, gained))
        self.splits[place] = (feature, threshold, branches[0])
        return branches[0] | branches[1]


def _mean(node: Any) -> float:
    """Return the mean score below a node."""
    return float(node[2] if isinstance(node, list) else node)


def read_model(stored: Mapping[str, Any]) -> Model:
    """Return the model of a data file."""
    if "trees" in stored:
        return TreeModel.of(stored["features"], stored["trees"])
    return LinearModel.of(stored["features"])


# by the profile setting `ranker_model`; `names` for first generations
MODELS = {"tasks": "ranker_tasks.json", "commits": "ranker_commits.json", "names": "ranker_names.json"}


@cache
def shipped(name: str) -> Model:
    """Return a model that ships with assay."""
    return read_model(json.loads(Path(__file__).with_name(MODELS[name]).read_text("utf-8")))


def model_of(profile: Profile, index: Index) -> Model:
    """Return the model of a profile for an index, which may be a first generation."""
    by_name = profile.ranker_model == "tasks" and any(part.generation.stage == NAMES for part in index.parts)
    return shipped("names" if by_name else profile.ranker_model)


def contributions(model: Model, candidates: Candidates) -> dict[int, dict[str, float]]:
    """Return the contribution of each feature to each candidate's score, by item number, largest first."""
    amounts = model.contributions(matrix(candidates, model.features))
    orders = np.argsort(-np.abs(amounts), axis=1, kind="stable")
    return {
        number: {model.features[column]: float(row[column]) for column in order}
        for number, row, order in zip(candidates.numbers.tolist(), amounts, orders, strict=True)
    }


# Conversion of model scores to score multipliers.

_BEHIND = 1 - 1e-9  # of the last candidate's score: the best item that is none, so that rounding does not put it first
_SPREAD = 0.3  # packing allots tokens by score, and hand-tuned scores lie closer together than model scores


def gain(model: Model, candidates: Candidates, scores: Floats, weight: float) -> Floats:
    """Return multipliers that turn hand-tuned scores into model scores, mixed by `weight`.

    Items that are no candidates stay behind the candidates, in their order.
    """
    before = scores[candidates.numbers]
    hand_tuned = np.log(share_of_best(before))
    mixed = hand_tuned + weight * (model.scores(matrix(candidates, model.features)) - hand_tuned)
    after = np.exp(_SPREAD * (mixed - mixed.max(initial=-np.inf)))
    others = scores.copy()
    others[candidates.numbers] = 0
    gains = np.full(len(scores), _BEHIND * after.min(initial=1.0) / (others.max(initial=0.0) or 1.0))
    gains[candidates.numbers] = after / before
    return gains
