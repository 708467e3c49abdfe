"""Upkeep of one index: a keeper in a thread of its own, and reports of the index's state.

The process that keeps an index up to date need not be the one that answers: a report is a value, which a server's
parent process sends to its workers.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from assay.serve.watch.keeper import (
    BUILDING,
    FAILED,
    FRESH,
    MISSING,
    RESCAN_SECONDS,
    STALE,
    Event,
    Keeper,
    RefreshFinished,
    RefreshProgress,
    RefreshStarted,
    SearchReady,
    State,
    TreeWatcher,
)
from assay.store.layout import Home

_STOP_SECONDS = 5.0  # for the keeper thread to end
_RETRY_SECONDS = 5.0  # after a failure: each try starts a process


class IndexReport(msgspec.Struct, frozen=True):
    """State of an index as its keeper knows it."""

    state: State
    searchable: bool = False  # passages are built
    refreshes: int = 0  # that wrote a new generation
    watched: str = ""  # key of the file state while the index is known to be fresh, else empty


def first_report(home: Home) -> IndexReport:
    """Return the report before anything is known: there is an index or not."""
    return IndexReport(State(MISSING if home.current() is None else STALE))


class Upkeep:
    """Keeps the index of one repository up to date from `start` to `close`; every change is told."""

    def __init__(self, root: Path, home: Home, watch: bool, tell: Callable[[IndexReport], None]) -> None:
        self._home, self._tell = home, tell
        self._lock = threading.RLock()  # held while telling, so that reports arrive in order
        self.report = first_report(home)
        self._attempted_at = 0.0  # monotonic time of the last refresh attempt
        self._had_index = home.current() is not None  # an index existed at some time
        poll = RESCAN_SECONDS if watch else float("inf")
        self._watching = TreeWatcher(root, home.folder, events=watch, poll=poll, moved=self._on_move)
        self._keeper = Keeper(root, home.folder, self._watching, self._on_event)
        self._thread = threading.Thread(target=self._run_keeper, name="assay keeper", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def look(self) -> None:
        """Request a freshness check now; ignored shortly after a failed refresh."""
        if self.report.state.name != FAILED or time.monotonic() - self._attempted_at >= _RETRY_SECONDS:
            self._watching.requested.set()

    def close(self) -> None:
        """Stop the keeper and its children."""
        self._keeper.stop()
        self._thread.join(_STOP_SECONDS)

    def _run_keeper(self) -> None:
        try:
            self._keeper.run()
        except Exception as error:
            self._on_event(RefreshFinished(why=f"{type(error).__name__}: {error}"))
            raise

    def _on_move(self) -> None:
        """Report that events confirm, or no longer confirm, that no file changed."""
        with self._lock:
            self._publish(self.report)

    def _on_event(self, event: Event) -> None:
        with self._lock:
            if isinstance(event, SearchReady):
                self._publish(msgspec.structs.replace(self.report, searchable=True))
                return
            wrote = isinstance(event, RefreshFinished) and event.report is not None and event.report.mode != "fresh"
            state, refreshes = self._next_state(event), self.report.refreshes + wrote
            self._publish(msgspec.structs.replace(self.report, state=state, refreshes=refreshes))

    def _publish(self, report: IndexReport) -> None:
        fresh = self._watching.following and report.state.name == FRESH
        watched = f"followed, {self._watching.changes} changes" if fresh else ""
        report = msgspec.structs.replace(report, watched=watched)
        if report != self.report:
            self.report = report
            self._tell(report)

    def _next_state(self, event: RefreshStarted | RefreshProgress | RefreshFinished) -> State:
        indexed = self._home.current() is not None
        if isinstance(event, RefreshStarted):
            self._attempted_at = time.monotonic()
            # keep the failure visible until the refresh makes progress
            failed = self.report.state.name == FAILED
            return self.report.state if failed else State(BUILDING if event.first else STALE, again=self._had_index)
        if isinstance(event, RefreshProgress):
            why = "waiting for another process that is indexing" if event.step.waiting else ""
            return State(STALE if indexed else BUILDING, event.step.share, event.seconds, why, self._had_index)
        if event.why:
            self._attempted_at = time.monotonic()
            return State(FAILED, why=event.why, again=self._had_index)
        self._had_index = True
        return State(FRESH, again=True)
