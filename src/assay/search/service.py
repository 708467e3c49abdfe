"""Searches built from the configuration: chunker, embedder and reranker, each prepared once per repository."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from assay.config.configuration import NONE, SearchSettings
from assay.index import sections as passages
from assay.rank.engine import Engine
from assay.search.embed.embedders import GENERAL
from assay.search.file_vectors import is_stored
from assay.search.file_vectors import prepare as prepare_file_vectors
from assay.search.passage_ranker import Weights
from assay.search.search import Search
from assay.store.layout import Home
from assay.store.passages import Passages
from assay.store.word_vectors import shipped_vectors
from assay.text import chunk

if TYPE_CHECKING:
    from assay.core.progress import Progress
    from assay.search.embed import Reranker
    from assay.search.embed.vector_index import VectorIndex


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
) -> Search:
    """Prepare the search of one repository's index."""
    return prepare_all(engine, {"": (root, home)}, settings, progress)


def prepare_all(
    engine: Engine,
    places: Mapping[str, tuple[Path, Home]],
    settings: SearchSettings,
    progress: Progress | None = None,
    folder: Path | None = None,
) -> Search:
    """Prepare the search of an engine's index, building missing passages, vectors and tables of its repositories.

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
    table = shipped_vectors() if vectors else None
    search = Search(
        index,
        Passages.joined(divided),
        engine,
        Weights(vectors=settings.vectors),
        prepare_file_vectors(index, homes, table) if table else None,
        _joined(general_vectors),
        table,
        _joined(vectors),
        passage_size=chosen.size,
    )
    search.reranker = _make_reranker(settings, search, folder or places[index.parts[0].label][0])
    return search


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
