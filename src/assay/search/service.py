"""Searchers built from the configuration: chunker, embedder and reranker, each prepared once per repository."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from assay.config.configuration import NONE, SearchSettings
from assay.index import sections as passages
from assay.search.search import Filters, Rerank, Search, SearchHit, Weights
from assay.store.index import Index, UnusableIndex
from assay.store.layout import Home
from assay.store.multi_repo import MultiIndex, MultiPassages
from assay.text import chunk

if TYPE_CHECKING:
    from assay.core.progress import Progress
    from assay.search.embed import Reranker
    from assay.search.embed.vector_index import VectorIndex


@dataclass(frozen=True)
class Searcher:
    """A search over an index and its passages, with its vector index and reranker; reusable."""

    search: Search
    vector_index: VectorIndex | None
    reranker: Reranker | None

    def ranked(self, query: str, k: int = 10, filters: Filters = Filters()) -> list[SearchHit]:  # noqa: B008 (frozen)
        """Return the best `k` hits for a query, best first. Raises UnusableIndex if the stored passages are damaged."""
        rerank: Rerank | None = self._rerank if self.reranker else None
        try:
            return self.search.ranked(query, k, filters, self.vector_index, rerank)
        except IndexError as error:  # mapped arrays are not read whole, so damage inside them shows only here
            text = f"{self.search.index.folder}: the index of passages is damaged ({error}). Rebuild it with: assay index --rebuild"
            raise UnusableIndex(text) from None

    def _rerank(self, query: str, hits: Sequence[SearchHit]) -> list[SearchHit]:
        from assay.search.embed import Candidate

        assert self.reranker is not None
        scores = self.reranker.scores(query, [Candidate(hit.text, hit.title, hit.score) for hit in hits])
        rescored = [dataclasses.replace(hit, score=float(score)) for hit, score in zip(hits, scores, strict=True)]
        return sorted(rescored, key=lambda hit: -hit.score)  # ties keep their order


def is_ready(home: Home, settings: SearchSettings) -> bool:
    """Return whether passages and vectors for these settings are stored and current."""
    chosen = chunk.parse(settings.chunker)
    if not passages.is_ready(home, chosen):
        return False
    if settings.embedder == NONE or settings.vectors <= 0:
        return True
    from assay.search.embed.vector_index import is_ready as embedded

    return embedded(home, str(chosen), settings.embedder)


def prepare_all(
    index: MultiIndex,
    places: Mapping[str, tuple[Path, Home]],
    settings: SearchSettings,
    progress: Progress | None = None,
    folder: Path | None = None,
) -> Searcher:
    """Prepare a searcher over several repositories, with shared document frequencies and one reranker."""
    without_reranker = dataclasses.replace(settings, reranker=NONE)
    parts = [(part.label, prepare(*places[part.label], part.index, without_reranker, progress)) for part in index.parts]
    stored = MultiPassages([(label, part.search.passages) for label, part in parts])
    search = Search(index, stored, Weights(vectors=settings.vectors))
    vector_indexes = [(part.vector_index, len(part.search.passages)) for _, part in parts if part.vector_index]
    base = folder or next(iter(places.values()))[0]
    return Searcher(search, _join_vector_indexes(vector_indexes), _make_reranker(settings, search, base))


def _join_vector_indexes(parts: Sequence[tuple[VectorIndex, int]]) -> VectorIndex | None:
    if not parts:
        return None
    from assay.search.embed.vector_index import MultiVectorIndex

    return MultiVectorIndex(parts)


def _make_reranker(settings: SearchSettings, search: Search, root: Path) -> Reranker | None:
    if settings.reranker == NONE:
        return None
    from assay.search.embed.rerankers import reranker

    return reranker(settings.reranker, search.idf, root, settings.reranker_key_variable)


def prepare(
    root: Path, home: Home, index: Index, settings: SearchSettings, progress: Progress | None = None
) -> Searcher:
    """Prepare a searcher for an index, building missing passages, vectors and trained tables."""
    chosen = chunk.parse(settings.chunker)
    stored = passages.prepare_passages(root, home, chosen, progress)
    vector_index = None
    search = Search(index, stored, Weights(vectors=settings.vectors))
    if settings.embedder != NONE and settings.vectors > 0:
        from assay.search.embed.vector_index import prepare as embedded

        vector_index = embedded(
            home, root, str(chosen), stored, settings.embedder, settings.embedder_key_variable, progress
        )
    return Searcher(search, vector_index, _make_reranker(settings, search, root))
