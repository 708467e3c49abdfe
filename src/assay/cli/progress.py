"""A progress bar on stderr: one line that rewrites itself, and nothing at all when stderr is not a terminal."""

from __future__ import annotations

import sys
import time

from assay.ingest.report import Progress

_WIDTH = 30
_EVERY = 0.1  # seconds between two drawings


class Bar(Progress):
    """Shows the stage, a bar, counts and the time left."""

    def __init__(self) -> None:
        self._shown = sys.stderr.isatty()
        self._stage, self._total, self._done = "", 0, 0
        self._started = self._drawn = 0.0

    def start(self, stage: str, total: int) -> None:
        self._stage, self._total, self._done = stage, total, 0
        self._started = time.monotonic()
        self._draw()

    def advance(self, count: int = 1) -> None:
        self._done += count
        if time.monotonic() - self._drawn > _EVERY:
            self._draw()

    def waiting(self) -> None:
        print("another assay is indexing this repository; waiting for it", file=sys.stderr)

    def close(self) -> None:
        if self._shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)

    def _draw(self) -> None:
        if not self._shown or not self._total:
            return
        self._drawn = time.monotonic()
        share = min(1.0, self._done / self._total)
        spent = self._drawn - self._started
        left = f" {spent / share * (1 - share):.0f}s left" if share > 0.05 else ""
        bar = "█" * round(_WIDTH * share) + "░" * (_WIDTH - round(_WIDTH * share))
        print(f"\r\033[K{self._stage:<10} {bar} {self._done}/{self._total}{left}", end="", file=sys.stderr, flush=True)
