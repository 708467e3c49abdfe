"""Searchers built from the configuration: chunker, embedder and reranker, each prepared once per repository."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from assay.config.configuration import NONE, SearchSettings
from assay.index import sections as passages
from assay.search.filters import Filters, Subset
from assay.search.search import Rerank, Search, SearchHit, Weights
from assay.store.index import Index, UnusableIndex
from assay.store.layout import Home
from assay.store.passages import Passages
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

    def ranked(
        self,
        query: str,
        k: int = 10,
        filters: Filters = Filters(),  # noqa: B008 (frozen)
        subset: Subset | None = None,
    ) -> list[SearchHit]:
        """Return the best `k` hits for a query, best first. Raises UnusableIndex if the stored passages are damaged."""
        rerank: Rerank | None = self._rerank if self.reranker else None
        with self.checked():
            return self.search.ranked(query, k, filters, self.vector_index, rerank, subset)

    @contextlib.contextmanager
    def checked(self) -> Iterator[None]:
        """Raise UnusableIndex where damaged passages are read."""
        try:
            yield
        except IndexError as error:  # mapped arrays are not read whole, so damage inside them shows only here
            folders = ", ".join(str(part.generation.home) for part in self.search.index.parts)
            text = f"{folders}: the index of passages is damaged ({error}). Rebuild it with: assay index --rebuild"
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


def prepare(
    root: Path, home: Home, index: Index, settings: SearchSettings, progress: Progress | None = None
) -> Searcher:
    """Prepare a searcher for the index of one repository."""
    return prepare_all(index, {"": (root, home)}, settings, progress)


def prepare_all(
    index: Index,
    places: Mapping[str, tuple[Path, Home]],
    settings: SearchSettings,
    progress: Progress | None = None,
    folder: Path | None = None,
) -> Searcher:
    """Prepare a searcher for an index, building missing passages, vectors and trained tables of its repositories.

    Document frequencies and the reranker are common to all. `places` are their roots and index folders by label, and a
    reranker's path is relative to `folder`, by default the first root.
    """
    chosen = chunk.parse(settings.chunker)
    divided: dict[str, Passages] = {}
    vectors: list[VectorIndex] = []
    for part in index.parts:
        root, home = places[part.label]
        divided[part.label] = passages.prepare_passages(root, home, chosen, progress)
        if settings.embedder != NONE and settings.vectors > 0:
            from assay.search.embed.vector_index import prepare as embedded

            key_variable = settings.embedder_key_variable
            vectors.append(
                embedded(home, root, str(chosen), divided[part.label], settings.embedder, key_variable, progress)
            )
    search = Search(index, Passages.joined(divided), Weights(vectors=settings.vectors))
    base = folder or places[index.parts[0].label][0]
    return Searcher(search, _joined(vectors), _make_reranker(settings, search, base))


def _joined(vectors: Sequence[VectorIndex]) -> VectorIndex | None:
    if not vectors:
        return None
    from assay.search.embed.vector_index import VectorIndex

    return VectorIndex.joined(vectors)


def _make_reranker(settings: SearchSettings, search: Search, root: Path) -> Reranker | None:
    if settings.reranker == NONE:
        return None
    from assay.search.embed.rerankers import reranker

    return reranker(settings.reranker, search.idf, root, settings.reranker_key_variable)
