"""Worker processes for tasks that may hang, crash or fill memory: such a task costs itself and nothing else.

A call into C cannot be interrupted from Python, so limits are enforced by the kernel on the worker: timers whose signals end it, and a
limit on its memory. The process that owns the pool learns from how a worker ended what became of the task under way, and starts
another worker for the rest of its batch.

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
    """Workers leave Ctrl-C to the process that started them, and end when it is gone: they share what it holds, a writer's lock for example."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()


def _end_with(sentinel: int) -> None:
    multiprocessing.connection.wait([sentinel])
    os._exit(1)


# Worker processes for tasks that may hang, crash or fill memory: such a task costs itself and nothing else.

WORKER_BYTES = 500_000_000  # of memory beyond what a worker reserves at its start: with that it stays below 1 GB
_OUT_OF_MEMORY = 77  # exit code of a worker that was refused memory
# times the processor seconds of a task that may pass on the clock: what a file's facts are must not depend on who else uses the machine
_ON_THE_CLOCK = 30
# timer → the signal that ends a process when it runs out; Windows has none, there the owner watches the clock
_TIMERS: dict[int, int] = (
    {signal.ITIMER_PROF: signal.SIGPROF, signal.ITIMER_REAL: signal.SIGALRM} if hasattr(signal, "setitimer") else {}
)
_GRACE = 5.0  # seconds after which a worker without timers is killed by its owner
_LATE = 600.0  # the same for one with timers, which end it before that; preparing takes long on a busy machine

Task = TypeVar("Task")
Result = TypeVar("Result")


class Failure(NamedTuple):
    """The end of a worker that had not finished a task."""

    kind: Literal["slow", "memory", "crash"]  # C code that is refused memory crashes, too
    limit: float  # seconds of processor time, or bytes of memory, that the task was allowed


class Batch(Generic[Task, Result]):
    """Tasks that are given to one worker together."""

    def __init__(self, pool: Pool[Task, Result], tasks: Sequence[Task]) -> None:
        self.tasks = tasks
        self.done: list[Result | Failure] = []
        self._pool = pool

    def results(self) -> Iterator[tuple[Task, Result | Failure]]:
        """Yield each task with its result, in order, as soon as it is there."""
        for number, task in enumerate(self.tasks):
            self._pool.exchange(wanted=None if number < len(self.done) else (self, number))
            yield task, self.done[number]


