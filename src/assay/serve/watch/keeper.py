"""Index refreshes for servers: file watcher, state of an index, and the loop that refreshes it in a child process.

file events · HEAD moves · requests · rescans ──▶ TreeWatcher ──▶ debounced Hints ──▶ Keeper
Keeper ──▶ child process (`index`, then `prepare`) ──▶ events ──▶ Resident
"""

from __future__ import annotations

import contextlib
import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from assay.api import Repository, concerns_index
from assay.core.progress import Report
from assay.errors import AssayError, install
from assay.git import find_place
from assay.serve.watch.child import Step, Work
from assay.serve.watch.door import Door

if TYPE_CHECKING:
    from watchfiles import Change


DEBOUNCE_SECONDS = (
    0.3  # seconds without a change that end a burst; an editor's save and git's gap between files are shorter
)
_STEP_MS, _DEBOUNCE_MS = 50, 100  # event batching of watchfiles
_MAX_BURST = 3.0  # seconds: a log file may be written continuously
_MAX_LOCK = 10.0  # seconds to wait for git's lock: a crashed git leaves it behind
_TICK = 1.0  # seconds between checks of HEAD and of requests
RESCAN_SECONDS = 60.0  # seconds between rescans without any event
POLL_SECONDS = 2.0  # seconds between polls where events are unavailable
# temporary files of vim, emacs, JetBrains, and files renamed into place when complete
_TEMPORARY = re.compile(r"~$|^\.#|^#.*#$|\.sw[a-z]$|___jb_\w+___$|\.tmp$|^4913$")


class Hint(Enum):
    """Reason for a freshness check: files may have changed, or HEAD moved."""

    CHANGED = "changed"
    MOVED = "moved"


def watcher() -> Callable[..., Iterator[set[tuple[Change, str]]]]:
    """Return `watchfiles.watch`. Raises AssayError if watchfiles is not installed."""
    try:
        from watchfiles import watch
    except ImportError:
        raise AssayError(
            f"watching needs the package watchfiles: {install('watch')}. Without it, use --poll SECONDS."
        ) from None
    return watch


@dataclass
class TreeWatcher:
    """Watches a tree by file system events and a rescan every `poll` seconds."""

    root: Path
    own: Path  # index folder, whose changes are ignored
    events: bool = True
    poll: float = RESCAN_SECONDS
    stop: threading.Event = field(default_factory=threading.Event)
    requested: threading.Event = field(default_factory=threading.Event)  # set to request a check now
    complain: Callable[[str], None] = lambda _text: None  # called when events turn out to be unavailable
    following: bool = False  # events confirm that nothing changed since the last hint
    changes: int = 0  # counter of event batches and watcher restarts; equal values mean no change
    moved: Callable[[], None] = lambda: None  # called when `following` or `changes` has another value

    def hints(self) -> Iterator[Hint]:
        """Yield a hint whenever freshness should be checked, the first immediately. Ends when `stop` is set."""
        head = self._head_stamp()
        yield Hint.MOVED
        last_check = time.monotonic()
        for changed in self._ticks():
            if changed:
                self._wait_for_git()
            previous_head, head = head, self._head_stamp()
            if head != previous_head:
                yield Hint.MOVED
            elif changed or self.requested.is_set() or time.monotonic() - last_check >= self.poll:
                self.requested.clear()
                yield Hint.CHANGED
            else:
                continue
            last_check = time.monotonic()

    def _ticks(self) -> Iterator[bool]:
        """Yield at the end of each burst and every second: True if relevant files changed."""
        exists = True
        while not self.stop.is_set():
            existed, exists = exists, self.root.is_dir()
            if self.events and exists:
                yield from self._events()
            elif not self.stop.wait(min(_TICK, self.poll)):
                yield existed != exists

    def _events(self) -> Iterator[bool]:
        """Yield ticks from file system events. Ends when the root disappears; a new root needs a new watch."""
        began = last = ticked = time.monotonic()
        bursting = True  # changes before the watch began produce no event
        self._note(False, 1)
        try:
            for changes in watcher()(
                self.root, watch_filter=None, debounce=_DEBOUNCE_MS, step=_STEP_MS, stop_event=self.stop, rust_timeout=int(DEBOUNCE_SECONDS * 1000),
                yield_on_timeout=True, ignore_permission_denied=True,
            ):  # fmt: skip
                now = time.monotonic()
                if any(self._is_relevant(path) for _, path in changes):
                    began, last, bursting = began if bursting else now, now, True
                    self._note(False, 1)
                self._note(not bursting)  # followed only once quiet after the last hint was consumed
                if bursting and (now - last >= DEBOUNCE_SECONDS or now - began >= _MAX_BURST):
                    bursting, ticked = False, now
                    yield True
                elif now - ticked >= _TICK:
                    ticked = now
                    yield False
                if not self.root.is_dir():
                    return
        except (OSError, RuntimeError, AssayError) as error:  # usually: inotify watch limit exceeded
            self.events, self.poll = False, min(self.poll, POLL_SECONDS)
            self.complain(f"{error}; polling every {self.poll:g} s instead")
        finally:
            self._note(False)

    def _note(self, following: bool, changes: int = 0) -> None:
        if changes or following != self.following:
            self.following, self.changes = following, self.changes + changes
            self.moved()

    def _is_relevant(self, path: str) -> bool:
        """Return True if a change can affect the index. A deleted path may have been a folder, so it counts."""
        if _TEMPORARY.search(os.path.basename(path)) or Path(path).is_relative_to(self.own):
            return False
        relative = Path(os.path.relpath(path, self.root)).as_posix()
        return concerns_index(relative, folder=os.path.isdir(path) or not os.path.lexists(path))

    def _wait_for_git(self) -> None:
        """Wait until git releases its lock, which it holds while switching branches."""
        deadline = time.monotonic() + _MAX_LOCK
        while self._git_dir and (self._git_dir / "index.lock").exists() and time.monotonic() < deadline:
            if self.stop.wait(DEBOUNCE_SECONDS):
                return

    @cached_property
    def _git_dir(self) -> Path | None:
        """Git directory, which for a worktree lies elsewhere."""
        place = find_place(self.root)
        return place.git_dir if place else None

    def _head_stamp(self) -> tuple[int, int] | None:
        """Return size and mtime of the HEAD reflog, or None without one."""
        try:
            stat = os.stat(self._git_dir / "logs" / "HEAD") if self._git_dir else None
        except OSError:
            return None
        return (stat.st_size, stat.st_mtime_ns) if stat else None


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
        self._door = Door(root, self._repo.home)
        self._failed = False
        self._checked_generation: Path | None = None  # index generation of the last freshness check

    def run(self) -> None:
        """Refresh on every hint that finds the index stale, until stopped."""
        with self._door.open(), contextlib.closing(self._repo):
            for hint in self._watching.hints():
                if hint is Hint.MOVED or self._failed or self._is_stale():
                    self._refresh()
                else:
                    self._emit(RefreshFinished())

    def stop(self) -> None:
        """Stop the loop and terminate running children (thread-safe). The index is left unchanged."""
        self._watching.stop.set()
        self._indexing.stop()
        self._preparing.stop()
        self._door.close()

    def _is_stale(self) -> bool:
        current = self._repo.home.current()
        if current != self._checked_generation:  # another process indexed, or deleted the index
            self._repo.close()
            self._checked_generation = current
        try:
            return bool(self._repo.pending) or not self._repo.freshness().fresh
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
