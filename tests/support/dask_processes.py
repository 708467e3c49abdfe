"""Dask schedulers and workers as processes on loopback, each ended by the test that started it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from support.command import ENVIRONMENT
from support.waiting import until

_TESTS = Path(__file__).parents[1]


class DaskProcesses:
    """A scheduler and its workers, in processes of their own."""

    def __init__(self, folder: Path, tls: Sequence[str] = ()) -> None:
        self.folder, self.tls = folder, tls
        self.scheduler: subprocess.Popen[bytes] | None = None
        self.workers: list[subprocess.Popen[bytes]] = []
        self.address = ""

    def start_scheduler(self) -> None:
        file = self.folder / f"scheduler-{time.monotonic_ns()}.json"
        self.scheduler = self._start(
            "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file)
        )
        until(lambda: file.exists() and file.read_text().endswith("}"))
        self.address = json.loads(file.read_text())["address"]

    def start_worker(self, *options: str, **environment: str) -> subprocess.Popen[bytes]:
        """Start a worker without a nanny, which would restart it when it is killed."""
        worker = self._start(
            "worker", self.address, "--host", "127.0.0.1", "--nthreads", "1", "--no-nanny", "--no-dashboard",
            "--local-directory", str(self.folder), *options, **environment,
        )  # fmt: skip
        self.workers.append(worker)
        return worker

    def _start(self, kind: str, *arguments: str, **environment: str) -> subprocess.Popen[bytes]:
        paths = [environment.pop("PYTHONPATH", ""), ENVIRONMENT["PYTHONPATH"], str(_TESTS)]
        return subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.dask_{kind}", *self.tls, *arguments],
            cwd=self.folder,
            env=ENVIRONMENT | {"PYTHONPATH": os.pathsep.join(filter(None, paths))} | environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def stop(self) -> None:
        for process in (*self.workers, *([self.scheduler] if self.scheduler else [])):
            kill(process)
        self.workers, self.scheduler = [], None


@contextmanager
def dask_processes(folder: Path, workers: int = 0, tls: Sequence[str] = ()) -> Iterator[DaskProcesses]:
    processes = DaskProcesses(folder, tls)
    try:
        processes.start_scheduler()
        for _ in range(workers):
            processes.start_worker()
        yield processes
    finally:
        processes.stop()


def kill(process: subprocess.Popen[Any]) -> None:
    """Kill a process as the kernel does when memory runs out."""
    process.send_signal(signal.SIGKILL)
    process.wait()
