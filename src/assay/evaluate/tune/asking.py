"""Asking our engine all queries by many settings. Every query is asked once by a setting, however many folds need it."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from assay.core.golden import GoldenSet
from assay.core.progress import Progress
from assay.errors import AssayError
from assay.evaluate.judging import judge
from assay.evaluate.matching import Matcher
from assay.evaluate.metrics.judged import Floats
from assay.evaluate.metrics.measures import Measure
from assay.evaluate.systems import open_system
from assay.evaluate.systems.assay import Assay
from assay.evaluate.tune.memory import Memory
from assay.evaluate.tune.numbers import Changes, written
from assay.system.workers import begin_worker

_TOGETHER = 4  # queries a process is handed at once: what a kill loses
_DEEP = 100  # results asked for by a measure without a cut-off


@dataclass(frozen=True, slots=True)
class Asking:
    """Everything a process needs to ask."""

    golden: GoldenSet
    matching: Matcher
    measure: Measure
    root: Path
    base: str = ""
    corpus: Path | None = None
    fixed: Changes = ()  # made to the base whatever is tuned

    def open(self) -> Assay:
        system = open_system(f"assay:{self.base}", root=self.root, corpus=self.corpus)
        assert isinstance(system, Assay)
        return system


Answers = dict[str, dict[str, float]]  # setting → query → figure


def ask(asking: Asking, system: Assay, settings: Sequence[Changes], positions: Sequence[int]) -> Answers:
    """The figure of each query at some positions, by each setting."""
    queries = [asking.golden.queries[position] for position in positions]
    depth = asking.measure.cut or _DEEP
    variations = [dict(asking.fixed) | dict(setting) for setting in settings]
    answers = [system.retrieve_each(one.text, depth, variations, one.repository) for one in queries]
    level = asking.matching.level_for(asking.golden)
    found: Answers = {}
    for setting, responses in zip(settings, zip(*answers, strict=True), strict=True):
        values = asking.measure.values(judge(queries, responses, asking.matching, level))
        found[written(setting)] = {one.id: float(value) for one, value in zip(queries, values, strict=True)}
    return found


class Asked:
    """Figures by setting: from memory, else asked in `jobs` processes and remembered."""

    def __init__(self, asking: Asking, system: Assay, memory: Memory, jobs: int, progress: Progress) -> None:
        self._asking, self._system, self._memory, self._progress = asking, system, memory, progress
        self._jobs = jobs
        self._pool: ProcessPoolExecutor | None = None
        self._stage = "asking"
        self.count = 0  # queries asked by this command, counted for each setting

    def __call__(self, settings: Sequence[Changes]) -> list[Floats]:
        """The figure of each query of the golden set, for each setting."""
        self._ask(list(dict.fromkeys(settings)))
        ids = [query.id for query in self._asking.golden.queries]
        known = [self._memory.known[written(setting)] for setting in settings]
        return [np.array([figures[one] for one in ids]) for figures in known]

    def begin(self, stage: str) -> None:
        """What the next figures are for."""
        self._stage = stage

    def _ask(self, settings: Sequence[Changes]) -> None:
        """Asks what is not known yet."""
        work = _grouped(self._asking, self._memory, settings)
        if not work:
            return
        self._progress.start(self._stage, sum(len(some) * len(positions) for some, positions in work))
        for answers in self._in_processes(work) if self._jobs > 1 else self._here(work):
            for setting, figures in answers.items():
                self._memory.add(setting, figures)
            count = sum(map(len, answers.values()))
            self.count += count
            self._progress.advance(count)

    def _here(self, work: Sequence[_Work]) -> Iterator[Answers]:
        return (ask(self._asking, self._system, *one) for one in work)

    def _in_processes(self, work: Sequence[_Work]) -> Iterator[Answers]:
        if self._pool is None:
            start = multiprocessing.get_context("spawn")  # what is open here must not be shared with a fork
            self._pool = ProcessPoolExecutor(self._jobs, mp_context=start, initializer=partial(_begin, self._asking))
        waiting = [self._pool.submit(_ask_there, *one) for one in work]
        try:
            for done in as_completed(waiting):
                yield done.result()
        except BrokenProcessPool:
            raise AssayError(
                "a process that asked was ended, perhaps for want of memory. What was answered is kept: the same command goes on"
            ) from None
        finally:
            for future in waiting:
                future.cancel()

    @contextmanager
    def working(self) -> Iterator[Asked]:
        """While figures are needed; afterwards no process is left."""
        try:
            yield self
        except BaseException:
            for child in multiprocessing.active_children():  # what they have answered is kept
                child.terminate()
            raise
        finally:
            if self._pool is not None:
                self._pool.shutdown(cancel_futures=True)


_Work = tuple[Sequence[Changes], Sequence[int]]


def _grouped(asking: Asking, memory: Memory, settings: Sequence[Changes]) -> list[_Work]:
    """Settings that lack the same queries together, a few queries at a time; those of one repository are neighbours."""
    queries = asking.golden.queries
    lacking: dict[tuple[int, ...], list[Changes]] = {}
    order = sorted(range(len(queries)), key=lambda position: (queries[position].repository, position))
    for setting in settings:
        known = memory.known.get(written(setting), {})
        if lack := tuple(position for position in order if queries[position].id not in known):
            lacking.setdefault(lack, []).append(setting)
    return [
        (some, positions[start : start + _TOGETHER])
        for positions, some in lacking.items()
        for start in range(0, len(positions), _TOGETHER)
    ]


_there: tuple[Asking, Assay] | None = None  # of a process that asks for another


def _begin(asking: Asking) -> None:
    global _there
    begin_worker()
    _there = asking, asking.open()


def _ask_there(settings: Sequence[Changes], positions: Sequence[int]) -> Answers:
    assert _there is not None
    return ask(*_there, settings, positions)
