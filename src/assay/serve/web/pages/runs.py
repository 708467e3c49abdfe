"""Pages of stored runs, by golden set with metric trends, and of sweeps; each with the report of one."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any
from urllib.parse import urlencode

from assay.errors import AssayError
from assay.evaluate.scores import list_runs, run_json
from assay.html.elements import (
    Child,
    Column,
    Markup,
    decimal,
    element,
    figure,
    finite_or_none,
    framed_table,
    join,
    meter,
    milliseconds,
    number_column,
    table,
    table_row,
    time_element,
    whole,
)
from assay.html.plots import Scale, round_ticks, svg, x_axis, y_axis
from assay.html.report import build_content
from assay.html.report.data import family, main_metrics, metric_names
from assay.html.report.sweep import build_content as sweep_content
from assay.serve.requests import Request, RunQuery, SweepQuery
from assay.serve.web.bench import Bench
from assay.serve.web.pages.shell import Page, Shown, empty, stored_heading
from assay.text.display import clipped, counted

_WIDTH = 520  # pixels: half of a desktop page
_LEFT, _RIGHT, _TOP, _BASE = 44, _WIDTH - 10, 28, 190
_MARGIN = 0.08  # of the value range, above and below
_MIN_RANGE = 0.05  # of the y axis: tiny differences must not look like cliffs


@dataclass(frozen=True, slots=True)
class Reading:
    """A data point: run number from the oldest, value, display name and page URL."""

    number: int
    value: float
    name: str
    address: str


@dataclass(frozen=True, slots=True)
class Line:
    """Runs of a system, oldest first, in colour `tone`; without a tone they are drawn as unconnected dots."""

    name: str
    tone: int | None
    readings: Sequence[Reading]


def trend(lines: Sequence[Line], name: str, x_label: str, y_label: str) -> Markup:
    """Render the trend plot; every dot links to its run."""
    readings = [reading for line in lines for reading in line.readings]
    last = max(reading.number for reading in readings)
    x = Scale(1, max(2, last), _LEFT + 8, _RIGHT - 8)
    y_ticks = round_ticks(*_y_range([reading.value for reading in readings]), 4)
    y = Scale(y_ticks[0], y_ticks[-1], _BASE, _TOP)
    x_ticks = [tick for tick in round_ticks(1, max(2, last), 6, whole=True) if 1 <= tick <= last]
    axes = [y_axis(y, y_ticks, _LEFT, _RIGHT, y_label), x_axis(x, x_ticks or [1.0], _BASE, x_label, _WIDTH)]
    return svg(_BASE + 36, name, axes, [_render_line(line, x, y) for line in lines], width=_WIDTH)


def _y_range(values: Sequence[float]) -> tuple[float, float]:
    """Return the y-axis limits: the value range with a margin, at least _MIN_RANGE."""
    low, high = min(values), max(values)
    margin = max((high - low) * _MARGIN, (_MIN_RANGE - (high - low)) / 2, 0.0)
    return max(0.0, low - margin) if low >= 0 else low - margin, high + margin


def _render_line(line: Line, x: Scale, y: Scale) -> Markup:
    points = " ".join(f"{x(reading.number):g},{y(reading.value):g}" for reading in line.readings)
    dots = [
        element(
            "a",
            element(
                "circle",
                element("title", f"{reading.name}: {decimal(reading.value)}\n{line.name}"),
                cx=x(reading.number),
                cy=y(reading.value),
                r=4,
                class_="trend-dot",
            ),
            href=reading.address,
            aria_label=f"{reading.name}: {decimal(reading.value)}",
        )
        for reading in line.readings
    ]
    if line.tone is None:
        return element("g", dots, class_="tone-other")
    return element("g", element("polyline", points=points, class_="trend"), dots, class_=f"tone-{line.tone}")


def key(names: Sequence[str], others: int) -> Markup:
    """Render the legend of systems, with the number of uncoloured ones."""
    items = [
        element("li", element("span", class_=f"swatch tone-{tone}"), element("bdi", clipped(name, 80)))
        for tone, name in enumerate(names)
    ]
    if others:
        items.append(
            element("li", element("span", class_="swatch tone-other"), counted(others, "other system", "other systems"))
        )
    return element("ul", items, class_="components key", aria_label="Systems")


# Pages

_MAX_ROWS = 200  # runs in a table; the API returns all
_MAX_COLOURS = 7  # systems with their own colour: the most frequently measured
_MAX_PATH = 48

Run = dict[str, Any]


def show(bench: Bench, request: Request) -> Shown:
    runs = _read_runs(bench)
    if not runs:
        return Shown("Runs", join([stored_heading(bench, "Runs"), no_runs()]))
    groups: defaultdict[tuple[Any, ...], list[Run]] = defaultdict(list)
    for run in runs:
        groups[run["golden_hash"], run["matching"], run["k"]].append(run)
    newest_first = sorted(groups.values(), key=lambda group: group[-1]["created"], reverse=True)
    about = f"{counted(len(runs), 'run')} on {counted(len(groups), 'golden set')}. Only runs on the same set, matching and depth can be compared."
    return Shown("Runs", join([stored_heading(bench, "Runs", about), *map(_render_group, newest_first)]))


def show_run(bench: Bench, request: RunQuery) -> Shown:
    """Render the report of a run."""
    with bench.runs() as store:
        report = build_content(run_json(store, store.find(request.run), None))
    return Shown(request.run, join([report.header, report.contents, report.main]))


def no_runs() -> Markup:
    return empty(
        "No runs yet",
        "Measure a retriever on a golden set. If you have none, mine one from the git history:",
        command="assay eval mine --output golden.jsonl\nassay eval run --golden golden.jsonl --system assay",
    )


def _read_runs(bench: Bench) -> list[Run]:
    if not bench.has_runs:
        return []
    with bench.runs() as store:
        return list_runs(store)


def _render_group(runs: Sequence[Run]) -> Markup:
    """Render the runs on one golden set: trends, then a table, newest first."""
    last = runs[-1]
    facts = f"{counted(last['queries'], 'query', 'queries')}, matching {last['matching']}, first {last['k']}"
    metrics = main_metrics(metric_names(run["metrics"] for run in runs), last["k"])
    return element(
        "section",
        element("h2", element("bdi", _short_path(last["golden"]), title=last["golden"])),
        element("p", facts, class_="lead"),
        _render_trends(runs, metrics),
        _run_table(runs, metrics),
    )


def _render_trends(runs: Sequence[Run], metrics: Sequence[str]) -> Markup | None:
    """Render a plot per metric with a line per system; None for fewer than two runs."""
    if len(runs) < 2:
        return None
    run_counts = Counter(run["system"] for run in reversed(runs))  # reversed: on ties, the latest comes first
    systems = [system for system, _ in run_counts.most_common()]
    # systems measured once have no trend; a sweep has many of them
    coloured = [system for system in systems if run_counts[system] > 1][:_MAX_COLOURS] or systems[:_MAX_COLOURS]
    tones: dict[str, int | None] = {system: tone for tone, system in enumerate(coloured)}
    plots = []
    for metric in metrics:
        lines = [
            Line(system, tones.get(system), readings)
            for system in reversed(systems)
            if (readings := _readings(runs, system, metric))
        ]
        if lines:
            plots.append(
                figure(
                    metric, _describe_metric(metric), trend(lines, f"{metric} of each run", "run, oldest first", metric)
                )
            )
    return (
        join([element("div", plots, class_="figures trends"), key(coloured, len(systems) - len(coloured))])
        if plots
        else None
    )


def _readings(runs: Sequence[Run], system: str, metric: str) -> list[Reading]:
    return [
        Reading(number, value, run["label"] or run["run_id"], run_address(run["run_id"]))
        for number, run in enumerate(runs, 1)
        if run["system"] == system and (value := finite_or_none(run["metrics"].get(metric))) is not None
    ]


def _describe_metric(metric: str) -> str:
    meanings = {
        "P": "Share of retrieved results that are relevant.",
        "R": "Share of relevant results that were retrieved.",
        "RR": "Reciprocal rank of the first relevant result.",
        "nDCG": "Relevance of results, discounted by rank.",
    }
    return meanings.get(family(metric), "")


def _run_table(runs: Sequence[Run], metrics: Sequence[str]) -> Markup:
    previous = {run["run_id"]: earlier["run_id"] for earlier, run in pairwise(runs)}
    columns = [
        Column[Run]("Run", _run_link, "named"),
        Column[Run]("When", lambda run: time_element(run["created"]), "minor"),
        Column[Run]("System", lambda run: element("code", clipped(run["system"], 80), dir="auto"), "wide"),
        *(Column[Run](metric, _metric_cell(metric), "number") for metric in metrics),
        number_column("Queries", lambda run: run["queries"], "", whole, minor=True),
        Column[Run]("", lambda run: _compare_link(previous.get(run["run_id"]), run["run_id"])),
    ]
    newest = list(reversed(runs))[:_MAX_ROWS]
    note = f"The last {_MAX_ROWS} of {len(runs):,}; /api/runs has all." if len(runs) > _MAX_ROWS else None
    return framed_table("Runs", columns, [table_row(columns, run) for run in newest], note)


def _metric_cell(metric: str) -> Any:
    return lambda run: meter(run["metrics"].get(metric))


def _run_link(run: Run) -> Markup:
    label = [" ", element("span", run["label"], class_="badge")] if run["label"] else None
    state = run["status"] if run["measurement"] or run["status"] != "complete" else "not a measurement"
    flagged = [" ", element("span", state, class_="badge kind-loss")] if state != "complete" else None
    return join([element("a", element("code", run["run_id"]), href=run_address(run["run_id"])), label, flagged])


def _compare_link(previous: str | None, current: str) -> Child:
    if previous is None:
        return None
    return element(
        "a", "compare", title="with the run before", href=f"/compare?{urlencode({'a': previous, 'b': current})}"
    )


def run_address(run_id: str) -> str:
    return f"/run?{urlencode({'run': run_id})}"


def _short_path(path: str) -> str:
    """Shorten a path to its end."""
    return path if len(path) <= _MAX_PATH else "…" + path[-_MAX_PATH:]


# Sweeps

Sweep = dict[str, Any]


def show_sweeps(bench: Bench, request: Request) -> Shown:
    sweeps = bench.sweeps()
    if not sweeps:
        return Shown("Sweeps", join([stored_heading(bench, "Sweeps"), _no_sweeps()]))
    about = "Grids of configurations, each measured on a golden set."
    return Shown("Sweeps", join([stored_heading(bench, "Sweeps", about), element("section", _sweep_table(sweeps))]))


def show_sweep(bench: Bench, request: SweepQuery) -> Shown:
    """Render the report of a sweep."""
    try:
        report = sweep_content(bench.sweep(request.sweep))
    except (KeyError, TypeError, AttributeError, StopIteration):
        raise AssayError("this sweep was saved by another version of assay and cannot be drawn; run it again") from None
    return Shown(report.title, join([report.header, report.contents, report.main]))


def _no_sweeps() -> Markup:
    return empty(
        "No sweeps yet",
        "Measure every combination of some settings on a golden set:",
        command="assay eval sweep --golden golden.jsonl --chunk-sizes 256,512,1024 --embedders lsa,none",
    )


def _sweep_table(sweeps: list[Sweep]) -> Markup:
    columns = [
        Column[Sweep]("Sweep", _sweep_link),
        Column[Sweep]("When", lambda sweep: time_element(str(sweep["timestamp"])), "minor"),
        Column[Sweep]("Golden set", lambda sweep: element("bdi", clipped(_golden_path(sweep), 80)), "wide"),
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
    return f"nDCG@{k} {decimal(best.get(f'ndcg_at_{k}'))}"


PAGES = (
    Page("/runs", show),
    Page("/run", show_run, RunQuery, place="/runs"),
    Page("/sweeps", show_sweeps),
    Page("/sweep", show_sweep, SweepQuery, place="/sweeps"),
)
