"""Where each missed expectation was lost: the stage, from the system's trace; without a trace, what its results alone can say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from assay.core.golden import Expected, GoldenQuery
from assay.core.hits import Hit, Response
from assay.evaluate.judging import mark
from assay.evaluate.matching import Matcher

Exists = Callable[[Expected, str], bool | None]  # does the corpus of this repository have it? None: nobody knows


@dataclass(frozen=True, slots=True)
class Lost:
    """One expectation that did not make it into the first k, and where it went."""

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
    """Every missed expectation with the stage that lost it."""
    lost = []
    for query, response in zip(queries, responses, strict=True):
        expected = query.at(level)
        places = mark(response.hits, expected, matcher).places
        for at, one in enumerate(expected):
            rank = places.get(at)
            if rank is None or rank > k:
                stage, detail = _where(one, rank, response, matcher, k, exists(one, query.repository))
                lost.append(Lost(query.id, one.name, stage, detail))
    return lost


def _where(
    one: Expected, rank: int | None, response: Response, matcher: Matcher, k: int, exists: bool | None
) -> tuple[str, str]:
    if exists is False:
        return "absent from the corpus", "no item of this name is indexed; `assay eval verify` offers the nearest"
    if response.error:
        return "system failed", response.error
    if rank is not None:
        return "ranked low", f"rank {rank}, beyond the first {k}"
    if response.stages:
        return _in_trace(one, response, matcher)
    if not response.hits:
        return "empty result", "the system returned nothing"
    return "not returned", f"not among the {len(response.hits)} results; a system with a trace could say more"


def _in_trace(one: Expected, response: Response, matcher: Matcher) -> tuple[str, str]:
    """The first stage after the last one that still had it. A trace has ids only; of what was returned more is known."""
    stages, returned = response.stages, {hit.id: hit for hit in response.hits}

    def is_it(item: str) -> bool:
        return matcher.matches(returned.get(item) or Hit(item), one)

    last, place = -1, 0
    for number, stage in enumerate(stages):
        rank = next((at for at, item in enumerate(stage.items, 1) if is_it(item)), 0)
        if rank:
            last, place = number, rank
    for stage in stages[last + 1 :]:
        for item, reason in stage.dropped.items():
            if is_it(item):
                return stage.name, reason
    if last < 0:
        return "no channel", f"none of {', '.join(stage.name for stage in stages)} brought it up"
    after = stages[last + 1].name if last + 1 < len(stages) else "result"
    return after, f"rank {place} after {stages[last].name}"


def as_json(lost: Sequence[Lost], queries: int) -> dict[str, Any]:
    counts = Counter(one.stage for one in lost)
    return {
        "queries": queries,
        "missed": len(lost),
        "stages": dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))),
        "lost": [{"query": o.query, "expected": o.expected, "stage": o.stage, "detail": o.detail} for o in lost],
    }
