"""What use teaches, noted behind the answers: what a conversation was given, and which of it was then asked for by name."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Self

from assay import learn
from assay.core.items import Item
from assay.errors import AssayError
from assay.live import Resident, Residents
from assay.repository import Repository
from assay.store.layout import LEARNED

_WAITING = 100  # notes at most: who asks faster than can be written is not learned from


class Notes:
    """Notes are written in their order by one thread: no answer waits for them. Off, nothing is kept."""

    def __init__(self, resident: Resident | Residents, on: bool = True) -> None:
        self.on = on
        self._repo = resident.own()  # of the writer alone
        self._generations: list[str | None] = []
        self._writer = ThreadPoolExecutor(1, "assay notes")
        self._room = threading.Semaphore(_WAITING)

    @property
    def labels(self) -> tuple[str, ...]:
        """Of the repositories that are asked as one; none for one alone."""
        return tuple(filter(None, self._repo.members))

    @property
    def ignored_settings(self) -> list[str]:
        """Settings that count only after the user has trusted them, when the server began."""
        return self._repo.ignored_settings

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Writes what is still to be written."""
        self._writer.shutdown()
        self._repo.close()

    def given(self, session: str, items: Iterable[Item], task: str) -> None:
        """A conversation was given items for a task."""
        shown = list(items)
        self._note(lambda repo: repo.note_given(shown, task, session))

    def used(self, session: str, names: Sequence[str] = (), paths: Sequence[str] = ()) -> None:
        """What it was given before and asks for now, by name or as part of a file, was useful."""

        def write(repo: Repository) -> None:
            for label, one in repo.members.items():
                if label and not (one.home.folder / LEARNED).exists():
                    continue  # nothing was given of it
                with learn.learning(one.index, one.home, one.source) as told:
                    told.used(" ".join(f"{name.removeprefix(f'{label}/')}()" for name in names), session)
                    for path in paths:
                        told.used("", session, path.removeprefix(f"{label}/"), range(1, sys.maxsize))

        self._note(write)

    def _note(self, write: Callable[[Repository], None]) -> None:
        if self.on and self._room.acquire(blocking=False):
            self._writer.submit(self._written, write)

    def _written(self, write: Callable[[Repository], None]) -> None:
        """With a repository of its own: those that answer stay warm. Where nothing can be kept, nothing is."""
        self._room.release()
        before, self._generations = self._generations, [one.home.named() for one in self._repo.members.values()]
        if before != self._generations:
            self._repo.close()
        with contextlib.suppress(AssayError, OSError):
            write(self._repo)
