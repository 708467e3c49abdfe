"""The process that brings an index up to date beside a server."""

from __future__ import annotations

import asyncio
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

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from assay.api import Repository
from assay.config.trust import UntrustedSettings
from assay.core.progress import Progress, Report
from assay.errors import AssayError
from assay.serve.watch.access import Step, Work
from assay.serve.watch.first_look import Hint, Watching

MISSING, BUILDING, FRESH, STALE, FAILED = NAMES = ("missing", "building", "fresh", "stale", "failed")

_SOON = 5  # seconds after which to ask again, when nothing better is known
_TOLD_FROM = 0.05  # share done before the time that is left is guessed


@dataclass(frozen=True, slots=True)
class State:
    """One of NAMES. `share` (0 to 1) is how much of the work under way is done, `seconds` how long it has taken so far."""

    name: str
    share: float = 0.0
    seconds: float = 0.0
    why: str = ""  # it failed, or what it waits for
    again: bool = False  # there was an index before

    @property
    def left(self) -> float | None:
        """The seconds that the work under way still takes, if it goes on as it went; None when that cannot be guessed."""
        if self.share < _TOLD_FROM:
            return None
        return self.seconds * (1 - self.share) / self.share

    @property
    def building(self) -> str:
        """How far an index is that is not there yet, and when to ask again."""
        if self.why:
            return f"not there: {self.why}"
        left = self.left
        later = _SOON if left is None else max(1, round(left) + 1)
        again = " again" if self.again else ""
        return f"being built{again} ({self.share:.0%}); ask again in {later} s"

    def __str__(self) -> str:
        done = f" ({self.share:.0%})" if self.share else ""
        return f"{self.name}{done}" + (f": {self.why}" if self.why else "")


# The HTTP protocol of both servers: polite to those for whom there is no room, and patient only so long.

CONNECTIONS = 512  # open at once; the next is told so and closed
HEADER_SECONDS = 10.0  # for a connection to send the head of a request
_BODY = b'{"error":"too many connections; try again in a moment"}'
_FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nretry-after: 1\r\nconnection: close\r\n"
    b"content-length: %d\r\n\r\n%b" % (len(_BODY), _BODY)
)


class Polite(H11Protocol):
    """Refuses connections beyond the limit with an answer, and closes those that do not say what they want."""

    _patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        if len(self.connections) > CONNECTIONS:
            transport.write(_FULL)
            transport.close()
            return
        self._be_patient()

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        cycle = self.cycle
        super().data_received(data)
        if self.cycle is not cycle:  # a head has come; how long the rest may take is the guard's business
            self._stop_waiting()
        elif self.conn.their_state is h11.IDLE:  # the beginning of one
            self._be_patient()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _be_patient(self) -> None:
        if self._patience is None:
            self._patience = self.loop.call_later(HEADER_SECONDS, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None


# A process that works for a server: `python -m assay.serve.watch.keeper index|prepare ROOT INDEX_DIR`. How far it is, it
# says in lines of JSON.

_EVERY = 0.1  # seconds between two lines
_NICENESS = 5  # who answers goes first


class _Told(Progress):
    """Progress as lines."""

    def __init__(self) -> None:
        self._stage, self._total, self._done, self._told = "", 0, 0, 0.0

    def start(self, stage: str, total: int) -> None:
        self._stage, self._total, self._done = stage, total, 0
        self._tell()

    def advance(self, count: int = 1) -> None:
        self._done += count
        if time.monotonic() - self._told > _EVERY:
            self._tell()

    def waiting(self) -> None:
        _say(waiting=True)

    def _tell(self) -> None:
        self._told = time.monotonic()
        _say(stage=self._stage, share=min(1.0, self._done / self._total) if self._total else 1.0)


def _say(**told: Any) -> None:
    print(json.dumps(told), flush=True)


def _index(repo: Repository) -> None:
    _say(report=dataclasses.asdict(repo.refresh(progress=_Told())))


def _prepare(repo: Repository) -> None:
    """Makes passages and their meaning, so that no search has to wait for them."""
    repo.searcher()
    _say(report={"mode": "prepared"})


def _end_with_parent() -> None:
    """Ends this process and its workers when whoever began it has ended, even if that was killed: our stdin is closed then."""
    threading.Thread(target=_wait_for_the_end, daemon=True).start()  # holds no lock, so workers may be forked


def _wait_for_the_end() -> None:
    with contextlib.suppress(OSError):
        while os.read(0, 1):
            pass
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGTERM)
    os._exit(1)


_WORK = {"index": _index, "prepare": _prepare}


def main() -> None:
    work, root, index_dir = sys.argv[1:]
    _end_with_parent()
    warnings.simplefilter("ignore", UntrustedSettings)  # the server has said so
    if hasattr(os, "nice"):
        os.nice(_NICENESS)
    try:
        with Repository(Path(root), index_dir) as repo:
            _WORK[work](repo)
    except (AssayError, OSError) as error:
        _say(error=str(error))


if __name__ == "__main__":
    main()


# Keeping an index up to date: one refresh for a burst of changes, and none for changes that are not of the index.


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
