"""Keeping an index up to date: one refresh for a burst of changes, and none for changes that are not of the index."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from assay.errors import AssayError
from assay.ingest.report import Report
from assay.live.hints import Hint, Watching
from assay.live.work import Step, Work
from assay.repository import Repository


@dataclass(frozen=True, slots=True)
class Began:
    """A refresh began, of an index that is there or of none."""

    first: bool


@dataclass(frozen=True, slots=True)
class Went:
    """A refresh went on for so many seconds."""

    step: Step
    seconds: float


@dataclass(frozen=True, slots=True)
class Ended:
    """A refresh ended, or nothing was to be done (no report); `why` it failed."""

    report: Report | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Rested:
    """Everything is done that can be done before anybody asks."""


Event = Began | Went | Ended | Rested


class Keeper:
    """Keeps the index of one repository up to date, and tells what it does. `run` is the whole story."""

    def __init__(self, root: Path, index_dir: Path | None, watching: Watching, tell: Callable[[Event], None]) -> None:
        self._repo = Repository(root, index_dir)  # of this thread, to compare with
        self._watching, self._tell = watching, tell
        self._indexing, self._preparing = (Work(name, root, self._repo.home) for name in ("index", "prepare"))
        self._behind: threading.Thread | None = None
        self._failed = False
        self._compared: Path | None = None  # the generation that was compared last

    def run(self) -> None:
        """Until it is stopped."""
        try:
            for hint in self._watching.hints():
                if hint is Hint.MOVED or self._failed or self._is_stale():
                    self._refresh()
                else:
                    self._tell(Ended())
        finally:
            self._repo.close()

    def stop(self) -> None:
        """From any thread; what is under way ends, and the index stays as it was."""
        self._watching.stop.set()
        self._indexing.stop()
        self._preparing.stop()

    def _is_stale(self) -> bool:
        current = self._repo.home.current()
        if current != self._compared:  # somebody else indexed, or deleted the index
            self._repo.close()
            self._compared = current
        try:
            return not self._repo.freshness().fresh
        except (AssayError, OSError):
            return True  # there is none that could be compared

    def _refresh(self) -> None:
        began = time.monotonic()
        self._tell(Began(first=self._repo.home.current() is None))
        try:
            for news in self._indexing.run():
                if isinstance(news, Report):
                    self._repo.close()  # it is of the generation before
                    self._tell(Ended(news))
                else:
                    self._tell(Went(news, time.monotonic() - began))
            self._failed = False
            self._prepare()
        except AssayError as error:
            self._failed = True
            if not self._watching.stop.is_set():
                self._tell(Ended(why=str(error)))

    def _prepare(self) -> None:
        """Makes what searches, behind what indexes: it may take longer than the time between two saves."""
        if self._behind is None or not self._behind.is_alive():
            self._behind = threading.Thread(target=self._prepared, name="assay preparing", daemon=True)
            self._behind.start()

    def _prepared(self) -> None:
        with contextlib.suppress(AssayError):  # whoever searches is told
            list(self._preparing.run())
        self._tell(Rested())
