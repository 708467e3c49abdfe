"""Threads that do the work of requests: few at once, some that wait, and no more."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from assay.errors import AssayError

Answer = TypeVar("Answer")

THREADS = 4  # work is mostly computing: more threads than this only hold more memory
MOST = 128  # requests that work or wait for a thread; the next is told to come back


class Busy(AssayError):
    """There is too much to do already."""


class Workers:
    """Runs functions in threads. A request that is given up leaves the queue; one that has a thread keeps it until it is done."""

    def __init__(self, threads: int = THREADS, most: int = MOST) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="assay-serve")
        self._most, self._inside = most, 0

    async def run(self, function: Callable[..., Answer], *arguments: Any) -> Answer:
        if self._inside >= self._most:
            raise Busy("too many requests at once; try again in a moment")
        loop = asyncio.get_running_loop()
        self._inside += 1
        future = self._pool.submit(function, *arguments)

        def ended(_: Future[Answer]) -> None:
            with contextlib.suppress(RuntimeError):  # the server has stopped
                loop.call_soon_threadsafe(self._leave)

        future.add_done_callback(ended)
        return await asyncio.wrap_future(future)

    def _leave(self) -> None:
        self._inside -= 1

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
