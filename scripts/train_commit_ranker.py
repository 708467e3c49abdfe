"""Learns the ranker from what commits of public repositories went on to change, and writes src/assay/rank/ranker.json.

    python benchmarks/mined.py --work WORK --tasks 100 CLONE…      once: states, indexes and tasks of scripts/histories.json
    python scripts/train_commit_ranker.py --work WORK                     learn, tell how good it is, write
    python scripts/train_commit_ranker.py --work WORK --only-tell         … without writing

The weights maximise the likelihood that what a commit touched is drawn from the candidates of its message (softmax over each task's candidates), less
a penalty on their squares. Tests are left out: mined tasks never expect them. All figures are of repositories that were left out of training
(in five parts). The data file is rounded, so that it comes out the same on every machine.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "src")]

from histories import prepared_as_named  # noqa: E402
from ranker_data import NAMES, Described, described  # noqa: E402

from assay.rank.features import FEATURES  # noqa: E402
from assay.rank.ranker import FORMAT, MODELS  # noqa: E402

TARGET = ROOT / "src/assay/rank" / MODELS["commits"]
PARTS = 5
PENALTY = 1e-3  # on the squares of weights of features with variance 1
LEARNED_FROM = 120  # first candidates of a task: what comes after them is hardly ever right
STEPS = 30  # of Newton's method at most; it needs about ten
ENOUGH = 1e-5  # a step that changes no weight by more ends it
DIGITS = 4  # significant ones of what is written
GIVEN = {"test": (0.0, 2.0)}  # not learned: mined tasks never expect tests, people may; 2 keeps them well behind

Floats = NDArray[np.float64]
Weights = dict[str, tuple[float, float]]  # by feature: the average and what one more is worth


def learned(repositories: Iterable[Described], names: Sequence[str]) -> Weights:
    """The weights of features by Newton's method; each repository counts the same. Weights against the sense of a feature are left out."""
    names = [name for name in names if name not in GIVEN]
    tasks = Tasks.of(repositories, [NAMES.index(name) for name in names])
    sense = np.array([FEATURES[name].sense for name in names])
    weights, used = np.zeros(len(names)), np.ones(len(names), bool)
    while True:
        weights = tasks.fitted(weights, used)
        if not (wrong := sense * weights < 0).any():
            break
        used &= ~wrong
        weights[wrong] = 0.0
    each = zip(names, tasks.averages, weights / tasks.spreads, strict=True)
    return {name: (_rounded(average), _rounded(weight)) for name, average, weight in each if weight} | GIVEN


class Tasks(NamedTuple):
    """All candidates of tasks that have something right among them, tests left out; tasks one after the other."""

    values: Floats  # of variance 1 and average 0
    goal: Floats  # the chance each should have; those of a task add up to what it counts
    starts: NDArray[np.int64]
    task: NDArray[np.int64]  # the number of each candidate's task
    counts: Floats  # what each task counts
    averages: Floats
    spreads: Floats

    @classmethod
    def of(cls, repositories: Iterable[Described], columns: list[int]) -> Tasks:
        values, goals, sizes, counts = [], [], [], []
        for one in repositories:
            usable = list(_usable(one))
            for at, right in usable:
                values.append(one.values[at][:, columns])
                goals.append(right / right.sum() / len(usable))
                sizes.append(len(right))
                counts.append(1 / len(usable))
        joined = np.concatenate(values).astype(np.float64)
        averages, spreads = joined.mean(axis=0), joined.std(axis=0) + 1e-6
        joined -= averages
        joined /= spreads
        starts = np.cumsum([0, *sizes[:-1]])
        task = np.repeat(np.arange(len(sizes)), sizes)
        return cls(joined, np.concatenate(goals), starts, task, np.array(counts), averages, spreads)

    def fitted(self, weights: Floats, used: NDArray[np.bool_]) -> Floats:
        """The likeliest weights, looked for from some on; those that are not used stay."""
        loss, gradient, curvature = self.likelihood(weights)
        for _ in range(STEPS):
            step = np.zeros(len(weights))
            step[used] = np.linalg.solve(curvature[np.ix_(used, used)], gradient[used])
            if np.abs(step).max() < ENOUGH:
                break
            while (after := self.likelihood(weights - step))[0] > loss:  # too far
                step /= 2
            weights, (loss, gradient, curvature) = weights - step, after
        return weights

    def likelihood(self, weights: Floats) -> tuple[float, Floats, Floats]:
        """The negative logarithm of the likelihood with the penalty, its gradient and its curvature."""
        worth = self.values @ weights
        worth -= np.maximum.reduceat(worth, self.starts)[self.task]
        odds = np.exp(worth)
        sums = np.add.reduceat(odds, self.starts)
        chance = odds * (self.counts / sums)[self.task]
        loss = float(self.goal @ (np.log(sums)[self.task] - worth)) + PENALTY * float(weights @ weights)
        weighted = self.values * chance[:, None]
        means = np.add.reduceat(weighted, self.starts)
        gradient = weighted.sum(axis=0) - self.goal @ self.values + 2 * PENALTY * weights
        curvature = self.values.T @ weighted - means.T @ (means / self.counts[:, None])
        return loss, gradient, curvature + 2 * PENALTY * np.eye(len(weights))


