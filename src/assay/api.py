"""`Repository` and `Workspace`: the entry point that the command line, MCP, the web and users share."""

from __future__ import annotations

import shlex
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from assay.config.roots import Root, listed, root_around, roots, roots_of
from assay.core.items import Item
from assay.core.packs import NOTHING, Learned
from assay.errors import AssayError
from assay.rank import symbols as names
from assay.store.catalogue import FileRow
from assay.store.index import Index
from assay.store.layout import LEARNED, Home
from assay.text.tokens import LONGEST_QUERY, LONGEST_TASK, beyond

if TYPE_CHECKING:
    from assay.answer.reply import Reply
    from assay.config.configuration import Configuration, SearchSettings
    from assay.core.packs import Ranked, Source
    from assay.core.progress import Progress, Report
    from assay.git import Listing
    from assay.index.freshness import Freshness, Look, Watch
    from assay.pack.context import Context
    from assay.rank.engine import Engine
    from assay.rank.explain import Explanation
    from assay.rank.impact import Affected
    from assay.rank.ranking import Ranking
    from assay.rank.status import Status
    from assay.search.search import Found
    from assay.search.service import Searcher
    from assay.store.multi_repo import Several
    from assay.store.passages import Passages


def open(
    path: str | Path = ".", *, index: bool = False, index_dir: str | Path | None = None, anywhere: bool = False
) -> Repository:
    """The repository around `path`, found as the command finds it. `index` brings its index up to date first, or builds it.

    The first index of a home directory or of a file system's root is an error unless `anywhere` is given.
    """
    place = Path(path).resolve()
    if not place.is_dir():
        raise AssayError(f"{path}: no such folder")
    repository = Repository(root_around(place), index_dir)
    if index:
        repository.refresh(anywhere=anywhere)
    repository.index  # noqa: B018 (raises NoIndex when there is none)
    return repository


