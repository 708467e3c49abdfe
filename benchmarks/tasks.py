"""Score rankings on the task corpus (eval/tasks): all figures, by repository, with the difference between two profiles.

    python benchmarks/tasks.py --work WORK --split development
    python benchmarks/tasks.py --work WORK --split test --look "why this look"        logs the look in EXPERIMENTS.md

WORK has an indexed clone of every repository. Figures: generous P@10 and MRR, strict R@10, and the recall of a pack of 2,000
tokens (labels shown in it). Means are over repositories; intervals and p-values treat repositories as clusters (bootstrap and
sign-flip randomisation over repositories). The agreement line scores the second labelling against the first.
"""

from __future__ import annotations

import argparse
import datetime
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from task_corpus import ROOT, TASKS, Corpus, Judged, bench_corpora, corpora

from assay.core.golden import Expected, Hit
from assay.core.items import Item
from assay.evaluate.golden import load
from assay.evaluate.matching import MATCHERS
from assay.evaluate.statistics import paired
from assay.rank.engine import open_engine

MEASURES = ("P@10", "R@10", "RR@10", "pack recall")
BUDGET = 2000  # tokens of a pack
LOG = ROOT / "EXPERIMENTS.md"
LOOKS = "## Looks at the test split\n"

Figures = dict[str, NDArray[np.float64]]  # by measure: a value per task


def scored(corpus: Corpus, profile: str) -> Figures:
    """Return the figures of every task of a repository under a profile."""
    repository = corpus.repository
    engine = open_engine(repository.index, repository.configuration.profile(profile))
    rows = []
    for task in corpus.tasks:
        best = engine.rank(task.text).best(10)
        items = engine.index.numbered(best)
        figures = Judged.of([items[number] for number in best], task).figures(range(len(best)))
        pack = repository.context(task.text, budget=BUDGET, profile=profile)
        hits = [Hit(id=item.id, symbol=item.symbol, path=item.path) for item in pack.items]
        rows.append([*(figures[name] for name in MEASURES[:3]), _recall(hits, task.at("symbol"))])
    return dict(zip(MEASURES, np.array(rows).T, strict=True))


def _recall(hits: Sequence[Hit], labels: Sequence[Expected]) -> float:
    strict = MATCHERS["strict"].matches
    return float(np.mean([any(strict(hit, label) for hit in hits) for label in labels])) if labels else 0.0


def agreement(chosen: Sequence[Corpus]) -> list[float]:
    """Return the figures of the second labelling, scored against the first like a ranking."""
    rows = []
    for corpus in chosen:
        first = {task.id: task for task in corpus.tasks}
        figures = []
        for task in load(TASKS / "second" / f"{corpus.name}.jsonl").queries:
            items = [_as_item(label.name) for label in task.at("symbol")]
            hits = [Hit(id=item.id, symbol=item.symbol, path=item.path) for item in items]
            judged = Judged.of(items, first[task.id]).figures(range(len(items)))
            figures.append([*(judged[name] for name in MEASURES[:3]), _recall(hits, first[task.id].at("symbol"))])
        rows.append(np.mean(figures, axis=0))
    return [float(value) for value in np.mean(rows, axis=0)]


def _as_item(label: str) -> Item:
    path, _, symbol = label.partition("::")
    return Item(0, label, "", symbol.rpartition(".")[2], symbol, path, 0, 0, "", "", False)


def compared(before: NDArray[np.float64], after: NDArray[np.float64]) -> tuple[float, float, float]:
    """Return the 95 % interval of the mean difference of repositories, and its p-value."""
    pair = paired(before, after)
    return pair.interval.low, pair.interval.high, pair.p


def table(chosen: Sequence[Corpus], figures: Mapping[str, Mapping[str, Figures]], profiles: Sequence[str]) -> list[str]:
    """Return the lines of a Markdown table: a row per repository and profile, means, differences."""
    lines = [f"| | profile | {' | '.join(MEASURES)} |", "|---|---|" + "---|" * len(MEASURES)]

    def row(label: str, profile: str, values: Sequence[float]) -> str:
        return f"| {label} | {profile} | {' | '.join(f'{value:.3f}' for value in values)} |"

    lines += [
        row(corpus.name, profile, [figures[profile][corpus.name][name].mean() for name in MEASURES])
        for corpus in chosen
        for profile in profiles
    ]
    by_repository = {
        profile: np.array([[figures[profile][corpus.name][name].mean() for name in MEASURES] for corpus in chosen])
        for profile in profiles
    }
    lines += [row(f"**all ({len(chosen)})**", profile, by_repository[profile].mean(axis=0)) for profile in profiles]
    if len(profiles) == 2:
        before, after = (by_repository[profile] for profile in profiles)
        relative = after.mean(axis=0) / before.mean(axis=0) - 1
        cells = []
        for place in range(len(MEASURES)):
            low, high, p = compared(before[:, place], after[:, place])
            cells.append(f"{relative[place]:+.1%} ({low:+.3f} to {high:+.3f}, p {p:.3f})")
        lines.append(f"| difference | | {' | '.join(cells)} |")
    return lines


def log_look(reason: str, lines: Sequence[str]) -> None:
    """Write a look at the test split into EXPERIMENTS.md, before anybody reads the figures."""
    text = LOG.read_text("utf-8")
    entry = f"\n{datetime.date.today().isoformat()}: {reason}\n\n" + "\n".join([*lines[:2], *lines[-4:]]) + "\n"
    if LOOKS not in text:
        heading, _, rest = text.partition("\n## ")
        text = f"{heading}\n{LOOKS}\n## {rest}"
    LOG.write_text(text.replace(LOOKS, LOOKS + entry, 1), "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="folder of indexed clones")
    parser.add_argument("--split", choices=("train", "development", "test", "bench"), default="development")
    parser.add_argument(
        "--bench-tasks", type=Path, help="with --split bench: ../shared/bench/tasks; WORK has their clones"
    )
    parser.add_argument("--profile", action="append", help="profile to score; default: hand-tuned and default")
    parser.add_argument(
        "--large", action="store_true", help="only applications and platforms of more than 100,000 lines"
    )
    parser.add_argument("--look", default="", help="reason of a look at the test split, for the log")
    parser.add_argument("--json", type=Path, help="write the figures of every task here")
    given = parser.parse_args()
    if given.split == "test" and not given.look:
        parser.error("the test split needs --look REASON: every look is logged")
    profiles = given.profile or ["hand-tuned", "default"]
    if given.split == "bench":
        chosen = bench_corpora(given.bench_tasks, given.work)
    else:
        chosen = [corpus for corpus in corpora(given.work, [given.split]) if corpus.large or not given.large]
    figures = {profile: {corpus.name: scored(corpus, profile) for corpus in chosen} for profile in profiles}
    lines = table(chosen, figures, profiles)
    if given.split != "bench":
        lines.append(f"| agreement | second labelling | {' | '.join(f'{value:.3f}' for value in agreement(chosen))} |")
    if given.look:
        log_look(given.look, lines)
    print("\n".join(lines))
    if given.json:
        rows = {
            profile: {name: {m: v.tolist() for m, v in row.items()} for name, row in each.items()}
            for profile, each in figures.items()
        }
        given.json.write_text(json.dumps(rows), "utf-8")


if __name__ == "__main__":
    main()
