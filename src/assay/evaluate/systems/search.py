"""`assay search` as a system under test: passages of documents and definitions of code, by any chunker, embedder and reranker.

search                                                    as the root's assay.toml has it
search:chunker=structure:1024,embedder=none,reranker=features
"""

from __future__ import annotations

import dataclasses
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from assay import __version__
from assay.config.configuration import AskSettings, SearchSettings, load, search_settings
from assay.core.golden import Hit, Response
from assay.core.progress import Progress
from assay.errors import AssayError
from assay.evaluate.systems.assay import digest, fingerprint, reading
from assay.evaluate.systems.protocol import Base, SystemDied, SystemFailed, finished, folder_of
from assay.search.search import Found
from assay.search.service import Searcher, prepare
from assay.store.index import Index
from assay.store.layout import Home
from assay.text.chunk import parse

_NOT_DESCRIBED = ("k", "embedder_key_variable", "reranker_key_variable", "model_key_variable")  # what changes no result
_NEXT = re.compile(r",(?=\w+=)")  # a value may have commas in it


@dataclass(frozen=True)
class _Opened:
    """One repository's index, and what searches it."""

    index: Index
    searcher: Searcher

    @property
    def fingerprint(self) -> str:
        passages = self.searcher.search.passages
        ids = digest(passages[number].id for number in range(len(passages)))
        return f"{fingerprint(self.index)}-{ids}"


class Made(NamedTuple):
    """The stages of a search that configurations share: how documents were divided, into how many passages, and who embedded them."""

    chunker: str
    passages: int
    embedder: str
    model: str  # by name; empty without an embedder


class SearchSystem(Base):
    """Searches the root, or the query's repository inside the corpus."""

    kind = "search"
    concurrent = False
    progress: Progress | None = None  # told what is divided and embedded

    def __init__(
        self, root: Path, corpus: Path | None, settings: SearchSettings, asking: AskSettings | None = None
    ) -> None:
        usual = dataclasses.asdict(SearchSettings()) | dataclasses.asdict(AskSettings())
        chosen = dataclasses.asdict(settings) | (dataclasses.asdict(asking) if asking else {})
        told = {name: value for name, value in chosen.items() if name not in _NOT_DESCRIBED}
        said = ",".join(f"{name}={value}" for name, value in told.items() if value != usual[name])
        super().__init__(f"{self.kind}:{said}" if said else self.kind)
        self.settings = settings
        self._told = told
        self._root, self._corpus = root, corpus
        self._open: dict[str, _Opened] = {}

    def index(self) -> None:
        """Divides and embeds; of a corpus, what each query speaks of when it is asked."""
        if self._corpus is None:
            self.opened("")

    def opened(self, repository: str) -> _Opened:
        key = repository if self._corpus is not None else ""
        if key not in self._open:
            folder = folder_of(self._root, self._corpus, repository)
            home = Home.of(folder)
            with reading():
                index = Index.open(folder, home)
                try:
                    searcher = prepare(folder, home, index, self.settings, self.progress)
                except SystemFailed:
                    raise
                except AssayError as error:  # no such model, a server that does not answer
                    raise SystemDied(str(error)) from None
                cold = searcher.meaning.cold() if searcher.meaning else None
                self._open[key] = _Opened(index, dataclasses.replace(searcher, meaning=cold))
        return self._open[key]

    def made(self, repository: str) -> Made:
        """What a repository is searched with, made if it is not there; `progress` tells what had to be."""
        searcher = self.opened(repository).searcher
        model = searcher.meaning.embedder.name if searcher.meaning else ""
        return Made(self.settings.chunker, len(searcher.search.passages), self.settings.embedder, model)

    def describe(self) -> dict[str, Any]:
        facts = {
            "spec": self.name,
            "version": __version__,
            "cold_start": True,
            "chunker_version": parse(self.settings.chunker).identity,
            "config": self._told,
        }
        if self._corpus is not None:  # models are known when the first repository is asked
            return facts
        opened = self.opened("")
        meaning = opened.searcher.meaning
        models = {"embedder_model": meaning.embedder.name} if meaning else {}
        return {**facts, "index_fingerprint": opened.fingerprint, **models}

    def retrieve(
        self, text: str, k: int, budget: int | None = None, repository: str = "", query_id: str = ""
    ) -> Response:
        opened = self.opened(repository)
        with reading():
            started = time.perf_counter()
            try:
                found = opened.searcher.ranked(text, k)
            except AssayError as error:
                raise SystemFailed(str(error)) from None
            spent = time.perf_counter() - started
        return finished(Response(tuple(hit(one) for one in found)), k, spent)

    def close(self) -> None:
        for opened in self._open.values():
            opened.index.close()


def hit(one: Found) -> Hit:
    return Hit(one.id, one.symbol, one.path, one.path, one.start, one.end, round(one.score, 6), page=one.page)


def open(root: Path, corpus: Path | None, argument: str, timeout: float) -> SearchSystem:
    """As the root's assay.toml has it, but for what the SPEC says."""
    return SearchSystem(root, corpus, load(root).search.but(**search_settings(said(argument))))


def said(argument: str) -> dict[str, str]:
    """The settings in a SPEC, by name."""
    return dict(part.partition("=")[::2] for part in _NEXT.split(argument)) if argument else {}
