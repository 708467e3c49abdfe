"""Confidence features (rank/confidence.py) of tasks with known answers, one JSON line per task.

    python benchmarks/confidence_cases.py --work DIR [--named] > cases.jsonl        repositories as benchmarks/mined.py prepares them
    python benchmarks/confidence_cases.py --golden PATH --roots DIR [--indexes DIR] > …     a golden set that names repositories below DIR

A task is right at `symbol` if a definition that it wants is among the first five, in a file that it wants if it names any; at `generous` if one is
that contains it or stands in it; at `file` if one of the first five stands in a file that it wants. Every repository is also asked some tasks of
another one (`foreign`): nothing there is right. `--named`: the repositories of scripts/histories.json, at those commits, with those tasks.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from histories import prepared_as_named
from time_split import STATE, TASKS

import assay
from assay.api import Repository
from assay.core.golden import GoldenQuery, Hit
from assay.errors import AssayError
from assay.evaluate.golden import load
from assay.evaluate.matching import MATCHERS
from assay.rank.confidence import FIRST, confidence_features

LEVELS = {"symbol": "strict", "generous": "dotted"}  # and the matcher of each
EVERY, MOST = 4, 25  # of the tasks of another repository: each fourth, so many at most
AWAY = 3  # that other repository is a third of all further on


def cases(
    repo: Repository, name: str, tasks: Sequence[GoldenQuery], profile: str, foreign: bool = False
) -> Iterator[dict[str, Any]]:
    """Yield features and outcome of every task; tasks without results are left out."""
    engine = repo.engine(profile)
    for task in tasks:
        ranking = engine.rank(task.text)
        if not ranking.scores.any():
            continue
        first = [Hit(one.item.id, one.item.symbol, one.item.path) for one in engine.first(ranking, FIRST)]
        right = dict.fromkeys((*LEVELS, "file"), False) if foreign else judged(task, first)
        who = {"profile": profile, "repository": name, "id": task.id, "foreign": foreign}
        yield who | {"signs": asdict(confidence_features(ranking)), "right": right}


def judged(task: GoldenQuery, first: Sequence[Hit]) -> dict[str, bool]:
    """At which levels one of the first is right."""
    files = {one.name for one in task.at("file")}
    placed = [hit for hit in first if not files or hit.path in files]
    right = {
        level: any(MATCHERS[matcher].matches(hit, wanted) for hit in placed for wanted in task.at("symbol"))
        for level, matcher in LEVELS.items()
    }
    return right | ({"file": any(hit.path in files for hit in first)} if files else {})


def of_work(work: Path, names: Sequence[str], profile: str) -> Iterator[dict[str, Any]]:
    """The cases of prepared repositories, their own tasks first."""
    tasks = {name: load(work / name / TASKS).queries for name in names}
    for place, name in enumerate(names):
        print(f"asking {name}", file=sys.stderr)
        other = names[(place + len(names) // AWAY) % len(names)]
        with assay.open(work / name / STATE) as repo:
            yield from cases(repo, name, tasks[name], profile)
            if other != name:
                yield from cases(repo, name, tasks[other][::EVERY][:MOST], profile, foreign=True)


def of_golden(golden: Path, roots: Path, indexes: Path | None, profile: str) -> Iterator[dict[str, Any]]:
    """The cases of a golden set over several repositories."""
    queries = load(golden).queries
    for name in dict.fromkeys(query.repository for query in queries):
        print(f"asking {name}", file=sys.stderr)
        with assay.open(roots / name, index_dir=indexes / name if indexes else None) as repo:
            yield from cases(repo, name, [query for query in queries if query.repository == name], profile)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path)
    parser.add_argument("--named", action="store_true", help="those of scripts/histories.json, checked, and no others")
    parser.add_argument("--golden", type=Path)
    parser.add_argument("--roots", type=Path)
    parser.add_argument("--indexes", type=Path)
    parser.add_argument("--profile", default="default", help="how to rank")
    given = parser.parse_args()
    try:
        if given.golden and given.roots:
            found = of_golden(given.golden, given.roots, given.indexes, given.profile)
        elif given.work:
            ready = sorted(one.parent for one in given.work.glob(f"*/{TASKS}"))
            named = prepared_as_named(given.work, lambda row: row.get("confidence", True)) if given.named else ready
            found = of_work(given.work, [folder.name for folder in named], given.profile)
        else:
            parser.error("give --work, or --golden with --roots")
        for case in found:
            print(json.dumps(case))
    except AssayError as error:
        raise SystemExit(f"error: {error}") from None


if __name__ == "__main__":
    main()
