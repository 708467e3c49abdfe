"""Queries of one run on a cluster: workers open the system and answer batches of queries; the run is stored here.

    positions ──▶ batches ──▶ a session per worker: the opened system ──▶ responses ──▶ `run` stores and judges them

A worker answers only with the system that is described here: the same index, settings and program.
"""

from __future__ import annotations

import platform
from collections.abc import Iterator, Sequence
from contextlib import chdir, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from assay.core.golden import GoldenQuery
from assay.errors import AssayError
from assay.evaluate.run import Answered, Plan, describe_system, query_all
from assay.evaluate.systems import System, open_system
from assay.system.cluster import ClusterSettings
from assay.system.executor import Executor, UnitFailed, open_executor, require_folder

_BATCH = 8  # queries of a unit: a lost worker repeats at most these, and a failing system is noticed after them


@dataclass(frozen=True, slots=True)
class Opening:
    """All that a worker needs to open the system of a run."""

    spec: str
    timeout: float
    root: Path
    corpus: Path | None
    folder: Path  # relative paths of a SPEC start here


class Workers:
    """Workers of a cluster that have a system open; called as an `Ask`, they answer queries."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    @property
    def count(self) -> int:
        return self._executor.workers

    def __call__(
        self, system: System, queries: Sequence[GoldenQuery], positions: Sequence[int], plan: Plan
    ) -> Iterator[Answered]:
        # by repository, as a system opens each one that it is asked about
        ordered = sorted(positions, key=lambda position: (queries[position].repository, position))
        batches = [ordered[start : start + _BATCH] for start in range(0, len(ordered), _BATCH)]
        units = (({position: queries[position] for position in batch}, plan) for batch in batches)
        for _, answers in self._executor.map_units(_answer_batch, units):
            if isinstance(answers, UnitFailed):
                raise AssayError(f"{answers.message}. Answers so far are stored")
            yield from answers


@contextmanager
def open_workers(cluster: ClusterSettings | None, opening: Opening, system: System) -> Iterator[Workers | None]:
    """Yield the workers of a cluster, or None without one; `system` is the same system, opened here."""
    if cluster is None:
        yield None
        return
    system.index()
    session = partial(_worker_session, opening, describe_system(system))
    with open_executor(1, cluster, session) as executor:
        assert executor is not None
        yield Workers(executor)


# In a worker

_system: System | None = None


@contextmanager
def _worker_session(opening: Opening, description: dict[str, Any]) -> Iterator[None]:
    """Open the system in a worker. Raises AssayError if it is not the one that is described."""
    global _system
    for folder in filter(None, (opening.folder, opening.root, opening.corpus)):
        require_folder(folder)
    with (
        chdir(opening.folder),
        closing(open_system(opening.spec, timeout=opening.timeout, root=opening.root, corpus=opening.corpus)) as system,
    ):
        system.index()
        own_facts = describe_system(system)
        if differing := sorted(
            fact for fact in own_facts | description if own_facts.get(fact) != description.get(fact)
        ):
            raise AssayError(
                f"{opening.spec} is another system on {platform.node()}: {', '.join(differing)} differ; "
                "workers need the same folders, shared, and the same settings"
            )
        _system = system
        try:
            yield
        finally:
            _system = None


def _answer_batch(queries: dict[int, GoldenQuery], plan: Plan) -> list[Answered]:
    assert _system is not None
    return list(query_all(_system, queries, list(queries), plan))
