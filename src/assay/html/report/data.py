"""Input schema of a report: the JSON that `assay eval run` and `assay eval compare` print."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

import msgspec

from assay.core.golden import LOWER_IS_BETTER
from assay.errors import AssayError

Metrics = dict[str, float | None]
Count = int | float | str | None

_PRIMARY = ("nDCG", "RR", "AP", "R", "P", "Success")  # nDCG first: it reflects all hits and their ranks
_MAIN = ("P", "R", "RR", "nDCG")
_NULLABLE = frozenset(
    {"metrics", "detectable", "latency", "found", "a", "b", "aggregate_a", "aggregate_b", "deltas", "counts"}
)


class Caution(msgspec.Struct, frozen=True):
    """A warning with its code."""

    message: str
    code: str = ""

    def __str__(self) -> str:
        return self.message


class SanityRow(msgspec.Struct, frozen=True):
    """A check of a run: ok, warning or invalid."""

    name: str = ""
    state: str = ""
    message: str = ""


class SanityBlock(msgspec.Struct, frozen=True):
    """The checks that show whether a run is a measurement."""

    measurement: bool = True
    checks: list[SanityRow] = []


class Spread(msgspec.Struct, frozen=True):
    """Standard deviation and 95 % interval of a mean."""

    sd: float | None = None
    low: float | None = None
    high: float | None = None


class Group(msgspec.Struct, frozen=True):
    """Metrics of a query group, such as a tier, category or tag."""

    count: int = 0
    metrics: Metrics = {}


class Query(msgspec.Struct, frozen=True):
    """A golden query with its retrieved results."""

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
    """Identity of the golden set."""

    path: str = ""
    format: str = ""
    digest: str = ""
    queries: int | None = None


class Summary(msgspec.Struct, frozen=True):
    """A run."""

    run_id: str = ""
    created: str = ""
    golden: Golden = Golden()
    system: str = ""
    matching: str = ""
    k: int | None = None
    status: str = ""
    sanity: SanityBlock = SanityBlock()
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
    warnings: list[Caution | str] = []  # a text in results of earlier versions


class Statistic(msgspec.Struct, frozen=True):
    """Difference of a metric between two runs, with its significance tests."""

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
    """A query with its results in two runs."""

    query_id: str = ""
    text: str = ""
    kind: str = ""
    a_hit_rank: int | None = None
    b_hit_rank: int | None = None
    note: str = ""
    a: Metrics = {}
    b: Metrics = {}


class Comparison(msgspec.Struct, frozen=True):
    """Comparison of two runs."""

    run_a: str = ""
    run_b: str = ""
    aggregate_a: Metrics = {}
    aggregate_b: Metrics = {}
    deltas: dict[str, Count] = {}
    statistics: dict[str, Statistic] = {}
    counts: dict[str, Count] = {}
    per_query: list[Pair] = []
    warnings: list[Caution | str] = []  # a text in results of earlier versions


def verdict(delta: float, metric: str = "") -> str:
    """Return the colour class of a difference in a metric."""
    better = -delta if metric.partition("@")[0] in LOWER_IS_BETTER else delta
    return "gain" if better > 0 else "loss" if better < 0 else "even"


Shape = TypeVar("Shape", Summary, Comparison)


def read(shape: type[Shape], fields: dict[str, Any]) -> Shape:
    """Convert the printed JSON of a run or comparison; missing and null fields become empty.

    Raises AssayError if the JSON has another shape.
    """
    try:
        return msgspec.convert(_without_nulls(fields), shape)
    except msgspec.ValidationError as error:
        kind, command = ("run", "run") if shape is Summary else ("comparison", "compare")
        raise AssayError(
            f"the {kind} cannot be rendered: {error}; pass the output of `assay eval {command} --format json`"
        ) from None


def _without_nulls(value: Any, nullable: bool = False) -> Any:
    """Drop null fields so that they count as missing; in maps of values null is a value and stays."""
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    if isinstance(value, dict):
        return {
            key: _without_nulls(item, key in _NULLABLE) for key, item in value.items() if nullable or item is not None
        }
    return value


def family(metric: str) -> str:
    """Return a metric without its cut-off: `nDCG` of `nDCG@10`."""
    return metric.partition("@")[0]


def cut_off(metric: str) -> int:
    """Return the k of `nDCG@k`, or 0."""
    digits = metric.partition("@")[2]
    return int(digits) if digits.isdecimal() else 0


def metric_names(values: Iterable[Metrics]) -> list[str]:
    """Return the distinct metrics in order of first occurrence."""
    return list(dict.fromkeys(metric for metrics in values for metric in metrics))


def primary_metric(metrics: Iterable[str], k: int | None = None) -> str | None:
    """Return the metric that orders and compares queries: the preferred family, at the run's k if present."""
    return min(metrics, key=lambda metric: _preference(_PRIMARY, metric, k), default=None)


def main_metrics(metrics: Iterable[str], k: int | None = None) -> list[str]:
    """Return the metrics shown as tiles and columns: one per main family, at the run's k; else the first four."""
    metrics = list(metrics)
    by_family = {name: [metric for metric in metrics if family(metric) == name] for name in _MAIN}
    preferred = [
        min(candidates, key=lambda metric: _preference(_MAIN, metric, k))
        for candidates in by_family.values()
        if candidates
    ]
    return preferred or metrics[:4]


def _preference(families: tuple[str, ...], metric: str, k: int | None) -> tuple[int, bool, int]:
    name = family(metric)
    return families.index(name) if name in families else len(families), cut_off(metric) != k, -cut_off(metric)
