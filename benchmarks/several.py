"""Queries over several repositories: ways to merge their results, compared with querying the right repository alone.

    python benchmarks/several.py --tasks TASKS --corpus DIR [--indexes DIR] [--only flask,caddy]

TASKS is a golden set with repositories (../shared/bench/tasks), DIR holds an indexed clone of each. Every task is asked of all of them at once; a
symbol of another repository than the task's is never right.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from assay.core.golden import GoldenQuery, Hit, Response
from assay.core.items import Item
from assay.core.packs import Ranked
from assay.evaluate.golden import load
from assay.evaluate.judging import judge
from assay.evaluate.matching import MATCHERS
from assay.evaluate.metrics import parse
from assay.rank.engine import Engine
from assay.rank.profile import Profile
from assay.store.index import Index
from assay.store.layout import Home

K = 10
MEASURES = (("P@10", "dotted"), ("R@10", "strict"), ("RR@10", "dotted"))
ELSEWHERE = "another repository"

Found = tuple[str, Item]  # repository and item
Answers = list[list[Found]]


class Apart:
    """Every repository asked by itself, and the ways to merge what they say."""

    def __init__(self, indexes: dict[str, Index], queries: Sequence[GoldenQuery]) -> None:
        self._queries = queries
        engines = {name: Engine(index, Profile()) for name, index in indexes.items()}
        self._ranked = [{name: engine.ranked(query.text, K) for name, engine in engines.items()} for query in queries]
        self._direct = [{name: _direct(engine, query.text) for name, engine in engines.items()} for query in queries]

    def alone(self) -> Answers:
        """The right repository, as if somebody had known."""
        return [
            [(query.repository, one.item) for one in found[query.repository]]
            for query, found in zip(self._queries, self._ranked, strict=True)
        ]

    def round_robin(self) -> Answers:
        return self._merged(lambda place, rank, one: -rank)

    def share_of_best(self) -> Answers:
        return self._merged(lambda place, rank, one: one.score / self._ranked[place[0]][place[1]][0].score)

    def raw_score(self) -> Answers:
        """The score before it becomes a share of the best: as if the parts of different indexes were of one measure."""
        return self._merged(lambda place, rank, one: one.score * self._direct[place[0]][place[1]])

    def _merged(self, worth: Callable[[tuple[int, str], int, Ranked], float]) -> Answers:
        answers = []
        for number, found in enumerate(self._ranked):
            rows = [
                (worth((number, name), rank, one), name, one.item)
                for name, ranked in found.items()
                for rank, one in enumerate(ranked)
            ]
            best = sorted(rows, key=lambda row: -row[0])[:K]
            answers.append([(name, item) for _, name, item in best])
        return answers


def _direct(engine: Engine, task: str) -> float:
    """The best direct score, which all others are shares of."""
    ranking = engine.rank(task)
    if not ranking.factors:
        return 0.0
    return float((np.prod(list(ranking.factors.values()), axis=0) + sum(ranking.additions.values())).max())


def as_one(indexes: dict[str, Index], queries: Sequence[GoldenQuery]) -> Answers:
    """Return the answers of the repositories joined as a workspace."""
    engine = Engine(Index.joined(indexes), Profile())
    return [[(one.item.repository, one.item) for one in engine.ranked(query.text, K)] for query in queries]


def row(name: str, queries: Sequence[GoldenQuery], answers: Answers) -> str:
    responses = [
        Response(hits=tuple(_hits(query.repository, found))) for query, found in zip(queries, answers, strict=True)
    ]
    judged = {matcher: judge(queries, responses, MATCHERS[matcher], "symbol") for _, matcher in MEASURES}
    figures = [float(parse(measure).values(judged[matcher]).mean()) for measure, matcher in MEASURES]
    right = np.mean(
        [
            np.mean([one == query.repository for one, _ in found] or [False])
            for query, found in zip(queries, answers, strict=True)
        ]
    )
    return f"| {name} | " + " | ".join(f"{figure:.3f}" for figure in (*figures, right)) + " |"


def _hits(right: str, found: Sequence[Found]) -> list[Hit]:
    """Return the hits, each symbol once; those of another repository match nothing."""
    seen: dict[tuple[str, str], Hit] = {}
    for name, item in found:
        symbol, path = (item.symbol, item.path.removeprefix(f"{name}/")) if name == right else (ELSEWHERE, ELSEWHERE)
        seen.setdefault((name, item.symbol), Hit(f"{name}/{item.id}", symbol, path))
    return list(seen.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=Path, required=True)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--indexes", type=Path, help="where the indexes are, if not in the clones")
    parser.add_argument("--only", default="", help="names of repositories, with commas between")
    options = parser.parse_args()
    golden = load(options.tasks).queries
    names = options.only.split(",") if options.only else sorted({query.repository for query in golden})
    queries = [query for query in golden if query.repository in names]
    indexes = {}
    for name in names:
        home = Home.of(options.corpus / name, options.indexes / name if options.indexes else None)
        indexes[name] = Index.open(options.corpus / name, home)
    apart = Apart(indexes, queries)
    began = time.perf_counter()
    joined = as_one(indexes, queries)
    spent = (time.perf_counter() - began) / len(queries)
    print(f"{len(queries)} tasks, each asked of {', '.join(names)}; {spent * 1000:.0f} ms a task as one index\n")
    print("| | P@10 | strict R@10 | MRR | of the right repository |\n|---|---|---|---|---|")
    print(row("the right repository alone", queries, apart.alone()))
    print(row("round robin", queries, apart.round_robin()))
    print(row("score as a share of each one's best", queries, apart.share_of_best()))
    print(row("raw score", queries, apart.raw_score()))
    print(row("**one index of several**", queries, joined))


if __name__ == "__main__":
    main()
