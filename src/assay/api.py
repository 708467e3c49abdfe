"""`Repository` and `Workspace`: the Python API, shared by the command line, MCP and web servers."""

from __future__ import annotations

import contextlib
import os
import shlex
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypedDict, Unpack

from assay.config import user
from assay.config.roots import Root, listed, root_around, roots, roots_of
from assay.core.items import Item
from assay.core.packs import NOTHING, Learned
from assay.core.progress import NAMES, second_share
from assay.errors import AssayError
from assay.rank import symbols as names
from assay.store.catalogue import FileRow
from assay.store.index import Index
from assay.store.layout import LEARNED, Home
from assay.system.files import check_extent
from assay.system.programs import guard
from assay.text.tokens import LONGEST_QUERY, LONGEST_TASK, truncation_message

if TYPE_CHECKING:
    from assay.answer.reply import Reply
    from assay.config.configuration import Configuration, SearchSettings
    from assay.core.packs import Ranked, Source
    from assay.core.progress import Progress, Report
    from assay.feedback import Learning
    from assay.git import Listing
    from assay.index.enrich.ingest import Ingested, Ingestion
    from assay.index.enrich.pipeline import Enriched, Request
    from assay.index.enrich.scip import Merged
    from assay.index.enrich.tools import Program
    from assay.index.freshness import Freshness, TreeCheck, Watch
    from assay.index.quick import Stale
    from assay.index.scan import Scan
    from assay.index.shared import Pulled
    from assay.pack.context import Context
    from assay.rank.engine import Engine
    from assay.rank.explain import Explanation
    from assay.rank.impact import Affected
    from assay.rank.neighbourhood import Relation, Subgraph
    from assay.rank.owners import Owners
    from assay.rank.ranking import Ranking
    from assay.rank.status import Status
    from assay.search.filters import Filters
    from assay.search.hits import SearchResults
    from assay.search.search import Search
    from assay.store.enrichment import Disagreement
    from assay.store.passages import Passages
    from assay.store.snapshot import Published


class PackOptions(TypedDict, total=False):
    """Options of a context; those left out come from assay.toml."""

    budget: int | None  # tokens
    k: int | None  # items
    profile: str | None
    format: str | None


class SearchFilters(TypedDict, total=False):
    """Filters of a search; those left out or empty do not restrict it."""

    paths: Sequence[str]
    languages: Sequence[str]
    kinds: Sequence[str]
    since: str | None  # a date or a commit
    documents: bool
    code: bool


class EnrichOptions(TypedDict, total=False):
    """Options of `enrich`."""

    languages: Sequence[str]  # default: all of the index
    tools: Sequence[str]  # names; default: the best installed one of each language
    allow_build: bool  # allow tools that run code of the repository
    seconds: float  # for everything
    again: bool  # ask about files whose answers are cached, too


def open(
    path: str | Path = ".", *, index: bool = False, index_dir: str | Path | None = None, anywhere: bool = False
) -> Repository:
    """Open the repository around `path`, found as the command line finds it. `index` updates or builds its index first.

    Raises NoIndex without an index. Indexing a home directory or file system root for the first time requires
    `anywhere`.
    """
    place = Path(path).resolve()
    if not place.is_dir():
        raise AssayError(f"{path}: no such folder")
    repository = Repository(root_around(place), index_dir)
    if index:
        repository.refresh(anywhere=anywhere)
    repository.index  # noqa: B018 (raises NoIndex when there is none)
    return repository


def background_is_allowed() -> bool:
    """Return whether the user allows background processes (environment variable ASSAY_BACKGROUND)."""
    from assay.index.background import is_allowed

    return is_allowed()


