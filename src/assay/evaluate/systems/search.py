"""`assay search` and `assay ask` as systems under test, with any chunker, embedder, reranker, threshold and model.

search                                                    with the settings of the root's assay.toml
search:chunker=structure:1024,embedder=none,reranker=features
ask:threshold=0.4,chunker=structure:1024
ask:model=http://127.0.0.1:8080/v1#NAME
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from assay import __version__
from assay.answer.answering import answer_question, evidence, resolves
from assay.answer.reply import CLOSEST
from assay.config.configuration import AskSettings, SearchSettings, ask_settings, load, search_settings
from assay.core.golden import Answer, Citation, Hit, Response
from assay.core.progress import Progress
from assay.errors import AssayError
from assay.evaluate.systems import SystemDied, SystemFailed, finished, folder_of, parse_settings
from assay.evaluate.systems.assay import IndexedSystem, digest, fingerprint, index_errors
from assay.rank.engine import open_engine
from assay.rank.profile import Profile
from assay.search.hits import SearchHit
from assay.search.search import Search
from assay.search.service import prepare
from assay.store.index import Index
from assay.store.layout import Home
from assay.text.chunk import parse

_NOT_DESCRIBED = ("k", "embedder_key_variable", "reranker_key_variable", "model_key_variable")  # no effect on results


@dataclass
class _Searched:
    """A repository's index and its searcher."""

    index: Index
    searcher: Search
    profile: Profile

    @property
    def fingerprint(self) -> str:
        passages = self.searcher.passages
        ids = digest(passages[number].id for number in range(len(passages)))
        return f"{fingerprint(self.index)}-{ids}"


class StageFacts(NamedTuple):
    """Facts of the shared stages of a search: chunker, number of passages, embedder and model."""

    chunker: str
    passages: int
    embedder: str
    model: str  # empty without an embedder


class SearchSystem(IndexedSystem[_Searched]):
    """Searches the documents and the code of an index."""

    kind = "search"
    progress: Progress | None = None  # receives chunking and embedding progress

    def __init__(
        self, root: Path, corpus: Path | None, settings: SearchSettings, asking: AskSettings | None = None
    ) -> None:
        defaults = dataclasses.asdict(SearchSettings()) | dataclasses.asdict(AskSettings())
        settings_by_name = dataclasses.asdict(settings) | (dataclasses.asdict(asking) if asking else {})
        described = {name: value for name, value in settings_by_name.items() if name not in _NOT_DESCRIBED}
        changed = ",".join(f"{name}={value}" for name, value in described.items() if value != defaults[name])
        super().__init__(f"{self.kind}:{changed}" if changed else self.kind, root, corpus)
        self.settings = settings
        self._config = described

    def index(self) -> None:
        """Chunk and embed the root; repositories of a corpus are prepared by their first query."""
        if self._corpus is None:
            self.opened("")

    def open_folder(self, folder: Path) -> _Searched:
        """Open the index of a folder and its searcher. Raises SystemDied if a model is unavailable."""
        home = Home.of(folder)
        index = Index.open(folder, home)
        try:
            configuration = load(folder)
            profile = configuration.profile(None)
            engine = open_engine(index, profile, configuration.classes)
            searcher = prepare(folder, home, engine, self.settings, self.progress)
        except SystemFailed:
            raise
        except AssayError as error:  # no such model, a server that does not answer
            raise SystemDied(str(error)) from None
        if searcher.vector_index:
            searcher.vector_index = searcher.vector_index.cold()
        return _Searched(index, searcher, profile)

    def paths(self, opened: _Searched) -> Iterator[str]:
        return chain(opened.index.files, opened.searcher.passages.paths)

    def chunks(self, repository: str = "") -> Iterator[tuple[Hit, str]]:
        """Yield every passage in file order, as it would be retrieved, with its text."""
        passages = self.opened(repository).searcher.passages
        with index_errors():
            for number in range(len(passages)):
                passage = passages[number]
                hit = Hit(passage.id, "", passage.path, passage.path, passage.first, passage.last, page=passage.page)
                yield hit, passage.text

    def made(self, repository: str) -> StageFacts:
        """Return the facts of a repository's search stages, building them if needed."""
        searcher = self.opened(repository).searcher
        model = searcher.vector_index.embedder.name if searcher.vector_index else ""
        return StageFacts(self.settings.chunker, len(searcher.passages), self.settings.embedder, model)

    def describe(self) -> dict[str, Any]:
        facts = {
            "spec": self.name,
            "version": __version__,
            "cold_start": True,
            "chunker_version": parse(self.settings.chunker).identity,
            "config": self._config,
        }
        if self._corpus is not None:  # models are loaded by the first query
            return facts
        opened = self.opened("")
        vector_index = opened.searcher.vector_index
        models = {"embedder_model": vector_index.embedder.name} if vector_index else {}
        return {**facts, "index_fingerprint": opened.fingerprint, **models}

    def retrieve(
        self, text: str, k: int, budget: int | None = None, repository: str = "", query_id: str = ""
    ) -> Response:
        opened = self.opened(repository)
        with index_errors():
            started = time.perf_counter()
            try:
                passages = opened.searcher.ranked(text, k)
            except AssayError as error:
                raise SystemFailed(str(error)) from None
            seconds = time.perf_counter() - started
        return finished(Response(tuple(hit(passage) for passage in passages)), k, seconds)


