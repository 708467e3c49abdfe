"""Rerankers by spec, as they stand in configuration: features, folder:PATH, rerank:URL[#MODEL]."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from assay.errors import AssayError
from assay.extras import install

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
        from assay.embed.features import Features

        return Features(rarity)
    if kind == "folder":
        from assay.embed.folder import FolderReranker

        return FolderReranker((root or Path.cwd()) / Path(argument).expanduser())
    if kind == "rerank":
        from assay.embed.rerank_server import ServerReranker

        return ServerReranker(argument, key_variable)
    raise AssayError(f"unknown reranker '{spec}'. {WAYS}")


def order(scores: Scores) -> list[int]:
    """The places of the candidates, best first; ties keep their order."""
    return [int(place) for place in np.argsort(-scores, kind="stable")]