class Repository:
    """A repository, its configuration and its lazily opened index. Use it as a context manager, or close it.

    `watched` returns a key of the file state while a file watcher knows that nothing changed, else an empty string.
    """

    def __init__(
        self, root: Path, index_dir: str | Path | None = None, watched: Callable[[], str] | None = None
    ) -> None:
        guard(root)
        self.root = root
        self._watched = watched
        self.home = Home.of(root, index_dir or None)
        self._index: Index | None = None
        self._engines: dict[str, Engine] = {}
        self._watch: Watch | None = None
        self._searchers: dict[SearchSettings, Search] = {}
        self._listing: Listing | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Repository {self.root}>"

    def close(self) -> None:
        """Close the index. The next query opens it again."""
        if self._index is not None:
            self._index.close()
        self._index, self._watch, self._engines, self._searchers = None, None, {}, {}

    @property
    def index(self) -> Index:
        """The open index. Raises NoIndex if there is none, UnusableIndex if it must be rebuilt."""
        if self._index is None:
            self._index = Index.open(self.root, self.home)
        return self._index

    @property
    def source(self) -> Source:
        """The current text of the files."""
        from assay.store.source import WorkingTree

        return WorkingTree(self.index)

    @cached_property
    def configuration(self) -> Configuration:
        """Settings from its assay.toml."""
        from assay.config.configuration import load

        return load(self.root)

    @property
    def ignored_settings(self) -> list[str]:
        """Untrusted, hence ignored settings of its assay.toml, as in `[search] embedder`; empty if the file is invalid."""
        try:
            return self.configuration.ignored_settings
        except AssayError:
            return []

    def refresh(
        self, *, rebuild: bool = False, progress: Progress | None = None, anywhere: bool = False, wait: bool = True
    ) -> Report:
        """Update the index and return a report; later queries use the new index.

        Without `wait`, a first index may be incomplete (see `pending`): it has definitions, words and documents.
        """
        from assay.index.pipeline import index

        report = index(self.root, self.home, rebuild, progress, anywhere, wait=wait)
        self.close()
        self.__dict__.pop("configuration", None)
        return report

    @property
    def pending(self) -> str:
        """A line on what the index lacks so far: `calls and history are still to come (40 %)`; empty if it is complete."""
        incomplete = [member for member in self.members.values() if member.index.generation.stage == NAMES]
        if not incomplete:
            return ""
        states = [member.home.progress() for member in incomplete]
        text = "calls and history are still to come"
        # a reason that came with a clone is not repeated
        reasons = [
            member.index.generation.sealed and state.failure for member, state in zip(incomplete, states, strict=True)
        ]
        if failures := list(filter(None, reasons)):
            return f"{text}; indexing failed: {failures[0]}; run: {self.indexing}"
        if not all(state.running for state in states):
            return f"{text}; run: {self.indexing}"
        return f"{text} ({100 * min(second_share(state.share) for state in states):.0f} %)"

    def complete(self, progress: Progress | None = None) -> None:
        """Wait until calls and history are indexed, too."""
        for member in self.members.values():
            if member.index.generation.stage == NAMES:
                member.refresh(progress=progress)
        self.close()

    def complete_in_background(self) -> bool:
        """Have incomplete indexes completed by background processes; False if one is not allowed, or failed before."""
        from assay.index import background

        return all(
            not member.home.progress().failure and background.start(member.root, member.home)
            for member in self.members.values()
            if member.index.generation.stage == NAMES
        )

    def publish(
        self, address: str, *, keep: int = 0, allow_stale: bool = False, progress: Progress | None = None
    ) -> Published:
        """Publish the index to a folder or an fsspec address, for others to pull; `keep` bounds the snapshots there.

        Raises AssayError if files changed since they were indexed, unless `allow_stale`.
        """
        import tempfile

        from assay.core.progress import Progress
        from assay.git import Git
        from assay.index.history import forget_foreign_history
        from assay.store.remote import place_at
        from assay.store.snapshot import publish

        if reason := self.pending or (not allow_stale and self.stale()):
            raise AssayError(f"not published: {reason}")
        git, generation = Git(self.root), self.index.parts[0].generation
        forget_foreign_history(git, self.home)
        commit = git.revision("HEAD") or ""
        with tempfile.TemporaryDirectory(prefix="assay-publish-") as scratch:
            return publish(generation, place_at(address), commit, progress or Progress(), Path(scratch), keep)

    def pull(self, address: str, *, snapshot: str = "", progress: Progress | None = None) -> Pulled:
        """Replace the index by a published one: `snapshot`, or the one nearest to HEAD. Later queries use it."""
        from assay.index.shared import pull

        pulled = pull(self.root, self.home, address, snapshot, progress)
        self.close()
        return pulled

    def update_if_quick(self, check: TreeCheck | None = None) -> Stale | None:
        """Update the index if files changed and that takes less than a second; return what stays stale, or None.

        The index stays as it is while another process writes it, or if its folder is read-only. The history of commits
        is left to `refresh`. `check` is the state of the files, if it is known; it is fresh after an update.
        """
        from assay.index.freshness import Freshness
        from assay.index.quick import is_quick, update_quickly

        check = check or self.look()
        stale = self.stale(check)
        if stale is None or self.pending or not is_quick(check.freshness):
            return stale
        obstacles = [
            update_quickly(member.root, member.home, check.found if member is self else None)
            for member in self._owners(check.freshness.stale)
        ]
        self.close()
        failed = [obstacle for obstacle in obstacles if obstacle is not None]
        if failed:
            return replace(stale, obstacle="; ".join(filter(None, failed)))
        check.freshness = Freshness([])
        return None

    def stale(self, check: TreeCheck | None = None) -> Stale | None:
        """Return what an answer does not take into account, because files changed since they were indexed; or None."""
        from assay.index.quick import Stale

        freshness = (check or self.look()).freshness
        return None if freshness.fresh else Stale(len(freshness.stale), self.indexing)

    def _owners(self, paths: Iterable[str]) -> list[Repository]:
        """Return the repositories of index paths."""
        return [self]

    # tasks

    def context(self, task: str, *, session: str = "", **options: Unpack[PackOptions]) -> Context:
        """Return the symbols that a task needs, best first, within a token budget.

        Items recently returned in the same session rank higher; sessions are isolated from each other.
        """
        from assay.pack.questions import Task

        return Task(self, task=task, session=session, **options).answer()

    def context_of(self, files: Sequence[str], task: str = "", **options: Unpack[PackOptions]) -> Context:
        """Return the symbols of files and their callers; with a task, in the order of its ranking."""
        from assay.pack.questions import Files

        return Files(self, files=files, task=task, **options).answer()

    def review(self, base: str = "", *, links: str = "", **options: Unpack[PackOptions]) -> Context:
        """Return the review context of the changes since `base`, by default in 8,000 tokens.

        Without `base`, the most likely one is used. `links` is the base URL of the files in a browser:
        https://forge/owner/name/blob/COMMIT.
        """
        from assay.pack.questions import Review

        return Review(self, wanted=base, links=links, **options).answer()

    def rank(self, task: str, k: int = 10, *, profile: str | None = None, session: str = "") -> list[Ranked]:
        """Return the best `k` symbols for a task, best first."""
        if k < 1:
            raise AssayError(f"k must be at least 1, not {k}")
        return self.engine(profile).first(self.ranking(task, profile=profile, session=session), k)

    def ranking(self, task: str, *, profile: str | None = None, session: str = "") -> Ranking:
        """Score every symbol for a task, with all evidence."""
        if not task.strip():
            raise AssayError("what is the task? Say in words what you want to understand or change")
        _warn_if_truncated("task", task, LONGEST_TASK)
        return self.engine(profile).rank(task, self.learned(task, session))

    def learned(self, task: str, session: str = "") -> Learned:
        """Return the learned adjustments for a task; none, with a warning, if the store is damaged."""
        if not self.has_feedback:
            return NOTHING
        from assay import feedback as learn

        try:
            return learn.learned_signals(self.index, self.home, self.source, task, session)
        except learn.Unusable as error:
            warnings.warn(str(error), stacklevel=2)
            return NOTHING

    @property
    def has_feedback(self) -> bool:
        """True if there may be feedback on this repository: a file, or the store of a team."""
        if (self.home.folder / LEARNED).exists():
            return True
        from assay.database.address import has_team_store

        return has_team_store()

    def feedback_state(self) -> list[str]:
        """Return texts that change with the feedback of a team: cached answers depend on it, as on files of the index."""
        from assay.database.address import has_team_store

        if not has_team_store():
            return []
        from assay import feedback as learn

        return [learn.shared_state(member.root, member.home) for member in self.members.values()]

    def note_given(self, items: Sequence[Item], task: str, session: str) -> None:
        """Record the items returned in a session."""
        from assay import feedback as learn

        for label, own in self.own(items).items():
            member = self.members[label]
            learn.record_returned(member.index, member.home, member.source, own, task, session)

    @contextlib.contextmanager
    def feedback(self, write: bool = True) -> Iterator[Learning]:
        """Open the feedback store of this repository as one transaction, committed if the block ends normally."""
        from assay import feedback as learn

        with learn.learning(self.index, self.home, self.source, write) as learning:
            yield learning

    def forget_feedback(self, of_team: bool = False) -> int:
        """Delete all feedback, even from a damaged file; return the number of symbols that had any.

        What a team shares is only deleted if `of_team`; else raises AssayError.
        """
        from assay import feedback as learn

        return learn.forget_everything(self.root, self.home, of_team)

    def why(
        self, task: str, symbol: str, k: int = 10, *, profile: str | None = None, session: str = ""
    ) -> list[Explanation]:
        """Explain the rank of each symbol of that name for a task, or where it was lost; best ranked first.

        The ranking is that of `context`, including learned adjustments.
        """
        from assay.rank.explain import explain

        _warn_if_truncated("task", task, LONGEST_TASK)
        items = self.symbol(symbol)
        engine = self.engine(profile)
        ranking = engine.rank(task, self.learned(task, session))
        return sorted(
            explain(engine, ranking, items, k),
            key=lambda explanation: (explanation.rank is None, explanation.rank or 0),
        )

    def engine(self, profile: str | None = None) -> Engine:
        """Return the ranking engine of a profile, created once."""
        from assay.rank.engine import open_engine

        chosen = self.configuration.profile(profile)
        if chosen.name not in self._engines:
            self._engines[chosen.name] = open_engine(self.index, chosen, self.configuration.classes)
        return self._engines[chosen.name]

    # passages

    def search(
        self,
        query: str,
        k: int = 10,
        *,
        chunker: str | None = None,
        embedder: str | None = None,
        reranker: str | None = None,
        by_file: bool = False,
        plain: bool = False,
        progress: Progress | None = None,
        **filters: Unpack[SearchFilters],
    ) -> SearchResults:
        """Return the best `k` document passages, code definitions and files for a query, best first.

        `by_file` keeps the best hit of each file. The query may have exact phrases, regular expressions and filters
        (docs/guides/query-language.md) unless it is `plain` words. Chunker, embedder and reranker default to assay.toml.
        """
        from assay.config.configuration import NONE
        from assay.search.exact import is_ranked, search_exactly
        from assay.search.hits import SearchResults
        from assay.search.query import Query, parse

        if not query.strip():
            raise AssayError("what is sought? Give some words")
        _warn_if_truncated("query", query, LONGEST_QUERY)
        if k < 1:
            raise AssayError(f"k must be at least 1, not {k}")
        parsed = Query(query) if plain else parse(query[:LONGEST_QUERY])
        if not (parsed.is_plain or is_ranked(parsed)):
            embedder = reranker = NONE  # only exact parts: nothing to embed or to rerank
        searcher = self.searcher(chunker, embedder, reranker, progress=progress)
        given = self._filters(filters, searcher.passages)
        if parsed.is_plain:
            return SearchResults(searcher.ranked(query, k, given, by_file=by_file, widen=True))
        found = search_exactly(searcher, parsed, k, given)
        return found.by_file() if by_file else found

    def _filters(self, filters: SearchFilters, passages: Passages) -> Filters:
        """Return checked filters. Raises AssayError for an unknown language or commit."""
        from assay.search.filters import Filters

        since = filters.get("since")
        return Filters(
            self._path_patterns(filters.get("paths", ())),
            self._known_languages(filters.get("languages", ()), passages),
            tuple(filters.get("kinds", ())),
            self._changed_since(since, {*self.files, *passages.paths}) if since else None,
            filters.get("documents", True),
            filters.get("code", True),
        )

    def ask(
        self,
        question: str,
        *,
        threshold: float | None = None,
        model: str | None = None,
        progress: Progress | None = None,
        show: Callable[[str], None] | None = None,
        **filters: Unpack[SearchFilters],
    ) -> Reply:
        """Answer a question with citations, or refuse if the confidence is below `threshold`; filters as in `search`.

        The answer consists of excerpts unless a `model` (URL#NAME) writes it; `show` is then called with each chunk of
        text.
        """
        from assay.answer.answering import answer_question, evidence

        if not question.strip():
            raise AssayError("the question is empty: ask in words")
        _warn_if_truncated("question", question, LONGEST_QUERY)
        searcher = self.searcher(progress=progress)
        found = evidence(searcher, question, self._filters(filters, searcher.passages))
        return answer_question(found, self.configuration.ask.but(threshold=threshold, model=model), show)

    def searcher(
        self,
        chunker: str | None = None,
        embedder: str | None = None,
        reranker: str | None = None,
        *,
        progress: Progress | None = None,
    ) -> Search:
        """Return the passage searcher for these settings (default: assay.toml), building what is missing on first use."""
        chosen = self.configuration.search.but(chunker=chunker, embedder=embedder, reranker=reranker)
        if chosen not in self._searchers:
            self._searchers[chosen] = self._prepare(chosen, progress)
        return self._searchers[chosen]

    def _prepare(self, settings: SearchSettings, progress: Progress | None) -> Search:
        from assay.search.service import prepare

        return prepare(self.root, self.home, self.engine(), settings, progress)

    def is_searchable(self) -> bool:
        """Return whether the passages for the configured search exist; otherwise the first search builds them."""
        from assay.search.service import is_ready

        return all(is_ready(member.home, self.configuration.search) for member in self.members.values())

    def searched(self, chunker: str | None = None) -> str:
        """Return the size of the searched corpus, in words."""
        return self.searcher(chunker).extent

    def _path_patterns(self, paths: Sequence[str]) -> tuple[str, ...]:
        return tuple(paths)

    def _changed_since(self, when: str, paths: set[str]) -> frozenset[str]:
        from assay.git.diff import changed_since

        return changed_since(self.root, when, paths)

    def _known_languages(self, languages: Sequence[str], passages: Passages) -> tuple[str, ...]:
        from assay.search.filters import known_languages

        return known_languages(self.index, passages, languages)

    # symbols and impact

    def symbols(self, pattern: str, *, kind: str | None = None) -> list[Item]:
        """Return the symbols that match a name, a pattern (`*Handler`) or a part of a name; empty if none do."""
        return [item for item in names.match(self.index, pattern) if kind in (None, item.kind)]

    def symbol(self, name: str) -> list[Item]:
        """Resolve a symbol name to one or, if ambiguous, several items. Raises NoSuchSymbol with suggestions.

        A name is `run`, `Flask.run`, `src/app.py::Flask.run`, `flask.app.Flask.run`, or the place `src/app.py:120`.
        """
        return names.require(self.index, name)

    def one_symbol(self, name: str) -> Item:
        """Resolve a symbol name to exactly one item. Raises AssayError for no match and for several."""
        return names.require_one(self.index, name)

    def impact(
        self, symbol: str, *, depth: int = 5, min_confidence: float = 0.1, everything: bool = False
    ) -> list[Affected]:
        """Return the transitive callers of a symbol; with `everything`, also along types, fields and inheritance."""
        from assay.rank import impact

        return impact.impact(self.index, self.symbol(symbol), depth, min_confidence, everything)

    def surroundings(self, symbol: str, reached: Iterable[Item] = ()) -> list[Relation]:
        """Return what is outside the code around a symbol: routes, flags, deployments, owners, documents.

        `reached` are items that a change of it reaches; their deployments are included.
        """
        from assay.rank import neighbourhood

        return neighbourhood.surroundings(self.index, self.symbol(symbol), list(reached))

    def graph(self, symbol: str, *, depth: int = 1, limit: int = 40, edges: Sequence[str] = ()) -> Subgraph:
        """Return what is within `depth` relations of a symbol, at most `limit` nodes; `edges` restricts their types.

        Instead of a symbol it may be the path of a manifest, `dependency:NAME` or `deployment:PATH#UNIT`.
        """
        from assay.rank import neighbourhood

        named = neighbourhood.linked_name(self.index, symbol)
        centre = [named] if named else self.symbol(symbol)
        return neighbourhood.subgraph(self.index, centre, depth, limit, edges or neighbourhood.SHOWN)

    def owners(self, place: str) -> list[Owners]:
        """Return whom to ask about a file or a symbol: owners by CODEOWNERS, authors, the last change.

        A file need not be indexed to have owners. If several symbols have the name, all are answered.
        """
        from assay.rank import owners

        try:
            return [owners.owners_of_path(self.index, path) for path in self.paths_of([place])]
        except AssayError:
            items = names.resolve(self.index, place)
            if not items:
                if path := self._own_path(place):
                    return [owners.owners_of_path(self.index, path)]
                raise
            return [owners.owners_of(self.index, item) for item in items]

    def _own_path(self, place: str) -> str:
        """Return the index path of an existing file or folder that is not indexed; empty if it is none of its own."""
        for label, member in self.members.items():
            root = member.root.resolve()
            for base in (Path.cwd(), member.root):
                path = Path(os.path.normpath(base / place))
                if path.is_relative_to(root) and path != root and os.path.lexists(path):
                    return "/".join(filter(None, (label, path.relative_to(root).as_posix())))
        return ""

    def affected_tests(self, places: Iterable[str], *, depth: int = 6) -> list[Affected]:
        """Return the tests that reach files or symbols, nearest and most certain first."""
        from assay.rank import impact

        ids = self.ids_of(list(places))
        changed = [
            item
            for id in ids
            for item in (self.index.in_file(id) if id in self.files else filter(None, [self.index.by_id(id)]))
        ]
        return impact.affected_tests(self.index, changed, depth)

    def ids_of(self, places: Sequence[str]) -> list[str]:
        """Return the index paths of files and the ids of symbols, without duplicates. Raises AssayError for neither."""
        return list(dict.fromkeys(id for place in places for id in self._ids_of(place)))

    def _ids_of(self, place: str) -> list[str]:
        try:
            return self.paths_of([place])
        except AssayError:
            symbols = names.resolve(self.index, place)
            if not symbols:
                raise
            return [item.id for item in symbols]

    def paths_of(self, files: Sequence[str]) -> list[str]:
        """Return the index paths of files, without duplicates. Raises AssayError with the reason for a missing one."""
        from assay.config.roots import indexed_paths

        return indexed_paths(files, self.root, self.index)

    # the index itself

    @property
    def members(self) -> Mapping[str, Repository]:
        """Repositories by label: itself, without a label."""
        return {"": self}

    def own(self, items: Iterable[Item]) -> dict[str, list[Item]]:
        """Group items by the label of their repository."""
        return {"": list(items)}

    def only(self, what: str) -> Repository:
        """Return itself, for operations on a single repository; a workspace raises AssayError instead."""
        return self

    @property
    def files(self) -> Mapping[str, FileRow]:
        """Indexed files by path, with language, line count and test flag."""
        return self.index.files

    def status(self) -> Status:
        """Return the statistics of the index."""
        from assay.rank.status import status

        return status(self.index)

    def freshness(self) -> Freshness:
        """Return the files that changed since they were indexed."""
        return self.look().freshness

    @property
    def indexing(self) -> str:
        """Command that updates the index."""
        return "assay index"

    def look_ahead(self) -> None:
        """Start listing files with git in the background, while this process imports modules."""
        from assay.git import Listing

        for member in self.members.values():
            member._listing = Listing(member.root)

    def look(self) -> TreeCheck:
        """Return the current state of the files; cached while nothing changes."""
        from assay.index.freshness import Watch, unchanged_tree

        if self._watched and (state := self._watched()):
            return unchanged_tree(self.root, state)
        if self._watch is None:
            self._watch, self._listing = Watch(self.root, self.index, self._listing), None
        return self._watch.look()

    def scan(self) -> Scan:
        """List the files that indexing would read, and those it would skip."""
        from assay.index.scan import scan

        return scan(self.root)

    def merge_scip(self, file: Path) -> Merged:
        """Merge the edges of a SCIP index into the index."""
        from assay.index.enrich.scip import merge

        merged = merge(self.root, self.home, file)
        self.close()
        return merged

    def enrich(self, *, progress: Progress | None = None, **options: Unpack[EnrichOptions]) -> Enriched:
        """Add the edges of the user's SCIP indexers and language servers to the index (docs/guides/enrich.md).

        Raises AssayError if there is no tool to use.
        """
        from assay.index.enrich.pipeline import enrich

        result = enrich(self.root, self.home, self._enrichment(options), progress)
        self.close()
        return result

    def enrichment_tools(self, **options: Unpack[EnrichOptions]) -> list[Program]:
        """Return the tools for the languages of the index, those that `enrich` would run marked as chosen."""
        from assay.index.enrich.pipeline import available

        return available(self.root, self.home, self._enrichment(options))

    def _enrichment(self, options: EnrichOptions) -> Request:
        from assay.index.enrich.pipeline import Request

        settings = self.configuration.enrich
        request = Request(programs=settings.programs, **options)
        return replace(request, allow_build=request.allow_build or settings.allow_build)

    def disagreements(self) -> list[Disagreement]:
        """Return the calls whose target a tool sees elsewhere than our resolver, by path and line."""
        from assay.store import enrichment

        rows = enrichment.read(self.home.folder, self.index.files)
        return [row for path in sorted(rows) for row in rows[path].disagreements]

    @contextlib.contextmanager
    def ingesting(self) -> Iterator[Ingestion]:
        """Open the stores of observed calls, to which traces are added; later queries use what was added."""
        from assay.index.enrich.ingest import Ingestion

        homes = {label: member.home for label, member in self.members.items()}
        with Ingestion(self.index, homes) as ingestion:
            yield ingestion
        self.close()

    def ingest_traces(self, files: Iterable[str | Path], progress: Progress | None = None) -> list[Ingested]:
        """Add OTLP trace files (JSON, JSON lines, protobuf; gzipped or not) to the observed calls.

        A file that cannot be read costs only itself: its result has `problems`. Nothing is counted twice.
        """
        with self.ingesting() as ingestion:
            return list(ingestion.files([Path(file) for file in files], progress))

    def observed(self, item: Item) -> str:
        """Describe an item's calls in traces: `called 1,204 times in the last day, p95 12 ms`; empty without any."""
        from assay.store.links.traces import summary

        return summary(self.index, item)

    def forget_traces(self) -> None:
        """Delete all observed calls, even from a damaged store."""
        from assay.store.traces.database import NAME, remove

        for member in self.members.values():
            member.home.check()
            remove(member.home.folder / NAME)
        self.close()

    def check_folder(self) -> None:
        """Raise AssayError if the folder of a repository is missing or not a folder."""
        from assay.index.scan import check_root

        for member in self.members.values():
            check_root(member.root)

    def check_servable(self) -> None:
        """Raise AssayError if a server should not index a folder: unlike a command, it cannot ask the user."""
        self.check_folder()
        for member in self.members.values():
            if member.home.named() is None:
                check_extent(member.root)

    def stamp(self) -> tuple[object, ...]:
        """Return a value that changes with everything that is read once and cached: index, sidecars, settings."""
        from assay.config.configuration import NAME
        from assay.store import history, sections
        from assay.store.links import stated
        from assay.store.traces.database import FILES

        settings = self.root / NAME
        names = (sections.NAME, history.NAME, stated.NAME, *FILES)
        sidecars = [*(self.home.folder / name for name in names), settings]
        return (self.home.current(), *map(_size_and_mtime, sidecars), user.stamp(settings))


