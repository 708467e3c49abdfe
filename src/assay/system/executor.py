"""Executors: apply a function to units of work in other processes, on this machine or on a cluster.

    units ──▶ at most `capacity` under way ──▶ (unit, result or UnitFailed), in order of completion

`LocalPool` is a pool of processes; `assay.system.cluster.Cluster` is Dask distributed. Functions are module-level and
their results do not depend on where they run, so both give the same results. A unit may be applied more than once when
its worker is lost: functions must be idempotent.
"""

from __future__ import annotations

import multiprocessing
import platform
import sqlite3
import statistics
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from assay.errors import AssayError
from assay.system.pool import begin_worker

if TYPE_CHECKING:
    from assay.system.cluster import ClusterSettings

Result = TypeVar("Result")
Unit = tuple[Any, ...]  # arguments of the function
Session = Callable[[], AbstractContextManager[object]]  # what a worker holds open between units

_POLL_SECONDS = 0.5  # between looks at stragglers and at lost connections
_UNITS_PER_WORKER = 2  # under way: a worker that finishes has its next unit already
_STRAGGLER_SECONDS = 30.0  # before a unit is applied a second time: not for the noise of short units
_STRAGGLER_FACTOR = 4  # the same, as a multiple of the median


@dataclass(frozen=True, slots=True)
class UnitFailed:
    """An expected error of a unit. A message, as exceptions do not survive the way between processes in general."""

    message: str


class WorkersLost(AssayError):
    """The workers, or the connection to them, are gone. Results so far have been yielded."""


class WorkerKilled(AssayError):
    """Workers were killed while they had a unit: by that unit, or by another one that they had, too."""


def apply(function: Callable[..., Result], unit: Unit) -> Result | UnitFailed:
    """Apply a function in a worker; errors that the user can act on become values."""
    try:
        return function(*unit)
    except (AssayError, OSError, sqlite3.DatabaseError) as error:
        return UnitFailed(str(error))


def require_folder(folder: Path) -> None:
    """Raise AssayError, in a worker, if it does not have a folder of the command."""
    if not folder.is_dir():
        raise AssayError(f"{folder}: no such folder on {platform.node()}; workers need it at the same path")


@dataclass(slots=True)
class _Attempt:
    number: int  # of the unit
    unit: Unit
    started: float
    alone: bool = False  # no other unit was under way


class Executor(ABC):
    """Applies functions to units in other processes. A context manager; leaving it ends the workers it has started."""

    repeats_stragglers = False

    def map_units(
        self, function: Callable[..., Result], units: Iterable[Unit], *, at_once: bool = True
    ) -> Iterator[tuple[Unit, Result | UnitFailed]]:
        """Yield each unit with its result, in order of completion.

        `at_once` says that a unit may run twice at the same time, so that stragglers can be repeated. Raises
        WorkersLost. An abandoned iteration cancels the units that have not started.
        """
        completed: SimpleQueue[Any] = SimpleQueue()
        attempts: dict[Any, _Attempt] = {}  # by future
        remaining = enumerate(units)
        suspects: list[_Attempt] = []  # they, or their neighbours, kill workers: applied one by one in the end
        durations: list[float] = []
        try:
            while True:
                for number, unit in islice(remaining, max(0, self.capacity() - len(attempts))):
                    self._start(function, _Attempt(number, unit, time.monotonic()), attempts, completed)
                if not attempts and suspects:
                    suspect = suspects.pop(0)
                    attempt = _Attempt(suspect.number, suspect.unit, time.monotonic(), alone=True)
                    self._start(function, attempt, attempts, completed)
                if not attempts:
                    return
                try:
                    future = completed.get(timeout=_POLL_SECONDS)
                except Empty:
                    self.check()
                    if at_once and self.repeats_stragglers and len(attempts) < self.workers:
                        for attempt in _stragglers(attempts.values(), durations):
                            self._start(function, attempt, attempts, completed)
                    continue
                if future not in attempts:
                    continue  # the slower of two attempts
                attempt = attempts.pop(future)
                try:
                    result = self.result(future)
                except WorkerKilled as error:
                    if not attempt.alone:
                        suspects += [attempt] * all(other.number != attempt.number for other in attempts.values())
                        continue
                    result = UnitFailed(str(error))
                durations.append(time.monotonic() - attempt.started)
                for other in [key for key, value in attempts.items() if value.number == attempt.number]:
                    del attempts[other]
                    self.cancel(other)
                yield attempt.unit, result
        finally:
            for future in attempts:
                self.cancel(future)

    def _start(
        self,
        function: Callable[..., Any],
        attempt: _Attempt,
        attempts: dict[Any, _Attempt],
        completed: SimpleQueue[Any],
    ) -> None:
        future = self.submit(function, attempt.unit)
        attempts[future] = attempt
        future.add_done_callback(completed.put)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close(interrupted=kind is not None)

    def capacity(self) -> int:
        """Return how many units may be under way: those at work and those waiting at a worker."""
        return self.workers * _UNITS_PER_WORKER

    @property
    @abstractmethod
    def workers(self) -> int:
        """The number of units that run at the same time, at least one."""

    @abstractmethod
    def submit(self, function: Callable[..., Any], unit: Unit) -> Any:
        """Start a unit; return a future with `add_done_callback`."""

    @abstractmethod
    def cancel(self, future: Any) -> None:
        """Cancel a unit if it has not started; also after `close`."""

    @abstractmethod
    def check(self) -> None:
        """Raise WorkersLost if no result can be expected any more."""

    @abstractmethod
    def result(self, future: Any) -> Any:
        """Return the result of a completed future; raise WorkerKilled, or WorkersLost if no other can be expected."""

    @abstractmethod
    def close(self, interrupted: bool) -> None:
        """End the workers that this executor has started, without waiting for their units if `interrupted`."""


