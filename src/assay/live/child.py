"""A process that works for a server: `python -m assay.live.child index|prepare ROOT INDEX_DIR`. How far it is, it says in lines of JSON."""

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
from pathlib import Path
from typing import Any

from assay.config.trust import UntrustedSettings
from assay.errors import AssayError
from assay.ingest.report import Progress
from assay.repository import Repository

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
