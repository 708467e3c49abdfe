"""`assay ask` as a system under test: its hits, its answer, and whether its citations resolve.

ask                                                       with the settings of the root's assay.toml
ask:threshold=0.4,chunker=structure:1024
ask:model=http://127.0.0.1:8080/v1#NAME
"""

from __future__ import annotations

import time
from pathlib import Path

from assay.answer.answering import PASSAGES, answer_question, resolves
from assay.config.configuration import AskSettings, SearchSettings, ask_settings, load
from assay.core.golden import Answer, Citation, Response
from assay.errors import AssayError
from assay.evaluate.systems.assay import index_errors
from assay.evaluate.systems.protocol import SystemFailed, finished, folder_of
from assay.evaluate.systems.search import SearchSystem, hit, parse_settings


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
                passages = searcher.ranked(text, max(k, PASSAGES))
                reply = answer_question(text, passages[:PASSAGES], searcher.search, self._asking)
            except AssayError as error:
                raise SystemFailed(str(error)) from None
            if reply.problem:
                raise SystemFailed(reply.problem)
            seconds = time.perf_counter() - started
            root = folder_of(self._root, self._corpus, repository)
            citations = tuple(
                Citation(source.id, resolves(source, root, searcher.search.passages), source.text, source.number)
                for source in reply.sources
            )
        answer = Answer(reply.text, citations, reply.grounded, reply.confidence)
        return finished(Response(tuple(map(hit, passages)), answer), k, seconds)


def open(root: Path, corpus: Path | None, argument: str, timeout: float) -> AskSystem:
    """Open a system with the root's assay.toml and the settings of the SPEC."""
    searching, asking = ask_settings(parse_settings(argument))
    configuration = load(root)
    return AskSystem(root, corpus, configuration.search.but(**searching), configuration.ask.but(**asking))
