"""Work on an index in another process: it takes no time from those who answer, and gives all its memory back."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from assay.errors import AssayError
from assay.ingest.report import Report
from assay.store.layout import Home

# stage → where it begins and ends in the whole of a first indexing; measured on 84 to 2,800 files
_STAGES = {
    "parsing": (0.0, 0.5),
    "resolving": (0.5, 0.75),
    "reading documents": (0.75, 0.8),
    "reading history": (0.8, 1.0),
}
_PACKAGE = str(Path(__file__).parents[2])  # where the child finds assay
_PATIENCE = 5  # seconds for a process to end when it is told to


@dataclass(frozen=True, slots=True)
class Step:
    """How far a refresh is: the share that is done, or that it waits for another process."""

    share: float = 0.0
    waiting: bool = False


class Work:
    """One piece of work (`index` or `prepare`, see `child`), in a process of its own each time, which can be stopped from another thread."""

    def __init__(self, name: str, root: Path, home: Home) -> None:
        # -P: nothing in the current folder, which may be anybody's repository, is taken for a module
        self._command = [sys.executable, "-P", "-m", "assay.live.child", name, str(root), str(home.folder)]
        self._process: subprocess.Popen[str] | None = None
        self._stopped = False
        self._guard = threading.Lock()

    def run(self) -> Iterator[Step | Report]:
        """Does it: the steps, then what was done. Raises AssayError if it fails."""
        process = self._start()
        try:
            with process:
                try:
                    yield from _followed(process)
                except BaseException:
                    _end(process)
                    raise
        finally:
            self._process = None

    def stop(self) -> None:
        """Ends what is under way, and lets nothing else begin. The index stays as it was."""
        with self._guard:
            self._stopped = True
            if self._process is not None:
                _end(self._process)

    def _start(self) -> subprocess.Popen[str]:
        with self._guard:
            if self._stopped:
                raise AssayError("indexing was stopped")
            # a session of its own: Ctrl-C is for us, who then end it with its workers.
            # Its stdin closes when we end, however that comes: then it ends, too
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                encoding="utf-8",
                env=_environment(),
                start_new_session=True,
            )
            return self._process


def _followed(process: subprocess.Popen[str]) -> Iterator[Step | Report]:
    assert process.stdout is not None
    complaint: deque[str] = deque(maxlen=1)
    reader = threading.Thread(target=lambda: complaint.extend(process.stderr or ()), daemon=True)
    reader.start()
    done = False
    for line in process.stdout:
        try:
            told = json.loads(line)
        except ValueError:
            continue  # a library that talks
        if "error" in told:
            raise AssayError(told["error"])
        if "report" in told:
            done = True
            yield Report(**told["report"])
        else:
            yield Step(waiting=True) if "waiting" in told else Step(_share(told["stage"], told["share"]))
    code = process.wait()
    reader.join(_PATIENCE)
    if not done:
        raise AssayError(" ".join([f"indexing ended before it was done ({_ended(code)}).", *complaint]).strip())


def _environment() -> dict[str, str]:
    paths = [_PACKAGE, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONIOENCODING": "utf-8"}


def _share(stage: str, done: float) -> float:
    first, last = _STAGES.get(stage, (1.0, 1.0))
    return first + (last - first) * done


def _ended(code: int) -> str:
    return f"by signal {-code}" if code < 0 else f"exit code {code}"


def _end(process: subprocess.Popen[str]) -> None:
    """Ends a process and its workers, if it has not ended by itself."""
    if process.poll() is None:
        with contextlib.suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGTERM)
            else:
                process.terminate()
        try:
            process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
