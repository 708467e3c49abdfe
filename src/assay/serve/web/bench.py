"""What the server asks: the repository that `live` keeps open, or several as one, and the runs and sweeps that were stored for it."""

from __future__ import annotations

import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from assay.api import Repository
from assay.config.configuration import Configuration
from assay.core.items import Item
from assay.core.packs import Heading, Ranked
from assay.errors import AssayError
from assay.evaluate.runs import RunStore
from assay.pack.context import Context
from assay.serve.watch import Resident, Residents
from assay.serve.watch.first_look import FirstLook, Look, Match
from assay.store.caches import key_of
from assay.store.index import NoIndex, UnusableIndex
from assay.system.inputs import read_json

MOST_BYTES = 32_000_000  # of all answers; a single one may take an eighth

CachedAnswer = tuple[str, ...]


class Remembered:
    """A dictionary for several threads whose answers together never take more than so many bytes."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        self._most, self._bytes = most, 0
        self._answers: OrderedDict[bytes, CachedAnswer] = OrderedDict()
        self._guard = threading.Lock()

    def get(self, key: bytes) -> CachedAnswer | None:
        with self._guard:
            if key in self._answers:
                self._answers.move_to_end(key)
            return self._answers.get(key)

    def put(self, key: bytes, answer: CachedAnswer) -> None:
        if _size(answer) > self._most // 8:
            return
        with self._guard:
            self._bytes += _size(answer) - _size(self._answers.pop(key, ()))
            self._answers[key] = answer
            while self._bytes > self._most:
                self._bytes -= _size(self._answers.popitem(last=False)[1])


def _size(answer: CachedAnswer) -> int:
    return sum(map(sys.getsizeof, answer))


# What the server asks: the repository that `live` keeps open, or several as one, and the runs and sweeps that were
# stored for it.

_COMPARISON = "comparison.json"
_WAIT = 2.0  # seconds for another process to write runs: whoever asks may ask again
_PATIENCE = 10.0  # seconds to wait for passages


class NotFound(AssayError):
    """What was asked about does not exist."""


class NotYet(AssayError):
    """It is being made; asking again later helps."""


@dataclass(frozen=True)
class Bench:
    """Everything an answer is made from. `using` gives a repository to one thread at a time."""

    resident: Resident | Residents
    runs_file: Path
    _answers: Remembered = field(default_factory=Remembered)

    @property
    def members(self) -> Mapping[str, Resident]:
        """The repositories that are asked, by label: one alone has none."""
        return self.resident.members

    @property
    def several(self) -> bool:
        return "" not in self.members

    @property
    def name(self) -> str:
        """What is asked, for people."""
        return ", ".join(label or one.root.name or str(one.root) for label, one in self.members.items())

    @property
    def configuration(self) -> Configuration:
        """What assay.toml says now; for what is answered without an index."""
        return self.resident.own().configuration

    @property
    def ignored_settings(self) -> list[str]:
        """Settings of assay.toml that count only after the user has trusted them."""
        return self.resident.own().ignored_settings

    @property
    def building(self) -> str:
        """How far the index is, or each of several."""
        return "; ".join(
            f"the index {f'of {label} ' if label else ''}is {one.state.building}" for label, one in self.members.items()
        )

    def without(self, repo: Repository) -> dict[str, str]:
        """The repositories that an answer is without, because they cannot be asked yet: why, by label."""
        return {label: one.state.building for label, one in self.members.items() if label not in repo.members}

    @cached_property
    def _first(self) -> FirstLook:
        return FirstLook({label: one.root for label, one in self.members.items()})

    def first_look(self, task: str) -> Look:
        """What answers while there is no index."""
        try:
            return self._first.look(task)
        except (AssayError, OSError) as error:  # as a rule, the folder is gone; it may come back
            raise NotYet(str(error)) from None

    @contextmanager
    def using(self) -> Iterator[Repository]:
        """A repository whose index can be asked; where it cannot, somebody sees to it."""
        with self.resident.using() as repo:
            try:
                repo.index  # noqa: B018 (raises)
            except (NoIndex, UnusableIndex):
                self.resident.look()
                raise
            yield repo

    @contextmanager
    def searching(self) -> Iterator[Repository]:
        """A repository whose passages are made; making them is not the work of a request."""
        with self.using() as repo:
            if not (self._rested(repo, 0) or repo.is_searchable() or self._rested(repo, _PATIENCE)):
                raise NotYet("passages are still being made; try again in a moment")
            yield repo

    def _rested(self, repo: Repository, seconds: float) -> bool:
        """Waits until the passages were made of what is asked, at most so long; says whether they are."""
        until = time.monotonic() + seconds
        return all(self.members[label].wait_to_search(max(0.0, until - time.monotonic())) for label in repo.members)

    def remembered(self, repo: Repository, asked: Iterable[object], make: Callable[[], CachedAnswer]) -> CachedAnswer:
        """An answer that is made once, for as long as nothing changes that a ranking depends on."""
        state = repo.look().state
        if not state:
            return make()
        key = key_of(repo.index, state, asked)
        answer = self._answers.get(key)
        if answer is None:
            answer = make()
            self._answers.put(key, answer)
        return answer

    # runs

    @property
    def has_runs(self) -> bool:
        return self.runs_file.exists()

    @contextmanager
    def runs(self) -> Iterator[RunStore]:
        with RunStore.open(self.runs_file, wait=_WAIT) as store:
            yield store

    # sweeps

    def sweeps(self) -> list[dict[str, Any]]:
        """The sweeps there are, the newest first, each with what tells it from others."""
        found = [_headline(report) for name in self._sweep_names() if (report := self._read(name))]
        return sorted(found, key=lambda one: (one["timestamp"], one["sweep_id"]), reverse=True)

    def sweep(self, wanted: str) -> dict[str, Any]:
        """One sweep's report; only names that are there are ever looked up."""
        name = next((name for name in self._sweep_names() if name == wanted), None)
        report = self._read(name) if name else None
        if report is None:
            raise NotFound(f"no sweep called '{wanted[:80]}'; /api/sweeps lists them")
        return report

    def _sweep_names(self) -> list[str]:
        folder = self._sweep_folder
        if not folder.is_dir():
            return []
        return sorted(path.name for path in folder.iterdir() if not path.is_symlink() and path.is_dir())

    @property
    def _sweep_folder(self) -> Path:
        return self.runs_file.parent / "sweeps"

    def _read(self, name: str) -> dict[str, Any] | None:
        path = self._sweep_folder / name / _COMPARISON
        try:
            report = None if path.is_symlink() else read_json(path)
        except (OSError, ValueError, AssayError):
            return None
        return {**report, "sweep_id": name} if isinstance(report, dict) and "reports" in report else None


