"""Searching passages as it is settled: divided by a chunker, near in meaning by an embedder, judged again by a reranker. Each is made once."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from assay.config.configuration import NONE, SearchSettings
from assay.index import sections as passages
from assay.search.search import Filters, Found, Rerank, Search, Weights
from assay.store.index import Index, UnusableIndex
from assay.store.layout import Home
from assay.store.multi_repo import PassagesOfAll, Several
from assay.text import chunk

if TYPE_CHECKING:
    from assay.core.progress import Progress
    from assay.search.embed import Reranker
    from assay.search.embed.passages import Meaning


@dataclass(frozen=True)
class Searcher:
    """An index, its passages and what they are searched with, ready to be asked again and again."""

    search: Search
    meaning: Meaning | None
    reranker: Reranker | None

    def ranked(self, query: str, k: int = 10, filters: Filters = Filters()) -> list[Found]:  # noqa: B008 (frozen)
        """The best `k` for a query, best first."""
        rerank: Rerank | None = self._reranked if self.reranker else None
        try:
            return self.search.ranked(query, k, filters, self.meaning, rerank)
        except IndexError as error:  # mapped arrays are not read whole, so damage inside them shows only here
            text = f"{self.search.index.folder}: the index of passages is damaged ({error}). Rebuild it with: assay index --rebuild"
            raise UnusableIndex(text) from None

    def _reranked(self, query: str, found: Sequence[Found]) -> list[Found]:
        from assay.search.embed import Candidate

        assert self.reranker is not None
        scores = self.reranker.scores(query, [Candidate(one.text, one.title, one.score) for one in found])
        judged = [dataclasses.replace(one, score=float(score)) for one, score in zip(found, scores, strict=True)]
        return sorted(judged, key=lambda one: -one.score)  # ties keep their order


def is_ready(home: Home, settings: SearchSettings) -> bool:
    """Whether everything that a search needs is made."""
    chosen = chunk.parse(settings.chunker)
    if not passages.is_ready(home, chosen):
        return False
    if settings.embedder == NONE or settings.vectors <= 0:
        return True
    from assay.search.embed.passages import is_ready as embedded

    return embedded(home, str(chosen), settings.embedder)


def prepare_all(
    index: Several,
    places: Mapping[str, tuple[Path, Home]],
    settings: SearchSettings,
    progress: Progress | None = None,
    folder: Path | None = None,
) -> Searcher:
    """What searches several repositories as one, from the root and the home of each: with one rarity of words, and one judge of the best."""
    alone = dataclasses.replace(settings, reranker=NONE)
    parts = [(part.label, prepare(*places[part.label], part.index, alone, progress)) for part in index.parts]
    divided = PassagesOfAll([(label, part.search.passages) for label, part in parts])
    search = Search(index, divided, Weights(vectors=settings.vectors))
    meanings = [(part.meaning, len(part.search.passages)) for _, part in parts if part.meaning]
    base = folder or next(iter(places.values()))[0]
    return Searcher(search, _meaning(meanings), _reranker(settings, search, base))


def _meaning(parts: Sequence[tuple[Meaning, int]]) -> Meaning | None:
    if not parts:
        return None
    from assay.search.embed.passages import MeaningOfAll

    return MeaningOfAll(parts)


def _reranker(settings: SearchSettings, search: Search, root: Path) -> Reranker | None:
    if settings.reranker == NONE:
        return None
    from assay.search.embed.rerankers import reranker

    return reranker(settings.reranker, search.rarity, root, settings.reranker_key_variable)


def prepare(
    root: Path, home: Home, index: Index, settings: SearchSettings, progress: Progress | None = None
) -> Searcher:
    """What searches an index as it is settled. What is not there yet is made: passages, vectors, a trained table."""
    chosen = chunk.parse(settings.chunker)
    divided = passages.prepare(root, home, chosen, progress)
    meaning = None
    search = Search(index, divided, Weights(vectors=settings.vectors))
    if settings.embedder != NONE and settings.vectors > 0:
        from assay.search.embed.passages import prepare as embedded

        meaning = embedded(
            home, root, str(chosen), divided, settings.embedder, settings.embedder_key_variable, progress
        )
    return Searcher(search, meaning, _reranker(settings, search, root))
