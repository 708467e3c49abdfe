"""Index refreshes for servers: index state, the refreshing child process, and the loop that schedules it.

hints (file watcher) ──▶ Keeper ──▶ child process (`index`, then `prepare`) ──▶ events ──▶ Resident
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.api import Repository
from assay.config.trust import UntrustedSettings
from assay.core.progress import Progress, Report
from assay.errors import AssayError
from assay.serve.watch.access import Step, Work
from assay.serve.watch.first_look import Hint, TreeWatcher

MISSING, BUILDING, FRESH, STALE, FAILED = NAMES = ("missing", "building", "fresh", "stale", "failed")

_DEFAULT_RETRY = 5  # seconds to wait when no estimate exists
_MIN_SHARE = 0.05  # done before the remaining time is extrapolated


@dataclass(frozen=True, slots=True)
class State:
    """State of an index: one of NAMES, with the share (0 to 1) and elapsed seconds of the refresh in progress."""

    name: str
    share: float = 0.0
    seconds: float = 0.0
    why: str = ""  # reason of a failure or of waiting
    again: bool = False  # an index existed before

    @property
    def left(self) -> float | None:
        """Estimated remaining seconds of the refresh, extrapolated linearly; None if too little is done."""
        if self.share < _MIN_SHARE:
            return None
        return self.seconds * (1 - self.share) / self.share

    @property
    def building(self) -> str:
        """Progress of a missing index and when to retry, as a sentence fragment after "the index is"."""
        if self.why:
            return f"not there: {self.why}"
        left = self.left
        retry_after = _DEFAULT_RETRY if left is None else max(1, round(left) + 1)
        again = " again" if self.again else ""
        return f"being built{again} ({self.share:.0%}); ask again in {retry_after} s"

    def __str__(self) -> str:
        done = f" ({self.share:.0%})" if self.share else ""
        return f"{self.name}{done}" + (f": {self.why}" if self.why else "")


# Child process: `python -m assay.serve.watch.keeper index|prepare ROOT INDEX_DIR`; prints its progress as JSON lines

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


# Refresh loop: one refresh per burst of changes, none for irrelevant changes


@dataclass(frozen=True, slots=True)
class RefreshStarted:
    """A refresh started; `first` if there is no index yet."""

    first: bool


@dataclass(frozen=True, slots=True)
class RefreshProgress:
    """A refresh made progress; `seconds` have elapsed since it started."""

    step: Step
    seconds: float


@dataclass(frozen=True, slots=True)
class RefreshFinished:
    """A refresh finished (`report`), was not needed (neither), or failed (`why`)."""

    report: Report | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class SearchReady:
    """All preparation is done: index and passages are ready."""


Event = RefreshStarted | RefreshProgress | RefreshFinished | SearchReady


class Keeper:
    """Keeps the index of one repository up to date and reports events to a callback."""

    def __init__(
        self, root: Path, index_dir: Path | None, watching: TreeWatcher, tell: Callable[[Event], None]
    ) -> None:
        self._repo = Repository(root, index_dir)  # used by this thread only, for freshness checks
        self._watching, self._emit = watching, tell
        self._indexing, self._preparing = (Work(name, root, self._repo.home) for name in ("index", "prepare"))
        self._preparing_thread: threading.Thread | None = None
        self._failed = False
        self._checked_generation: Path | None = None  # index generation of the last freshness check

    def run(self) -> None:
        """Refresh on every hint that finds the index stale, until stopped."""
        try:
            for hint in self._watching.hints():
                if hint is Hint.MOVED or self._failed or self._is_stale():
                    self._refresh()
                else:
                    self._emit(RefreshFinished())
        finally:
            self._repo.close()

    def stop(self) -> None:
        """Stop the loop and terminate running children (thread-safe). The index is left unchanged."""
        self._watching.stop.set()
        self._indexing.stop()
        self._preparing.stop()

    def _is_stale(self) -> bool:
        current = self._repo.home.current()
        if current != self._checked_generation:  # another process indexed, or deleted the index
            self._repo.close()
            self._checked_generation = current
        try:
            return not self._repo.freshness().fresh
        except (AssayError, OSError):
            return True  # no usable index

    def _refresh(self) -> None:
        began = time.monotonic()
        self._emit(RefreshStarted(first=self._repo.home.current() is None))
        try:
            for news in self._indexing.run():
                if isinstance(news, Report):
                    self._repo.close()  # it has the previous generation open
                    self._emit(RefreshFinished(news))
                else:
                    self._emit(RefreshProgress(news, time.monotonic() - began))
            self._failed = False
            self._prepare()
        except AssayError as error:
            self._failed = True
            if not self._watching.stop.is_set():
                self._emit(RefreshFinished(why=str(error)))

    def _prepare(self) -> None:
        """Build search data in a background thread: it may take longer than the time between two saves."""
        if self._preparing_thread is None or not self._preparing_thread.is_alive():
            self._preparing_thread = threading.Thread(target=self._run_prepare, name="assay preparing", daemon=True)
            self._preparing_thread.start()

    def _run_prepare(self) -> None:
        with contextlib.suppress(AssayError):  # a search reports the same error
            list(self._preparing.run())
        self._emit(SearchReady())


if __name__ == "__main__":
    main()