def hit(passage: SearchHit) -> Hit:
    """Convert a found passage or definition to a hit."""
    return Hit(
        passage.id,
        passage.symbol,
        passage.path,
        passage.path,
        passage.start,
        passage.end,
        round(passage.score, 6),
        page=passage.page,
    )


def open(root: Path, corpus: Path | None, argument: str, timeout: float) -> SearchSystem:
    """Open a search with the root's assay.toml and the settings of the SPEC."""
    return SearchSystem(root, corpus, load(root).search.but(**search_settings(parse_settings(argument))))


def open_chunker(root: Path) -> SearchSystem:
    """Open a search for its passages alone: with the chunker of the root's assay.toml, without models."""
    return SearchSystem(root, None, load(root).search.but(embedder="none", reranker="none"))


# assay ask: its hits, its answer, and whether its citations resolve


class AskSystem(SearchSystem):
    """Asks the root, or the query's repository inside the corpus. An interrupted answer is a failure."""

    kind = "ask"

    def __init__(self, root: Path, corpus: Path | None, settings: SearchSettings, asking: AskSettings) -> None:
        super().__init__(root, corpus, settings, asking)
        self._asking = asking

    def retrieve(
        self, text: str, k: int, budget: int | None = None, repository: str = "", query_id: str = ""
    ) -> Response:
        searcher = self.opened(repository).searcher
        with index_errors():
            started = time.perf_counter()
            try:
                found = evidence(searcher, text)
                reply = answer_question(found, self._asking)
                passages = searcher.top(text, found.candidates, k)
            except AssayError as error:
                raise SystemFailed(str(error)) from None
            if reply.problem:
                raise SystemFailed(reply.problem)
            seconds = time.perf_counter() - started
            root = folder_of(self._root, self._corpus, repository)
            citations = tuple(
                Citation(source.id, resolves(source, root, searcher.passages), source.text, source.number)
                for source in reply.sources
            )
        answer = Answer(reply.text, citations, reply.grounded, reply.confidence, reply.outcome == CLOSEST)
        return finished(Response(tuple(map(hit, passages)), answer), k, seconds)


def open_ask(root: Path, corpus: Path | None, argument: str, timeout: float) -> AskSystem:
    """Open a system that asks with the root's assay.toml and the settings of the SPEC."""
    searching, asking = ask_settings(parse_settings(argument))
    configuration = load(root)
    return AskSystem(root, corpus, configuration.search.but(**searching), configuration.ask.but(**asking))
