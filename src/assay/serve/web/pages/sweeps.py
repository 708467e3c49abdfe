"""The sweep pages: the sweeps there are, and one with its Pareto plot, heat maps and every configuration."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from assay.errors import AssayError
from assay.evaluate.report.sweep.tables import drawn
from assay.html.elements import (
    Column,
    Markup,
    decimal,
    element,
    join,
    milliseconds,
    moment,
    number_column,
    shortened,
    table,
    whole,
)
from assay.serve.web.bench import Bench
from assay.serve.web.pages.shell import Page, Shown, empty, stored_heading
from assay.serve.web.parameters import Parameter

Sweep = dict[str, Any]


def show(bench: Bench, values: dict[str, Any]) -> Shown:
    sweeps = bench.sweeps()
    if not sweeps:
        return Shown("Sweeps", join([stored_heading(bench, "Sweeps"), _none()]))
    about = "Grids of configurations, each measured on a golden set."
    return Shown("Sweeps", join([stored_heading(bench, "Sweeps", about), element("section", _table(sweeps))]))


def one(bench: Bench, values: dict[str, Any]) -> Shown:
    """A sweep as its report."""
    try:
        report = drawn(bench.sweep(values["sweep"]))
    except (KeyError, TypeError, AttributeError, StopIteration):
        raise AssayError("this sweep was saved by another version of assay and cannot be drawn; run it again") from None
    return Shown(report.title, join([report.header, report.contents, report.main]))


def _none() -> Markup:
    return empty(
        "No sweeps yet",
        "Try every combination of some settings on a golden set, and see here which to take:",
        command="assay eval sweep --golden golden.jsonl --chunk-sizes 256,512,1024 --embedders lsa,none",
    )


def _table(sweeps: list[Sweep]) -> Markup:
    columns = [
        Column[Sweep]("Sweep", _linked),
        Column[Sweep]("When", lambda one: moment(str(one["timestamp"])), "minor"),
        Column[Sweep]("Golden set", lambda one: element("bdi", shortened(_golden(one), 80)), "wide"),
        number_column("Configurations", lambda one: one["num_configs"], "", whole),
        Column[Sweep]("Best", lambda one: _best(one, "name")),
        Column[Sweep]("Quality", lambda one: _best(one, "quality"), "number"),
        Column[Sweep]("Latency", lambda one: _best(one, "latency"), "number"),
    ]
    return table("Sweeps", columns, sweeps)


def _golden(one: Sweep) -> str:
    golden = one["golden"]
    return str(golden.get("path", "")) if isinstance(golden, dict) else ""


def _linked(one: Sweep) -> Markup:
    return element("a", element("code", one["sweep_id"]), href=f"/sweep?{urlencode({'sweep': one['sweep_id']})}")


def _best(one: Sweep, what: str) -> str:
    told = (one["recommendations"] or {}).get("best_quality") or {}
    if what == "name":
        return str(told.get("name", ""))
    if what == "latency":
        return milliseconds(told.get("latency_ms"))
    k = one["k"]
    return f"NDCG@{k} {decimal(told.get(f'ndcg_at_{k}'))}"


PAGES = (
    Page("/sweeps", show),
    Page("/sweep", one, (Parameter("sweep", "its id", required=True),), place="/sweeps"),
)
