"""The three things a repository can be asked: about a task, about files, about a diff. What needs the engine is imported when it is needed."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING
from urllib.parse import quote

from assay.errors import AssayError
from assay.text.display import counted

if TYPE_CHECKING:
    from assay.api import Repository
    from assay.core.packs import Heading, Ranked
    from assay.git import Git
    from assay.git.diff import Base, Change
    from assay.index.freshness import Look
    from assay.pack.context import Context

_SUGGESTED = 5  # names, when nothing was found or it is not sure
_NAMED = 3  # stale files in the line about freshness
REVIEW_BUDGET = 8_000
COMMENT_BUDGET = 20_000  # nobody pays for its tokens, and links have many; a forge takes about 30,000
_ADDRESS = re.compile(r"https?://[^\s\"'`()<>\[\]\\]+")  # nothing that would end a link in Markdown or HTML


@dataclass(frozen=True)
class Question(ABC):
    """A question with everything its answer depends on. What is None is as assay.toml or the default says."""

    repo: Repository
    profile: str | None = None
    format: str | None = None
    k: int | None = None
    budget: int | None = None

    def __post_init__(self) -> None:
        if self.k is not None and self.k < 1:
            raise AssayError(f"k must be at least 1, not {self.k}: it is how many symbols are wanted")
        if self.budget is not None and self.budget < 0:
            raise AssayError(
                f"the budget must be 0 or more, not {self.budget}: it is how many tokens an answer may have"
            )

    @abstractmethod
    def parts(self) -> Iterable[object]:
        """What tells this question from others of its kind."""

    @abstractmethod
    def found(self) -> tuple[Sequence[Ranked], Heading]:
        """The items, best first, and what to say before them."""

    def answer(self) -> Context:
        from assay.pack.context import Context

        ranked, heading = self.found()
        return Context.of(ranked[: self.k], self.tokens, self.repo.source, heading, self.form)

    @property
    def form(self) -> str:
        """The format as it is asked for or settled."""
        return self.format or self.repo.configuration.context.format

    @property
    def tokens(self) -> int:
        return self.repo.configuration.context.budget if self.budget is None else self.budget

    @cached_property
    def look(self) -> Look:
        """The files as they are when this is asked."""
        return self.repo.look()

    @property
    def stale(self) -> list[str]:
        return self.look.freshness.stale

    def key(self) -> list[object]:
        """Everything but the state of the repository that decides the answer."""
        return [type(self).__name__, self.profile, self.format, self.k, self.budget, *self.parts()]

    def freshness(self) -> str:
        if not self.stale:
            return "fresh: nothing changed since"
        names = ", ".join(self.stale[:_NAMED]) + (" …" if len(self.stale) > _NAMED else "")
        return f"{counted(len(self.stale), 'file')} changed since it was made ({names}); run: {self.repo.indexing}"


@dataclass(frozen=True)
class Task(Question):
    """What does this task need?"""

    task: str = ""
    session: str = ""

    def parts(self) -> Iterable[object]:
        return [self.task, self.session]

    def answer(self) -> Context:
        answer = super().answer()
        if self.session:
            self.repo.note_given([packed.item for packed in answer.items], self.task, self.session)
        return answer

    def found(self) -> tuple[Sequence[Ranked], Heading]:
        from assay.core.packs import Heading
        from assay.rank.confidence import confidence, unseen_words

        settings, engine = self.repo.configuration.context, self.repo.engine(self.profile)
        ranking = self.repo.ranking(self.task, profile=self.profile, session=self.session)
        ranked = engine.first(ranking, self.k or settings.k)
        chance = confidence(ranking, engine.profile)
        sure = bool(ranked) and (chance is None or chance >= settings.threshold)
        heading = Heading(self.task, not self.stale, self.freshness(), confidence=chance, sure=sure)
        return ranked, heading if sure else self._unsure(heading, unseen_words(ranking))

    def _unsure(self, heading: Heading, unseen: tuple[str, ...]) -> Heading:
        """With what was searched, which words nothing has, and the names that are like them."""
        from assay.rank.query import like
        from assay.text.terms import nearest

        index = self.repo.index
        symbols = len(index.postings.numbers) - len(index.files)
        searched = f"{counted(symbols, 'symbol')} of {counted(len(index.files), 'file')}"
        near = like(index, unseen, _SUGGESTED)
        if not near and not heading.confidence and len(unseen) == 1:  # a whole name, perhaps: worth comparing with all
            near = nearest(unseen[0], index.names(), _SUGGESTED)
        return replace(heading, searched=searched, unseen=unseen, nearest=tuple(near))


@dataclass(frozen=True)
class Files(Question):
    """What stands in these files, and who calls it? With a task, in the order of its ranking."""

    files: Sequence[str] = ()
    task: str = ""

    @cached_property
    def paths(self) -> list[str]:
        return self.repo.paths_of(self.files)

    def parts(self) -> Iterable[object]:
        return [self.task, self.paths]

    def found(self) -> tuple[Sequence[Ranked], Heading]:
        from assay.core.packs import Heading
        from assay.rank.impact import for_files

        engine = self.repo.engine(self.profile) if self.task.strip() else None
        ranked = for_files(self.repo.index, self.paths, engine, self.task)
        return ranked, Heading(self.task, not self.stale, self.freshness(), scope=f"files {', '.join(self.paths)}")


@dataclass(frozen=True)
class Review(Question):
    """What does a reviewer of the changes since a base need?"""

    wanted: str = ""  # the base; "" for the most likely one
    links: str = ""  # the address below which a browser finds the files, as in https://forge/owner/name/blob/COMMIT

    def __post_init__(self) -> None:
        super().__post_init__()
        self.repo.only("a review")
        if self.links and not _ADDRESS.fullmatch(self.links):
            raise AssayError(f"links must be an address like https://forge/owner/name/blob/COMMIT, not {self.links}")

    @property
    def tokens(self) -> int:
        usual = COMMENT_BUDGET if self.form == "comment" else REVIEW_BUDGET
        return usual if self.budget is None else self.budget

    @cached_property
    def git(self) -> Git:
        from assay.git import Git

        return Git(self.repo.root)

    @cached_property
    def base(self) -> Base:
        from assay.git.diff import choose_base

        return choose_base(self.git, self.wanted)

    @cached_property
    def changes(self) -> list[Change]:
        from assay.git.diff import read_changes

        return read_changes(self.git, self.base.commit)

    def parts(self) -> Iterable[object]:
        return [self.base, self.changes, self.links]

    def found(self) -> tuple[Sequence[Ranked], Heading]:
        from assay.core.packs import Heading
        from assay.index.outline import removed
        from assay.rank.review import Diff, for_review

        if not self.changes:
            hint = (
                "this clone is shallow, so name a BASE after: git fetch --unshallow"
                if self.git.shallow
                else "name another BASE"
            )
            return [], Heading("", not self.stale, self.freshness(), scope=f"nothing changed since {self.base}; {hint}")
        before = self._indexed_before()
        stale = {change.path for change in self.changes} & set(self.stale) & self.repo.files.keys()
        unsure = frozenset(stale - before)
        diff = Diff(self.changes, removed(self.git, self.repo.root, self.changes), before, unsure)
        found = for_review(self.repo.engine(self.profile), diff, self._scale)
        said = self.freshness() + (f"; lines of {', '.join(sorted(unsure)[:_NAMED])} may be off" if unsure else "")
        scope = f"{counted(len(self.changes), 'file')} changed since {self.base}"
        ranked = [self._beside_the_diff(one) for one in found.ranked]
        return ranked, Heading("", not self.stale, said, scope=scope, sections=found.sections)

    @property
    def _scale(self) -> float:
        """How much is named, as a share of the usual: more in a larger budget, but people do not read more of a comment."""
        return 1.0 if self.form == "comment" else max(1.0, self.tokens / REVIEW_BUDGET)

    def _beside_the_diff(self, one: Ranked) -> Ranked:
        """With its address; in a comment without the lines that the diff beside it shows, or that are far from it."""
        from assay.core.packs import NAME
        from assay.git.diff import DELETED
        from assay.rank.review import NEIGHBOURS, TOUCHED

        there = self.links and not one.why.startswith(DELETED)
        link = f"{self.links.rstrip('/')}/{quote(one.item.path)}#L{one.item.start}" if there else ""
        named = self.form == "comment" and one.section in (TOUCHED, NEIGHBOURS)
        return replace(one, link=link, most=NAME if named else one.most)

    def _indexed_before(self) -> frozenset[str]:
        """The changed files that the index still has as they were at the base: their old lines are the ones it knows."""
        stale = [change for change in self.changes if change.path in self.stale and change.old_blob]
        if not stale:
            return frozenset()
        from assay.store.layout import content_hash

        with self.git.blobs() as blobs:
            return frozenset(
                change.path
                for change in stale
                if (known := self.repo.files.get(change.before or change.path))
                and content_hash(blobs.text(change.old_blob).removeprefix("\ufeff").encode()) == known.hash
            )
