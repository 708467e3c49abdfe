"""The shapes a report is drawn from: what `assay eval run` and `assay eval compare` print as JSON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

import msgspec

from assay.errors import AssayError
from assay.evaluate.metrics.measures import UnknownMeasure, parse

Metrics = dict[str, float | None]
Count = int | float | str | None

_PRIMARY = ("nDCG", "RR", "AP", "R", "P", "Success")  # nDCG first: it sees everything found and where
_MAIN = ("P", "R", "RR", "nDCG")
_NULLABLE = frozenset(
    {"metrics", "detectable", "latency", "found", "a", "b", "aggregate_a", "aggregate_b", "deltas", "counts"}
)


class Spread(msgspec.Struct, frozen=True):
    """How far a mean can be trusted: the deviation of its queries and its 95 % interval."""

    sd: float | None = None
    low: float | None = None
    high: float | None = None


class Group(msgspec.Struct, frozen=True):
    """The metrics of one tier, category, tag…"""

    count: int = 0
    metrics: Metrics = {}


class Query(msgspec.Struct, frozen=True):
    """One golden query with what was found for it."""

    id: str = ""
    text: str = ""
    tier: str = ""
    category: str = ""
    tags: list[str] = []
    metrics: Metrics = {}
    first_rank: int | None = None
    expected: list[str] = []
    found: dict[str, int | None] = {}
    retrieved: list[str] = []
    error: str = ""
    latency_ms: float | None = None
    refuse: bool = False
    refused: bool = False


class Golden(msgspec.Struct, frozen=True):
    """Which golden set was asked."""

    path: str = ""
    format: str = ""
    digest: str = ""
    queries: int | None = None


class Summary(msgspec.Struct, frozen=True):
    """One run."""

    run_id: str = ""
    created: str = ""
    golden: Golden = Golden()
    system: str = ""
    matching: str = ""
    k: int | None = None
    status: str = ""
    metrics: Metrics = {}
    spread: dict[str, Spread] = {}
    detectable: Metrics = {}
    tiers: dict[str, Group] = {}
    categories: dict[str, Group] = {}
    tags: dict[str, Group] = {}
    repositories: dict[str, Group] = {}
    file_types: dict[str, Group] = {}
    languages: dict[str, Group] = {}
    latency: Metrics = {}
    counts: dict[str, Count] = {}
    queries: list[Query] = []
    warnings: list[str] = []


class Statistic(msgspec.Struct, frozen=True):
    """What the difference of one metric means."""

    n: int | None = None
    delta: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    p_holm: float | None = None
    p_wilcoxon: float | None = None
    p_t: float | None = None
    effect: float | None = None
    wins: int | None = None
    losses: int | None = None
    ties: int | None = None
    detectable: float | None = None


class Pair(msgspec.Struct, frozen=True):
    """One query as two runs answered it."""

    query_id: str = ""
    text: str = ""
    kind: str = ""
    a_hit_rank: int | None = None
    b_hit_rank: int | None = None
    note: str = ""
    a: Metrics = {}
    b: Metrics = {}


class Comparison(msgspec.Struct, frozen=True):
    """Two runs side by side."""

    run_a: str = ""
    run_b: str = ""
    aggregate_a: Metrics = {}
    aggregate_b: Metrics = {}
    deltas: dict[str, Count] = {}
    statistics: dict[str, Statistic] = {}
    counts: dict[str, Count] = {}
    per_query: list[Pair] = []
    warnings: list[str] = []


Shape = TypeVar("Shape", Summary, Comparison)


def read(shape: type[Shape], given: dict[str, Any]) -> Shape:
    """The printed JSON of a run or a comparison as its shape; what is missing or null is empty."""
    try:
        return msgspec.convert(_without_nulls(given), shape)
    except msgspec.ValidationError as error:
        kind, command = ("run", "run") if shape is Summary else ("comparison", "compare")
        raise AssayError(
            f"the {kind} cannot be drawn: {error}; give what `assay eval {command} --format json` prints"
        ) from None


def _without_nulls(given: Any, nullable: bool = False) -> Any:
    """Drops null fields, so that they read as missing; in maps of values null is a value and stays."""
    if isinstance(given, list):
        return [_without_nulls(value) for value in given]
    if isinstance(given, dict):
        return {k: _without_nulls(v, k in _NULLABLE) for k, v in given.items() if nullable or v is not None}
    return given


def family(metric: str) -> str:
    """The metric without its cut-off: `nDCG` of `nDCG@10`."""
    return metric.partition("@")[0]


def cut_off(metric: str) -> int:
    """The k of `nDCG@k`, 0 without one."""
    digits = metric.partition("@")[2]
    return int(digits) if digits.isdecimal() else 0


def measured(values: Iterable[Metrics]) -> list[str]:
    """The metrics that occur in any of these, in the order they are met."""
    return list(dict.fromkeys(metric for metrics in values for metric in metrics))


def primary_metric(metrics: Iterable[str], k: int | None = None) -> str | None:
    """The metric queries are ordered and compared by: the first known family at the run's k, else whatever there is."""
    return min(metrics, key=lambda m: _preference(_PRIMARY, m, k), default=None)


def main_metrics(metrics: Iterable[str], k: int | None = None) -> list[str]:
    """The few metrics that get a tile and a column: one per main family, at the run's k; else the first four."""
    metrics = list(metrics)
    best = {name: [m for m in metrics if family(m) == name] for name in _MAIN}
    chosen = [min(found, key=lambda m: _preference(_MAIN, m, k)) for found in best.values() if found]
    return chosen or metrics[:4]


def _preference(families: tuple[str, ...], metric: str, k: int | None) -> tuple[int, bool, int]:
    name = family(metric)
    return families.index(name) if name in families else len(families), cut_off(metric) != k, -cut_off(metric)


def lower_is_better(metric: str) -> bool:
    """Whether less of this metric is more: as its measure says; a metric nobody knows is better when higher."""
    try:
        return not parse(metric).higher_is_better
    except UnknownMeasure:
        return False
