"""A repository kept open by a server (stand-in until the real one is merged)."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from assay.errors import AssayError
from assay.ingest.report import Progress
from assay.repository import Repository


@dataclass(frozen=True, slots=True)
class State:
    """What the index is: missing, building, fresh, stale or failed."""

    name: str
    share: float = 0.0
    why: str = ""


class Resident(Progress):
    """Builds or updates in the background; hands out repositories, one thread each."""

    def __init__(self, root: Path, index_dir: Path | None = None, watch: bool = True) -> None:
        self.root, self._index_dir = root, index_dir
        self._free: list[Repository] = []
        self._lock = threading.Lock()
        self._total, self._done, self._failed = 0, 0, ""
        self._thread = threading.Thread(target=self._build, daemon=True)
        self._thread.start()

    def start(self, stage: str, total: int) -> None:
        self._total, self._done = total, 0

    def advance(self, count: int = 1) -> None:
        self._done += count

    def _build(self) -> None:
        try:
            with Repository(self.root, self._index_dir) as repo:
                repo.refresh(progress=self)
        except AssayError as error:
            self._failed = str(error)

    @property
    def state(self) -> State:
        if self._thread.is_alive():
            return State("building", self._done / self._total if self._total else 0.0)
        return State("failed", why=self._failed) if self._failed else State("fresh")

    @contextmanager
    def using(self) -> Iterator[Repository]:
        with self._lock:
            repo = self._free.pop() if self._free else Repository(self.root, self._index_dir)
        try:
            yield repo
        finally:
            with self._lock:
                self._free.append(repo)

    def close(self) -> None:
        for repo in self._free:
            repo.close()
