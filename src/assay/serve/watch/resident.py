"""A repository kept open by a server: many threads ask, the index follows the files, and a new generation is picked up by itself."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Self

from assay.api import Repository, Workspace
from assay.config import user
from assay.config.configuration import NAME as CONFIGURATION
from assay.config.roots import Root
from assay.config.user import read_settings
from assay.errors import AssayError
from assay.index.freshness import Freshness, Look
from assay.index.scan import Scan, scan
from assay.serve.watch.first_look import ANYWAY, Watching
from assay.serve.watch.keeper import (
    BUILDING,
    FAILED,
    FRESH,
    MISSING,
    STALE,
    Began,
    Ended,
    Event,
    Keeper,
    Rested,
    State,
    Went,
)
from assay.store import history, sections
from assay.store.index import Index, NoIndex, UnusableIndex
from assay.store.layout import Home

_MOST = 3  # repositories open at once: each has caches of its own, 130 MB for one of 40,000 symbols
_PATIENCE = 5.0  # seconds for the keeper to end
_RETRY = 5.0  # seconds: each try is a process, and others may be asked meanwhile

Stamp = tuple[object, ...]


class _Followed(Repository):
    """A repository that need not look whether it is fresh while whoever watches its files says so."""

    def __init__(self, root: Path, index_dir: Path | None, followed: Callable[[], str]) -> None:
        super().__init__(root, index_dir)
        self._followed = followed

    def look(self) -> Look:
        state = self._followed()
        return _Unchanged(self.root, self.index, state) if state else super().look()


class _Unchanged(Look):
    """A look that need not look for what changed: nothing did."""

    def __init__(self, root: Path, index: Index, state: str) -> None:
        self._root, self._index, self.at = root, index, time.time_ns()
        self.state = state

    @cached_property
    def found(self) -> Scan:  # type: ignore[override]
        return scan(self._root)

    @cached_property
    def freshness(self) -> Freshness:
        return Freshness([])


class Resident:
    """One repository for as long as a server runs. Its index is built, or brought up to date, as soon as it is made."""

    def __init__(self, root: Path, index_dir: str | Path | None = None, watch: bool = True) -> None:
        self.root = root
        self.home = Home.of(root, index_dir or None)
        self._changed = threading.Condition()  # guards what follows, and is notified when any of it changes
        self._state = State(MISSING if self.home.current() is None else STALE)
        self._free: list[tuple[Stamp, Repository]] = []
        self._open = 0
        self._closed = self._rested = False
        self._tried = 0.0  # when it was tried last to bring the index up to date, where that failed
        self._had = self.home.current() is not None  # an index, at any time
        self._watching = Watching(root, self.home.folder, events=watch, poll=ANYWAY if watch else float("inf"))
        self._keeper = Keeper(root, self.home.folder, self._watching, self._told)
        self._thread = threading.Thread(target=self._keep, name="assay keeper", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def roots(self) -> tuple[Path, ...]:
        return (self.root,)

    @property
    def members(self) -> Mapping[str, Resident]:
        """Those it is made of, by label: itself, without one."""
        return {"": self}

    def own(self) -> Repository:
        """A repository of the caller's own."""
        return Repository(self.root, self.home.folder)

    @property
    def state(self) -> State:
        """What the index is now."""
        return self._state

    @contextlib.contextmanager
    def using(self) -> Iterator[Repository]:
        """A repository of the newest generation that this thread alone uses. Raises NoIndex while there is none."""
        stamp, repo = self._take()
        try:
            yield repo
        except AssayError:
            raise  # an answer like any other
        except BaseException:
            repo.close()  # whatever broke, the next one starts afresh
            raise
        finally:
            self._give_back(stamp, repo)

    def look(self) -> None:
        """Somebody noticed a change: compare now rather than later. What failed a moment ago is not tried again for each who asks."""
        if self._state.name != FAILED or time.monotonic() - self._tried >= _RETRY:
            self._watching.asked.set()

    def wait(self, seconds: float) -> bool:
        """Waits until there is an index to ask, at most so long; says whether there is one."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self.home.current() is not None, seconds)
        return self.home.current() is not None

    def wait_to_search(self, seconds: float) -> bool:
        """Waits until passages were made, which takes other processes that only the keeper may start; says whether they are."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._rested, seconds)
            return self._rested

    def close(self) -> None:
        """Ends what is under way and lets go of everything."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._keeper.stop()
        self._thread.join(_PATIENCE)
        with self._changed:
            for _, repo in self._free:
                repo.close()
            self._free.clear()

    # the pool

    def _take(self) -> tuple[Stamp, Repository]:
        if self.home.current() is None:
            self.look()
            raise NoIndex(f"{self.root}: no index yet; it is being built")
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._free or self._open < _MOST)
            if self._closed:
                raise AssayError(f"{self.root}: closed")
            stamp = self._stamp()
            while self._free:
                known, repo = self._free.pop()  # the one used last has most in its caches
                if known == stamp:
                    return stamp, repo
                repo.close()
                self._open -= 1
            self._open += 1
        return stamp, _Followed(self.root, self.home.folder, self._followed)

    def _followed(self) -> str:
        """Names the state of the files while they are watched and are as they were indexed; empty while nobody knows."""
        fresh = self._watching.following and self._state.name == FRESH
        return f"followed, {self._watching.changes} changes" if fresh else ""

    def _give_back(self, stamp: Stamp, repo: Repository) -> None:
        with self._changed:
            if self._closed:
                repo.close()
            else:
                self._free.append((stamp, repo))
            self._changed.notify()

    def _stamp(self) -> Stamp:
        """Changes with everything that a repository reads once and keeps."""
        settings = self.root / CONFIGURATION
        beside = (self.home.folder / sections.NAME, self.home.folder / history.NAME, settings)
        return (self.home.current(), *map(_stat, beside), user.stamp(settings))

    # the keeper's news

    def _keep(self) -> None:
        try:
            self._keeper.run()
        except Exception as error:
            self._told(Ended(why=f"{type(error).__name__}: {error}"))
            raise

    def _told(self, event: Event) -> None:
        with self._changed:
            if isinstance(event, Rested):
                self._rested = True
            else:
                self._state = self._after(event)
            self._changed.notify_all()
        if isinstance(event, Ended) and event.report and event.report.mode != "fresh":
            self._warm()

    def _after(self, event: Began | Went | Ended) -> State:
        there = self.home.current() is not None
        if isinstance(event, Began):
            self._tried = time.monotonic()
            # what failed has failed until it gets further
            return (
                self._state
                if self._state.name == FAILED
                else State(BUILDING if event.first else STALE, again=self._had)
            )
        if isinstance(event, Went):
            why = "waiting for another process that is indexing" if event.step.waiting else ""
            return State(STALE if there else BUILDING, event.step.share, event.seconds, why, self._had)
        if event.why:
            self._tried = time.monotonic()
            return State(FAILED, why=event.why, again=self._had)
        self._had = True
        return State(FRESH, again=True)

    def _warm(self) -> None:
        """Asks the new generation something, so that nobody has to wait for what is loaded at first."""
        with contextlib.suppress(AssayError, OSError), self.using() as repo:
            names = [Path(path).stem for path in list(repo.files)[:1]]
            repo.rank(" ".join(names) or "main", 1)


def _stat(path: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns


# Several repositories kept open by a server and asked as one: each follows its own files, and what is asked
# together is joined for each thread.

_MOST_RESIDENTS = 3  # joined repositories that are kept, as many as each has open
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
            self._joined = [*self._joined[1 - _MOST_RESIDENTS :], (made_of, workspace)]
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
