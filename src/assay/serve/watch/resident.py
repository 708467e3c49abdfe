"""Open repositories of a server: pools shared by threads, with indexes refreshed in the background."""

from __future__ import annotations

import contextlib
import functools
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Self

from assay.api import Repository, Workspace
from assay.config import user
from assay.config.configuration import NAME as CONFIGURATION
from assay.config.roots import Root
from assay.config.user import read_settings
from assay.errors import AssayError
from assay.serve.watch.keeper import BUILDING, FAILED, FRESH, MISSING, STALE, State
from assay.serve.watch.upkeep import IndexReport, Upkeep, first_report
from assay.store.index import NoIndex, UnusableIndex
from assay.store.layout import Home

_POOL_SIZE = 3  # open repositories: each has its own caches, 130 MB for 40,000 symbols

Stamp = tuple[object, ...]


class Resident:
    """A pool of one repository's open instances, for the threads of a server.

    Creating it starts building or refreshing the index. With `look`, which requests a check, another process does
    that: `receive` is told the state of the index.
    """

    def __init__(
        self,
        root: Path,
        index_dir: str | Path | None = None,
        watch: bool = True,
        look: Callable[[], None] | None = None,
    ) -> None:
        self.root = root
        self.home = Home.of(root, index_dir or None)
        self._changed = threading.Condition()  # guards the fields below; notified on every change
        self._report = first_report(self.home)
        self._idle: list[tuple[Stamp, Repository]] = []
        self._open_count = 0
        self._closed = False
        self._upkeep = None if look else Upkeep(root, self.home, watch, self.receive)
        self._request_check = look or self._upkeep.look  # type: ignore[union-attr]
        if self._upkeep:
            self._upkeep.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    @property
    def roots(self) -> tuple[Path, ...]:
        return (self.root,)

    @property
    def members(self) -> Mapping[str, Resident]:
        """Members by label: itself, under the empty label."""
        return {"": self}

    def own(self) -> Repository:
        """Return a new repository that the caller owns."""
        return Repository(self.root, self.home.folder)

    @property
    def state(self) -> State:
        """Current state of the index."""
        return self._report.state

    @contextlib.contextmanager
    def using(self) -> Iterator[Repository]:
        """Lease a repository of the newest generation to this thread. Raises NoIndex while there is none."""
        stamp, repo = self._acquire()
        try:
            yield repo
        except AssayError:
            raise  # an ordinary error: the repository stays usable
        except BaseException:
            repo.close()  # its state is unknown after an unexpected error
            raise
        finally:
            self._release(stamp, repo)

    def look(self) -> None:
        """Request a freshness check now; ignored shortly after a failed refresh."""
        self._request_check()

    def wait(self, seconds: float) -> bool:
        """Wait until there is an index, at most `seconds`; return True if there is one."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self.home.current() is not None, seconds)
        return self.home.current() is not None

    def wait_to_search(self, seconds: float) -> bool:
        """Wait until the passages are built, at most `seconds`; return True if they are ready."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._report.searchable, seconds)
            return self._report.searchable

    def receive(self, report: IndexReport) -> None:
        """Take the newest state of the index, and load a new generation's caches before the next request."""
        with self._changed:
            refreshed = report.refreshes > self._report.refreshes
            self._report = report
            self._changed.notify_all()
        if refreshed:
            threading.Thread(target=self._warm, name="assay warming", daemon=True).start()

    def close(self) -> None:
        """End the upkeep and close all pooled repositories."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if self._upkeep:
            self._upkeep.close()
        with self._changed:
            for _, repo in self._idle:
                repo.close()
            self._idle.clear()

    # the pool

    def _acquire(self) -> tuple[Stamp, Repository]:
        if self.home.current() is None:
            self.look()
            raise NoIndex(f"{self.root}: no index yet; it is being built")
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._idle or self._open_count < _POOL_SIZE)
            if self._closed:
                raise NoIndex(f"{self.root}: no longer served")
            stamp = self.own().stamp()
            while self._idle:
                opened_stamp, repo = self._idle.pop()  # last used first: its caches are warmest
                if opened_stamp == stamp:
                    return stamp, repo
                repo.close()
                self._open_count -= 1
            self._open_count += 1
        return stamp, Repository(self.root, self.home.folder, lambda: self._report.watched)

    def _release(self, stamp: Stamp, repo: Repository) -> None:
        with self._changed:
            if self._closed:
                repo.close()
            else:
                self._idle.append((stamp, repo))
            self._changed.notify()

    def _warm(self) -> None:
        """Run a query on the new generation to load its caches before the next request."""
        with contextlib.suppress(AssayError, OSError), self.using() as repo:
            names = [Path(path).stem for path in list(repo.files)[:1]]
            repo.rank(" ".join(names) or "main", 1)


# Multi-repository residents: each member watches its own files; queries join the members into a workspace

_NOTHING_SERVED = "no repository is registered yet; assay repositories add DIR registers one"
_MAX_WORKSPACES = 3  # cached joined workspaces, as many as each member has open repositories
_WORST_FIRST = (FAILED, MISSING, BUILDING, STALE, FRESH)  # the state of a workspace is that of its worst member


def resident_of(
    repo: Repository, index_dir: Path | None, watch: bool, partly: bool = False
) -> Resident | WorkspaceResident:
    """Return the resident of a repository or of a workspace."""
    return (
        WorkspaceResident(repo.roots, repo.folder, watch, partly)
        if isinstance(repo, Workspace)
        else Resident(repo.root, index_dir, watch)
    )


class WorkspaceResident:
    """`Resident` of several repositories queried together. `folder` is the workspace folder, if any.

    `partly`: members without an index are left out instead of raising.
    """

    def __init__(
        self,
        roots: Sequence[Root],
        folder: Path | None = None,
        watch: bool = True,
        partly: bool = False,
        look: Callable[[str], None] | None = None,
    ) -> None:
        """Set up the members; `look` requests a check by label where another process keeps the indexes."""
        self._folder, self._skip_missing = folder, partly
        self._watch, self._look = watch, look
        self._lock = threading.Lock()
        self._workspaces: list[tuple[list[object], Workspace]] = []  # (inputs, workspace), least recently used first
        self.members: Mapping[str, Resident] = {}  # by label; replaced as a whole
        self.replace_roots(roots)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        for member in self.members.values():
            member.close()

    def replace_roots(self, roots: Sequence[Root]) -> None:
        """Serve these repositories from now on; those that stay keep their caches."""
        with self._lock:
            before, members = self.members, dict[str, Resident]()
            for root in sorted(roots, key=lambda root: root.label):
                member = before.get(root.label)
                members[root.label] = member if member and member.root == root.path else self._resident(root)
            self.members = members
            self._workspaces.clear()
        for member in before.values():
            if member not in members.values():
                member.close()

    def _resident(self, root: Root) -> Resident:
        if self._look is None:
            return Resident(root.path, None, self._watch)
        return Resident(root.path, look=functools.partial(self._look, root.label))

    @property
    def _roots(self) -> list[Root]:
        return [Root(label, member.root) for label, member in self.members.items()]

    @property
    def roots(self) -> tuple[Path, ...]:
        return tuple(member.root for member in self.members.values())

    @property
    def state(self) -> State:
        """State of the worst member, with the mean share of all."""
        states = {label: member.state for label, member in self.members.items()}
        if not states:
            return State(MISSING, why=_NOTHING_SERVED)
        label, worst = min(states.items(), key=lambda pair: _WORST_FIRST.index(pair[1].name))
        share = sum(1.0 if state.name == FRESH else state.share for state in states.values()) / len(states)
        why = f"{label}: {worst.why}" if worst.why else ""
        return State(
            worst.name, 0.0 if worst.name == FRESH else share, max(s.seconds for s in states.values()), why, worst.again
        )

    def own(self) -> Workspace:
        """Return a new workspace that the caller owns. Raises NoIndex while there is no repository."""
        if not self.members:
            raise NoIndex(_NOTHING_SERVED)
        return Workspace(self._roots, self._folder)

    @contextlib.contextmanager
    def using(self) -> Iterator[Workspace]:
        """Lease a workspace of the newest generations to this thread.

        Raises NoIndex if a member (with `partly`: every member) has no index.
        """
        members, problems = dict[str, Repository](), list[AssayError]()
        if not self.members:
            raise NoIndex(_NOTHING_SERVED)
        with contextlib.ExitStack() as leases:
            # acquired in label order, so that threads cannot deadlock
            for label, member in self.members.items():
                try:
                    members[label] = _open_index(leases.enter_context(member.using()), member)
                except (NoIndex, UnusableIndex) as error:
                    problems.append(error)
            if problems and not (self._skip_missing and members):
                raise problems[0]
            yield self._workspace(members)

    def _workspace(self, members: Mapping[str, Repository]) -> Workspace:
        """Return the cached workspace of these members, which keeps its own caches, or a new one."""
        inputs: list[object] = [
            *members.values(),
            *(member.index for member in members.values()),
            self._settings_stamp(),
        ]
        with self._lock:
            for position, (cached_inputs, workspace) in enumerate(self._workspaces):
                if _same_inputs(cached_inputs, inputs):
                    self._workspaces.append(self._workspaces.pop(position))
                    return workspace
            roots = [Root(label, repo.root) for label, repo in members.items()]
            workspace = Workspace(roots, self._folder, members)
            self._workspaces = [*self._workspaces[1 - _MAX_WORKSPACES :], (inputs, workspace)]
        return workspace

    def _settings_stamp(self) -> tuple[object, ...]:
        """Return a value that changes with the settings of the workspace."""
        if not self._folder:
            return (user.stamp(),)
        settings = self._folder / CONFIGURATION
        try:
            return read_settings(settings, self._folder), user.stamp(settings)
        except AssayError:
            return ()

    def look(self) -> None:
        for member in self.members.values():
            member.look()

    def wait(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        return all(member.wait(max(0.0, deadline - time.monotonic())) for member in self.members.values())

    def wait_to_search(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        return all(member.wait_to_search(max(0.0, deadline - time.monotonic())) for member in self.members.values())


def _open_index(repo: Repository, resident: Resident) -> Repository:
    """Open the index of a repository; request a refresh and re-raise if it is missing or unusable."""
    try:
        repo.index  # noqa: B018 (raises)
    except (NoIndex, UnusableIndex):
        resident.look()
        raise
    return repo


def _same_inputs(first: Sequence[object], second: Sequence[object]) -> bool:
    return len(first) == len(second) and all(
        left is right or left == right for left, right in zip(first, second, strict=True)
    )
