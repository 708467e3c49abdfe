"""Making the runs of a sweep: one for each configuration. What was asked before, by a sweep that was killed too, is not asked again."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from assay.core.golden import GoldenSet
from assay.core.progress import Progress
from assay.errors import AssayError
from assay.evaluate.run import Plan, described, execute, resume
from assay.evaluate.runs import RunInfo, RunStore
from assay.evaluate.sweep.grid import NONE, SEARCH, SETTABLE, SHARED, Configuration
from assay.evaluate.systems import System, SystemFailed, open_system
from assay.system.pool import begin_worker

Advance = Callable[[int], None]  # so many queries more are answered


@dataclass(frozen=True, slots=True)
class Task:
    """One configuration to be asked, with everything a process needs to ask it."""

    name: str
    spec: str
    golden: GoldenSet
    plan: Plan
    root: Path
    runs: Path
    corpus: Path | None = None
    timeout: float = 60.0
    fresh: bool = False  # ask also what was asked before


@dataclass(frozen=True, slots=True)
class Asked:
    """The run that measured a configuration, and how many queries this command asked for it."""

    name: str
    run_id: str
    asked: int
    resumed: bool = False


def ask_all(tasks: Sequence[Task], jobs: int, advance: Advance) -> list[Asked]:
    """A run for every task, in their order. One after the other, so that latencies are undisturbed; with `jobs`, so many at once."""
    made = {one.name: one for one in (_at_once(tasks, jobs, advance) if jobs > 1 else (ask(t, advance) for t in tasks))}
    return [made[task.name] for task in tasks]


def _at_once(tasks: Sequence[Task], jobs: int, advance: Advance) -> Iterator[Asked]:
    # not forked: a model that was loaded here has threads, which a fork would lose
    start = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(jobs, len(tasks)), mp_context=start, initializer=begin_worker) as pool:
        waiting = [pool.submit(ask, replace(task, plan=replace(task.plan, at_once=jobs))) for task in tasks]
        try:
            for done in as_completed(waiting):
                yield done.result()
                advance(len(tasks[0].golden.queries))
        except BrokenProcessPool:
            raise AssayError(
                "a process that asked was ended, perhaps for want of memory. What was answered is kept: the same command goes on"
            ) from None
        except BaseException:
            for child in multiprocessing.active_children():  # what they have answered is kept
                child.terminate()
            raise
        finally:
            for future in waiting:
                future.cancel()


def ask(task: Task, advance: Advance = lambda count: None) -> Asked:
    """Asks one configuration what it has not answered yet."""
    queries = len(task.golden.queries)
    plan = replace(task.plan, label=task.name)
    with (
        RunStore.open(task.runs, write=True) as store,
        closing(open_system(task.spec, timeout=task.timeout, root=task.root, corpus=task.corpus)) as system,
    ):
        system.index()
        earlier = None if task.fresh else earlier_run(store, task.golden, system, plan)
        if earlier is None:
            _warm(system, task)
            outcome = execute(task.golden, system, store, plan, task.root, lambda: advance(1))
            left = queries
        else:
            left = queries - sum(store.answered(earlier.run_id).values())
            advance(queries - left)
            if not left:
                return Asked(task.name, earlier.run_id, 0)
            _warm(system, task)
            outcome = resume(earlier, system, store, plan.jobs, lambda: advance(1))
            store.update(earlier.run_id, label=task.name, environment=earlier.environment | _load(plan))
        if outcome.died:
            raise AssayError(
                f"{task.name}: the system cannot be asked any more ({outcome.died}). What was answered is kept: the same command goes on"
            )
        return Asked(task.name, outcome.info.run_id, left, resumed=earlier is not None)


def earlier_run(store: RunStore, golden: GoldenSet, system: System, plan: Plan) -> RunInfo | None:
    """The newest run in which this system, as it is now, was asked the same queries in the same way; finished or not."""
    runs = store.like(
        golden, system=system.name, matching=plan.matching.name, k=plan.k, depth=plan.depth, budget=plan.budget,
        repeat=plan.repeat, answers=plan.answers, corpus=plan.corpus,
    )  # fmt: skip
    now = described(system)
    same = [run for run in runs if "ties" not in run.config and all(run.config.get(fact) == now[fact] for fact in now)]
    return next((run for run in same if run.status == "complete"), None) or next(iter(same), None)


def _warm(system: System, task: Task) -> None:
    """Ours open what they need when they are first asked: the first query would be measured with that."""
    if task.spec.partition(":")[0] in SETTABLE:
        with suppress(SystemFailed):
            query = task.golden.queries[0]
            system.retrieve(query.text, task.plan.k, task.plan.budget, query.repository, query.id)


def _load(plan: Plan) -> dict[str, int]:
    return {"runs_at_once": plan.at_once} if plan.at_once > 1 else {}


# The stages that configurations share: documents divided once for each chunker, passages embedded once for each
# chunker and embedder.


@dataclass(frozen=True, slots=True)
class Stage:
    """Passages of one chunker as one model embeds them; `divided` documents and `embedded` texts are what this command had to do."""

    repository: str
    chunker: str
    passages: int
    divided: int
    embedder: str
    model: str
    embedded: int


def configured(system: str, root: Path, corpus: Path | None = None) -> Configuration:
    """A system as its repository has it; of a search, with the settings spelled out."""
    with closing(open_system(system, root=root, corpus=corpus)) as opened:
        settings = getattr(opened, "settings", None)
    return Configuration(system, {name: str(getattr(settings, name)) for name in SHARED} if settings else {})


def make(
    configurations: Sequence[Configuration], golden: GoldenSet, root: Path, corpus: Path | None, progress: Progress
) -> list[Stage]:
    """Makes what the configurations share, each once, and says what had to be made. A model that is not there is met before much was done."""
    repositories = sorted({query.repository for query in golden.queries}) if corpus else [""]
    stages: list[Stage] = []
    for spec in distinct(configurations):
        stages += _made(spec, repositories, root, corpus, progress)
        if len(stages) == len(repositories):
            for check in _rerankers(configurations):
                list(_made(check, repositories[:1], root, corpus, progress))
    return stages


def _rerankers(configurations: Sequence[Configuration]) -> list[str]:
    """A SPEC for each reranker, with the passages that there are already."""
    first = configurations[0]
    named = dict.fromkeys(one.settings["reranker"] for one in configurations if "reranker" in one.settings)
    return [Configuration(first.system, {**first.settings, "embedder": NONE, "reranker": one}).spec for one in named]


def distinct(configurations: Sequence[Configuration]) -> list[str]:
    """A SPEC for each pair of chunker and embedder, without what comes after them."""
    shared = {
        tuple((name, one.settings[name]) for name in ("chunker", "embedder") if name in one.settings): one
        for one in configurations
        if one.system.partition(":")[0] == SEARCH
    }
    return [Configuration(one.system, dict(pair) | {"reranker": NONE}).spec for pair, one in shared.items()]


def _made(
    spec: str, repositories: Sequence[str], root: Path, corpus: Path | None, progress: Progress
) -> Iterator[Stage]:
    from assay.evaluate.systems.search import SearchSystem

    with closing(open_system(spec, root=root, corpus=corpus)) as system:
        assert isinstance(system, SearchSystem)
        for repository in repositories:
            counting = _Counting(progress)
            system.progress = counting
            made = system.made(repository)
            divided, embedded = (counting.done.get(stage, 0) for stage in ("dividing documents", "embedding passages"))
            yield Stage(repository, made.chunker, made.passages, divided, made.embedder, made.model, embedded)


class _Counting(Progress):
    """Counts what is told, and tells it on."""

    def __init__(self, shown: Progress) -> None:
        self._shown, self._stage = shown, ""
        self.done: dict[str, int] = {}

    def start(self, stage: str, total: int) -> None:
        self._stage = stage
        self._shown.start(stage, total)

    def advance(self, count: int = 1) -> None:
        self.done[self._stage] = self.done.get(self._stage, 0) + count
        self._shown.advance(count)

    def waiting(self) -> None:
        self._shown.waiting()


def told(stages: Sequence[Stage]) -> dict[str, Any]:
    """The work of the shared stages, as the report has it."""
    embedded = [stage for stage in stages if stage.model]
    return {
        "chunk_sets": len({(stage.repository, stage.chunker) for stage in stages}),
        "documents_divided": sum(stage.divided for stage in stages),
        "embedding_pairs": len({(stage.repository, stage.chunker, stage.model) for stage in embedded}),
        "texts_embedded": sum(stage.embedded for stage in stages),
        "stages": [
            {
                **({"repository": stage.repository} if stage.repository else {}),
                "chunker": stage.chunker,
                "passages": stage.passages,
                "documents_divided": stage.divided,
                "embedder": stage.embedder,
                "model": stage.model or None,
                "texts_embedded": stage.embedded,
            }
            for stage in stages
        ],
    }
