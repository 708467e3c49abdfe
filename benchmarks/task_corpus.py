"""The task corpus (eval/tasks) for benchmarks and training: repositories, splits, tasks, and how results are judged.

WORK has an indexed clone of each repository at its commit: `WORK/NAME` (`python benchmarks/task_corpus.py --work WORK --check`
says which are missing). The development tasks of ../shared/bench may lie in another folder of clones.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from assay.api import Repository
from assay.core.golden import GoldenQuery, Hit
from assay.core.items import Item
from assay.evaluate.golden import load
from assay.evaluate.matching import MATCHERS

ROOT = Path(__file__).parent.parent
TASKS = ROOT / "eval/tasks"
BENCH = "bench"  # split of the development tasks of ../shared/bench
K = 10


@dataclass(frozen=True)
class Corpus:
    """A repository of the task corpus with its tasks."""

    name: str
    split: str
    large: bool
    root: Path
    tasks: tuple[GoldenQuery, ...]
    index_dir: Path | None = None  # default: in the clone

    @cached_property
    def repository(self) -> Repository:
        return Repository(self.root, self.index_dir)


def corpora(work: Path, splits: Iterable[str]) -> list[Corpus]:
    """Return the repositories of some splits, by name."""
    rows = yaml.safe_load((TASKS / "corpora.yaml").read_text("utf-8"))["corpora"]
    return [
        Corpus(
            row["name"], row["split"], row["large"], work / row["name"], load(TASKS / f"{row['name']}.jsonl").queries
        )
        for row in sorted(rows, key=lambda row: str(row["name"]))
        if row["split"] in set(splits)
    ]


def bench_corpora(tasks: Path, clones: Path) -> list[Corpus]:
    """Return the development tasks of ../shared/bench by repository."""
    queries = load(tasks).queries
    names = sorted({query.repository for query in queries})
    return [
        Corpus(name, BENCH, False, clones / name, tuple(query for query in queries if query.repository == name))
        for name in names
    ]


@dataclass(frozen=True, slots=True)
class Judged:
    """Results × labels of a task: which results are a label (strict), and which are near one (generous)."""

    strict: NDArray[np.bool_]
    generous: NDArray[np.bool_]
    grades: NDArray[np.int64]  # of the labels: 3 must know, 2 helps, 1 related

    @classmethod
    def of(cls, items: Sequence[Item], task: GoldenQuery) -> Judged:
        hits = [Hit(id=item.id, symbol=item.symbol, path=item.path) for item in items]
        expected = task.at("symbol")

        def matrix(name: str) -> NDArray[np.bool_]:
            matches = MATCHERS[name].matches
            rows = [[matches(hit, label) for label in expected] for hit in hits]
            return np.array(rows, bool).reshape(len(hits), len(expected))

        return cls(matrix("strict"), matrix("dotted"), np.array([label.grade or 1 for label in expected], np.int64))

    def figures(self, order: Sequence[int] | NDArray[Any], k: int = K) -> dict[str, float]:
        """Return the figures of the first `k` results in an order: generous P and RR, strict R, R of must-know labels."""
        top = [int(place) for place in order[:k]]
        left = list(range(len(self.grades)))
        for place in top:
            label = next((label for label in left if self.strict[place, label]), None)
            if label is not None:
                left.remove(label)
        near = self.generous[top].any(axis=1) if top else np.zeros(0, bool)
        must = np.flatnonzero(self.grades == 3)
        return {
            "P@10": float(near.sum()) / k,
            "R@10": 1 - len(left) / max(len(self.grades), 1),
            "RR@10": 1 / (int(near.argmax()) + 1) if near.any() else 0.0,
            "must-know R@10": float(np.mean([label not in left for label in must])) if len(must) else float("nan"),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="folder of indexed clones")
    parser.add_argument("--check", action="store_true", help="list repositories without a clone or an index")
    given = parser.parse_args()
    for corpus in corpora(given.work, ("train", "development", "test")):
        state = "indexed" if (corpus.root / ".assay/current").exists() else "missing"
        if not given.check or state != "indexed":
            print(f"{corpus.name:16} {corpus.split:12} {len(corpus.tasks)} tasks, {state}")


if __name__ == "__main__":
    main()
