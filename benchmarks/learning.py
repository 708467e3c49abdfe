"""Gain and harm of what is learned from use, on histories simulated from commits of repositories it was not tuned on.

    python benchmarks/learning.py --work DIR CLONE…     prepare what is not prepared yet, then measure
    python benchmarks/learning.py --work DIR            only measure, in all that is prepared there

Preparation is that of `mined.py`: the index knows the state at a cutoff and nothing later; the later commits are the tasks. The subject of a commit
asks, the definitions that it touches answer. A task is learned from as if an agent had done it: its first ten results were shown, what the commit
touched was edited (useful), the rest of the ten was not (not useful). `assay.feedback` records it in an empty store, and the engine ranks with it.

Two histories are simulated:

- *one task*: learned from one commit A; measured on the first later commit that touches a file of A (related: no symbol of A changes between the two,
  so no record would have expired), and on the first later one that shares no file with it (unrelated);
- *all so far*: learned from every commit before; measured on the next one, which is related if it touches a file that an earlier one touched.

RR, R@5 and R@10 are of symbols, strict: right file and right name. Differences are paired with a cold start (95 %, bootstrap).
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mined import clone_name, prepare_all
from time_split import TASKS, prepared

from assay.core.golden import GoldenQuery
from assay.core.items import Item
from assay.core.packs import NOTHING, Learned
from assay.errors import AssayError
from assay.evaluate.statistics import paired
from assay.feedback import Learning, learning
from assay.rank.context import QueryContext
from assay.rank.engine import Engine
from assay.rank.profile import PROFILES, with_settings
from assay.rank.ranking import Ranking
from assay.rank.signals.feedback import LEARNED
from assay.store.index import Index
from assay.store.layout import Home
from assay.store.source import WorkingTree

SHOWN = 10  # results of a task that a conversation records
DEPTH = 100  # ranks beyond count as not found
LATER = 60.0  # seconds until the next task of a session: agents ask every 30 to 90
NOW = 1_000_000.0
METRICS = ("RR", "R@5", "R@10")
KINDS = ("related", "unrelated")
ONE, ALL = "one task", "all so far"
STRENGTHS = ("useful", "not_useful", "session")  # settings of a profile


@dataclass(frozen=True)
class Mechanism:
    """A part of what is learned, and settings of the profile other than the shipped ones."""

    name: str
    history: str
    keep: Callable[[Learned], Learned]
    settings: dict[str, float]


def _feedback(learned: Learned, sign: int) -> Learned:
    return Learned(feedback={number: value for number, value in learned.feedback.items() if value * sign > 0})


def mechanisms(useful: Sequence[float], not_useful: Sequence[float], session: Sequence[float]) -> list[Mechanism]:
    """The mechanisms one by one, at each strength, and everything together as shipped."""
    out: list[Mechanism] = []
    for history in (ONE, ALL):
        out += [
            *(Mechanism(f"useful {w:.2f}", history, lambda one: _feedback(one, 1), {"useful": w}) for w in useful),
            *(
                Mechanism(f"not useful {w:.2f}", history, lambda one: _feedback(one, -1), {"not_useful": w})
                for w in not_useful
            ),
        ]
    out += [
        Mechanism(f"session {w:.2f}", ONE, lambda one: Learned(session=one.session), {"session": w}) for w in session
    ]
    out.append(Mechanism("vocabulary", ALL, lambda one: Learned(vocabulary=one.vocabulary), {}))
    out += [Mechanism("everything", history, lambda one: one, {}) for history in (ONE, ALL)]
    return out


class Repository:
    """A prepared repository: its engine, and its tasks in the order of their commits."""

    def __init__(self, folder: Path) -> None:
        self.name = folder.name
        ready = prepared(folder)
        self.index = Index.open(ready.root, Home.of(ready.root))
        self.engine = Engine(self.index, PROFILES["default"])
        self.source = WorkingTree(self.index)
        items: dict[tuple[str, str], list[Item]] = {}
        for item in self.index.items("s.ordinal >= 0"):
            items.setdefault((item.path, item.symbol), []).append(item)
        tasks = (Task.of(query, items) for query in sorted(ready.tasks, key=lambda query: query.notes))
        self.tasks = [task for task in tasks if task.answers]
        self._cold: dict[str, tuple[QueryContext, Ranking]] = {}

    def rank(self, text: str, learned: Learned = NOTHING, **settings: float) -> list[int]:
        """Return the numbers of the best items. Feedback and session are boosts, which come last: the rest is kept."""
        if text not in self._cold:
            query = self.engine.read(text)
            self._cold[text] = query, self.engine.score(query)
        query, ranking = self._cold[text]
        profile = with_settings(self.engine.profile, "measured", settings, "learning.py")
        if learned.vocabulary:
            ranking = self.engine.varied(profile).score(dataclasses.replace(query, learned=learned))
        elif learned != NOTHING:
            query = dataclasses.replace(query, learned=learned, profile=profile)
            assert LEARNED.score is not None
            boost = LEARNED.score(query, ranking)
            if boost is not None:
                ranking = dataclasses.replace(ranking, scores=(ranking.scores + boost).clip(min=0))
        return [int(number) for number in ranking.best(DEPTH)]

    @contextmanager
    def opened(self, folder: Path, now: float = NOW, write: bool = True) -> Iterator[Learning]:
        with learning(self.index, Home.of(self.index.root, folder), self.source, write, now) as store:
            yield store


@dataclass(frozen=True)
class Task:
    """A commit: its subject, the files and definitions that it touches."""

    text: str
    files: frozenset[str]
    answers: tuple[tuple[Item, ...], ...]  # the definitions of each name, in these files

    @classmethod
    def of(cls, query: GoldenQuery, items: dict[tuple[str, str], list[Item]]) -> Task:
        files = sorted(one.name for one in query.at("file"))
        named = (
            tuple(item for path in files for item in items.get((path, one.name), ())) for one in query.at("symbol")
        )
        return cls(query.text.strip().partition("\n")[0], frozenset(files), tuple(found for found in named if found))

    @property
    def touched(self) -> list[Item]:
        return list(dict.fromkeys(item for found in self.answers for item in found))

    def measure(self, ranked: Iterable[int]) -> dict[str, float]:
        places = {number: place for place, number in enumerate(ranked, 1)}
        ranks = [
            min((places[item.number] for item in found if item.number in places), default=0) for found in self.answers
        ]
        hits = [rank for rank in ranks if rank]
        return {
            "RR": 1 / min(hits) if hits else 0.0,
            **{f"R@{cut}": sum(rank <= cut for rank in hits) / len(ranks) for cut in (5, 10)},
        }


@dataclass(frozen=True)
class Case:
    """A task to be ranked, what was learned before, and whether that concerned its files."""

    repository: Repository
    task: Task
    kind: str
    history: str
    learned: Learned


def cases(repository: Repository) -> Iterator[Case]:
    """Simulate both histories."""
    tasks = repository.tasks
    with tempfile.TemporaryDirectory() as folder:
        for place, task in enumerate(tasks):
            later = [one for one in tasks[place + 1 :] if one.text != task.text]
            related = next((one for one in later if one.files & task.files), None)
            unrelated = next((one for one in later if not one.files & task.files), None)
            own = Path(folder, str(place))
            own.mkdir()
            with repository.opened(own) as store:
                do(repository, store, task, "agent")
            for kind, target in zip(KINDS, (related, unrelated), strict=True):
                if target is not None:
                    with repository.opened(own, NOW + LATER, write=False) as store:
                        yield Case(repository, target, kind, ONE, store.learned(target.text, "agent"))
        every, seen = Path(folder, "all"), set[str]()
        every.mkdir()
        for task in tasks:
            with repository.opened(every) as store:
                if seen:
                    kind = KINDS[not task.files & seen]
                    yield Case(repository, task, kind, ALL, store.learned(task.text))
                do(repository, store, task, "")
            seen |= task.files


def do(repository: Repository, store: Learning, task: Task, session: str) -> None:
    """Record a task as if an agent had been shown its results and had made the commit."""
    shown = [repository.index.item(number) for number in repository.rank(task.text)[:SHOWN]]
    touched = task.touched
    if session:
        store.returned(shown, task.text, session)
    store.judge(touched, True, task.text)
    store.judge([item for item in shown if item not in touched], False)


def measure(all_cases: Sequence[Case], wanted: Sequence[Mechanism]) -> list[dict[str, Any]]:
    """The figures of every mechanism for related and unrelated tasks."""
    cold = {id(case): case.task.measure(case.repository.rank(case.task.text)) for case in all_cases}
    rows = []
    for mechanism in wanted:
        print(f"measuring {mechanism.history}, {mechanism.name}", file=sys.stderr)
        for kind in KINDS:
            chosen = [case for case in all_cases if (case.history, case.kind) == (mechanism.history, kind)]
            after = [
                case.task.measure(
                    case.repository.rank(case.task.text, mechanism.keep(case.learned), **mechanism.settings)
                )
                for case in chosen
            ]
            row = {"mechanism": mechanism.name, "history": mechanism.history, "tasks": kind, "n": len(chosen)}
            for metric in METRICS:
                told = paired([cold[id(case)][metric] for case in chosen], [one[metric] for one in after])
                row[metric] = {"off": told.mean_a, "on": told.mean_b, "delta": told.delta, "low": told.interval.low,
                               "high": told.interval.high, "p": told.p}  # fmt: skip
            rows.append(row)
    return rows


def table(rows: Sequence[dict[str, Any]]) -> str:
    """All figures as a Markdown table: off → on, the difference and its interval."""

    def signed(value: float) -> str:
        return f"{round(value, 3) + 0.0:+.3f}"  # no -0

    lines = [f"| history, mechanism | tasks | n | {' | '.join(METRICS)} |", "|---" * (3 + len(METRICS)) + "|"]
    for row in rows:
        cells = (
            f"{told['off']:.3f} → {told['on']:.3f}, {signed(told['delta'])} ({signed(told['low'])} to {signed(told['high'])})"
            for told in (row[metric] for metric in METRICS)
        )
        lines.append(f"| {row['history']}, {row['mechanism']} | {row['tasks']} | {row['n']} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clones", nargs="*", type=Path, help="clones to prepare; a folder's name is the repository's")
    parser.add_argument("--work", type=Path, required=True, help="where states, indexes and tasks are kept")
    parser.add_argument("--tasks", type=int, default=150, help="usable commits after the cutoff of each repository")
    for name in STRENGTHS:
        parser.add_argument(f"--{name}", type=float, nargs="+", default=[], help="strengths besides the shipped one")
    parser.add_argument("--json", type=Path, help="write the figures here")
    given = parser.parse_args()
    strengths = [sorted({getattr(PROFILES["default"], name), *getattr(given, name)} - {0.0}) for name in STRENGTHS]
    try:
        prepare_all(given.clones, given.work, given.tasks, strip_names=False)
        names = {clone_name(clone) for clone in given.clones}
        folders = sorted(one.parent for one in given.work.glob(f"*/{TASKS}") if not names or one.parent.name in names)
        if not folders:
            raise AssayError(f"nothing is prepared in {given.work}; give clones")
        all_cases = [case for folder in folders for case in cases(Repository(folder))]
        rows = measure(all_cases, mechanisms(*strengths))
    except AssayError as error:
        raise SystemExit(f"error: {error}") from None
    print(f"{', '.join(folder.name for folder in folders)}\n\n{table(rows)}")
    if given.json:
        given.json.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
