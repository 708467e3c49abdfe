"""Diagnosis: the stage that lost each missed expectation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from assay.core.golden import Expected, GoldenQuery, Hit, Response
from assay.evaluate.judging import mark
from assay.evaluate.matching import Matcher

Exists = Callable[[Expected, str], bool | None]  # (expectation, repository) → in the corpus? None: unknown


@dataclass(frozen=True, slots=True)
class Lost:
    """An expectation missing from the first k results, and the stage that lost it."""

    query: str
    expected: str
    stage: str
    detail: str


def diagnose(
    queries: Sequence[GoldenQuery],
    responses: Sequence[Response],
    matcher: Matcher,
    level: str,
    k: int,
    exists: Exists = lambda expected, repository: None,
) -> list[Lost]:
    """Return every missed expectation with the stage that lost it."""
    lost = []
    for query, response in zip(queries, responses, strict=True):
        expected = query.at(level)
        rank_by_position = mark(response.hits, expected, matcher).places
        for position, expectation in enumerate(expected):
            rank = rank_by_position.get(position)
            if rank is None or rank > k:
                stage, detail = _locate_loss(
                    expectation, rank, response, matcher, k, exists(expectation, query.repository)
                )
                lost.append(Lost(query.id, expectation.name, stage, detail))
    return lost


def _locate_loss(
    expectation: Expected, rank: int | None, response: Response, matcher: Matcher, k: int, exists: bool | None
) -> tuple[str, str]:
    if exists is False:
        return "absent from the corpus", "no item of this name is indexed; `assay eval verify` suggests the nearest"
    if response.error:
        return "system failed", response.error
    if rank is not None:
        return "ranked low", f"rank {rank}, beyond the first {k}"
    if response.stages:
        return _locate_in_trace(expectation, response, matcher)
    if not response.hits:
        return "empty result", "the system returned nothing"
    return "not returned", f"not among the {len(response.hits)} results; the system returned no trace of its stages"


def _locate_in_trace(expectation: Expected, response: Response, matcher: Matcher) -> tuple[str, str]:
    """Return the first stage after the last one that still had the expectation.

    A trace holds ids only; for hits that were returned, more is known.
    """
    stages, returned = response.stages, {hit.id: hit for hit in response.hits}

    def matches(item: str) -> bool:
        return matcher.matches(returned.get(item) or Hit(item), expectation)

    last, last_rank = -1, 0
    for number, stage in enumerate(stages):
        rank = next((position for position, item in enumerate(stage.items, 1) if matches(item)), 0)
        if rank:
            last, last_rank = number, rank
    for stage in stages[last + 1 :]:
        for item, reason in stage.dropped.items():
            if matches(item):
                return stage.name, reason
    if last < 0:
        return "no channel", f"not retrieved by any of {', '.join(stage.name for stage in stages)}"
    after = stages[last + 1].name if last + 1 < len(stages) else "result"
    return after, f"rank {last_rank} after {stages[last].name}"


def diagnosis_json(lost: Sequence[Lost], queries: int) -> dict[str, Any]:
    counts = Counter(loss.stage for loss in lost)
    return {
        "queries": queries,
        "missed": len(lost),
        "stages": dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))),
        "lost": [asdict(loss) for loss in lost],
    }
