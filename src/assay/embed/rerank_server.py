"""`rerank:URL[#MODEL]`: any server with a /v1/rerank of the shape that Jina and Cohere share (also TEI, vLLM, llama.cpp)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from assay.embed.rerankers import Candidate, Scores
from assay.embed.server import ServerFailed, server


class ServerReranker:
    """Sends the query and all candidates in one request."""

    def __init__(self, argument: str, key_variable: str = "") -> None:
        self.server = server(argument, "rerank", key_variable)

    @property
    def name(self) -> str:
        return f"rerank:{self.server.name}"

    def scores(self, query: str, candidates: Sequence[Candidate]) -> Scores:
        if not candidates:
            return np.zeros(0)
        documents = [f"{one.title}\n{one.text}" if one.title else one.text for one in candidates]
        answer = self.server.ask(
            {"query": query, "documents": documents, "top_n": len(documents), "return_documents": False}
        )
        try:
            return _scores(answer, len(documents))
        except (KeyError, TypeError, ValueError, AttributeError):
            raise ServerFailed(
                f"{self.server.name}: the answer cannot be used: it has not the shape of /v1/rerank, "
                '{"results": [{"index", "relevance_score"}]} with one result for each document'
            ) from None


def _scores(answer: Any, count: int) -> Scores:
    """The scores of an answer by document; every document must have one."""
    scores = np.full(count, np.nan)
    for row in answer["results"]:
        place = row["index"]
        if type(place) is not int or not 0 <= place < count:
            raise ValueError("an index of no document")
        scores[place] = float(row["relevance_score"])
    if not np.isfinite(scores).all():
        raise ValueError("not one score for each document")
    return scores
