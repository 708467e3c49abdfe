"""Searchers built from the configuration: chunker, embedder and reranker, each prepared once per repository."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from assay.config.configuration import NONE, SearchSettings
from assay.index import sections as passages
from assay.rank.engine import Engine
from assay.search.embed import Candidate, Embedder
from assay.search.embed.embedders import GENERAL, embedder
from assay.search.embed.rerankers import DEFAULT
from assay.search.file_vectors import is_stored
from assay.search.file_vectors import prepare as prepare_file_vectors
from assay.search.filters import Filters, Subset
from assay.search.hits import Scored, SearchHit
from assay.search.passage_ranker import Weights
from assay.search.search import Proximity, Rerank, Search
from assay.store.index import UnusableIndex
from assay.store.layout import Home
from assay.store.passages import Passages
from assay.store.word_vectors import TextVectors
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
    general: Embedder | None  # table of word vectors that ships with assay; None without vectors
    passage_size: int = 0  # tokens, at most; 0: not known

    def ranked(
        self,
        query: str,
        k: int = 10,
        filters: Filters = Filters(),  # noqa: B008 (frozen)
        subset: Subset | None = None,
        by_file: bool = False,
        widen: bool = False,
    ) -> list[SearchHit]:
        """Return the best `k` hits for a query, best first. Raises UnusableIndex if the stored passages are damaged.

        `widen` shows short passages with what stands around them, up to the size of a passage.
        """
        window = self.passage_size if widen else 0
        with self.checked():
            return self.search.ranked(
                query, k, filters, self.vector_index, self._proximity, self._reordering, subset, by_file, window
            )

    def top(self, query: str, candidates: Sequence[Scored], k: int) -> list[SearchHit]:
        """Return the best `k` hits, as `ranked` does, of candidates that are found already."""
        with self.checked():
            return self.search.top(query, candidates, k, self._reordering)

    def candidates(self, query: str, k: int, filters: Filters) -> list[Scored]:
        """Return passages and code on one scale, best first, at least `k` of each if there are so many."""
        with self.checked():
            return self.search.candidates(query, k, filters, self.vector_index, self._proximity)

    def read(self, query: str, candidates: Sequence[Scored]) -> list[SearchHit]:
        """Return candidates as hits; with a reranker that reads texts, in its order."""
        with self.checked():
            hits = self.search.read(query, candidates)
        return list(self._reordering(query, hits)) if self._reordering else hits

    @property
    def _reordering(self) -> Rerank | None:
        """The reranker as a stage after the merged ranking; None without one."""
        return self._rerank if self.reranker and not self._is_feature else None

    @property
    def _is_feature(self) -> bool:
        """True if the reranker is a feature of the merged ranking rather than a stage after it."""
        return self.reranker is not None and self.reranker.name == DEFAULT

    @property
    def _proximity(self) -> Proximity | None:
        return self.scores if self._is_feature else None

    @contextmanager
    def checked(self) -> Iterator[None]:
        """Raise UnusableIndex where damaged passages are read."""
        try:
            yield
        except IndexError as error:  # mapped arrays are not read whole, so damage inside them shows only here
            folders = ", ".join(str(part.generation.home) for part in self.search.index.parts)
            text = f"{folders}: the index of passages is damaged ({error}). Rebuild it with: assay index --rebuild"
            raise UnusableIndex(text) from None

    def scores(self, query: str, hits: Sequence[SearchHit]) -> list[float]:
        """Return the reranker's score of each hit."""
        assert self.reranker is not None
        candidates = [Candidate(hit.text, hit.title, hit.score) for hit in hits]
        return [float(score) for score in self.reranker.scores(query, candidates)]

    def _rerank(self, query: str, hits: Sequence[SearchHit]) -> list[SearchHit]:
        scores = self.scores(query, hits)
        rescored = [dataclasses.replace(hit, score=score) for hit, score in zip(hits, scores, strict=True)]
        return sorted(rescored, key=lambda hit: -hit.score)  # ties keep their order


def is_ready(home: Home, settings: SearchSettings) -> bool:
    """Return whether passages and vectors for these settings are stored and current."""
    chosen = chunk.parse(settings.chunker)
    if not passages.is_ready(home, chosen):
        return False
    if settings.embedder == NONE or settings.vectors <= 0:
        return True
    from assay.search.embed.vector_index import is_ready as embedded

    vectors = all(embedded(home, str(chosen), spec) for spec in (settings.embedder, GENERAL))
    return vectors and is_stored(home)


def prepare(
    root: Path, home: Home, engine: Engine, settings: SearchSettings, progress: Progress | None = None
) -> Searcher:
    """Prepare a searcher for the index of one repository."""
    return prepare_all(engine, {"": (root, home)}, settings, progress)


def prepare_all(
    engine: Engine,
    places: Mapping[str, tuple[Path, Home]],
    settings: SearchSettings,
    progress: Progress | None = None,
    folder: Path | None = None,
) -> Searcher:
    """Prepare a searcher for an engine's index, building missing passages, vectors and tables of its repositories.

    Document frequencies and the reranker are common to all. `places` are their roots and index folders by label, and a
    reranker's path is relative to `folder`, by default the first root.
    """
    index = engine.index
    chosen = chunk.parse(settings.chunker)
    divided: dict[str, Passages] = {}
    vectors: list[VectorIndex] = []
    general_vectors: list[VectorIndex] = []
    for part in index.parts:
        root, home = places[part.label]
        divided[part.label] = passages.prepare_passages(root, home, chosen, progress)
        if settings.embedder != NONE and settings.vectors > 0:
            from assay.search.embed.vector_index import prepare as embedded

            key_variable = settings.embedder_key_variable
            passages_of = (home, root, str(chosen), divided[part.label])
            vectors.append(embedded(*passages_of, settings.embedder, key_variable, progress))
            general_vectors.append(embedded(*passages_of, GENERAL, progress=progress, stage="looking up words"))
    homes = {label: home for label, (_, home) in places.items()}
    general = embedder(GENERAL) if vectors else None
    search = Search(
        index,
        Passages.joined(divided),
        engine,
        Weights(vectors=settings.vectors),
        prepare_file_vectors(index, homes, general) if general else None,
        _joined(general_vectors) if general_vectors else None,
        general if isinstance(general, TextVectors) else None,
    )
    base = folder or places[index.parts[0].label][0]
    return Searcher(search, _joined(vectors), _make_reranker(settings, search, base), general, chosen.size)


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
