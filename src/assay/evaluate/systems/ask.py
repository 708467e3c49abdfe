"""`assay ask` as a system under test: what it finds, what it answers, and whether what it cites is there.

ask                                                       as the root's assay.toml has it
ask:threshold=0.4,chunker=structure:1024
ask:model=http://127.0.0.1:8080/v1#NAME
"""

from __future__ import annotations

import time
from pathlib import Path

from assay.answer.answering import PASSAGES, answered, resolves
from assay.config.configuration import AskSettings, SearchSettings, ask_settings, load
from assay.core.golden import Answer, Citation, Response
from assay.errors import AssayError
from assay.evaluate.systems.assay import reading
from assay.evaluate.systems.protocol import SystemFailed, finished, folder_of
from assay.evaluate.systems.search import SearchSystem, hit, said


class AskSystem(SearchSystem):
    """Asks the root, or the query's repository inside the corpus. A stream that broke is a failure: half an answer is none."""

    kind = "ask"

    def __init__(self, root: Path, corpus: Path | None, settings: SearchSettings, asking: AskSettings) -> None:
        super().__init__(root, corpus, settings, asking)
        self._asking = asking

    def retrieve(
        self, text: str, k: int, budget: int | None = None, repository: str = "", query_id: str = ""
    ) -> Response:
        search = self.opened(repository).searcher
        with reading():
            started = time.perf_counter()
            try:
                found = search.ranked(text, max(k, PASSAGES))
                reply = answered(text, found[:PASSAGES], search.search, self._asking)
            except AssayError as error:
                raise SystemFailed(str(error)) from None
            if reply.problem:
                raise SystemFailed(reply.problem)
            spent = time.perf_counter() - started
            root = folder_of(self._root, self._corpus, repository)
            citations = tuple(
                Citation(one.id, resolves(one, root, search.search.passages), one.text, one.number)
                for one in reply.sources
            )
        answer = Answer(reply.text, citations, reply.grounded, reply.confidence)
        return finished(Response(tuple(map(hit, found)), answer), k, spent)


def open(root: Path, corpus: Path | None, argument: str, timeout: float) -> AskSystem:
    """As the root's assay.toml has it, but for what the SPEC says."""
    searching, asking = ask_settings(said(argument))
    settled = load(root)
    return AskSystem(root, corpus, settled.search.but(**searching), settled.ask.but(**asking))
