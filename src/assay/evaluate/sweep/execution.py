"""Runs of a sweep, one per configuration. Queries answered by an earlier, even killed, sweep are not repeated."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from assay.core.golden import GoldenSet
from assay.core.progress import Progress
from assay.errors import AssayError
from assay.evaluate.run import Plan, describe_system, execute, results, resume, worker_pool
from assay.evaluate.runs import RunInfo, RunStore
from assay.evaluate.sweep.grid import NONE, SEARCH, SETTABLE, SHARED, Configuration
from assay.evaluate.systems import System, SystemFailed, open_system

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


def run_tasks(tasks: Sequence[Task], jobs: int, advance: Advance) -> list[TaskResult]:
    """Run every task and return the results in order.

    Tasks run sequentially, so that latencies are undisturbed, or up to `jobs` at once.
    """
    if jobs == 1:
        return [run_task(task, advance) for task in tasks]
    by_name = {}
    calls = [(replace(task, plan=replace(task.plan, at_once=jobs)),) for task in tasks]
    with worker_pool(min(jobs, len(tasks))) as pool:
        for result in results(pool, run_task, calls, "Answers"):
            by_name[result.name] = result
            advance(len(tasks[0].golden.queries))
    return [by_name[task.name] for task in tasks]


def run_task(task: Task, advance: Advance = lambda count: None) -> TaskResult:
    """Send a configuration the queries it has not answered yet. Raises AssayError if the system dies."""
    queries = len(task.golden.queries)
    plan = replace(task.plan, label=task.name)
    with (
        RunStore.open(task.runs, write=True) as store,
        closing(open_system(task.spec, timeout=task.timeout, root=task.root, corpus=task.corpus)) as system,
    ):
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
        if outcome.died:
            raise AssayError(
                f"{task.name}: the system stopped responding ({outcome.died}). Answers so far are stored; repeat the command to resume"
            )
        return TaskResult(task.name, outcome.info.run_id, remaining, resumed=earlier is not None)


def earlier_run(store: RunStore, golden: GoldenSet, system: System, plan: Plan) -> RunInfo | None:
    """Return the newest run of the same system state, queries and plan; complete ones first."""
    runs = store.like(
        golden, system=system.name, matching=plan.matching.name, k=plan.k, depth=plan.depth, budget=plan.budget,
        repeat=plan.repeat, answers=plan.answers, corpus=plan.corpus,
    )  # fmt: skip
    description = describe_system(system)
    same = [
        run
        for run in runs
        if "ties" not in run.config and all(run.config.get(fact) == description[fact] for fact in description)
    ]
    return next((run for run in same if run.status == "complete"), None) or next(iter(same), None)


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
