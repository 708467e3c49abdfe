"""Several repositories kept open by a server and asked as one: each follows its own files, and what is asked together is joined for each thread."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from assay.config import user
from assay.config.toml_file import read_settings
from assay.errors import AssayError
from assay.live.resident import Resident
from assay.live.state import BUILDING, FAILED, FRESH, MISSING, STALE, State
from assay.repository import Repository
from assay.retrieve.configuration import NAME as CONFIGURATION
from assay.roots import Root
from assay.store.index import NoIndex, UnusableIndex
from assay.workspace import Workspace

_MOST = 3  # joined repositories that are kept, as many as each has open
_WORST = (FAILED, MISSING, BUILDING, STALE, FRESH)  # what is told of several is told of the worst


def resident_of(repo: Repository, index_dir: Path | None, watch: bool, partly: bool = False) -> Resident | Residents:
    """What keeps a repository open, or a workspace."""
    return (
        Residents(repo.roots, repo.folder, watch, partly)
        if isinstance(repo, Workspace)
        else Resident(repo.root, index_dir, watch)
    )


class Residents:
    """What `Resident` is for one repository. `folder` is the workspace's, if it has one.

    `partly`: while some have no index, the others are asked without them.
    """

    def __init__(
        self, found: Sequence[Root], folder: Path | None = None, watch: bool = True, partly: bool = False
    ) -> None:
        self._found = sorted(found, key=lambda root: root.label)
        self._folder, self._partly = folder, partly
        self._guard = threading.Lock()
        self._joined: list[tuple[list[object], Workspace]] = []  # each with what it was made of, the last used last
        self.members = {root.label: Resident(root.path, None, watch) for root in self._found}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        for one in self.members.values():
            one.close()

    @property
    def roots(self) -> tuple[Path, ...]:
        return tuple(root.path for root in self._found)

    @property
    def state(self) -> State:
        """That of the worst; the share is that of all."""
        states = {label: one.state for label, one in self.members.items()}
        label, worst = min(states.items(), key=lambda pair: _WORST.index(pair[1].name))
        share = sum(1.0 if state.name == FRESH else state.share for state in states.values()) / len(states)
        why = f"{label}: {worst.why}" if worst.why else ""
        return State(
            worst.name, 0.0 if worst.name == FRESH else share, max(s.seconds for s in states.values()), why, worst.again
        )

    def own(self) -> Workspace:
        """A workspace of the caller's own."""
        return Workspace(self._found, self._folder)

    @contextlib.contextmanager
    def using(self) -> Iterator[Workspace]:
        """All of them as one, of their newest generations, for this thread alone. Raises NoIndex while one has none, or all."""
        members, problems = dict[str, Repository](), list[AssayError]()
        with contextlib.ExitStack() as taken:
            # in the order of their labels, so that no two threads wait for each other
            for label, one in self.members.items():
                try:
                    members[label] = _opened(taken.enter_context(one.using()), one)
                except (NoIndex, UnusableIndex) as error:
                    problems.append(error)
            if problems and not (self._partly and members):
                raise problems[0]
            yield self._workspace(members)

    def _workspace(self, members: Mapping[str, Repository]) -> Workspace:
        """The one that was made of these before, so that what it worked out is still there; else a new one."""
        made_of: list[object] = [*members.values(), *(one.index for one in members.values()), self._settings()]
        with self._guard:
            for place, (before, workspace) in enumerate(self._joined):
                if _same(before, made_of):
                    self._joined.append(self._joined.pop(place))
                    return workspace
            workspace = Workspace([root for root in self._found if root.label in members], self._folder, members)
            self._joined = [*self._joined[1 - _MOST :], (made_of, workspace)]
        return workspace

    def _settings(self) -> tuple[object, ...]:
        """Changes with what settles the workspace."""
        if not self._folder:
            return (user.stamp(),)
        settings = self._folder / CONFIGURATION
        try:
            return read_settings(settings, self._folder), user.stamp(settings)
        except AssayError:
            return ()

    def look(self) -> None:
        for one in self.members.values():
            one.look()

    def wait(self, seconds: float) -> bool:
        until = time.monotonic() + seconds
        return all(one.wait(max(0.0, until - time.monotonic())) for one in self.members.values())

    def wait_to_search(self, seconds: float) -> bool:
        until = time.monotonic() + seconds
        return all(one.wait_to_search(max(0.0, until - time.monotonic())) for one in self.members.values())


def _opened(repo: Repository, resident: Resident) -> Repository:
    """The repository with its index open; where it cannot be used, somebody sees to it."""
    try:
        repo.index  # noqa: B018 (raises)
    except (NoIndex, UnusableIndex):
        resident.look()
        raise
    return repo


def _same(before: Sequence[object], now: Sequence[object]) -> bool:
    return len(before) == len(now) and all(one is other or one == other for one, other in zip(before, now, strict=True))
