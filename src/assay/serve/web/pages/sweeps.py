"""Sweep pages: the list of sweeps, and the report of one with Pareto plot, heat maps and configurations."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from assay.errors import AssayError
from assay.html.elements import (
    Column,
    Markup,
    decimal,
    element,
    join,
    milliseconds,
    number_column,
    shortened,
    table,
    time_element,
    whole,
)
from assay.html.report.sweep import build_content
from assay.serve.web.bench import Bench
from assay.serve.web.pages.shell import Page, Shown, empty, stored_heading
from assay.serve.web.parameters import Parameter

Sweep = dict[str, Any]


def show(bench: Bench, values: dict[str, Any]) -> Shown:
    sweeps = bench.sweeps()
    if not sweeps:
        return Shown("Sweeps", join([stored_heading(bench, "Sweeps"), _no_sweeps()]))
    about = "Grids of configurations, each measured on a golden set."
    return Shown("Sweeps", join([stored_heading(bench, "Sweeps", about), element("section", _table(sweeps))]))


def show_sweep(bench: Bench, values: dict[str, Any]) -> Shown:
    """Render the report of a sweep."""
    try:
        report = build_content(bench.sweep(values["sweep"]))
    except (KeyError, TypeError, AttributeError, StopIteration):
        raise AssayError("this sweep was saved by another version of assay and cannot be drawn; run it again") from None
    return Shown(report.title, join([report.header, report.contents, report.main]))


def _no_sweeps() -> Markup:
    return empty(
        "No sweeps yet",
        "Measure every combination of some settings on a golden set:",
        command="assay eval sweep --golden golden.jsonl --chunk-sizes 256,512,1024 --embedders lsa,none",
    )


def _table(sweeps: list[Sweep]) -> Markup:
    columns = [
        Column[Sweep]("Sweep", _sweep_link),
        Column[Sweep]("When", lambda sweep: time_element(str(sweep["timestamp"])), "minor"),
        Column[Sweep]("Golden set", lambda sweep: element("bdi", shortened(_golden_path(sweep), 80)), "wide"),
        number_column("Configurations", lambda sweep: sweep["num_configs"], "", whole),
        Column[Sweep]("Best", lambda sweep: _best_value(sweep, "name")),
        Column[Sweep]("Quality", lambda sweep: _best_value(sweep, "quality"), "number"),
        Column[Sweep]("Latency", lambda sweep: _best_value(sweep, "latency"), "number"),
    ]
    return table("Sweeps", columns, sweeps)


def _golden_path(sweep: Sweep) -> str:
    golden = sweep["golden"]
    return str(golden.get("path", "")) if isinstance(golden, dict) else ""


def _sweep_link(sweep: Sweep) -> Markup:
    return element("a", element("code", sweep["sweep_id"]), href=f"/sweep?{urlencode({'sweep': sweep['sweep_id']})}")


def _best_value(sweep: Sweep, field: str) -> str:
    best = (sweep["recommendations"] or {}).get("best_quality") or {}
    if field == "name":
        return str(best.get("name", ""))
    if field == "latency":
        return milliseconds(best.get("latency_ms"))
    k = sweep["k"]
    return f"NDCG@{k} {decimal(best.get(f'ndcg_at_{k}'))}"


PAGES = (
    Page("/sweeps", show),
    Page("/sweep", show_sweep, (Parameter("sweep", "its id", required=True),), place="/sweeps"),
)