def _usable(one: Described) -> Iterable[tuple[NDArray[np.int64], NDArray[np.bool_]]]:
    """The candidates that are no tests of each task that has something right among them, and which are."""
    for first, last in zip(one.starts[:-1], one.starts[1:], strict=True):
        at = first + np.flatnonzero(~one.tests[first:last])[:LEARNED_FROM]
        if one.right[at].any():
            yield at, one.right[at]


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


# how good it is


def accuracies(one: Described, weights: Weights | None) -> Floats:
    """For each task: a right definition first, among five, among ten; a right file first, among five. Without weights: by hand."""
    rows = []
    for first, last in zip(one.starts[:-1], one.starts[1:], strict=True):
        order = np.arange(last - first)
        if weights is not None:
            order = np.argsort(-_worth(one, slice(first, last), weights), kind="stable")
        right = one.right[first:last][order]
        rank = int(right.argmax()) if right.any() else len(right)
        files, at = np.unique(one.files[first:last][order], return_index=True)
        goal = one.right_file[first:last][order]
        file_rank = int((at < goal.argmax()).sum()) if goal.any() else len(files)
        rows.append([rank < 1, rank < 5, rank < 10, file_rank < 1, file_rank < 5])
    return np.array(rows, np.float64)


def _worth(one: Described, at: slice, weights: Weights) -> Floats:
    values = one.values[at][:, [NAMES.index(name) for name in weights]].astype(np.float64)
    averages, each = np.array(list(weights.values())).T
    return np.asarray((values - averages) @ each)


def left_out(repositories: Sequence[Described], names: Sequence[str]) -> tuple[Floats, Floats]:
    """Accuracies by hand and learned, of repositories that were not learned from; the mean of the repositories' means."""
    before, after = [], []
    for part in range(PARTS):
        weights = learned([one for at, one in enumerate(repositories) if at % PARTS != part], names)
        for one in repositories[part::PARTS]:
            before.append(accuracies(one, None).mean(axis=0))
            after.append(accuracies(one, weights).mean(axis=0))
    return np.mean(before, axis=0), np.mean(after, axis=0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="what mined.py prepared")
    parser.add_argument("--only-tell", action="store_true", help="write nothing")
    given = parser.parse_args()
    folders = prepared_as_named(given.work)
    repositories = [described(folder, given.work / "described") for folder in folders]
    names = list(NAMES)
    before, after = left_out(repositories, names)
    print(
        f"{len(repositories)} repositories, {sum(len(one.starts) - 1 for one in repositories)} tasks, left out in {PARTS} parts"
    )
    print("| | symbols @1 | @5 | @10 | files @1 | @5 |")
    for name, row in (("by hand", before), ("learned", after)):
        print(f"| {name} | {' | '.join(f'{value:.3f}' for value in row)} |")
    weights = learned(repositories, names)
    if not given.only_tell:
        write(weights, repositories)


def write(weights: Mapping[str, tuple[float, float]], repositories: Sequence[Described]) -> None:
    told: dict[str, Any] = {"format": FORMAT, "features": {name: list(pair) for name, pair in weights.items()}}
    TARGET.write_text(json.dumps(told, indent=1) + "\n", "utf-8")
    print(f"written: {TARGET.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
