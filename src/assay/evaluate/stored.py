"""Stored runs as JSON: the list of them, and one as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from assay.evaluate.matching import matcher_for
from assay.evaluate.metrics.measures import Measure
from assay.evaluate.runs import RunInfo, RunStore
from assay.evaluate.summary import describe_queries, summarise


def listed(store: RunStore) -> list[dict[str, Any]]:
    """Every run with its main figures, oldest first."""
    return [_listed(run, store.golden_path(run)) for run in store.runs()]


def _listed(run: RunInfo, golden: str) -> dict[str, Any]:
    return {
        "run_id": run.run_id, "created": run.created, "status": run.status, "label": run.label, "system": run.system, "golden": golden,
        "golden_hash": run.golden_hash, "matching": run.matching, "k": run.k, "queries": run.aggregate_json.get("counts", {}).get("queries", 0),
        "metrics": run.aggregate_json.get("metrics", {}),
    }  # fmt: skip


def told(
    store: RunStore,
    info: RunInfo,
    measures: Sequence[Measure] | None,
    matching: str = "",
    summary: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """The whole run as JSON: the aggregate (`summary`, where it is known already), and every query."""
    golden = store.golden(info)
    judged = store.judged(info, matching)
    if matching:
        info = replace(info, matching=matching, level=matcher_for(golden, matching).level_for(golden))
    run = summary or summarise(info, golden, judged, measures)
    responses = store.responses(info.run_id, len(golden.queries))
    run["queries"] = describe_queries(info, golden, judged, responses, measures)
    return run
