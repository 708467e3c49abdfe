"""Index refreshes for servers: the state of an index, and the loop that refreshes it in a child process.

hints (file watcher) ──▶ Keeper ──▶ child process (`index`, then `prepare`) ──▶ events ──▶ Resident
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from assay.api import Repository
from assay.core.progress import Report
from assay.errors import AssayError
from assay.serve.watch.child import Step, Work
from assay.serve.watch.watcher import Hint, TreeWatcher

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