class Repository:
    """A repository, its configuration and its index, which is opened when it is first asked. Use it in a `with`, or close it."""

    def __init__(self, root: Path, index_dir: str | Path | None = None) -> None:
        self.root = root
        self.home = Home.of(root, index_dir or None)
        self._index: Index | None = None
        self._engines: dict[str, Engine] = {}
        self._watch: Watch | None = None
        self._searchers: dict[SearchSettings, Searcher] = {}
        self._listing: Listing | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Repository {self.root}>"

    def close(self) -> None:
        """Lets go of the index. Asking again opens it again."""
        if self._index is not None:
            self._index.close()
        self._index, self._watch, self._engines, self._searchers = None, None, {}, {}

    @property
    def index(self) -> Index:
        """The open index. Raises NoIndex when there is none, UnusableIndex when it must be rebuilt."""
        if self._index is None:
            self._index = Index.open(self.root, self.home)
        return self._index

    @property
    def source(self) -> Source:
        """The text of the files as they are now."""
        from assay.pack.source import source_of

        return source_of(self.index)

    @cached_property
    def configuration(self) -> Configuration:
        """What its assay.toml says."""
        from assay.config.configuration import load

        return load(self.root)

    @property
    def ignored_settings(self) -> list[str]:
        """The settings of its assay.toml that are ignored until the user trusts them, as in `[search] embedder`; none while it is wrong."""
        try:
            return self.configuration.ignored_settings
        except AssayError:
            return []

    def refresh(self, *, rebuild: bool = False, progress: Progress | None = None, anywhere: bool = False) -> Report:
        """Brings the index up to date and says what was done; what is asked next is asked of the new one."""
        from assay.index.pipeline import index

        report = index(self.root, self.home, rebuild, progress, anywhere)
        self.close()
        self.__dict__.pop("configuration", None)
        return report

    # tasks

    def context(
        self,
        task: str,
        *,
        budget: int | None = None,
        k: int | None = None,
        profile: str | None = None,
        format: str | None = None,
        session: str = "",
    ) -> Context:
        """The symbols a task needs, best first, in a budget of tokens. What is not given is as assay.toml or the default says.

        What a session was given lately ranks higher in it; sessions see nothing of each other.
        """
        from assay.pack.questions import Task

        return Task(self, profile, format, k, budget, task, session).answer()

    def context_of(
        self,
        files: Sequence[str],
        task: str = "",
        *,
        budget: int | None = None,
        k: int | None = None,
        profile: str | None = None,
        format: str | None = None,
    ) -> Context:
        """The symbols of files and who calls them; with a task, in the order of its ranking."""
        from assay.pack.questions import Files

        return Files(self, profile, format, k, budget, files, task).answer()

    def review(
        self,
        base: str = "",
        *,
        budget: int | None = None,
        k: int | None = None,
        profile: str | None = None,
        format: str | None = None,
        links: str = "",
    ) -> Context:
        """What a reviewer of the changes since a base needs, in 8,000 tokens unless told otherwise. Without a base, the most likely one.

        `links` is the address below which a browser finds the files: https://forge/owner/name/blob/COMMIT.
        """
        from assay.pack.questions import Review

        return Review(self, profile, format, k, budget, base, links).answer()

    def rank(self, task: str, k: int = 10, *, profile: str | None = None, session: str = "") -> list[Ranked]:
        """The best `k` symbols for a task, best first."""
        if k < 1:
            raise AssayError(f"k must be at least 1, not {k}: it is how many symbols are wanted")
        return self.engine(profile).first(self.ranking(task, profile=profile, session=session), k)

    def ranking(self, task: str, *, profile: str | None = None, session: str = "") -> Ranking:
        """Every symbol scored for a task, with everything the order was made of."""
        if not task.strip():
            raise AssayError("what is the task? Say in words what you want to understand or change")
        _say_if_cut("task", task, LONGEST_TASK)
        return self.engine(profile).rank(task, self.learned(task, session))

    def learned(self, task: str, session: str = "") -> Learned:
        """What use has taught about a task; where it is damaged nothing, and a warning that says so."""
        if not (self.home.folder / LEARNED).exists():
            return NOTHING
        from assay import feedback as learn

        try:
            return learn.learned(self.index, self.home, self.source, task, session)
        except learn.Unusable as error:
            warnings.warn(str(error), stacklevel=2)
            return NOTHING

    def note_given(self, items: Sequence[Item], task: str, session: str) -> None:
        """Remembers what a session was given."""
        from assay import feedback as learn

        learn.returned(self.index, self.home, self.source, items, task, session)

    def why(
        self, task: str, symbol: str, k: int = 10, *, profile: str | None = None, session: str = ""
    ) -> list[Explanation]:
        """Why each symbol of that name stands where it stands for a task, or where it was lost; the best ranked first.

        It explains what `context` would answer now, with what was learned from use.
        """
        from assay.rank.explain import explain

        _say_if_cut("task", task, LONGEST_TASK)
        meant = self.symbol(symbol)
        engine = self.engine(profile)
        ranking = engine.rank(task, self.learned(task, session))
        return sorted(explain(engine, ranking, meant, k), key=lambda one: (one.rank is None, one.rank or 0))

    def engine(self, profile: str | None = None) -> Engine:
        """What ranks, made once for each profile."""
        from assay.rank.engine import Engine

        chosen = self.configuration.profile(profile)
        if chosen.name not in self._engines:
            self._engines[chosen.name] = Engine(self.index, chosen, self.configuration.classes)
        return self._engines[chosen.name]

    # passages

    def search(
        self,
        query: str,
        k: int = 10,
        *,
        paths: Sequence[str] = (),
        languages: Sequence[str] = (),
        kinds: Sequence[str] = (),
        since: str | None = None,
        documents: bool = True,
        code: bool = True,
        chunker: str | None = None,
        embedder: str | None = None,
        reranker: str | None = None,
        progress: Progress | None = None,
    ) -> list[Found]:
        """The best `k` passages of documents and definitions of code for a query, best first. What is empty confines nothing.

        `since` is a date or a commit. How passages are divided, embedded and judged again is settled in assay.toml unless it is said here.
        """
        from assay.search.search import Filters

        if not query.strip():
            raise AssayError("what is sought? Give some words")
        _say_if_cut("query", query, LONGEST_QUERY)
        if k < 1:
            raise AssayError(f"k must be at least 1, not {k}: it is how many results are wanted")
        searcher = self.searcher(chunker, embedder, reranker, progress=progress)
        passages = searcher.search.passages
        changed = self._changed_since(since, {*self.files, *passages.paths}) if since else None
        spoken = self._known_languages(languages, passages)
        patterns = self._path_patterns(paths)
        return searcher.ranked(query, k, Filters(patterns, spoken, tuple(kinds), changed, documents, code))

    def ask(
        self,
        question: str,
        *,
        paths: Sequence[str] = (),
        languages: Sequence[str] = (),
        kinds: Sequence[str] = (),
        since: str | None = None,
        documents: bool = True,
        code: bool = True,
        threshold: float | None = None,
        model: str | None = None,
        progress: Progress | None = None,
        show: Callable[[str], None] | None = None,
    ) -> Reply:
        """An answer with citations, or a refusal when it is less sure than `threshold`; confined as `search` is.

        It is made of excerpts unless a `model` (URL#NAME) writes it; `show` is then called with what it writes, bit by bit.
        """
        from assay.answer.answering import PASSAGES, answered

        if not question.strip():
            raise AssayError("what is the question? Ask in words")
        found = self.search(
            question, PASSAGES, paths=paths, languages=languages, kinds=kinds, since=since, documents=documents,
            code=code, progress=progress,
        )  # fmt: skip
        settings = self.configuration.ask.but(threshold=threshold, model=model)
        return answered(question, found, self.searcher().search, settings, show)

    def searcher(
        self,
        chunker: str | None = None,
        embedder: str | None = None,
        reranker: str | None = None,
        *,
        progress: Progress | None = None,
    ) -> Searcher:
        """What searches passages, as assay.toml has it unless it is said here. What it needs is made when it is first asked for."""
        from assay.search.service import prepare

        chosen = self.configuration.search.but(chunker=chunker, embedder=embedder, reranker=reranker)
        if chosen not in self._searchers:
            index = self.index  # says so when there is none
            self._searchers[chosen] = prepare(self.root, self.home, index, chosen, progress)
        return self._searchers[chosen]

    def is_searchable(self) -> bool:
        """Whether a search as it is settled finds its passages made; else the first one makes them."""
        from assay.search.service import is_ready

        return is_ready(self.home, self.configuration.search)

    def searched(self, chunker: str | None = None) -> str:
        """What a search looks at, in words."""
        return self.searcher(chunker).search.extent

    def _path_patterns(self, paths: Sequence[str]) -> tuple[str, ...]:
        return tuple(paths)

    def _changed_since(self, when: str, paths: set[str]) -> frozenset[str]:
        from assay.git.diff import changed_since

        return changed_since(self.root, when, paths)

    def _known_languages(self, languages: Sequence[str], passages: Passages) -> tuple[str, ...]:
        from assay.rank.profile import known

        there = {*passages.languages, *(row.language for row in self.files.values())}
        return tuple(known("language", one.lower(), there, "this index") for one in languages)

    # names and what depends on them

    def symbols(self, pattern: str, *, kind: str | None = None) -> list[Item]:
        """The symbols that a name, a pattern (`*Handler`) or a part of a name means; none when nothing matches."""
        return [item for item in names.match(self.index, pattern) if kind in (None, item.kind)]

    def symbol(self, name: str) -> list[Item]:
        """The symbols a person means by a name, several if it is ambiguous; raises NoSuchSymbol, which offers the nearest."""
        return names.require(self.index, name)

    def impact(
        self, symbol: str, *, depth: int = 5, min_confidence: float = 0.1, everything: bool = False
    ) -> list[Affected]:
        """Who would notice if a symbol changed: its transitive callers; with `everything` also along types, fields, inheritance."""
        from assay.rank import impact

        return impact.impact(self.index, self.symbol(symbol), depth, min_confidence, everything)

    def affected_tests(self, paths: Iterable[str], *, depth: int = 6) -> list[Affected]:
        """The tests that reach the files, nearest and surest first. Paths are relative to the root."""
        from assay.rank import impact

        changed = [item for path in self.paths_of(list(paths)) for item in impact.items_in(self.index, path)]
        return impact.affected_tests(self.index, changed, depth)

    def paths_of(self, files: Sequence[str]) -> list[str]:
        """Files as the index calls them, each once; one that it does not have is an error that says why."""
        from assay.config.roots import indexed_paths

        return indexed_paths(files, self.root, self.index)

    # the index itself

    @property
    def members(self) -> Mapping[str, Repository]:
        """The repositories it is made of, by label: itself, without one."""
        return {"": self}

    def own(self, items: Iterable[Item]) -> dict[str, list[Item]]:
        """Items by the label of the member that has them."""
        return {"": list(items)}

    def only(self, what: str) -> Repository:
        """Itself, for what is asked of one repository at a time; of several an error that says which to name."""
        return self

    @property
    def files(self) -> Mapping[str, FileRow]:
        """The indexed files by path, each with its language, its lines and whether it is a test."""
        return self.index.files

    def status(self) -> Status:
        """The figures of the index."""
        from assay.rank.status import status

        return status(self.index)

    def freshness(self) -> Freshness:
        """The files that changed since they were indexed."""
        return self.look().freshness

    @property
    def indexing(self) -> str:
        """The command that brings the index up to date."""
        return "assay index"

    def look_ahead(self) -> None:
        """Has git list the files for the first look, while this process imports what it needs."""
        from assay.git import Listing

        self._listing = Listing(self.root)

    def look(self) -> Look:
        """The files as they are now; the same look as before where it would say the same."""
        from assay.index.freshness import Watch

        if self._watch is None:
            self._watch, self._listing = Watch(self.root, self.index, self._listing), None
        return self._watch.look()


