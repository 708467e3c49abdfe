"""Choosing among mined queries: a sample, and a split in time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import sha256

from assay.core.golden import GoldenQuery
from assay.errors import AssayError

_DATE = re.compile(r"\d{4}-\d\d-\d\d(T[\d:]+Z?)?")


def sample(queries: Sequence[GoldenQuery], size: int, seed: int = 0) -> list[GoldenQuery]:
    """`size` of the queries in their order. The seed alone decides about each: new ones displace few of those chosen before."""
    drawn = sorted(queries, key=lambda query: sha256(f"{seed}:{query.id}".encode()).digest())[:size]
    chosen = {query.id for query in drawn}
    return [query for query in queries if query.id in chosen]


def cut(text: str) -> str | float:
    """Where to split, as it is written: a day or moment in UTC, or the share of the older queries."""
    if _DATE.fullmatch(text):
        return text
    try:
        share = float(text)
    except ValueError:
        share = 0.0
    if not 0 < share < 1:
        raise AssayError(f"--split {text}: give a date like 2025-01-31, or the share of older queries, between 0 and 1")
    return share


def split(queries: Sequence[GoldenQuery], at: str | float) -> tuple[list[GoldenQuery], list[GoldenQuery]]:
    """Queries mined from history as the older and the newer ones, each oldest first; a date is the first of the newer."""
    undated = next((query.id for query in queries if not _DATE.match(query.notes)), "")
    if undated:
        raise AssayError(f"--split {at}: '{undated}' has no date; only queries from history can be split by time")
    by_time = sorted(queries, key=lambda query: (query.notes, query.id))
    older = sum(query.notes < at for query in by_time) if isinstance(at, str) else round(at * len(by_time))
    return by_time[:older], by_time[older:]
