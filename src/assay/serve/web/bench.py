"""Data access of the web server: resident repositories, answer cache, stored runs and sweeps, index-free answers."""

from __future__ import annotations

import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from assay.api import Repository
from assay.config.configuration import Configuration
from assay.core.items import Item
from assay.core.packs import Heading, Ranked
from assay.errors import AssayError
from assay.evaluate.runs import RunStore
from assay.pack.context import Context
from assay.serve.registry import Registry
from assay.serve.telemetry import AuditLog
from assay.serve.watch import Resident, WorkspaceResident
from assay.serve.watch.first_look import FirstLook, Look, Match
from assay.store.caches import key_of
from assay.store.index import NoIndex, UnusableIndex
from assay.system.inputs import read_json

MOST_BYTES = 32_000_000  # of all cached answers; one may take up to an eighth

CachedAnswer = tuple[str, ...]
Roots = tuple[tuple[str, Path], ...]  # label and folder of every repository


class AnswerCache:
    """Thread-safe LRU cache of answers, bounded by their total size in bytes."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        self._max_bytes, self._bytes = most, 0
        self._answers: OrderedDict[bytes, CachedAnswer] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: bytes) -> CachedAnswer | None:
        with self._lock:
            if key in self._answers:
                self._answers.move_to_end(key)
            return self._answers.get(key)

    def put(self, key: bytes, answer: CachedAnswer) -> None:
        if _size(answer) > self._max_bytes // 8:
            return
        with self._lock:
            self._bytes += _size(answer) - _size(self._answers.pop(key, ()))
            self._answers[key] = answer
            while self._bytes > self._max_bytes:
                self._bytes -= _size(self._answers.popitem(last=False)[1])


def _size(answer: CachedAnswer) -> int:
    return sum(map(sys.getsizeof, answer))


# Repositories, runs and sweeps

_REPORT_FILE = "comparison.json"
_RUNS_LOCK_SECONDS = 2.0  # to wait for another process that writes runs; the client may retry
_PASSAGES_SECONDS = 10.0  # to wait for passages


class NotFound(AssayError):
    """The requested object does not exist (HTTP 404)."""


class NotYet(AssayError):
    """The requested data is still being built (HTTP 503); the client may retry."""


@dataclass(frozen=True)
class Registration:
    """Registered repositories, folders whose repositories requests may register, and what to call after a change."""

    registry: Registry
    allowed: Sequence[Path]
    changed: Callable[[], object]


@dataclass(frozen=True)
class Bench:
    """Data sources of the web server. `using` leases a repository to the calling thread."""

    resident: Resident | WorkspaceResident
    runs_file: Path  # sweeps are beside it
    audit: AuditLog | None = None
    store: str = ""  # address of a team's run store, which replaces the file
    registration: Registration | None = None  # None: the repositories are those of the command line
    _answers: AnswerCache = field(default_factory=AnswerCache)
    _first_look: Callable[[Roots], FirstLook] = field(
        default_factory=lambda: lru_cache(1)(lambda roots: FirstLook(dict(roots)))
    )

    @property
    def members(self) -> Mapping[str, Resident]:
        """WorkspaceResident by label; a single repository has the empty label."""
        return self.resident.members

    @property
    def is_ready(self) -> bool:
        """True when every repository has an index that can be read."""
        return all(resident.wait(0) for resident in self.members.values())

    @property
    def multi_repo(self) -> bool:
        return "" not in self.members

    @property
    def name(self) -> str:
        """Display name of the served repositories."""
        return ", ".join(label or resident.root.name or str(resident.root) for label, resident in self.members.items())

    @property
    def configuration(self) -> Configuration:
        """Current configuration, for answers without an index."""
        return self.resident.own().configuration

    @property
    def ignored_settings(self) -> list[str]:
        """Settings of assay.toml ignored because the user has not trusted them."""
        return self.resident.own().ignored_settings if self.members else []

    @property
    def building(self) -> str:
        """Progress of every index, as a sentence fragment."""
        return "; ".join(
            f"the index {f'of {label} ' if label else ''}is {resident.state.building}"
            for label, resident in self.members.items()
        )

    def without(self, repo: Repository) -> dict[str, str]:
        """Return label → progress of the repositories missing from `repo` because they have no index yet."""
        return {label: resident.state.building for label, resident in self.members.items() if label not in repo.members}

    def first_look(self, task: str) -> Look:
        """Run an index-free search. Raises NotYet if no files can be listed."""
        roots = tuple((label, resident.root) for label, resident in self.members.items())
        if not roots:
            raise NotYet(self.resident.state.why)
        try:
            return self._first_look(roots).look(task)
        except (AssayError, OSError) as error:  # usually the folder is gone; it may come back
            raise NotYet(str(error)) from None

    @contextmanager
    def using(self) -> Iterator[Repository]:
        """Lease a repository with a usable index; otherwise request a refresh and raise NoIndex or UnusableIndex."""
        with self.resident.using() as repo:
            try:
                repo.index  # noqa: B018 (raises)
            except (NoIndex, UnusableIndex):
                self.resident.look()
                raise
            yield repo

    @contextmanager
    def searching(self) -> Iterator[Repository]:
        """Lease a repository whose passages are built. Raises NotYet if they are not ready in time."""
        with self.using() as repo:
            if not (
                self._wait_searchable(repo, 0) or repo.is_searchable() or self._wait_searchable(repo, _PASSAGES_SECONDS)
            ):
                raise NotYet("passages are still being built; try again in a moment")
            yield repo

    def _wait_searchable(self, repo: Repository, seconds: float) -> bool:
        """Wait until all members have their passages, at most `seconds`; return True if they have."""
        deadline = time.monotonic() + seconds
        return all(self.members[label].wait_to_search(max(0.0, deadline - time.monotonic())) for label in repo.members)

    def remembered(
        self, repo: Repository, question: Iterable[object], make: Callable[[], CachedAnswer]
    ) -> CachedAnswer:
        """Return the cached answer of a key, or make and cache it; any change that affects ranking invalidates it."""
        state = repo.look().state
        if not state or repo.pending:
            return make()
        key = key_of(repo.index, state, [*question, *repo.feedback_state()])
        answer = self._answers.get(key)
        if answer is None:
            answer = make()
            self._answers.put(key, answer)
        return answer

    # runs

    @property
    def has_runs(self) -> bool:
        return bool(self.store) or self.runs_file.exists()

    @contextmanager
    def runs(self) -> Iterator[RunStore]:
        with RunStore.open(self.store or self.runs_file, wait=_RUNS_LOCK_SECONDS) as store:
            yield store

    # sweeps

    def sweeps(self) -> list[dict[str, Any]]:
        """Return the summaries of stored sweeps, newest first."""
        summaries = [_sweep_summary(report) for name in self._sweep_names() if (report := self._read_sweep(name))]
        return sorted(summaries, key=lambda summary: (summary["timestamp"], summary["sweep_id"]), reverse=True)

    def sweep(self, sweep_id: str) -> dict[str, Any]:
        """Return a sweep report; its id is only compared with existing folder names. Raises NotFound."""
        name = next((name for name in self._sweep_names() if name == sweep_id), None)
        report = self._read_sweep(name) if name else None
        if report is None:
            raise NotFound(f"no sweep called '{sweep_id[:80]}'; /api/sweeps lists them")
        return report

    def _sweep_names(self) -> list[str]:
        folder = self._sweep_folder
        if not folder.is_dir():
            return []
        return sorted(path.name for path in folder.iterdir() if not path.is_symlink() and path.is_dir())

    @property
    def _sweep_folder(self) -> Path:
        return self.runs_file.parent / "sweeps"

    def _read_sweep(self, name: str) -> dict[str, Any] | None:
        path = self._sweep_folder / name / _REPORT_FILE
        try:
            report = None if path.is_symlink() else read_json(path)
        except (OSError, ValueError, AssayError):
            return None
        return {**report, "sweep_id": name} if isinstance(report, dict) and "reports" in report else None


def _sweep_summary(report: dict[str, Any]) -> dict[str, Any]:
    names = ("sweep_id", "timestamp", "num_configs", "golden", "matching", "k", "recommendations")
    return {name: report.get(name) for name in names}


# Index-free answers in the form of a context


class _MatchedLines:
    """Item source whose text is the matching lines with their numbers."""

    def __init__(self, matches: dict[str, Match]) -> None:
        self._matches = matches

    def note(self, item: Item) -> str:
        return ""

    def text(self, item: Item) -> str:
        return "\n".join(f"{number}: {line}" for number, line in self._matches[item.path].lines)


def context_without_index(bench: Bench, task: str, k: int | None, budget: int | None) -> Context:
    """Pack the files that contain the words of a task within the budget."""
    look = bench.first_look(task)
    settings = bench.configuration.context
    freshness = f"{bench.building}. Until then, {look}"
    items = [
        Ranked(_file_item(number, match, bench.multi_repo), match.score) for number, match in enumerate(look.matches)
    ]
    source = _MatchedLines({match.path: match for match in look.matches})
    heading = Heading(task, fresh=False, freshness=freshness)
    return Context.of(items[:k], settings.budget if budget is None else budget, source, heading, "json")


def _file_item(number: int, match: Match, multi_repo: bool) -> Item:
    """Return a file as an item that spans its matching lines."""
    label = match.path.partition("/")[0] if multi_repo else ""
    lines = [line for line, _ in match.lines] or [1]
    name = match.path.rpartition("/")[2]
    return Item(number, match.path, "file", name, "", match.path, lines[0], lines[-1], "", "", False, repository=label)
