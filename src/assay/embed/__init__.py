"""Texts as vectors, vectors by nearness, and a second look at the best: embedders and rerankers, chosen by a spec in configuration."""

from assay.embed.cached import embed_all
from assay.embed.embedders import Embedder, Role, Vectors, embedder
from assay.embed.nearest import Nearest
from assay.embed.rerankers import Candidate, Reranker, reranker

__all__ = ["Candidate", "Embedder", "Nearest", "Reranker", "Role", "Vectors", "embed_all", "embedder", "reranker"]
