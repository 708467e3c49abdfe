"""Rerankers by spec, as they stand in configuration: features, folder:PATH, rerank:URL[#MODEL]."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from assay.errors import AssayError, install
from assay.search.embed.server import ServerFailed, server
from assay.text.terms import terms

DEFAULT = "features"
WAYS = (
    f"Three ways to get a reranker: features (built in); a local cross-encoder, folder:PATH ({install('onnx')}); "
    "a server, rerank:URL#MODEL (any /v1/rerank as of Jina or Cohere)"
)
Scores = NDArray[np.float64]
Rarity = Callable[[str], float]


class Candidate(NamedTuple):
    """A passage to be judged again: its text, what stands above it, and its score so far."""

    text: str
    title: str = ""
    score: float = 0.0


class Reranker(Protocol):
    """Judges the candidates of one query by reading them."""

    @property
    def name(self) -> str: ...

    def scores(self, query: str, candidates: Sequence[Candidate]) -> Scores:
        """A score for each candidate, in order; higher is better, and only the order means anything."""


def reranker(
    spec: str = DEFAULT, rarity: Rarity | None = None, root: Path | None = None, key_variable: str = ""
) -> Reranker:
    """The reranker that a spec names. `rarity` of a term in the whole collection helps `features`; without it the candidates decide."""
    kind, _, argument = spec.strip().partition(":")
    if kind == "features" and not argument:
        return Features(rarity)
    if kind == "folder":
        from assay.search.embed.folder import FolderReranker

        return FolderReranker((root or Path.cwd()) / Path(argument).expanduser())
    if kind == "rerank":
        return ServerReranker(argument, key_variable)
    raise AssayError(f"unknown reranker '{spec}'. {WAYS}")


def order(scores: Scores) -> list[int]:
    """The places of the candidates, best first; ties keep their order."""
    return [int(place) for place in np.argsort(-scores, kind="stable")]


# `features`: a reranker without a model. It reads query and passage and adds up a few plain signs, each between 0
# and 1.

# chosen on Cranfield (benchmarks/cranfield.py); on halves held out such weights add 0.010 to 0.017 nDCG@10 to the hybrid ranking
WEIGHTS: Mapping[str, float] = {
    "score": 1.0,  # the score so far, as a share of the best
    "coverage": 0.05,  # the query's words that the passage has, by rarity; the score so far knows most of it
    "title": 0.2,  # the same of what stands above it
    "pairs": 0.3,  # neighbouring words of the query that are neighbours in the passage, in order
    "proximity": 0.1,  # how close together the query's words stand where they stand closest
    "phrase": 0.1,  # the whole query, word for word
}
_CLOSE = 3  # two words of the query at most this far apart are neighbours


class Features:
    """Linear, deterministic, explained by `signs`."""

    name = "features"

    def __init__(self, rarity: Rarity | None = None) -> None:
        self._rarity = rarity

    def scores(self, query: str, candidates: Sequence[Candidate]) -> Scores:
        return np.array(
            [sum(WEIGHTS[name] * sign for name, sign in row.items()) for row in self.signs(query, candidates)]
        )

    def signs(self, query: str, candidates: Sequence[Candidate]) -> list[dict[str, float]]:
        """What each candidate shows, by the names in WEIGHTS."""
        asked = terms(query)
        texts = [terms(one.text) for one in candidates]
        rarity = self._rarity or _rarity_among(texts)
        weights = {term: rarity(term) for term in asked}
        pairs = {pair: min(weights[one] for one in pair) for pair in pairwise(asked)}
        best = max((one.score for one in candidates), default=0.0)
        return [
            {
                "score": one.score / best if best > 0 else 0.0,
                "coverage": _coverage(weights, set(text)),
                "title": _coverage(weights, set(terms(one.title))),
                "pairs": _pairs(pairs, text, weights),
                "proximity": _proximity(text, weights),
                "phrase": float(_has_phrase(text, asked)),
            }
            for one, text in zip(candidates, texts, strict=True)
        ]


def _rarity_among(texts: Sequence[Sequence[str]]) -> Rarity:
    counts = Counter(term for text in texts for term in set(text))
    return lambda term: math.log(1 + (len(texts) - counts[term] + 0.5) / (counts[term] + 0.5))


def _coverage(weights: Mapping[str, float], found: set[str]) -> float:
    total = sum(weights.values())
    return sum(weight for term, weight in weights.items() if term in found) / total if total else 0.0


def _pairs(pairs: Mapping[tuple[str, str], float], text: Sequence[str], weights: Mapping[str, float]) -> float:
    """Pairs of neighbours in the query by the rarity of the commoner word: the share that stands close and in order in the text."""
    if not (total := sum(pairs.values())):
        return 0.0
    near = {
        (term, later)
        for place, term in enumerate(text)
        if term in weights
        for later in text[place + 1 : place + 1 + _CLOSE]
    }
    return sum(weight for pair, weight in pairs.items() if pair in near) / total


def _proximity(text: Sequence[str], weights: Mapping[str, float]) -> float:
    """Rarity of neighbouring different words of the query over their distance, as a share of what the best possible text would have."""
    places = [(place, term) for place, term in enumerate(text) if term in weights]
    best: dict[frozenset[str], float] = {}
    for (before, one), (place, other) in pairwise(places):
        if one != other:
            pair = frozenset((one, other))
            best[pair] = max(best.get(pair, 0.0), min(weights[one], weights[other]) / (place - before))
    total = sum(sorted(weights.values())[1:])
    return min(1.0, sum(sorted(best.values(), reverse=True)[: max(len(weights) - 1, 0)]) / total) if total else 0.0


def _has_phrase(text: Sequence[str], asked: Sequence[str]) -> bool:
    """Whether the words of the query stand in the text one after the other; a single word is no phrase."""
    if len(asked) < 2:
        return False
    return f" {' '.join(asked)} " in f" {' '.join(text)} "


# `rerank:URL[#MODEL]`: any server with a /v1/rerank of the shape that Jina and Cohere share (also TEI, vLLM,
# llama.cpp).


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
