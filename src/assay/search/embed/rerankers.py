"""Rerankers, selected by a spec: features, folder:PATH, rerank:URL[#MODEL]."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from assay.errors import AssayError, install
from assay.text.terms import terms

DEFAULT = "features"
RERANKER_HELP = (
    f"Three ways to get a reranker: features (built in); a local cross-encoder, folder:PATH ({install('onnx')}); "
    "a server, rerank:URL#MODEL (any /v1/rerank as of Jina or Cohere)"
)
Scores = NDArray[np.float64]
Idf = Callable[[str], float]


class Candidate(NamedTuple):
    """A passage to rerank: its text, its headings and its first-stage score."""

    text: str
    title: str = ""
    score: float = 0.0


class Reranker(Protocol):
    """Rescores the candidates of a query by reading them."""

    @property
    def name(self) -> str: ...

    def scores(self, query: str, candidates: Sequence[Candidate]) -> Scores:
        """Return a score for each candidate, in order; higher is better, only the order is meaningful."""


def reranker(spec: str = DEFAULT, idf: Idf | None = None, root: Path | None = None, key_variable: str = "") -> Reranker:
    """Create the reranker that a spec names. `features` uses `idf` of the corpus; by default that of the candidates."""
    kind, _, argument = spec.strip().partition(":")
    if kind == "features" and not argument:
        return Features(idf)
    if kind == "folder":
        from assay.search.embed.folder import FolderReranker

        return FolderReranker((root or Path.cwd()) / Path(argument).expanduser())
    if kind == "rerank":
        return ServerReranker(argument, key_variable)
    raise AssayError(f"unknown reranker '{spec}'. {RERANKER_HELP}")


def order(scores: Scores) -> list[int]:
    """Return the positions of the candidates, best first; ties keep their order."""
    return [int(place) for place in np.argsort(-scores, kind="stable")]


# features: a weighted sum of features between 0 and 1

# Tuned on Cranfield (benchmarks/cranfield.py); on held-out halves such weights add 0.010 to 0.017 nDCG@10 to the hybrid
# ranking.
WEIGHTS: Mapping[str, float] = {
    "score": 1.0,  # first-stage score relative to the best
    "coverage": 0.05,  # idf-weighted share of query terms in the passage; mostly in the score already
    "title": 0.2,  # coverage of the headings
    "pairs": 0.3,  # adjacent query terms that are close and in order in the passage
    "proximity": 0.1,  # distance between query terms where they are closest
    "phrase": 0.1,  # the whole query, verbatim
}
_MAX_DISTANCE = 3  # terms between two neighbours, at most


class Features:
    """Linear model over the features that `features` returns; deterministic, no model file."""

    name = "features"

    def __init__(self, idf: Idf | None = None) -> None:
        self._idf = idf

    def scores(self, query: str, candidates: Sequence[Candidate]) -> Scores:
        return np.array(
            [sum(WEIGHTS[name] * value for name, value in row.items()) for row in self.features(query, candidates)]
        )

    def features(self, query: str, candidates: Sequence[Candidate]) -> list[dict[str, float]]:
        """Return the features of each candidate, by the names in WEIGHTS."""
        query_terms = tuple(terms(query))
        texts = [_terms_of(candidate.text) for candidate in candidates]
        idf = self._idf or _idf_among(texts)
        weights = {term: idf(term) for term in query_terms}
        pairs = {pair: min(weights[term] for term in pair) for pair in pairwise(query_terms)}
        titles = {title: _coverage(weights, terms(title)) for title in {candidate.title for candidate in candidates}}
        best = max((candidate.score for candidate in candidates), default=0.0)
        rows = []
        for candidate, text in zip(candidates, texts, strict=True):
            occurrences = [(place, term) for place, term in enumerate(text) if term in weights]
            rows.append(
                {
                    "score": candidate.score / best if best > 0 else 0.0,
                    "coverage": _coverage(weights, [term for _, term in occurrences]),
                    "title": titles[candidate.title],
                    "pairs": _pairs(pairs, occurrences),
                    "proximity": _proximity(occurrences, weights),
                    "phrase": float(_has_phrase(text, occurrences, query_terms)),
                }
            )
        return rows


@lru_cache(maxsize=2048)
def _terms_of(text: str) -> tuple[str, ...]:
    """Return the terms of a passage; queries of a session share most of their candidates."""
    return tuple(terms(text))


Occurrences = Sequence[tuple[int, str]]  # of query terms in a text: place and term


def _idf_among(texts: Sequence[Sequence[str]]) -> Idf:
    counts = Counter(term for text in texts for term in set(text))
    return lambda term: math.log(1 + (len(texts) - counts[term] + 0.5) / (counts[term] + 0.5))


def _coverage(weights: Mapping[str, float], text: Iterable[str]) -> float:
    total, present = sum(weights.values()), set(text)
    return sum(weight for term, weight in weights.items() if term in present) / total if total else 0.0


def _pairs(pairs: Mapping[tuple[str, str], float], occurrences: Occurrences) -> float:
    """Return the share of adjacent query terms that are close and in order in the text, weighted by the lower idf."""
    if not (total := sum(pairs.values())):
        return 0.0
    close_pairs = set()
    for number, (place, term) in enumerate(occurrences):
        for later_place, later in occurrences[number + 1 : number + 1 + _MAX_DISTANCE]:
            if later_place <= place + _MAX_DISTANCE:
                close_pairs.add((term, later))
    return sum(weight for pair, weight in pairs.items() if pair in close_pairs) / total


def _proximity(occurrences: Occurrences, weights: Mapping[str, float]) -> float:
    """Return idf over distance, summed over close pairs of query terms, relative to a perfect text."""
    best: dict[frozenset[str], float] = {}
    for (before, term), (place, other) in pairwise(occurrences):
        if term != other:
            pair = frozenset((term, other))
            best[pair] = max(best.get(pair, 0.0), min(weights[term], weights[other]) / (place - before))
    total = sum(sorted(weights.values())[1:])
    return min(1.0, sum(sorted(best.values(), reverse=True)[: max(len(weights) - 1, 0)]) / total) if total else 0.0


def _has_phrase(text: Sequence[str], occurrences: Occurrences, query_terms: Sequence[str]) -> bool:
    """Return whether the query occurs as a phrase of at least two terms."""
    size = len(query_terms)
    return size > 1 and any(
        term == query_terms[0] and text[place : place + size] == query_terms for place, term in occurrences
    )


# rerank:URL[#MODEL]: any server with the /v1/rerank of Jina and Cohere (also TEI, vLLM, llama.cpp)


class ServerReranker:
    """Reranker on a server; one request for all candidates."""

    def __init__(self, argument: str, key_variable: str = "") -> None:
        from assay.search.embed.server import server  # with http and ssl, which local searches do not need

        self.server = server(argument, "rerank", key_variable)

    @property
    def name(self) -> str:
        return f"rerank:{self.server.name}"

    def scores(self, query: str, candidates: Sequence[Candidate]) -> Scores:
        if not candidates:
            return np.zeros(0)
        documents = [
            f"{candidate.title}\n{candidate.text}" if candidate.title else candidate.text for candidate in candidates
        ]
        answer = self.server.ask(
            {"query": query, "documents": documents, "top_n": len(documents), "return_documents": False}
        )
        try:
            return _scores(answer, len(documents))
        except (KeyError, TypeError, ValueError, AttributeError):
            from assay.search.embed.server import ServerFailed

            raise ServerFailed(
                f"{self.server.name}: the answer cannot be used: not a /v1/rerank response, "
                '{"results": [{"index", "relevance_score"}]} with one result for each document'
            ) from None


def _scores(answer: Any, count: int) -> Scores:
    """Parse the scores by document; raises ValueError unless every document has one."""
    scores = np.full(count, np.nan)
    for row in answer["results"]:
        place = row["index"]
        if type(place) is not int or not 0 <= place < count:
            raise ValueError("an index of no document")
        scores[place] = float(row["relevance_score"])
    if not np.isfinite(scores).all():
        raise ValueError("not one score for each document")
    return scores
