"""What a comparison says about a single query: what was lost and gained, and what is known to differ between the two systems."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from assay.evaluate.matching import MATCHERS, matcher
from assay.evaluate.runs import RunInfo, RunStore
from assay.evaluate.spans import BySpan, answered
from assay.evaluate.summary import found_ranks

_HASH = 12  # characters of a hash that are shown


def causes(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[str]:
    """What the two systems say differs between them: `chunker_version 1 → 2`. Of two different systems, only that."""
    if a.get("spec") != b.get("spec"):
        return [f"{a.get('spec', '?')} → {b.get('spec', '?')}"]
    a, b = _flat(a), _flat(b)
    return [
        f"{key} {_short(a.get(key, '–'))} → {_short(b.get(key, '–'))}"
        for key in sorted({*a, *b})
        if a.get(key) != b.get(key)
    ]


def _flat(config: Mapping[str, Any]) -> dict[str, Any]:
    """The facts of a system, its own settings (`config`) among them."""
    own = config.get("config")
    return {key: value for key, value in config.items() if key != "config"} | (
        own if isinstance(own, dict) else {"config": own}
    )


def _short(value: object) -> str:
    """A value as it is read by people: of a hash its beginning."""
    text = str(value)
    return text[:_HASH] if re.fullmatch(r"[0-9a-f]{16,}", text) else text


# positions of queries and k → which expectations were found within the first k, and at which rank
Found = Callable[[Sequence[int], int], list[dict[str, int]]]


def lookup(store: RunStore, run: RunInfo, side: BySpan | None) -> Found:
    """How to look up what a run found."""

    def found(positions: Sequence[int], k: int) -> list[dict[str, int]]:
        if side:
            pairs, by, level = answered(side, positions), MATCHERS["span"], "span"
        else:
            pairs = list(zip(store.queries(run, positions), store.responses_at(run.run_id, positions), strict=True))
            by, level = matcher(run.matching), run.level
        return [found_ranks(query, response.hits[:k], by, level) for query, response in pairs]

    return found
