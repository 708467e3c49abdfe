"""Concept classes of frameworks (framework_classes.toml) on the task corpus, by rankers that never saw the repository.

    python benchmarks/framework_classes.py --work WORK --models FOLDER [--no-gate] [--only VARIANT …]

A class fires when the task has one of its phrases of several words, or two phrases (the multi-phrase gate). FOLDER keeps the
rankers of the folds, made by the first run (needs lightgbm). Variants: `base` is the default profile;
`names to the top` and `names, fused` take a framework's names as targets, like classes of a project and curated ones;
`roles …` take the definitions that play the role (descendants of its base types, what carries its marks, what stands at its
paths): the ten best by words join the candidates (`fused`), the first three go to the top, or all gain a share of the
best score. Tasks where no class fires are equal by construction.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "scripts"))

import train_ranker  # noqa: E402
from task_corpus import Corpus, Judged, corpora  # noqa: E402
from tasks import compared  # noqa: E402

import assay.rank.ranker  # noqa: E402
from assay.core.items import CALLABLE_KINDS, EDGE_TYPES, TYPE_KINDS  # noqa: E402
from assay.rank.engine import Engine  # noqa: E402
from assay.rank.profile import PROFILES  # noqa: E402
from assay.rank.ranker import TreeModel  # noqa: E402
from assay.rank.signals import classes, places  # noqa: E402
from assay.rank.signals.classes import EquivalenceClass, EquivalenceHit, Match, matches  # noqa: E402

MEASURES = ("P@10", "R@10", "RR@10", "must-know R@10")
CANDIDATES, FIRST = 10, 3
GAINS = (0.05, 0.1, 0.2)
GATE = True  # without: a concept's own name fires it, too
_MARK = re.compile(r"^\s*(?:@|#?\[)([\w.]+)")
_SPECIFIC = 0.05  # share of all definitions: a role of more says nothing
_INHERITANCE = [EDGE_TYPES[name].code for name in ("extends", "implements")]


@dataclass(frozen=True)
class Role:
    """A class of a framework with the definitions of a repository that play it."""

    match: EquivalenceClass
    members: frozenset[int]


def table() -> list[tuple[EquivalenceClass, dict[str, Any]]]:
    """Return the classes, with names, bases and marks as targets, and their rows."""
    rows = []
    for language, frameworks in tomllib.loads((HERE / "framework_classes.toml").read_text("utf-8")).items():
        for framework, concepts in frameworks.items():
            for concept, row in concepts.items():
                targets = [*row.get("names", ()), *row.get("bases", ()), *row.get("marks", ())]
                names = tuple(dict.fromkeys(re.split(r"\.|::", target)[-1] for target in targets))
                phrases = tuple(row["phrases"]) if GATE else (*row["phrases"], concept.replace("_", " "))
                rows.append((EquivalenceClass(f"{framework}.{concept}", phrases, names, 1.0, language), row))
    return rows


class Repository:
    """An indexed repository, with the classes and roles that the variants read."""

    def __init__(self, corpus: Corpus) -> None:
        self.engine = Engine(corpus.repository.index, PROFILES["default"])
        self._index, self._root = corpus.repository.index, corpus.root
        resources = self.engine.resources
        languages = {
            *resources.languages,
            *("typescript" for name in ("javascript", "tsx") if name in resources.languages),
        }
        self.rows = [(one, row) for one, row in table() if one.language in languages]
        self._read()
        self.roles = [Role(one, self._members(row)) for one, row in self.rows]

    def _read(self) -> None:
        index = self._index
        self._items = {
            item.number: item
            for item in index.items("ordinal >= 0", ())
            if item.kind in TYPE_KINDS | CALLABLE_KINDS and not item.test
        }
        externals = {
            -number: name for part in index.parts for number, name in part.execute("SELECT number, name FROM externals")
        }
        edges = index.edges.all
        edges = edges[np.isin(edges["type"], _INHERITANCE)]
        self._by_base: dict[str, set[int]] = defaultdict(set)
        self._below: dict[int, set[int]] = defaultdict(set)
        for source, target in zip(edges["source"].tolist(), edges["target"].tolist(), strict=True):
            if target > 0:
                self._below[target].add(source)
            name = externals.get(target, "") if target < 0 else index.item(target).name
            self._by_base[_dotted(name).rpartition(".")[2]].add(source)
        self._by_mark: dict[str, set[int]] = defaultdict(set)
        by_file: dict[str, list[Any]] = defaultdict(list)
        for item in self._items.values():
            by_file[item.path].append(item)
        for path, items in by_file.items():
            lines = (self._root / path).read_text("utf-8", "replace").splitlines()
            for item in items:
                for line in lines[item.start - 1 : item.start + 9]:
                    mark = _MARK.match(line)
                    if not mark:
                        break
                    chain = mark[1].split(".")
                    for first in range(len(chain)):
                        self._by_mark[".".join(chain[first:])].add(item.number)

    def _members(self, row: dict[str, Any]) -> frozenset[int]:
        """Return the definitions that play a role; none if they are too many to say anything."""
        found: set[int] = set()
        for base in row.get("bases", ()):
            found |= self._descendants(self._by_base.get(_dotted(base).rpartition(".")[2], set()))
        for mark in row.get("marks", ()):
            found |= self._by_mark.get(mark, set())
        if "paths" in row:
            path = re.compile(row["paths"])
            found |= {number for number, item in self._items.items() if path.search(item.path)}
        found &= self._items.keys()
        return frozenset(found) if len(found) <= _SPECIFIC * len(self._items) else frozenset()

    def _descendants(self, types: Iterable[int]) -> set[int]:
        found, waiting = set(types), list(types)
        while waiting:
            more = self._below.get(waiting.pop(), set()) - found
            found |= more
            waiting += more
        return found

    def playing(self, task: str) -> dict[int, Match]:
        """Return the definitions that play a role that the task surely names."""
        by_concept = {role.match.concept: role.members for role in self.roles}
        return {number: match for match in self.fired(task) for number in by_concept[match.equivalence.concept]}

    def fired(self, task: str) -> list[Match]:
        """Return the classes that a task names, with two phrases or one of several words if the gate is on."""
        found = matches(task, [one for one, _ in self.rows], self.engine.resources.languages)
        return [match for match in found if match.is_sure or not GATE]

    def best_playing(self, query: Any, most: int) -> list[EquivalenceHit]:
        playing = self.playing(query.task.task)
        words = query.lexical.score
        chosen = sorted((number for number in playing if words[number] > 0), key=lambda number: -words[number])[:most]
        return [EquivalenceHit(number, playing[number], "") for number in chosen]


def _dotted(name: str) -> str:
    return re.sub(r"\[.*|<.*", "", name.replace("::", "."))


# variants: how an engine is changed, and what is added to its scores

_CLASS_HITS, _PROJECT_HITS = classes.class_hits, places.project_hits


def ranked(repository: Repository, variant: str, task: str) -> list[int]:
    """Return the numbers of the best ten items under a variant."""
    engine = repository.engine
    classes.class_hits, places.project_hits = _CLASS_HITS, _PROJECT_HITS
    if variant.startswith("names"):
        weight = 1.0 if variant == "names to the top" else 0.8
        rows = [
            EquivalenceClass(one.concept, one.phrases, one.targets, weight, one.language) for one, _ in repository.rows
        ]
        if variant == "names, fused":  # the gate holds here, too
            rows = [
                one for one in rows if any(match.equivalence.concept == one.concept for match in repository.fired(task))
            ]
        engine = Engine(engine.index, engine.profile, rows)
    elif variant in ("roles, fused", "roles, fused and to the top"):
        classes.class_hits = lambda query, *channels: [
            *_CLASS_HITS(query, *channels),
            *repository.best_playing(query, CANDIDATES),
        ]
    if variant in ("roles to the top", "roles, fused and to the top"):
        places.project_hits = lambda query: repository.best_playing(query, FIRST)
    ranking = engine.rank(task)
    if variant.startswith("roles + "):
        playing = [*repository.playing(task)]
        chosen: list[int] = ranking.candidates.numbers.tolist() if ranking.candidates else []
        here = np.intersect1d(chosen, playing).astype(np.int64)
        ranking.scores[here] += float(variant.removeprefix("roles + "))
    return ranking.best(10)


VARIANTS = (
    "names to the top", "names, fused", "roles, fused", "roles to the top", "roles, fused and to the top", *(f"roles + {gain}" for gain in GAINS)
)  # fmt: skip


def models(chosen: list[Corpus], folder: Path) -> dict[str, TreeModel]:
    """Return by repository the ranker that was trained on the others."""
    folder.mkdir(exist_ok=True)
    parts = sorted({train_ranker.fold(corpus) for corpus in chosen})
    if not all((folder / f"{part}.json").exists() for part in parts):
        described = train_ranker.describe_all([replace(corpus) for corpus in chosen], 2, None)
        for part in parts:
            others = [task for corpus in chosen if train_ranker.fold(corpus) != part for task in described[corpus.name]]
            (folder / f"{part}.json").write_text(json.dumps(train_ranker.fitted(others, train_ranker.NAMES)), "utf-8")
    stored = {part: json.loads((folder / f"{part}.json").read_text("utf-8")) for part in parts}
    return {
        corpus.name: TreeModel.of(*(stored[train_ranker.fold(corpus)][key] for key in ("features", "trees")))
        for corpus in chosen
    }


def figures(corpus: Corpus, variants: Iterable[str]) -> tuple[dict[str, np.ndarray], int]:
    """Return the figures of every task by variant, and how many tasks a class fires for."""
    repository = Repository(corpus)
    rows: dict[str, list[list[float]]] = defaultdict(list)
    fired = 0
    for task in corpus.tasks:
        fires = bool(repository.fired(task.text))
        fired += fires
        seen: dict[tuple[int, ...], list[float]] = {}
        for variant in ("base", *variants):
            best = (
                ranked(repository, variant if fires else "base", task.text)
                if fires or variant == "base"
                else [*next(iter(seen))]
            )
            key = tuple(best)
            if key not in seen:
                items = repository.engine.index.numbered(best)
                judged = Judged.of([items[number] for number in best], task).figures(range(len(best)))
                seen[key] = [judged[name] for name in MEASURES]
            rows[variant].append(seen[key])
    return {variant: np.array(values) for variant, values in rows.items()}, fired


def row(label: str, before: np.ndarray, after: np.ndarray) -> str:
    cells = []
    for column in range(len(MEASURES)):
        low, high, p = compared(before[:, column], after[:, column])
        cells.append(f"{(after - before)[:, column].mean():+.4f} ({low:+.4f} to {high:+.4f}), p {p:.2f}")
    return f"| {label} | {' | '.join(cells)} |"


def main() -> None:
    global GATE
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="folder of indexed clones")
    parser.add_argument("--models", type=Path, required=True, help="folder of rankers, made if it has none")
    parser.add_argument(
        "--split", nargs="+", default=["train", "development"], choices=("train", "development", "test")
    )
    parser.add_argument("--only", nargs="+", default=VARIANTS, choices=VARIANTS)
    parser.add_argument("--no-gate", action="store_true", help="one word, a concept's own name, fires a class")
    given = parser.parse_args()
    GATE = not given.no_gate
    train_ranker.hurry()
    known = [
        corpus for corpus in corpora(given.work, ("train", "development")) if (corpus.root / ".assay/current").exists()
    ]
    left_out = models(known, given.models)
    chosen = [corpus for corpus in known if corpus.split in given.split]
    results: dict[str, dict[str, np.ndarray]] = {}
    for corpus in chosen:
        setattr(assay.rank.ranker, "shipped", constant(left_out[corpus.name]))  # noqa: B010
        results[corpus.name], fired = figures(corpus, given.only)
        print(
            f"{corpus.name} ({corpus.split}): a class fires for {fired} of {len(corpus.tasks)} tasks",
            file=sys.stderr,
            flush=True,
        )
    print(f"| {len(chosen)} repositories | {' | '.join(MEASURES)} |\n|---|" + "---|" * len(MEASURES))
    means = {v: np.array([np.nanmean(results[c.name][v], axis=0) for c in chosen]) for v in ("base", *given.only)}
    print(f"| base | {' | '.join(f'{value:.3f}' for value in means['base'].mean(axis=0))} |")
    for variant in given.only:
        print(row(variant, means["base"], means[variant]))


def constant(model: TreeModel) -> Callable[[str], TreeModel]:
    return lambda name: model


if __name__ == "__main__":
    main()