def _headline(report: dict[str, Any]) -> dict[str, Any]:
    names = ("sweep_id", "timestamp", "num_configs", "golden", "matching", "k", "recommendations")
    return {name: report.get(name) for name in names}


# What is answered while there is no index: a first look at the files, in the form that contexts have, which says
# so.


class _Lines:
    """The text of an item: the lines that matched, each with its number."""

    def __init__(self, matches: dict[str, Match]) -> None:
        self._matches = matches

    def note(self, item: Item) -> str:
        return ""

    def text(self, item: Item) -> str:
        return "\n".join(f"{number}: {line}" for number, line in self._matches[item.path].lines)


def glimpse(bench: Bench, task: str, k: int | None, budget: int | None) -> Context:
    """The files that have the words of a task, within the budget."""
    found = bench.first_look(task)
    settings = bench.configuration.context
    said = f"{bench.building}. Until then, {found}"
    items = [Ranked(_item(number, one, bench.several), one.score) for number, one in enumerate(found.matches)]
    source = _Lines({one.path: one for one in found.matches})
    heading = Heading(task, fresh=False, freshness=said)
    return Context.of(items[:k], settings.budget if budget is None else budget, source, heading, "json")


def _item(number: int, one: Match, labelled: bool) -> Item:
    """A file as an item, from its first line that matched to the last."""
    label = one.path.partition("/")[0] if labelled else ""
    lines = [line for line, _ in one.lines] or [1]
    name = one.path.rpartition("/")[2]
    return Item(number, one.path, "file", name, "", one.path, lines[0], lines[-1], "", "", False, repository=label)
