"""The stages that configurations share: documents divided once for each chunker, passages embedded once for each chunker and embedder.

What was made stays beside the index, so every configuration, every later run and a sweep that was killed find it there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.core.golden import GoldenSet
from assay.core.progress import Progress
from assay.evaluate.sweep.grid import NONE, SEARCH, SHARED, Configuration
from assay.evaluate.systems import open_system


@dataclass(frozen=True, slots=True)
class Stage:
    """Passages of one chunker as one model embeds them; `divided` documents and `embedded` texts are what this command had to do."""

    repository: str
    chunker: str
    passages: int
    divided: int
    embedder: str
    model: str
    embedded: int


def configured(system: str, root: Path, corpus: Path | None = None) -> Configuration:
    """A system as its repository has it; of a search, with the settings spelled out."""
    with closing(open_system(system, root=root, corpus=corpus)) as opened:
        settings = getattr(opened, "settings", None)
    return Configuration(system, {name: str(getattr(settings, name)) for name in SHARED} if settings else {})


def make(
    configurations: Sequence[Configuration], golden: GoldenSet, root: Path, corpus: Path | None, progress: Progress
) -> list[Stage]:
    """Makes what the configurations share, each once, and says what had to be made. A model that is not there is met before much was done."""
    repositories = sorted({query.repository for query in golden.queries}) if corpus else [""]
    stages: list[Stage] = []
    for spec in distinct(configurations):
        stages += _made(spec, repositories, root, corpus, progress)
        if len(stages) == len(repositories):
            for check in _rerankers(configurations):
                list(_made(check, repositories[:1], root, corpus, progress))
    return stages


def _rerankers(configurations: Sequence[Configuration]) -> list[str]:
    """A SPEC for each reranker, with the passages that there are already."""
    first = configurations[0]
    named = dict.fromkeys(one.settings["reranker"] for one in configurations if "reranker" in one.settings)
    return [Configuration(first.system, {**first.settings, "embedder": NONE, "reranker": one}).spec for one in named]


def distinct(configurations: Sequence[Configuration]) -> list[str]:
    """A SPEC for each pair of chunker and embedder, without what comes after them."""
    shared = {
        tuple((name, one.settings[name]) for name in ("chunker", "embedder") if name in one.settings): one
        for one in configurations
        if one.system.partition(":")[0] == SEARCH
    }
    return [Configuration(one.system, dict(pair) | {"reranker": NONE}).spec for pair, one in shared.items()]


def _made(
    spec: str, repositories: Sequence[str], root: Path, corpus: Path | None, progress: Progress
) -> Iterator[Stage]:
    from assay.evaluate.systems.search import SearchSystem

    with closing(open_system(spec, root=root, corpus=corpus)) as system:
        assert isinstance(system, SearchSystem)
        for repository in repositories:
            counting = _Counting(progress)
            system.progress = counting
            made = system.made(repository)
            divided, embedded = (counting.done.get(stage, 0) for stage in ("dividing documents", "embedding passages"))
            yield Stage(repository, made.chunker, made.passages, divided, made.embedder, made.model, embedded)


class _Counting(Progress):
    """Counts what is told, and tells it on."""

    def __init__(self, shown: Progress) -> None:
        self._shown, self._stage = shown, ""
        self.done: dict[str, int] = {}

    def start(self, stage: str, total: int) -> None:
        self._stage = stage
        self._shown.start(stage, total)

    def advance(self, count: int = 1) -> None:
        self.done[self._stage] = self.done.get(self._stage, 0) + count
        self._shown.advance(count)

    def waiting(self) -> None:
        self._shown.waiting()


def told(stages: Sequence[Stage]) -> dict[str, Any]:
    """The work of the shared stages, as the report has it."""
    embedded = [stage for stage in stages if stage.model]
    return {
        "chunk_sets": len({(stage.repository, stage.chunker) for stage in stages}),
        "documents_divided": sum(stage.divided for stage in stages),
        "embedding_pairs": len({(stage.repository, stage.chunker, stage.model) for stage in embedded}),
        "texts_embedded": sum(stage.embedded for stage in stages),
        "stages": [
            {
                **({"repository": stage.repository} if stage.repository else {}),
                "chunker": stage.chunker,
                "passages": stage.passages,
                "documents_divided": stage.divided,
                "embedder": stage.embedder,
                "model": stage.model or None,
                "texts_embedded": stage.embedded,
            }
            for stage in stages
        ],
    }
