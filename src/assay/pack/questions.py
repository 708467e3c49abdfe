"""Context queries: for a task, for files or for a diff. The engine is imported only when it is needed."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from assay.errors import AssayError
from assay.text.display import counted

if TYPE_CHECKING:
    from assay.api import Repository
    from assay.core.items import Item
    from assay.core.packs import Heading, Ranked
    from assay.git import Git
    from assay.git.diff import Base, Change
    from assay.index.freshness import TreeCheck
    from assay.pack.context import Context

_SUGGESTIONS = 5  # names suggested for an unsure or empty answer
_LISTED_FILES = 3  # files named in the freshness line
REVIEW_BUDGET = 8_000
# of an unsure answer, unless the user asks for more: a screen
UNSURE_RESULTS = 10  # symbols
UNSURE_BUDGET = 1_000  # tokens
COMMENT_BUDGET = 20_000  # people pay no tokens, and links are long; a forge takes about 30,000
_LINK_BASE = re.compile(r"https?://[^\s\"'`()<>\[\]\\]+")  # without characters that end a link in Markdown or HTML


@dataclass(frozen=True)
class Question(ABC):
    """A query with everything its answer depends on. None means the value of assay.toml or the default."""

    repo: Repository
    profile: str | None = None
    format: str | None = None
    k: int | None = None
    budget: int | None = None

    def __post_init__(self) -> None:
        if self.k is not None and self.k < 1:
            raise AssayError(f"k must be at least 1, not {self.k}: it is the number of symbols to return")
        if self.budget is not None and self.budget < 0:
            raise AssayError(
                f"the budget must be 0 or more, not {self.budget}: it is the maximum number of tokens of the answer"
            )

    @abstractmethod
    def parts(self) -> Iterable[object]:
        """Return the values that distinguish this query from others of its kind."""

    @abstractmethod
    def found(self) -> tuple[Sequence[Ranked], Heading]:
        """Return the ranked items, best first, and the heading of the answer."""

    def answer(self) -> Context:
        from assay.pack.context import Context

        ranked, heading = self.found()
        unsure = not heading.sure
        number = UNSURE_RESULTS if unsure and self.k is None else self.k
        budget = min(self.tokens, UNSURE_BUDGET) if unsure and self.budget is None else self.tokens
        return Context.of(ranked[:number], budget, self.repo.source, heading, self.form)

    def note_given(self, items: Sequence[Item]) -> None:  # noqa: B027 (only tasks have sessions)
        """Record the items that an answer shows, in a session."""

    @property
    def form(self) -> str:
        """Output format: the requested one or that of the configuration."""
        return self.format or self.repo.configuration.context.format

    @property
    def tokens(self) -> int:
        return self.repo.configuration.context.budget if self.budget is None else self.budget

    @cached_property
    def look(self) -> TreeCheck:
        """State of the files at query time."""
        return self.repo.look()

    @property
    def stale(self) -> list[str]:
        return self.look.freshness.stale

    @property
    def words(self) -> frozenset[str]:
        """The terms of the task, if there is one."""
        return frozenset()

    def key(self) -> list[object]:
        """Return the cache key: everything that decides the answer except the state of the repository."""
        return [type(self).__name__, self.profile, self.format, self.k, self.budget, *self.parts()]

    def _heading(self, **fields: Any) -> Heading:
        """Return the heading of an answer with the state of the index."""
        from assay.core.packs import Heading

        heading = Heading(fresh=not self.stale, freshness=self.freshness(), pending=self.repo.pending)
        return replace(heading, **fields)

    def freshness(self) -> str:
        if not self.stale:
            return "fresh: nothing changed since"
        names = ", ".join(self.stale[:_LISTED_FILES]) + (" …" if len(self.stale) > _LISTED_FILES else "")
        return f"{counted(len(self.stale), 'file')} changed since it was made ({names}); run: {self.repo.indexing}"


@dataclass(frozen=True)
class Task(Question):
    """Query for the symbols that a task needs."""

    task: str = ""
    session: str = ""

    @property
    def words(self) -> frozenset[str]:
        return _terms_of(self.task)

    def parts(self) -> Iterable[object]:
        return [self.task, self.session]

    def answer(self) -> Context:
        answer = super().answer()
        self.note_given([packed.item for packed in answer.items])
        return answer

    def note_given(self, items: Sequence[Item]) -> None:
        if self.session:
            self.repo.note_given(items, self.task, self.session)

    def found(self) -> tuple[Sequence[Ranked], Heading]:
        from assay.rank.confidence import confidence, unseen_words

        settings, engine = self.repo.configuration.context, self.repo.engine(self.profile)
        ranking = self.repo.ranking(self.task, profile=self.profile, session=self.session)
        ranked = engine.first(ranking, self.k or settings.k)
        chance = confidence(ranking, engine.profile)
        sure = bool(ranked) and (chance is None or chance >= settings.threshold)
        heading = self._heading(task=self.task, confidence=chance, sure=sure)
        return ranked, heading if sure else self._unsure(heading, unseen_words(ranking))

    def _unsure(self, heading: Heading, unseen: tuple[str, ...]) -> Heading:
        """Add what was searched, the unmatched words and similar names to the heading of an unsure answer."""
        from assay.rank.query import suggest_names
        from assay.text.terms import nearest

        index = self.repo.index
        symbols = len(index.postings.numbers) - len(index.files)
        searched = f"{counted(symbols, 'symbol')} of {counted(len(index.files), 'file')}"
        near = suggest_names(index, unseen, _SUGGESTIONS)
        if not near and not heading.confidence and len(unseen) == 1:  # perhaps a whole name: compare it with all names
            near = nearest(unseen[0], index.names(), _SUGGESTIONS)
        return replace(heading, searched=searched, unseen=unseen, nearest=tuple(near))


@dataclass(frozen=True)
class Files(Question):
    """Query for the symbols of files and their callers; with a task, in the order of its ranking."""

    files: Sequence[str] = ()
    task: str = ""

    @property
    def words(self) -> frozenset[str]:
        return _terms_of(self.task)

    @cached_property
    def paths(self) -> list[str]:
        return self.repo.paths_of(self.files)

    def parts(self) -> Iterable[object]:
        return [self.task, self.paths]

    def found(self) -> tuple[Sequence[Ranked], Heading]:
        from assay.rank.impact import for_files

        engine = self.repo.engine(self.profile) if self.task.strip() else None
        ranked = for_files(self.repo.index, self.paths, engine, self.task)
        return ranked, self._heading(task=self.task, scope=f"files {', '.join(self.paths)}")


def _terms_of(task: str) -> frozenset[str]:
    from assay.text.terms import telling_terms
    from assay.text.tokens import LONGEST_TASK

    return frozenset(telling_terms(task[:LONGEST_TASK]))


@dataclass(frozen=True)
class Review(Question):
    """Query for the review context of the changes since a base."""

    wanted: str = ""  # base commit; "" to choose the most likely one
    links: str = ""  # base URL of file links, as in https://forge/owner/name/blob/COMMIT

    def __post_init__(self) -> None:
        super().__post_init__()
        self.repo.only("a review")
        if self.links and not _LINK_BASE.fullmatch(self.links):
            raise AssayError(f"links must be a URL like https://forge/owner/name/blob/COMMIT, not {self.links}")

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
        from assay.index.history import removed
        from assay.rank.review import Diff, for_review

        if not self.changes:
            hint = (
                "this clone is shallow, so name a BASE after: git fetch --unshallow"
                if self.git.shallow
                else "name another BASE"
            )
            return [], self._heading(scope=f"nothing changed since {self.base}; {hint}")
        before = self._indexed_before()
        stale = {change.path for change in self.changes} & set(self.stale) & self.repo.files.keys()
        unsure = frozenset(stale - before)
        diff = Diff(self.changes, removed(self.git, self.repo.root, self.changes), before, unsure)
        review = for_review(self.repo.engine(self.profile), diff, self._scale)
        freshness = self.freshness() + (
            f"; lines of {', '.join(sorted(unsure)[:_LISTED_FILES])} may be off" if unsure else ""
        )
        scope = f"{counted(len(self.changes), 'file')} changed since {self.base}"
        ranked = [self._with_link(entry) for entry in review.ranked]
        return ranked, self._heading(freshness=freshness, scope=scope, sections=review.sections)

    @property
    def _scale(self) -> float:
        """Multiplier of the items per section: grows with the budget, but not in a comment, which people read."""
        return 1.0 if self.form == "comment" else max(1.0, self.tokens / REVIEW_BUDGET)

    def _with_link(self, entry: Ranked) -> Ranked:
        """Add the link; in a comment keep only names of touched and neighbouring items, as the diff shows them."""
        from assay.core.packs import NAME
        from assay.git.diff import DELETED
        from assay.rank.review import NEIGHBOURS, TOUCHED

        linkable = self.links and not entry.why.startswith(DELETED)
        link = f"{self.links.rstrip('/')}/{quote(entry.item.path)}#L{entry.item.start}" if linkable else ""
        name_only = self.form == "comment" and entry.section in (TOUCHED, NEIGHBOURS)
        return replace(entry, link=link, most=NAME if name_only else entry.most)

    def _indexed_before(self) -> frozenset[str]:
        """Return the changed files that the index holds in their base version: their old line numbers apply."""
        stale = [change for change in self.changes if change.path in self.stale and change.old_blob]
        if not stale:
            return frozenset()
        from assay.store.layout import content_hash

        with self.git.blobs() as blobs:
            return frozenset(
                change.path
                for change in stale
                if (indexed := self.repo.files.get(change.before or change.path))
                and content_hash(blobs.text(change.old_blob).removeprefix("\ufeff").encode()) == indexed.hash
            )
