"""Worker processes of sweeps and tunings, whose work is stored as it is done."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any, TypeVar

from assay.errors import AssayError
from assay.system.pool import begin_worker

Result = TypeVar("Result")


@contextmanager
def worker_pool(jobs: int, initializer: Callable[[], None] = begin_worker) -> Iterator[ProcessPoolExecutor]:
    """Open a pool of processes, which start with their first task and are terminated by an interrupt."""
    # not fork: the threads of a loaded model would be lost, and open resources shared
    pool = ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn"), initializer=initializer)
    try:
        yield pool
    except BaseException:
        for child in multiprocessing.active_children():  # their results are stored
            child.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def results(
    pool: ProcessPoolExecutor, function: Callable[..., Result], calls: Iterable[tuple[Any, ...]], stored: str
) -> Iterator[Result]:
    """Yield the result of each call as it completes; `stored` names what a killed worker has left, for the message."""
    futures = [pool.submit(function, *arguments) for arguments in calls]
    try:
        for completed in as_completed(futures):
            yield completed.result()
    except BrokenProcessPool:
        raise AssayError(
            f"a worker process was killed, perhaps out of memory. {stored} so far are stored; repeat the command to resume"
        ) from None
    finally:
        for future in futures:
            future.cancel()
