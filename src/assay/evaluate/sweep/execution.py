"""Runs of a sweep, one per configuration. Queries answered by an earlier, even killed, sweep are not repeated."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir, closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from assay.core.golden import GoldenSet
from assay.core.progress import Progress
from assay.errors import AssayError
from assay.evaluate.run import Plan, describe_system, execute, resume
from assay.evaluate.runs import Part, RunInfo, RunStore
from assay.evaluate.sweep.grid import NONE, SEARCH, SETTABLE, SHARED, Configuration
from assay.evaluate.systems import System, SystemFailed, open_system
from assay.system.executor import Executor, LocalPool, Unit, UnitFailed, require_folder

Advance = Callable[[int], None]  # called with the number of newly answered queries


@dataclass(frozen=True, slots=True)
class Task:
    """A configuration to run, with everything a worker process needs."""

    name: str
    spec: str
    golden: GoldenSet
    plan: Plan
    root: Path
    runs: Path | str  # address of the store
    corpus: Path | None = None
    timeout: float = 60.0
    fresh: bool = False  # repeat queries that were answered before


@dataclass(frozen=True, slots=True)
class TaskResult:
    """The run of a configuration; `sent` counts the queries this command sent."""

    name: str
    run_id: str
    sent: int
    resumed: bool = False
    died: str = ""  # why the system stopped responding


@dataclass(frozen=True, slots=True)
class TransferredRun:
    """A run made by a worker of a cluster, for the run store of the command."""

    info: RunInfo
    parts: list[Part]  # as stored: neither side decodes them


def run_tasks(tasks: Sequence[Task], executor: Executor | None, advance: Advance) -> list[TaskResult]:
    """Run every task and return the results in order. Raises AssayError if a system dies.

    Tasks run sequentially in this process, so that latencies are undisturbed, or several at once in an executor.
    Processes of this machine write to the run store themselves. Workers of a cluster return their runs, as SQLite
    cannot be written over a network.
    """
    by_name = {}
    alone = ((task, run_task(task, advance)) for task in tasks)
    outcomes = alone if executor is None else _run_in_workers(tasks, executor, advance)
    for task, result in outcomes:
        if result.died:
            raise AssayError(
                f"{task.name}: the system stopped responding ({result.died}). Answers so far are stored; repeat the command to resume"
            )
        by_name[result.name] = result
    return [by_name[task.name] for task in tasks]


def _run_in_workers(tasks: Sequence[Task], executor: Executor, advance: Advance) -> Iterator[tuple[Task, TaskResult]]:
    loaded = [replace(task, plan=replace(task.plan, at_once=min(executor.workers, len(tasks)))) for task in tasks]
    completed: Iterator[tuple[Unit, TaskResult | tuple[TaskResult, TransferredRun] | UnitFailed]]
    if isinstance(executor, LocalPool):
        completed = executor.map_units(run_task, ((task,) for task in loaded))
    else:
        folder = Path.cwd()  # relative paths of a SPEC start here
        earlier = finished_runs(tasks)
        # workers need no store, and its address may have a password
        sent = (replace(task, runs=Path()) for task in loaded)
        completed = executor.map_units(run_elsewhere, ((task, earlier[task.name], folder) for task in sent))
    for (task, *_), outcome in completed:
        if isinstance(outcome, UnitFailed):
            raise AssayError(f"{task.name}: {outcome.message}")
        stored = replace(task, runs=tasks[0].runs)
        yield task, outcome if isinstance(outcome, TaskResult) else _store(stored, *outcome)
        advance(len(task.golden.queries))


def run_task(task: Task, advance: Advance = lambda count: None) -> TaskResult:
    """Send a configuration the queries it has not answered yet."""
    with RunStore.open(task.runs, write=True) as store:
        return _run_in_store(task, store, advance)


def _run_in_store(task: Task, store: RunStore, advance: Advance = lambda count: None) -> TaskResult:
    queries = len(task.golden.queries)
    plan = replace(task.plan, label=task.name)
    with closing(_open_system(task)) as system:
        system.index()
        earlier = None if task.fresh else earlier_run(store, task.golden, system, plan)
        if earlier is None:
            _warm_up(system, task)
            outcome = execute(task.golden, system, store, plan, task.root, lambda: advance(1))
            remaining = queries
        else:
            remaining = queries - sum(store.answered(earlier.run_id).values())
            advance(queries - remaining)
            if not remaining:
                return TaskResult(task.name, earlier.run_id, 0)
            _warm_up(system, task)
            outcome = resume(earlier, system, store, plan.jobs, lambda: advance(1))
            store.update(earlier.run_id, label=task.name, environment=earlier.environment | _load(plan))
        return TaskResult(task.name, outcome.info.run_id, remaining, earlier is not None, outcome.died)


def _open_system(task: Task) -> System:
    return open_system(task.spec, timeout=task.timeout, root=task.root, corpus=task.corpus)


def earlier_run(store: RunStore, golden: GoldenSet, system: System, plan: Plan) -> RunInfo | None:
    """Return the newest run of the same system state, queries and plan; complete ones first."""
    same = _same_state(_similar_runs(store, golden, system.name, plan), system)
    return next((run for run in same if run.status == "complete"), None) or next(iter(same), None)


def _similar_runs(store: RunStore, golden: GoldenSet, system: str, plan: Plan) -> list[RunInfo]:
    return store.like(
        golden, system=system, matching=plan.matching.name, k=plan.k, depth=plan.depth, budget=plan.budget,
        repeat=plan.repeat, answers=plan.answers, corpus=plan.corpus,
    )  # fmt: skip


def _same_state(runs: Sequence[RunInfo], system: System) -> list[RunInfo]:
    description = describe_system(system)
    return [
        run
        for run in runs
        if "ties" not in run.config and all(run.config.get(fact) == description[fact] for fact in description)
    ]


# On a cluster: the worker has no access to the run store


def finished_runs(tasks: Sequence[Task]) -> dict[str, list[RunInfo]]:
    """Return the runs, by task, that answered every query; a worker knows whether its system is still the same."""
    finished: dict[str, list[RunInfo]] = {task.name: [] for task in tasks}
    first = tasks[0]
    if first.fresh or (isinstance(first.runs, Path) and not first.runs.exists()):
        return finished
    with RunStore.open(first.runs) as store:
        if not store.like(first.golden):
            return finished  # without opening every system
        for task in tasks:
            with closing(_open_system(task)) as system:
                runs = _similar_runs(store, task.golden, system.name, task.plan)
            finished[task.name] = [
                replace(run, aggregate_json={}, warnings=[])
                for run in runs
                if sum(store.answered(run.run_id).values()) == len(task.golden.queries)
            ]
    return finished


def run_elsewhere(
    task: Task, finished: Sequence[RunInfo], folder: Path
) -> TaskResult | tuple[TaskResult, TransferredRun]:
    """Run a task in a worker of a cluster; return the run, unless one of the finished runs is the same.

    `folder` is the current one of the command, which the worker needs at the same path, like the root.
    """
    for needed in (folder, task.root):
        require_folder(needed)
    with chdir(folder):
        return _run_and_transfer(task, finished)


def _run_and_transfer(task: Task, finished: Sequence[RunInfo]) -> TaskResult | tuple[TaskResult, TransferredRun]:
    if finished:
        with closing(_open_system(task)) as system:
            system.index()
            if earlier := next(iter(_same_state(finished, system)), None):
                return TaskResult(task.name, earlier.run_id, 0)
    with closing(RunStore.in_memory()) as store:
        result = _run_in_store(task, store)
        return result, TransferredRun(store.info(result.run_id), list(store.parts(result.run_id)))


def _store(task: Task, result: TaskResult, run: TransferredRun) -> TaskResult:
    """Add a run from a worker to the run store, whole or not at all."""
    with RunStore.open(task.runs, write=True) as store:
        return replace(result, run_id=store.add(run.info, task.golden, run.parts).run_id)


def _warm_up(system: System, task: Task) -> None:
    """Send one query to assay's own systems, which load lazily, so that loading is not part of a latency."""
    if task.spec.partition(":")[0] in SETTABLE:
        with suppress(SystemFailed):
            query = task.golden.queries[0]
            system.retrieve(query.text, task.plan.k, task.plan.budget, query.repository, query.id)