def _say_if_cut(what: str, text: str, longest: int) -> None:
    if line := beyond(what, text, longest):
        warnings.warn(line, stacklevel=3)


# Several repositories asked as one: one question, one ranking over all, every result with the label of its
# repository.


def open_all(paths: Iterable[str | Path], *, index: bool = False) -> Workspace:
    """The repositories at `paths` (`label=path` names one) as one. `index` brings their indexes up to date first, or builds them."""
    workspace = Workspace(roots(paths))
    if index:
        workspace.refresh_all()
    workspace.index  # noqa: B018 (raises NoIndex when one has none)
    return workspace


class Workspace(Repository):
    """Repositories by label, asked as one. What is asked of one at a time (a review, feedback) is asked of its `members`.

    `folder` is the one whose assay.toml names them, and settles what is asked; without one everything has its default.
    """

    def __init__(
        self, found: Sequence[Root], folder: Path | None = None, members: Mapping[str, Repository] | None = None
    ) -> None:
        if not found:
            raise AssayError("no repositories: name their folders")
        self.folder = folder
        self._roots = sorted(found, key=lambda root: root.label)
        self._members = dict(members) if members else {root.label: Repository(root.path) for root in self._roots}
        self._several: Several | None = None
        self._engines, self._searchers = {}, {}

    @classmethod
    def at(cls, folder: Path) -> Workspace:
        """The workspace that the assay.toml of a folder describes."""
        return cls(roots_of(folder), folder)

    def __repr__(self) -> str:
        return f"<Workspace {', '.join(self._members)}>"

    @property
    def roots(self) -> Sequence[Root]:
        return self._roots

    @property
    def members(self) -> Mapping[str, Repository]:
        return self._members

    def only(self, what: str) -> Repository:
        raise AssayError(f"{what} is about one repository; name it with --root: {listed(self._roots)}")

    @property
    def root(self) -> Path:  # type: ignore[override]
        return self.only("this").root

    def close(self) -> None:
        for member in self._members.values():
            member.close()
        self._several, self._engines, self._searchers = None, {}, {}

    @property
    def index(self) -> Several:
        """All indexes as one. Raises NoIndex when one of them is missing."""
        if self._several is None:
            from assay.store.multi_repo import Several

            self._several = Several({label: member.index for label, member in self._members.items()})
        return self._several

    @cached_property
    def configuration(self) -> Configuration:
        """What the workspace's own assay.toml says, or the user alone without one.

        With the classes of all repositories: they speak of names in their code.
        """
        from assay.config.configuration import load

        own = load(self.folder)
        inside = [one for label, one in self._members.items() if one.root != self.folder]
        return replace(own, classes=(*own.classes, *(one for member in inside for one in member.configuration.classes)))

    def refresh_all(self, *, rebuild: bool = False, progress: Progress | None = None) -> dict[str, Report]:
        """Brings every index up to date, and says of each what was done."""
        done = {label: one.refresh(rebuild=rebuild, progress=progress) for label, one in self._members.items()}
        self.close()
        self.__dict__.pop("configuration", None)
        return done

    def refresh(self, *, rebuild: bool = False, progress: Progress | None = None, anywhere: bool = False) -> Report:
        return self.only("refresh; refresh_all is about all of them: refresh").refresh()

    # tasks

    def learned(self, task: str, session: str = "") -> Learned:
        told = [(part.first, self._members[part.label].learned(task, session)) for part in self.index.parts]
        vocabulary = [replace(one, number=one.number + first) for first, known in told for one in known.vocabulary]
        return Learned(
            {number + first: value for first, known in told for number, value in known.feedback.items()},
            {number + first: value for first, known in told for number, value in known.session.items()},
            tuple(sorted(vocabulary, key=lambda one: (-one.weight, one.number))),
        )

    def note_given(self, items: Sequence[Item], task: str, session: str) -> None:
        for label, own in self.own(items).items():
            self._members[label].note_given(own, task, session)

    def own(self, items: Iterable[Item]) -> dict[str, list[Item]]:
        """Items as their repositories have them now, by label; what is gone is left out."""
        found: defaultdict[str, list[Item]] = defaultdict(list)
        for item in items:
            one = self._members[item.repository].index.by_id(item.id.removeprefix(f"{item.repository}/"))
            found[item.repository] += [one] if one else []
        return dict(found)

    def paths_of(self, files: Sequence[str]) -> list[str]:
        """Files as `label/path`, as a path in one of the repositories, or relative to the current folder."""
        return list(dict.fromkeys(self._path_of(file) for file in files))

    def _path_of(self, file: str) -> str:
        if file in self.index.files:
            return file
        found, problems = list[str](), list[str]()
        for label, member in self._members.items():
            try:
                found += [f"{label}/{path}" for path in member.paths_of([file.removeprefix(f"{label}/")])]
            except AssayError as error:
                problems.append(str(error))
        if len(found) > 1:
            raise AssayError(f"{file}: in several repositories; name one of {', '.join(found)}")
        if not found:
            raise AssayError(problems[0] if len(problems) == 1 else f"{file}: in none of {listed(self._roots)}")
        return found[0]

    # passages

    def searcher(
        self,
        chunker: str | None = None,
        embedder: str | None = None,
        reranker: str | None = None,
        *,
        progress: Progress | None = None,
    ) -> Searcher:
        """What searches the passages of all, as the workspace settles it: so they are divided and embedded alike."""
        from assay.search.service import prepare_all

        chosen: SearchSettings = self.configuration.search.but(chunker=chunker, embedder=embedder, reranker=reranker)
        if chosen not in self._searchers:
            places = {label: (one.root, one.home) for label, one in self._members.items()}
            self._searchers[chosen] = prepare_all(self.index, places, chosen, progress, self.folder)
        return self._searchers[chosen]

    def is_searchable(self) -> bool:
        from assay.search.service import is_ready

        return all(is_ready(one.home, self.configuration.search) for one in self._members.values())

    def _path_patterns(self, paths: Sequence[str]) -> tuple[str, ...]:
        """Patterns hold for `label/path`, and for the path in every repository."""
        return (*paths, *(f"{label}/{path.removeprefix('./')}" for label in self._members for path in paths))

    def _changed_since(self, when: str, paths: set[str]) -> frozenset[str]:
        own: defaultdict[str, set[str]] = defaultdict(set)
        for path in paths:
            label, _, inside = path.partition("/")
            own[label].add(inside)
        return frozenset(
            f"{label}/{path}"
            for label, member in self._members.items()
            for path in member._changed_since(when, own[label])
        )

    # the indexes themselves

    @property
    def indexing(self) -> str:
        return "assay index" if self.folder else shlex.join(["assay", "index", *(str(one.path) for one in self._roots)])

    def look_ahead(self) -> None:
        for member in self._members.values():
            member.look_ahead()

    def look(self) -> Look:
        from assay.index.freshness import MultiLook

        return MultiLook(
            {label: member.look() for label, member in self._members.items()}, repr(self.configuration.given)
        )