class Pool(Generic[Task, Result]):
    """Applies `work` to tasks in other processes; `seconds` is the processor time that a task may take.

    `prepare` loads what tasks of a kind need; that is no task's fault, so its time is not counted. All are functions of a module, so
    that a platform without fork can import them.
    """

    def __init__(
        self,
        work: Callable[[Task], Result],
        seconds: Callable[[Task], float],
        workers: int,
        prepare: Callable[[Task], object] = bool,
    ) -> None:
        self._work, self._seconds, self._most, self._prepare = work, seconds, workers, prepare
        self._workers: list[_Worker[Task, Result]] = []
        self._waiting: deque[Batch[Task, Result]] = deque()

    def __enter__(self) -> Pool[Task, Result]:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def submit(self, tasks: Sequence[Task]) -> Batch[Task, Result]:
        """Hand over tasks; a worker begins at once if there is one left."""
        batch = Batch(self, tasks)
        self._waiting.append(batch)
        self._feed()
        return batch

    def run(self, task: Task) -> Result | Failure:
        """Do a single task and wait for it."""
        return next(self.submit([task]).results())[1]

    def exchange(self, wanted: tuple[Batch[Task, Result], int] | None) -> None:
        """Take what workers have sent and give idle ones work, until the wanted result is there."""
        while True:
            if busy := [worker for worker in self._workers if worker.batch is not None]:
                self._take(busy, wait_for=wanted is not None)
            self._feed()
            if wanted is None or wanted[1] < len(wanted[0].done):
                return

    def close(self) -> None:
        """End all workers, whatever they are doing."""
        for worker in self._workers:
            worker.end()
        self._workers.clear()
        self._waiting.clear()

    def _feed(self) -> None:
        while self._waiting:
            worker = next((worker for worker in self._workers if worker.batch is None), None)
            if worker is None:
                if len(self._workers) == self._most:
                    return
                worker = _Worker(self._work, self._seconds, self._prepare)
                self._workers.append(worker)
            batch = self._waiting.popleft()
            if not worker.give(batch):  # it ended while it was idle
                self._workers.remove(worker)
                worker.end()
                self._waiting.appendleft(batch)

    def _take(self, busy: list[_Worker[Task, Result]], wait_for: bool) -> None:
        """Receive at least one result if `wait_for`, else those that are there."""
        timeout = max(0.0, min(worker.deadline for worker in busy) - time.monotonic()) if wait_for else 0.0
        ready = wait([worker.connection for worker in busy], timeout)
        for worker in busy:
            if worker.connection in ready:
                if not worker.receive():
                    self._replace(worker, worker.failure())
            elif time.monotonic() > worker.deadline:
                self._replace(worker, Failure("slow", worker.allowed))

    def _replace(self, worker: _Worker[Task, Result], failure: Failure) -> None:
        """Put down why a task has no result, and leave the rest of its batch to another worker.

        A worker that had done others may have crashed or run out of memory because of them: then the task gets another chance.
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
    """A process and the batch it works on."""

    def __init__(
        self, work: Callable[[Task], Result], seconds: Callable[[Task], float], prepare: Callable[[Task], object]
    ) -> None:
        # fork where it exists: the worker needs what is already loaded, and starts at once
        methods = multiprocessing.get_all_start_methods()
        context: Any = multiprocessing.get_context("fork" if "fork" in methods else "spawn")
        self.connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, work, seconds, prepare, WORKER_BYTES), daemon=True)
        self._process.start()
        theirs.close()
        self._seconds = seconds
        self.batch: Batch[Task, Result] | None = None
        self.tasks_done = 0
        self.allowed = self.deadline = 0.0

    def give(self, batch: Batch[Task, Result]) -> bool:
        """Send what is left of a batch; the worker is idle, so it reads, and nobody waits for the other. False if it ended."""
        try:
            self.connection.send(batch.tasks[len(batch.done) :])
        except OSError:
            return False
        self.batch = batch
        self._begin_task()
        return True

    def receive(self) -> bool:
        """Take one result; False if the worker ended instead of sending it."""
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
        self.deadline = time.monotonic() + _ON_THE_CLOCK * self.allowed + (_LATE if _TIMERS else _GRACE)

    def failure(self) -> Failure:
        """Why the process ended, by its exit code."""
        self._process.join(_GRACE)
        code = self._process.exitcode
        slow = code is None or -code in _TIMERS.values()
        if slow:
            return Failure("slow", self.allowed)
        return Failure("memory" if code == _OUT_OF_MEMORY else "crash", WORKER_BYTES)

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
    """The worker: does batches until there are no more."""
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
                    os._exit(_OUT_OF_MEMORY)


def _silence() -> None:
    """Libraries complain on stderr before they abort; the owner reports it instead."""
    faulthandler.disable()
    with contextlib.suppress(OSError):
        nowhere = os.open(os.devnull, os.O_RDWR)
        for descriptor in (1, 2):
            os.dup2(nowhere, descriptor)
        os.close(nowhere)


def _limit_memory(extra: int) -> None:
    """Refuse memory beyond what this process has and `extra` bytes, where the system can."""
    if sys.platform == "win32":
        return
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a crash leaves no copy of the memory behind
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
    """End this process after so much processor time, or a multiple of it on the clock; 0: let it live.

    The kernel does that, so it works inside C code and when the owner is gone.
    """
    for timer in _TIMERS:
        signal.setitimer(timer, seconds if timer == signal.ITIMER_PROF else seconds * _ON_THE_CLOCK)