def concerns_index(path: str, folder: bool = False) -> bool:
    """Return whether a change of a file, or of all files in a `folder`, can change the index: by its path alone."""
    from assay.config.configuration import NAME
    from assay.index.documents.formats import format_of
    from assay.index.scan import CONFIG_NAMES, IGNORE_FILE, is_vendored
    from assay.languages import language_of

    if is_vendored(path):
        return False
    settings = path.rpartition("/")[2] in {".gitignore", IGNORE_FILE, NAME, *CONFIG_NAMES}
    return folder or settings or language_of(path) is not None or format_of(path) is not None


def _size_and_mtime(path: Path) -> tuple[int, int] | None:
    try:
        stat = os.stat(path)
    except OSError:
        return None
    return stat.st_size, stat.st_mtime_ns


def _warn_if_truncated(noun: str, text: str, longest: int) -> None:
    if line := truncation_message(noun, text, longest):
        warnings.warn(line, stacklevel=3)


# Workspaces


def open_all(paths: Iterable[str | Path], *, index: bool = False) -> Workspace:
    """Open several repositories (`label=path` sets a label) as one workspace.

    `index` updates or builds their indexes first.
    """
    workspace = Workspace(roots(paths))
    if index:
        workspace.refresh_all()
    workspace.index  # noqa: B018 (raises NoIndex when one has none)
    return workspace


