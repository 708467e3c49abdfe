"""Making the runs of a sweep: one for each configuration. What was asked before, by a sweep that was killed too, is not asked again."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from assay.core.golden import GoldenSet
from assay.errors import AssayError
from assay.evaluate.run import Plan, described, execute, resume
from assay.evaluate.runs import RunInfo, RunStore
from assay.evaluate.sweep.grid import SETTABLE
from assay.evaluate.systems import System, SystemFailed, open_system
from assay.system.workers import begin_worker

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
