"""Processes that work for another one."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import signal
import threading


def begin_worker() -> None:
    """Workers leave Ctrl-C to the process that started them, and end when it is gone: they share what it holds, a writer's lock for example."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()


def _end_with(sentinel: int) -> None:
    multiprocessing.connection.wait([sentinel])
    os._exit(1)