def _load(plan: Plan) -> dict[str, int]:
    return {"runs_at_once": plan.at_once} if plan.at_once > 1 else {}


# Shared stages: chunking once per chunker, embedding once per chunker and embedder


@dataclass(frozen=True, slots=True)
class Stage:
    """Passages of one chunker and model; `divided` documents and `embedded` texts are this command's work."""

    repository: str
    chunker: str
    passages: int
    divided: int
    embedder: str
    model: str
    embedded: int


def configured(system: str, root: Path, corpus: Path | None = None) -> Configuration:
    """Return a system as configured by its repository; settings of a search are spelled out."""
    with closing(open_system(system, root=root, corpus=corpus)) as opened:
        settings = getattr(opened, "settings", None)
    return Configuration(system, {name: str(getattr(settings, name)) for name in SHARED} if settings else {})


def build_stages(
    configurations: Sequence[Configuration], golden: GoldenSet, root: Path, corpus: Path | None, progress: Progress
) -> list[Stage]:
    """Build each shared stage once and return the work done.

    Rerankers are checked after the first stage, so that a missing model fails early.
    """
    repositories = sorted({query.repository for query in golden.queries}) if corpus else [""]
    stages: list[Stage] = []
    for spec in distinct(configurations):
        stages += _build_stages(spec, repositories, root, corpus, progress)
        if len(stages) == len(repositories):
            for reranker_spec in _rerankers(configurations):
                list(_build_stages(reranker_spec, repositories[:1], root, corpus, progress))
    return stages


