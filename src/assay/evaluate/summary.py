"""Run summaries: means with spread, slices, latency, and per-query expectations and results."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from assay.core.golden import GoldenQuery, GoldenSet, Hit, Response
from assay.evaluate.judging import Floats, Judged, mark
from assay.evaluate.matching import Matcher, matcher, matcher_for
from assay.evaluate.metrics import Measure, defaults, first_rank, mean, rounded
from assay.evaluate.runs import RunInfo, RunStore
from assay.evaluate.scores import SLICES, slice_members
from assay.evaluate.statistics import detectable_before, latency, mean_interval, summary

_MAIN = ("P", "R", "RR", "nDCG")  # shown in tables by default
SHOWN = 10  # results listed per query


def main_measures(k: int) -> list[Measure]:
    """Return the four main measures at k."""
    return [measure for measure in defaults(k) if measure.kind.name in _MAIN and measure.cut == k]


def golden_json(golden: GoldenSet) -> dict[str, Any]:
    """Return the identity of a golden set."""
    facts = {"path": golden.path, "format": golden.format, "digest": golden.digest}
    return {**facts, "queries": len(golden.queries)}


def summarise(
    info: RunInfo, golden: GoldenSet, judged: Judged, measures: Sequence[Measure] | None = None
) -> dict[str, Any]:
    """Return the aggregate of a run, as stored with it and printed as JSON, without the queries."""
    chosen = list(measures) if measures else defaults(info.k)
    values = {str(measure): measure.values(judged) for measure in chosen}
    shown = {name: figures for name, figures in values.items() if not np.isnan(figures).all()}
    always = {str(measure) for measure in (measures or main_measures(info.k))}
    clusters = clusters_of(golden.queries)
    aggregate: dict[str, Any] = {
        "run_id": info.run_id,
        "created": info.created,
        "status": info.status,
        "label": info.label,
        "golden": golden_json(golden),
        "system": info.system,
        "config": info.config,
        "matching": info.matching,
        "level": info.level,
        "k": info.k,
        "index_fingerprint": info.index_fingerprint,
        "chunker_version": info.chunker_version,
        "metrics": {name: mean(figures) for name, figures in values.items() if name in shown or name in always},
        "spread": {name: _spread(figures, clusters) for name, figures in shown.items()},
        "counts": _counts(golden.queries, judged),
        "latency": {
            name: rounded(getattr(latency(judged.fact("latency_ms")), name)) for name in ("p50", "p95", "mean")
        },
    }
    for name in SLICES:
        groups = slice_members(golden.queries, name)
        aggregate[name] = {
            group: {"count": len(rows), "metrics": {m: mean(figures[rows]) for m, figures in shown.items()}}
            for group, rows in groups.items()
        }
    aggregate["warnings"] = [*info.warnings, *_warnings(aggregate["counts"], len(golden.queries))]
    return aggregate


def _spread(values: Floats, clusters: list[str] | None) -> dict[str, float | None]:
    stats = summary(values)
    interval = mean_interval(values, clusters=clusters)
    return {"sd": rounded(stats.sd), "low": rounded(interval.low), "high": rounded(interval.high)}


def _counts(queries: Sequence[GoldenQuery], judged: Judged) -> dict[str, int]:
    return {
        "queries": len(queries),
        "judged": len(set(judged.main.wanted.owner.tolist())),
        "failed": int(np.nansum(judged.fact("failure_rate"))),
        "empty": int(np.nansum(judged.fact("empty_result_rate"))),
        "to_refuse": sum(query.refuse for query in queries),
        "with_duplicates": int((np.nan_to_num(judged.fact("duplicate_rate")) > 0).sum()),
    }


def _warnings(counts: dict[str, int], queries: int) -> list[str]:
    warnings = []
    if counts["failed"]:
        warnings.append(f"the system failed on {counts['failed']} of {queries} queries; they score 0")
    unjudged = queries - counts["judged"] - counts["to_refuse"]
    if unjudged > 0:
        warnings.append(
            f"{unjudged} queries have no expectation at the level judged; they are left out of ranked means"
        )
    detectable_difference = detectable_before(counts["judged"]) if counts["judged"] > 1 else math.inf
    if detectable_difference > 0.1:
        limit = f"differences below about {detectable_difference:.2f}" if detectable_difference < 1 else "differences"
        warnings.append(f"{counts['judged']} judged queries: {limit} are not statistically detectable")
    if counts["with_duplicates"]:
        warnings.append(f"{counts['with_duplicates']} result lists contain duplicates, which never count as relevant")
    return warnings


def clusters_of(queries: Sequence[GoldenQuery]) -> list[str] | None:
    """Return the repository of each query if there are several: queries of one repository are not independent."""
    repositories = [query.repository for query in queries]
    return repositories if len(set(repositories)) > 1 else None


def describe_queries(
    info: RunInfo,
    golden: GoldenSet,
    judged: Judged,
    responses: Sequence[Response],
    measures: Sequence[Measure] | None = None,
) -> list[dict[str, Any]]:
    """Return each query with its figures, expectations, their ranks, and the results."""
    chosen = list(measures) if measures else main_measures(info.k)
    figures = {str(measure): measure.values(judged) for measure in chosen}
    first = first_rank(judged, info.k, 1)
    match_by = matcher(info.matching)
    return [
        {
            "id": query.id,
            "text": query.text,
            "tier": query.tier,
            "category": query.category,
            "tags": list(query.tags),
            "repository": query.repository,
            "refuse": query.refuse,
            "refused": response.refused,
            "metrics": {name: rounded(values[number]) for name, values in figures.items()},
            "first_rank": int(first[number]) or None,
            "expected": [e.name for e in query.at(info.level)],
            "found": matched_ranks(query, response.hits, match_by, info.level),
            "retrieved": [hit.symbol or hit.id for hit in response.hits[: max(SHOWN, info.k)]],
            "error": response.error,
            "latency_ms": response.latency_ms,
        }
        for number, (query, response) in enumerate(zip(golden.queries, responses, strict=True))
    ]


def matched_ranks(query: GoldenQuery, hits: Sequence[Hit], match_by: Matcher, level: str) -> dict[str, int]:
    """Return the matched expectations with their ranks."""
    expected = query.at(level)
    rank_by_position = mark(hits, expected, match_by).places
    return {expected[position].name: rank for position, rank in sorted(rank_by_position.items())}


# stored runs as JSON


def list_runs(store: RunStore) -> list[dict[str, Any]]:
    """Return every run with its main figures, oldest first."""
    return [_run_row(run, store.golden_path(run)) for run in store.runs()]


def _run_row(run: RunInfo, golden: str) -> dict[str, Any]:
    return {
        "run_id": run.run_id, "created": run.created, "status": run.status, "label": run.label, "system": run.system, "golden": golden,
        "golden_hash": run.golden_hash, "matching": run.matching, "k": run.k, "queries": run.aggregate_json.get("counts", {}).get("queries", 0),
        "metrics": run.aggregate_json.get("metrics", {}),
    }  # fmt: skip


def run_json(
    store: RunStore,
    info: RunInfo,
    measures: Sequence[Measure] | None,
    matching: str = "",
    summary: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the whole run as JSON: the aggregate (or the given `summary`) and every query."""
    golden = store.golden(info)
    judged = store.judged(info, matching)
    if matching:
        info = replace(info, matching=matching, level=matcher_for(golden, matching).level_for(golden))
    run = summary or summarise(info, golden, judged, measures)
    responses = store.responses(info.run_id, len(golden.queries))
    run["queries"] = describe_queries(info, golden, judged, responses, measures)
    return run
