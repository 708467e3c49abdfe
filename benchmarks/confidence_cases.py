"""Confidence features (rank/confidence.py) of tasks with known answers, and of what a repository cannot answer.

    python benchmarks/confidence_cases.py --work WORK --split test --look "why" > cases.jsonl    default, the shipped ranker
    python benchmarks/confidence_cases.py --commits WORK --counts counts.json > cases.jsonl      change

WORK has indexed clones of eval/tasks, or what benchmarks/mined.py prepares (`--tasks 50`) of the repositories that
scripts/histories.json names for the confidence: the ranker of commits never saw them. `scripts/train_ranker.py --confidence`
makes the cases that the default is fitted on, by rankers that never saw the repository.

| kind | task | right |
|---|---|---|
| own | of eval/tasks, or a commit's message | a label is among the first five |
| half | the first half of an own task, the second half of another repository's | a label of the own task is among the first five |
| foreign | of another repository | never |
| vague | of eval/tasks/vague.txt: names nothing | never |
| invented | about a name that exists nowhere | never |
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

sys.path.append(str(Path(__file__).resolve().parents[1] / "scripts"))

from histories import prepared_as_named
from task_corpus import TASKS, Corpus, corpora
from tasks import log_look
from time_split import STATE
from time_split import TASKS as MINED
from train_background import Counts, usual_shares

from assay.core.golden import GoldenQuery, Hit
from assay.core.items import Item
from assay.evaluate.golden import load
from assay.evaluate.matching import MATCHERS
from assay.rank import confidence
from assay.rank.confidence import FIRST, confidence_features
from assay.rank.engine import Engine
from assay.rank.profile import CHANGE, DEFAULT, PROFILES

KINDS = ("own", "half", "foreign", "vague", "invented")
LEVELS = {"symbol": "strict", "generous": "dotted"}  # and the matcher of each
FOREIGN, HALF, INVENTED = 40, 10, 10  # tasks per repository
_PARTS = """
quantum ledger falcon beacon saddle turbine marble gossip lantern pepper orchid glacier tundra violin compass anchor
velvet harbor meadow copper
"""
_NAMES = ("{0}{1}{2}", "{0}_{1}_{2}", "{0}{1}")
_ABOUT_NAMES = (
    "fix the crash in {}", "where is {} defined", "add a timeout to {}", "why does {} return null",
    "rename {} and update its callers", "write tests for {}",
)  # fmt: skip


class Asked(NamedTuple):
    """A task for a repository; `task` has its labels, if the repository has any answer."""

    text: str
    kind: str
    task: GoldenQuery | None = None
    source: str = ""  # repository of a foreign task


def asked_of(corpus: Corpus, others: Sequence[Corpus]) -> Iterator[Asked]:
    """Yield the tasks for a repository, always the same. Vague ones of the test split are not those of the others."""
    chance = random.Random(corpus.name)
    foreign = [(task.text, other.name) for other in others if other.name != corpus.name for task in other.tasks]
    chance.shuffle(foreign)
    for task in corpus.tasks:
        yield Asked(task.text, "own", task)
    for task, (text, _) in zip(corpus.tasks[:HALF], foreign[FOREIGN:], strict=False):
        first, second = task.text.split(), text.split()
        yield Asked(" ".join(first[: len(first) // 2] + second[len(second) // 2 :]), "half", task)
    for text, source in foreign[:FOREIGN]:
        yield Asked(text, "foreign", source=source)
    for text in (TASKS / "vague.txt").read_text("utf-8").splitlines()[corpus.split == "test" :: 2]:
        yield Asked(text, "vague")
    for _ in range(INVENTED):
        parts = [part.title() if chance.random() < 0.5 else part for part in chance.sample(_PARTS.split(), 3)]
        yield Asked(chance.choice(_ABOUT_NAMES).format(chance.choice(_NAMES).format(*parts)), "invented")


def cases(corpus: Corpus, others: Sequence[Corpus], counts: Counts, profile: str = DEFAULT) -> Iterator[dict[str, Any]]:
    """Yield features of a profile's ranking and the outcome of every task; tasks without results are left out.

    What is usual is counted without the repository, and without that of a foreign task; by the shipped table if `counts`
    is empty.
    """
    engine = Engine(corpus.repository.index, PROFILES[profile])
    for asked in asked_of(corpus, others):
        if counts:
            without = (corpus.name.lower(), asked.source.lower())
            left_out = SimpleNamespace(usual=partial(usual_shares, counts, without=without))
            setattr(confidence, "background", lambda table=left_out: table)  # noqa: B010
        ranking = engine.rank(asked.text)
        items = [*engine.index.numbered(ranking.best(FIRST)).values()]
        if items:
            yield {
                "profile": profile, "repository": corpus.name, "kind": asked.kind, "foreign": asked.task is None,
                "signs": asdict(confidence_features(ranking)), "right": judged(asked.task, items),
            }  # fmt: skip


def judged(task: GoldenQuery | None, items: Sequence[Item]) -> dict[str, bool]:
    """Return at which levels an item is right: a label, in a file that the task wants if it names any."""
    if task is None:
        return dict.fromkeys(LEVELS, False)
    files = {label.name for label in task.at("file")}
    hits = [Hit(item.id, item.symbol, item.path) for item in items if not files or item.path in files]
    return {
        level: any(MATCHERS[matcher].matches(hit, label) for hit in hits for label in task.at("symbol"))
        for level, matcher in LEVELS.items()
    }


def of_commits(work: Path) -> list[Corpus]:
    """Return the repositories of scripts/histories.json for the confidence, with commits as their tasks."""
    folders = prepared_as_named(work, "confidence")
    return [Corpus(folder.name, "train", False, folder / STATE, load(folder / MINED).queries) for folder in folders]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--work", type=Path, help="folder of indexed clones of the task corpus")
    source.add_argument("--commits", type=Path, metavar="WORK", help="folder of prepared histories")
    parser.add_argument("--split", default="development", choices=("train", "development", "test"))
    parser.add_argument("--look", default="", help="reason of a look at the test split, which is logged")
    parser.add_argument("--counts", type=Path, help="of scripts/train_background.py; default: the shipped table")
    given = parser.parse_args()
    counts = json.loads(given.counts.read_text("utf-8")) if given.counts else {}
    if given.commits:
        chosen, profile = of_commits(given.commits), CHANGE
    else:
        chosen, profile = corpora(given.work, (given.split,)), DEFAULT
        chosen = [corpus for corpus in chosen if (corpus.root / ".assay/current").exists()]
        if given.split == "test":
            if not given.look:
                parser.error("--look: say why the test split is looked at")
            names = ", ".join(corpus.name for corpus in chosen)
            log_look(given.look, [f"Confidence of {names} (benchmarks/confidence_cases.py)."])
    for corpus in chosen:
        print(corpus.name, file=sys.stderr)
        for case in cases(corpus, chosen, counts, profile):
            print(json.dumps(case), flush=True)


if __name__ == "__main__":
    main()
