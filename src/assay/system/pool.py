"""Worker processes for tasks that may hang, crash or exhaust memory: only the task itself is lost.

C code cannot be interrupted from Python, so the kernel enforces the limits on the worker: timers whose signals end it,
and a memory limit. The owner infers from a worker's exit status what happened to the task, and starts another worker
for the remaining tasks of its batch.

    owner                                        worker
    submit(batch) ── tasks, when it is idle ──▶  per task: prepare, set timers, work, stop timers
    batch.results() ◀── a result per task ─────  send the result
"""

from __future__ import annotations

import contextlib
import faulthandler
import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from types import TracebackType
from typing import Any, Generic, Literal, NamedTuple, TypeVar


def begin_worker() -> None:
    """Set up a worker: ignore Ctrl-C, and exit with the parent, whose resources (a writer lock) it shares."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_exit_with_parent, args=(parent.sentinel,), daemon=True).start()


def _exit_with_parent(sentinel: int) -> None:
    multiprocessing.connection.wait([sentinel])
    os._exit(1)


# Pool

WORKER_BYTES = 500_000_000  # of memory beyond a worker's initial use: it then stays below 1 GB
_MEMORY_EXIT_CODE = 77  # of a worker that ran out of memory
# wall time allowed per second of CPU time: results must not depend on the load of the machine
_WALL_TIME_FACTOR = 30
# timer → its signal, which ends the process; Windows has none, so the owner watches the clock
_TIMERS: dict[int, int] = (
    {signal.ITIMER_PROF: signal.SIGPROF, signal.ITIMER_REAL: signal.SIGALRM} if hasattr(signal, "setitimer") else {}
)
_GRACE = 5.0  # seconds after which the owner kills a worker without timers
_TIMER_GRACE = 600.0  # the same for a worker with timers, which end it earlier; preparing can be slow on a busy machine

Task = TypeVar("Task")
Result = TypeVar("Result")


class Failure(NamedTuple):
    """A worker ended without finishing a task."""

    kind: Literal["slow", "memory", "crash"]  # C code that runs out of memory crashes, too
    limit: float  # allowed seconds of CPU time, or bytes of memory


class Batch(Generic[Task, Result]):
    """Tasks for one worker."""

    def __init__(self, pool: Pool[Task, Result], tasks: Sequence[Task]) -> None:
        self.tasks = tasks
        self.done: list[Result | Failure] = []
        self._pool = pool

    def results(self) -> Iterator[tuple[Task, Result | Failure]]:
        """Yield each task with its result, in order, as soon as it is available."""
        for number, task in enumerate(self.tasks):
            self._pool.exchange(wanted=None if number < len(self.done) else (self, number))
            yield task, self.done[number]


class Pool(Generic[Task, Result]):
    """Applies `work` to tasks in other processes; `seconds` is the CPU time allowed per task.

    `prepare` loads what tasks of a kind need; its time is not counted. All must be module-level functions, so that
    platforms without fork can import them.
    """

    def __init__(
        self,
        work: Callable[[Task], Result],
        seconds: Callable[[Task], float],
        workers: int,
        prepare: Callable[[Task], object] = bool,
    ) -> None:
        self._work, self._seconds, self._max_workers, self._prepare = work, seconds, workers, prepare
        self._workers: list[_Worker[Task, Result]] = []
        self._waiting: deque[Batch[Task, Result]] = deque()

    def __enter__(self) -> Pool[Task, Result]:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def submit(self, tasks: Sequence[Task]) -> Batch[Task, Result]:
        """Queue tasks; an available worker starts at once."""
        batch = Batch(self, tasks)
        self._waiting.append(batch)
        self._feed()
        return batch

    def run(self, task: Task) -> Result | Failure:
        """Run a single task and wait for it."""
        return next(self.submit([task]).results())[1]

    def exchange(self, wanted: tuple[Batch[Task, Result], int] | None) -> None:
        """Receive results and feed idle workers until the wanted result is available."""
        while True:
            if busy := [worker for worker in self._workers if worker.batch is not None]:
                self._take(busy, wait_for=wanted is not None)
            self._feed()
            if wanted is None or wanted[1] < len(wanted[0].done):
                return

    def close(self) -> None:
        """Kill all workers."""
        for worker in self._workers:
            worker.end()
        self._workers.clear()
        self._waiting.clear()

    def _feed(self) -> None:
        while self._waiting:
            worker = next((worker for worker in self._workers if worker.batch is None), None)
            if worker is None:
                if len(self._workers) == self._max_workers:
                    return
                worker = _Worker(self._work, self._seconds, self._prepare)
                self._workers.append(worker)
            batch = self._waiting.popleft()
            if not worker.give(batch):  # it ended while idle
                self._workers.remove(worker)
                worker.end()
                self._waiting.appendleft(batch)

    def _take(self, busy: list[_Worker[Task, Result]], wait_for: bool) -> None:
        """Receive the available results, waiting for at least one if `wait_for`."""
        timeout = max(0.0, min(worker.deadline for worker in busy) - time.monotonic()) if wait_for else 0.0
        ready = wait([worker.connection for worker in busy], timeout)
        for worker in busy:
            if worker.connection in ready:
                if not worker.receive():
                    self._replace(worker, worker.failure())
            elif time.monotonic() > worker.deadline:
                self._replace(worker, Failure("slow", worker.allowed))

    def _replace(self, worker: _Worker[Task, Result], failure: Failure) -> None:
        """Record the failure of a task and requeue the remaining tasks of its batch.

        After a crash or memory failure of a worker that had finished other tasks, which may be the cause, the task is
        retried.
        """
        worker.end()
        self._workers.remove(worker)
        batch = worker.batch
        assert batch is not None
        if failure.kind == "slow" or worker.tasks_done == 0:
            batch.done.append(failure)
        if len(batch.done) < len(batch.tasks):
            self._waiting.appendleft(batch)


class _Worker(Generic[Task, Result]):
    """A process and its current batch."""

    def __init__(
        self, work: Callable[[Task], Result], seconds: Callable[[Task], float], prepare: Callable[[Task], object]
    ) -> None:
        # fork where available: loaded modules are shared, and the start is fast
        methods = multiprocessing.get_all_start_methods()
        context: Any = multiprocessing.get_context("fork" if "fork" in methods else "spawn")
        self.connection, worker_end = context.Pipe()
        self._process = context.Process(
            target=_serve, args=(worker_end, work, seconds, prepare, WORKER_BYTES), daemon=True
        )
        self._process.start()
        worker_end.close()
        self._seconds = seconds
        self.batch: Batch[Task, Result] | None = None
        self.tasks_done = 0
        self.allowed = self.deadline = 0.0

    def give(self, batch: Batch[Task, Result]) -> bool:
        """Send the remaining tasks of a batch; an idle worker is reading, so this cannot deadlock.

        False if it ended.
        """
        try:
            self.connection.send(batch.tasks[len(batch.done) :])
        except OSError:
            return False
        self.batch = batch
        self._begin_task()
        return True

    def receive(self) -> bool:
        """Receive one result; False if the worker ended instead."""
        assert self.batch is not None
        try:
            self.batch.done.append(self.connection.recv())
        except (EOFError, OSError):
            return False
        self.tasks_done += 1
        self._begin_task()
        return True

    def _begin_task(self) -> None:
        assert self.batch is not None
        if len(self.batch.done) == len(self.batch.tasks):
            self.batch = None
            return
        self.allowed = self._seconds(self.batch.tasks[len(self.batch.done)])
        self.deadline = time.monotonic() + _WALL_TIME_FACTOR * self.allowed + (_TIMER_GRACE if _TIMERS else _GRACE)

    def failure(self) -> Failure:
        """Return why the process ended, from its exit code."""
        self._process.join(_GRACE)
        code = self._process.exitcode
        slow = code is None or -code in _TIMERS.values()
        if slow:
            return Failure("slow", self.allowed)
        return Failure("memory" if code == _MEMORY_EXIT_CODE else "crash", WORKER_BYTES)

    def end(self) -> None:
        self._process.kill()
        self._process.join()
        self._process.close()
        self.connection.close()


def _serve(
    connection: Connection,
    work: Callable[[Task], Result],
    seconds: Callable[[Task], float],
    prepare: Callable[[Task], object],
    memory: int,
) -> None:
    """Worker main loop: process batches until the connection closes."""
    begin_worker()
    for number in _TIMERS.values():
        signal.signal(number, signal.SIG_DFL)
    _silence()
    _limit_memory(memory)
    with contextlib.suppress(EOFError, OSError):
        while True:
            for task in connection.recv():
                try:
                    prepare(task)
                    _set_timers(seconds(task))
                    result = work(task)
                    _set_timers(0)
                    connection.send(result)
                except MemoryError:
                    os._exit(_MEMORY_EXIT_CODE)


def _silence() -> None:
    """Discard output: libraries print to stderr before they abort; the owner reports the failure."""
    faulthandler.disable()
    with contextlib.suppress(OSError):
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in (1, 2):
            os.dup2(null, descriptor)
        os.close(null)


def _limit_memory(extra: int) -> None:
    """Limit memory to the current use plus `extra` bytes, where the system can."""
    if sys.platform == "win32":
        return
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # no core dumps
    try:
        with open("/proc/self/statm", "rb") as statm:
            used = int(statm.read().split()[5]) * resource.getpagesize()
    except (OSError, ValueError, IndexError):
        used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    limit = used + extra if hard == resource.RLIM_INFINITY else min(used + extra, hard)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))


def _set_timers(seconds: float) -> None:
    """End this process after `seconds` of CPU time, or a multiple of it in wall time; 0 stops the timers.

    The kernel enforces it, so it works inside C code and without the owner.
    """
    for timer in _TIMERS:
        signal.setitimer(timer, seconds if timer == signal.ITIMER_PROF else seconds * _WALL_TIME_FACTOR)
