"""The three things `assay context` can be asked: about a task, about files, about a diff. What needs the engine is imported when it is needed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from assay.core.packs import Heading, Ranked
from assay.diff import Base, Change, choose_base, read_changes
from assay.git import Git
from assay.retrieve.profile import Profile
from assay.store.files import content_hash
from assay.store.index import Index
from assay.store.pack_cache import Answer
from assay.text.identifiers import nearest

_SUGGESTED = 5
_NAMED = 3  # stale files named in the heading
_TASK_ITEMS = 50
_BUDGET, _REVIEW_BUDGET = 50_000, 8_000


@dataclass(frozen=True)
class Asked(ABC):
    """A question with everything its answer depends on."""

    index: Index
    profile: Profile
    stale: list[str]
    form: str
    k: int | None
    budget: int | None

    default_budget = _BUDGET

    @abstractmethod
    def question(self) -> Iterable[object]:
        """What tells this question from others."""

    @abstractmethod
    def found(self) -> tuple[Sequence[Ranked], Heading]:
        """The items, best first, and what to say before them."""

    def answer(self) -> Answer:
        from assay.retrieve.pack import pack
        from assay.retrieve.render import render
        from assay.retrieve.source import WorkingTree

        ranked, heading = self.found()
        made = pack(ranked[: self.k], self.tokens, WorkingTree(self.index), heading, self.form)
        return Answer(render(made), 0 if ranked else 1)

    @property
    def tokens(self) -> int:
        return self.default_budget if self.budget is None else self.budget

    def _settings(self) -> list[object]:
        return [type(self).__name__, self.profile, self.form, self.k, self.budget]

    def _freshness(self) -> str:
        if not self.stale:
            return "fresh: nothing changed since"
        names = ", ".join(self.stale[:_NAMED]) + (" …" if len(self.stale) > _NAMED else "")
        return f"{len(self.stale)} files changed since it was made ({names}); run: assay index"


@dataclass(frozen=True)
class Task(Asked):
    task: str

    def question(self) -> Iterable[object]:
        return [*self._settings(), self.task]

    def found(self) -> tuple[Sequence[Ranked], Heading]:
        from assay.retrieve.engine import Engine

        ranked = Engine(self.index, self.profile).ranked(self.task, self.k or _TASK_ITEMS)
        if ranked:
            return ranked, Heading(self.task, not self.stale, self._freshness())
        names = self.index.names()
        searched = f"{len(names):,} symbols of {len(self.index.files):,} files"
        near = tuple(nearest(self.task, names, _SUGGESTED))
        return ranked, Heading(self.task, not self.stale, self._freshness(), searched, near)


@dataclass(frozen=True)
class Files(Asked):
    task: str
    files: Sequence[str]

    @cached_property
    def paths(self) -> list[str]:
        from assay.cli.paths import indexed_paths

        return indexed_paths(self.files, self.index.root, self.index)

    def question(self) -> Iterable[object]:
        return [*self._settings(), self.task, self.paths]

    def found(self) -> tuple[Sequence[Ranked], Heading]:
        from assay.retrieve.engine import Engine
        from assay.retrieve.files import for_files

        engine = Engine(self.index, self.profile) if self.task.strip() else None
        ranked = for_files(self.index, self.paths, engine, self.task)
        return ranked, Heading(self.task, not self.stale, self._freshness(), scope=f"files {', '.join(self.paths)}")


@dataclass(frozen=True)
class Review(Asked):
    wanted: str  # the base, "" for the most likely one

    default_budget = _REVIEW_BUDGET

    @cached_property
    def git(self) -> Git:
        return Git(self.index.root)

    @cached_property
    def base(self) -> Base:
        return choose_base(self.git, self.wanted)

    @cached_property
    def changes(self) -> list[Change]:
        return read_changes(self.git, self.base.commit)

    def question(self) -> Iterable[object]:
        return [*self._settings(), self.base, self.changes]

    def found(self) -> tuple[Sequence[Ranked], Heading]:
        from assay.ingest.outline import removed
        from assay.retrieve.review import Diff, for_review

        if not self.changes:
            hint = (
                "this clone is shallow, so name a BASE after: git fetch --unshallow"
                if self.git.shallow
                else "name another BASE"
            )
            return [], Heading(
                "", not self.stale, self._freshness(), scope=f"nothing changed since {self.base}; {hint}"
            )
        before = self._indexed_before()
        stale = {change.path for change in self.changes} & set(self.stale) & self.index.files.keys()
        unsure = frozenset(stale - before)
        diff = Diff(self.changes, removed(self.git, self.index.root, self.changes), before, unsure)
        found = for_review(self.index, diff, self.profile, max(1.0, self.tokens / _REVIEW_BUDGET))
        said = self._freshness() + (f"; lines of {', '.join(sorted(unsure)[:_NAMED])} may be off" if unsure else "")
        scope = f"{len(self.changes)} file{'s' * (len(self.changes) > 1)} changed since {self.base}"
        return found.ranked, Heading("", not self.stale, said, scope=scope, sections=found.sections)

    def _indexed_before(self) -> frozenset[str]:
        """The changed files that the index still has as they were at the base: their old lines are the ones it knows."""
        stale = [change for change in self.changes if change.path in self.stale and change.old_blob]
        if not stale:
            return frozenset()
        with self.git.blobs() as blobs:
            return frozenset(
                change.path
                for change in stale
                if (known := self.index.files.get(change.before or change.path))
                and content_hash(blobs.text(change.old_blob).removeprefix("\ufeff").encode()) == known.hash
            )