def _stragglers(attempts: Iterable[_Attempt], durations: list[float]) -> list[_Attempt]:
    """Return a second attempt of each unit that takes much longer than the median."""
    now, attempts = time.monotonic(), list(attempts)
    numbers = [attempt.number for attempt in attempts]
    typical = statistics.median(durations) if durations else float("inf")
    limit = max(_STRAGGLER_SECONDS, _STRAGGLER_FACTOR * typical)
    return [
        _Attempt(attempt.number, attempt.unit, now)
        for attempt in attempts
        if now - attempt.started > limit and numbers.count(attempt.number) == 1
    ]


class LocalPool(Executor):
    """Processes on this machine, which start with their first unit; each enters `session` before it."""

    def __init__(self, jobs: int, session: Session | None = None) -> None:
        self._jobs = jobs
        # not fork: the threads of a loaded model would be lost, and open resources shared
        self._pool = ProcessPoolExecutor(
            jobs, multiprocessing.get_context("spawn"), initializer=_begin, initargs=(session,)
        )

    @property
    def workers(self) -> int:
        return self._jobs

    def submit(self, function: Callable[..., Any], unit: Unit) -> Any:
        try:
            return self._pool.submit(apply, function, unit)
        except BrokenProcessPool:
            raise _killed() from None

    def result(self, future: Any) -> Any:
        try:
            return future.result()
        except BrokenProcessPool:
            raise _killed() from None

    def cancel(self, future: Any) -> None:
        future.cancel()

    def check(self) -> None:
        """Do nothing: a broken pool completes its futures."""

    def close(self, interrupted: bool) -> None:
        if interrupted:
            for child in multiprocessing.active_children():  # their results are stored
                child.terminate()
        self._pool.shutdown(cancel_futures=True)


_open_session = ExitStack()  # of a process of the pool, which ends with it


def _begin(session: Session | None) -> None:
    begin_worker()
    if session is not None:
        _open_session.enter_context(session())


def _killed() -> WorkersLost:
    return WorkersLost(
        "a worker process was killed, perhaps out of memory. Results so far are stored; repeat the command to resume"
    )


def open_executor(
    jobs: int, cluster: ClusterSettings | None = None, session: Session | None = None
) -> AbstractContextManager[Executor | None]:
    """Return an executor: the cluster, if any, else a pool of `jobs` processes; None for one job, which needs no other.

    Every worker enters `session` before its first unit.
    """
    if cluster is not None:
        from assay.system.cluster import connect

        return connect(cluster, session)
    return LocalPool(jobs, session) if jobs > 1 else nullcontext()