def _rerankers(configurations: Sequence[Configuration]) -> list[str]:
    """Return a SPEC per reranker, reusing existing passages."""
    first = configurations[0]
    rerankers = dict.fromkeys(
        configuration.settings["reranker"] for configuration in configurations if "reranker" in configuration.settings
    )
    return [
        Configuration(first.system, {**first.settings, "embedder": NONE, "reranker": reranker}).spec
        for reranker in rerankers
    ]


def distinct(configurations: Sequence[Configuration]) -> list[str]:
    """Return a SPEC without reranker per pair of chunker and embedder."""
    shared = {
        tuple(
            (name, configuration.settings[name]) for name in ("chunker", "embedder") if name in configuration.settings
        ): configuration
        for configuration in configurations
        if configuration.system.partition(":")[0] == SEARCH
    }
    return [
        Configuration(configuration.system, dict(pair) | {"reranker": NONE}).spec
        for pair, configuration in shared.items()
    ]


def _build_stages(
    spec: str, repositories: Sequence[str], root: Path, corpus: Path | None, progress: Progress
) -> Iterator[Stage]:
    from assay.evaluate.systems.search import SearchSystem

    with closing(open_system(spec, root=root, corpus=corpus)) as system:
        assert isinstance(system, SearchSystem)
        for repository in repositories:
            counter = _CountingProgress(progress)
            system.progress = counter
            facts = system.made(repository)
            divided, embedded = (counter.done.get(stage, 0) for stage in ("dividing documents", "embedding passages"))
            yield Stage(repository, facts.chunker, facts.passages, divided, facts.embedder, facts.model, embedded)


class _CountingProgress(Progress):
    """Progress that counts per stage and forwards to another."""

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


def stages_json(stages: Sequence[Stage]) -> dict[str, Any]:
    """Return the work of the shared stages as JSON."""
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