class Workspace(Repository):
    """Several repositories queried as one: one ranking over all, each result with the label of its repository.

    Operations on a single repository (review, feedback) use its `members`. `folder` is the one whose assay.toml names
    the repositories and configures queries; without it, defaults apply.
    """

    def __init__(
        self, repositories: Sequence[Root], folder: Path | None = None, members: Mapping[str, Repository] | None = None
    ) -> None:
        if not repositories:
            raise AssayError("no repositories: name their folders")
        if folder is not None:
            guard(folder)
        self.folder = folder
        self._roots = sorted(repositories, key=lambda root: root.label)
        self._members = dict(members) if members else {root.label: Repository(root.path) for root in self._roots}
        self._joint_index: Index | None = None
        self._engines, self._searchers = {}, {}

    @classmethod
    def at(cls, folder: Path) -> Workspace:
        """Open the workspace that a folder's assay.toml describes."""
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
        self._joint_index, self._engines, self._searchers = None, {}, {}

    @property
    def index(self) -> Index:
        """The joint index. Raises NoIndex if one of them is missing."""
        if self._joint_index is None:
            self._joint_index = Index.joined({label: member.index for label, member in self._members.items()})
        return self._joint_index

    @cached_property
    def configuration(self) -> Configuration:
        """Settings from the workspace's assay.toml, or the user's alone.

        Includes the classes of all repositories, as these describe names in their code.
        """
        from assay.config.configuration import load

        own = load(self.folder)
        inside = [member for member in self._members.values() if member.root != self.folder]
        return replace(own, classes=(*own.classes, *(row for member in inside for row in member.configuration.classes)))

    def refresh_all(self, *, rebuild: bool = False, progress: Progress | None = None) -> dict[str, Report]:
        """Update every index and return the reports by label."""
        reports = {label: member.refresh(rebuild=rebuild, progress=progress) for label, member in self._members.items()}
        self.close()
        self.__dict__.pop("configuration", None)
        return reports

    def _owners(self, paths: Iterable[str]) -> list[Repository]:
        return [self._members[label] for label in sorted({path.partition("/")[0] for path in paths})]

    def refresh(
        self, *, rebuild: bool = False, progress: Progress | None = None, anywhere: bool = False, wait: bool = True
    ) -> Report:
        return self.only("refresh; refresh_all is about all of them: refresh").refresh()

    # tasks

    def learned(self, task: str, session: str = "") -> Learned:
        parts = [(part.first, self._members[part.label].learned(task, session)) for part in self.index.parts]
        vocabulary = [
            replace(association, number=association.number + first)
            for first, learned in parts
            for association in learned.vocabulary
        ]
        return Learned(
            {number + first: value for first, learned in parts for number, value in learned.feedback.items()},
            {number + first: value for first, learned in parts for number, value in learned.session.items()},
            tuple(sorted(vocabulary, key=lambda association: (-association.weight, association.number))),
        )

    def own(self, items: Iterable[Item]) -> dict[str, list[Item]]:
        """Group items, as their repositories have them now, by label; missing items are left out."""
        by_label: defaultdict[str, list[Item]] = defaultdict(list)
        for item in items:
            current = self._members[item.repository].index.by_id(item.id.removeprefix(f"{item.repository}/"))
            by_label[item.repository] += [current] if current else []
        return dict(by_label)

    def paths_of(self, files: Sequence[str]) -> list[str]:
        """Resolve files given as `label/path`, as a path in one repository, or relative to the current folder."""
        return list(dict.fromkeys(self._path_of(file) for file in files))

    def _path_of(self, file: str) -> str:
        if file in self.index.files:
            return file
        matches, problems = list[str](), list[str]()
        for label, member in self._members.items():
            try:
                matches += [f"{label}/{path}" for path in member.paths_of([file.removeprefix(f"{label}/")])]
            except AssayError as error:
                problems.append(str(error))
        if len(matches) > 1:
            raise AssayError(f"{file}: in several repositories; name one of {', '.join(matches)}")
        if not matches:
            raise AssayError(problems[0] if len(problems) == 1 else f"{file}: in none of {listed(self._roots)}")
        return matches[0]

    # passages

    def _prepare(self, settings: SearchSettings, progress: Progress | None) -> Search:
        """Return a searcher over all passages, chunked and embedded by the workspace's settings."""
        from assay.search.service import prepare_all

        places = {label: (member.root, member.home) for label, member in self._members.items()}
        return prepare_all(self.engine(), places, settings, progress, self.folder)

    def _path_patterns(self, paths: Sequence[str]) -> tuple[str, ...]:
        """Patterns match `label/path`, and the path within every repository."""
        return (*paths, *(f"{label}/{path.removeprefix('./')}" for label in self._members for path in paths))

    def _changed_since(self, when: str, paths: set[str]) -> frozenset[str]:
        local_paths: defaultdict[str, set[str]] = defaultdict(set)
        for path in paths:
            label, _, local_path = path.partition("/")
            local_paths[label].add(local_path)
        return frozenset(
            f"{label}/{path}"
            for label, member in self._members.items()
            for path in member._changed_since(when, local_paths[label])
        )

    # the indexes themselves

    @property
    def indexing(self) -> str:
        return (
            "assay index" if self.folder else shlex.join(["assay", "index", *(str(root.path) for root in self._roots)])
        )

    def look(self) -> TreeCheck:
        from assay.index.freshness import joined_checks

        return joined_checks(
            {label: member.look() for label, member in self._members.items()}, repr(self.configuration.given)
        )
