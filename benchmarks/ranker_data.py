"""Training data of the ranker: candidates of mined tasks with their features and relevance labels.

A folder with NAME/state and NAME/tasks.jsonl for each repository (`mined.py --work`) becomes NAME.npz in another.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from time_split import STATE, TASKS

from assay.api import Repository
from assay.core.golden import GoldenQuery
from assay.evaluate.golden import load
from assay.rank.engine import Engine
from assay.rank.features import FEATURES, matrix
from assay.rank.profile import PROFILES

NAMES = tuple(FEATURES)
BY_HAND = replace(
    PROFILES["hand-tuned"], overload=1, namesake=1, reorder=0
)  # the ranking that the ranker finds, before what repeats a name is lowered

MADE = f"{NAMES} {BY_HAND}"  # what a description depends on


@dataclass(frozen=True, slots=True)
class Described:
    """The candidates of a repository's tasks, one after the other."""

    name: str
    values: NDArray[np.float32]  # a row for each candidate, a column for each feature
    right: NDArray[np.bool_]  # it was touched
    files: NDArray[np.int32]  # a number for the file each is in
    right_file: NDArray[np.bool_]
    tests: NDArray[np.bool_]
    starts: NDArray[np.int64]  # where each task begins, and the end


def described(folder: Path, kept: Path) -> Described:
    """The candidates of one prepared repository; worked out once for a set of features and a ranking."""
    at = kept / f"{folder.name}.npz"
    if at.exists():
        stored: Any = np.load(at)
        if stored["made"].item() == MADE:
            fields = ("values", "right", "files", "right_file", "tests", "starts")
            return Described(folder.name, *(stored[one] for one in fields))
    parts = [_task(engine, task) for engine, task in _asked(folder)]
    columns: list[NDArray[Any]] = [np.concatenate(column) for column in zip(*parts, strict=True)]
    starts = np.cumsum([0, *(len(part[1]) for part in parts)])
    one = Described(folder.name, *(*columns, starts))
    kept.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(at, made=MADE, **{field: getattr(one, field) for field in one.__slots__ if field != "name"})
    return one


def _asked(folder: Path) -> list[tuple[Engine, GoldenQuery]]:
    engine = Engine(Repository(folder / STATE).index, BY_HAND)
    return [(engine, task) for task in load(folder / TASKS).queries]


def _task(engine: Engine, task: GoldenQuery) -> tuple[NDArray[Any], ...]:
    candidates = engine.candidates(engine.rank(task.text))
    items = engine.index.numbered(candidates.numbers.tolist())
    listed = [items[number] for number in candidates.numbers.tolist()]
    names, paths = {one.name for one in task.at("symbol")}, {one.name for one in task.at("file")}
    return (
        matrix(candidates, NAMES).astype(np.float32) if listed else np.zeros((0, len(NAMES)), np.float32),
        np.array([item.symbol in names and item.path in paths for item in listed], bool),
        engine.index.columns.file[candidates.numbers].astype(np.int32),
        np.array([item.path in paths for item in listed], bool),
        np.array([item.test for item in listed], bool),
    )
