"""Tasks to calibrate confidence on: those of a repository, and what it cannot answer.

    python benchmarks/confidence_tasks.py --work WORK --split test --look "why" > cases.jsonl      with the shipped ranker

`scripts/train_ranker.py --confidence` makes the cases that weights are fitted on, by rankers that never saw the repository.

| kind | task | right |
|---|---|---|
| own | of eval/tasks, written for this repository | a label is among the first five |
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

from task_corpus import TASKS, Corpus, Judged, corpora
from tasks import log_look
from train_background import Counts, usual_shares

from assay.core.golden import GoldenQuery
from assay.rank import confidence
from assay.rank.confidence import FIRST, confidence_features
from assay.rank.engine import Engine
from assay.rank.profile import DEFAULT, PROFILES

KINDS = ("own", "half", "foreign", "vague", "invented")
FOREIGN, HALF, INVENTED = 40, 10, 10  # tasks per repository
_PARTS = [
    "quantum",
    "ledger",
    "falcon",
    "beacon",
    "saddle",
    "turbine",
    "marble",
    "gossip",
    "lantern",
    "pepper",
    "orchid",
    "glacier",
    "tundra",
    "violin",
    "compass",
    "anchor",
    "velvet",
    "harbor",
    "meadow",
    "copper",
]
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
        parts = [part.title() if chance.random() < 0.5 else part for part in chance.sample(_PARTS, 3)]
        yield Asked(chance.choice(_ABOUT_NAMES).format(chance.choice(_NAMES).format(*parts)), "invented")


def cases(corpus: Corpus, others: Sequence[Corpus], counts: Counts) -> Iterator[dict[str, Any]]:
    """Yield features of the default's ranking and the outcome of every task; tasks without results are left out.

    What is usual is counted without the repository, and without that of a foreign task; by the shipped table if `counts`
    is empty.
    """
    engine = Engine(corpus.repository.index, PROFILES[DEFAULT])
    for asked in asked_of(corpus, others):
        if counts:
            without = (corpus.name, asked.source)
            left_out = SimpleNamespace(usual=partial(usual_shares, counts, without=without))
            setattr(confidence, "background", lambda table=left_out: table)  # noqa: B010
        ranking = engine.rank(asked.text)
        items = [*engine.index.numbered(ranking.best(FIRST)).values()]
        if not items:
            continue
        right = {"symbol": False, "generous": False}
        if asked.task:
            judged = Judged.of(items, asked.task)
            right = {"symbol": bool(judged.strict.any()), "generous": bool(judged.generous.any())}
        yield {
            "profile": DEFAULT, "repository": corpus.name, "kind": asked.kind, "foreign": asked.task is None,
            "signs": asdict(confidence_features(ranking)), "right": right,
        }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="folder of indexed clones of the task corpus")
    parser.add_argument("--split", default="development", choices=("train", "development", "test"))
    parser.add_argument("--look", default="", help="reason of a look at the test split, which is logged")
    given = parser.parse_args()
    chosen = [corpus for corpus in corpora(given.work, (given.split,)) if (corpus.root / ".assay/current").exists()]
    if given.split == "test":
        if not given.look:
            parser.error("--look: say why the test split is looked at")
        log_look(
            given.look,
            [f"Confidence of {', '.join(corpus.name for corpus in chosen)} (benchmarks/confidence_tasks.py)."],
        )
    for corpus in chosen:
        for case in cases(corpus, chosen, {}):
            print(json.dumps(case), flush=True)


if __name__ == "__main__":
    main()
