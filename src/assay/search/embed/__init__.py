"""Embedders, nearest-neighbour search and rerankers, each selected by a spec in the configuration."""

from __future__ import annotations

from assay.search.embed.embedders import Embedder, Role, Vectors, embed_all, embedder
from assay.search.embed.rerankers import Candidate, Reranker, reranker
from assay.search.embed.vector_index import Nearest

__all__ = ["Candidate", "Embedder", "Nearest", "Reranker", "Role", "Vectors", "embed_all", "embedder", "reranker"]
