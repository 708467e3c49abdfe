"""Indexing in a child process, which neither slows down request threads nor leaves its memory in the server.

server: Work ──starts──▶ child: `python -m assay.serve.watch.child index|prepare ROOT INDEX_DIR` ──JSON lines──▶ Work
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.api import Repository
from assay.config.trust import UntrustedSettings
from assay.core.progress import Progress, Report, overall_share
from assay.errors import AssayError
from assay.store.layout import Home
from assay.system.programs import child_environment

_STOP_SECONDS = 5  # from SIGTERM to SIGKILL


@dataclass(frozen=True, slots=True)
class Step:
    """Progress of a refresh: the share that is done, or `waiting` for the lock of another process."""

    share: float = 0.0
    waiting: bool = False


class Work:
    """A task of `main` (`index` or `prepare`), run in a new child process each time; `stop` is thread-safe."""

    def __init__(self, name: str, root: Path, home: Home) -> None:
        # -P: import no modules from the current folder, which may be an untrusted repository
        self._command = [sys.executable, "-P", "-m", "assay.serve.watch.child", name, str(root), str(home.folder)]
        self._process: subprocess.Popen[str] | None = None
        self._stopped = False
        self._lock = threading.Lock()

    def run(self) -> Iterator[Step | Report]:
        """Run the child; yield its progress, then its report. Raises AssayError if it fails or was stopped."""
        process = self._start()
        try:
            with process:
                try:
                    yield from _read_progress(process)
                except BaseException:
                    _terminate(process)
                    raise
        finally:
            self._process = None

    def stop(self) -> None:
        """Terminate the running child and refuse new runs. The index is left unchanged."""
        with self._lock:
            self._stopped = True
            if self._process is not None:
                _terminate(self._process)

    def _start(self) -> subprocess.Popen[str]:
        with self._lock:
            if self._stopped:
                raise AssayError("indexing was stopped")
            # own session: Ctrl-C reaches only the server, which then terminates the child and its workers;
            # the child exits when its stdin closes, even if the server was killed
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                encoding="utf-8",
                env=child_environment(),
                start_new_session=True,
            )
            return self._process


def _read_progress(process: subprocess.Popen[str]) -> Iterator[Step | Report]:
    assert process.stdout is not None
    last_stderr_line: deque[str] = deque(maxlen=1)
    reader = threading.Thread(target=lambda: last_stderr_line.extend(process.stderr or ()), daemon=True)
    reader.start()
    done = False
    for line in process.stdout:
        try:
            message = json.loads(line)
        except ValueError:
            continue  # output of a library
        if "error" in message:
            raise AssayError(message["error"])
        if "report" in message:
            done = True
            yield Report(**message["report"])
        else:
            yield (
                Step(waiting=True) if "waiting" in message else Step(overall_share(message["stage"], message["share"]))
            )
    code = process.wait()
    reader.join(_STOP_SECONDS)
    if not done:
        reason = f"by signal {-code}" if code < 0 else f"exit code {code}"
        raise AssayError(" ".join([f"indexing stopped before it finished ({reason}).", *last_stderr_line]).strip())


def _terminate(process: subprocess.Popen[str]) -> None:
    """Terminate a process and its workers unless it has exited."""
    if process.poll() is None:
        with contextlib.suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGTERM)
            else:
                process.terminate()
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


# In the child: prints its progress as JSON lines

_PROGRESS_INTERVAL = 0.1  # seconds between two lines
_NICENESS = 5  # request threads have priority


class _JsonProgress(Progress):
    """Prints progress as JSON lines."""

    def __init__(self) -> None:
        self._stage, self._total, self._done, self._printed_at = "", 0, 0, 0.0

    def start(self, stage: str, total: int) -> None:
        self._stage, self._total, self._done = stage, total, 0
        self._emit()

    def advance(self, count: int = 1) -> None:
        self._done += count
        if time.monotonic() - self._printed_at > _PROGRESS_INTERVAL:
            self._emit()

    def waiting(self) -> None:
        _print_message(waiting=True)

    def _emit(self) -> None:
        self._printed_at = time.monotonic()
        _print_message(stage=self._stage, share=min(1.0, self._done / self._total) if self._total else 1.0)


def _print_message(**message: Any) -> None:
    print(json.dumps(message), flush=True)


def _index(repo: Repository) -> None:
    _print_message(report=dataclasses.asdict(repo.refresh(progress=_JsonProgress())))


def _prepare(repo: Repository) -> None:
    """Build passages and their embeddings ahead of the first search."""
    repo.searcher()
    _print_message(report={"mode": "prepared"})


def _exit_with_parent() -> None:
    """Exit with all workers when the parent has exited, even if it was killed: stdin closes then."""
    threading.Thread(target=_exit_on_eof, daemon=True).start()  # holds no lock, so workers may be forked


def _exit_on_eof() -> None:
    with contextlib.suppress(OSError):
        while os.read(0, 1):
            pass
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGTERM)
    os._exit(1)


_TASKS = {"index": _index, "prepare": _prepare}


def main() -> None:
    task, root, index_dir = sys.argv[1:]
    _exit_with_parent()
    warnings.simplefilter("ignore", UntrustedSettings)  # the server has already warned
    if hasattr(os, "nice"):
        os.nice(_NICENESS)
    try:
        with Repository(Path(root), index_dir) as repo:
            _TASKS[task](repo)
    except (AssayError, OSError) as error:
        _print_message(error=str(error))


if __name__ == "__main__":
    main()
