"""The runs page: what was measured when, trends of each metric, and one run as its report."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any
from urllib.parse import urlencode

from assay.evaluate.report.data import family, main_metrics, measured
from assay.evaluate.report.overview import figure
from assay.evaluate.report.page import drawn
from assay.evaluate.summary import listed, told
from assay.html.elements import (
    Child,
    Column,
    Markup,
    decimal,
    element,
    framed_table,
    join,
    known,
    meter,
    moment,
    number_column,
    shortened,
    table_row,
    whole,
)
from assay.html.plots import Scale, round_ticks, svg, x_axis, y_axis
from assay.serve.web.bench import Bench
from assay.serve.web.pages.shell import Page, Shown, empty, stored_heading
from assay.serve.web.parameters import Parameter
from assay.text.display import counted

_WIDTH = 520  # half of a desktop page
_LEFT, _RIGHT, _TOP, _BASE = 44, _WIDTH - 10, 28, 190
_ROOM = 0.08  # of the values' range, above and below
_LEAST = 0.05  # of the range that is shown: tiny differences must not look like cliffs


@dataclass(frozen=True, slots=True)
class Reading:
    """One run: its number from the oldest, its value, what it is called and where its page is."""

    number: int
    value: float
    name: str
    address: str


@dataclass(frozen=True, slots=True)
class Line:
    """The runs of one system, oldest first, in a colour by number; without one they are dots beside the others."""

    name: str
    tone: int | None
    readings: Sequence[Reading]


def trend(lines: Sequence[Line], name: str, x_label: str, y_label: str) -> Markup:
    """The plot; both axes are labelled and every dot leads to its run."""
    every = [reading for line in lines for reading in line.readings]
    last = max(reading.number for reading in every)
    x = Scale(1, max(2, last), _LEFT + 8, _RIGHT - 8)
    y_ticks = round_ticks(*_reach([reading.value for reading in every]), 4)
    y = Scale(y_ticks[0], y_ticks[-1], _BASE, _TOP)
    x_ticks = [tick for tick in round_ticks(1, max(2, last), 6, whole=True) if 1 <= tick <= last]
    axes = [y_axis(y, y_ticks, _LEFT, _RIGHT, y_label), x_axis(x, x_ticks or [1.0], _BASE, x_label, _WIDTH)]
    return svg(_BASE + 36, name, axes, [_line(line, x, y) for line in lines], width=_WIDTH)


def _reach(values: Sequence[float]) -> tuple[float, float]:
    """From where to where the y axis goes: around the values, but never so near that noise fills it."""
    low, high = min(values), max(values)
    room = max((high - low) * _ROOM, (_LEAST - (high - low)) / 2, 0.0)
    return max(0.0, low - room) if low >= 0 else low - room, high + room


def _line(line: Line, x: Scale, y: Scale) -> Markup:
    points = " ".join(f"{x(one.number):g},{y(one.value):g}" for one in line.readings)
    dots = [
        element(
            "a",
            element(
                "circle",
                element("title", f"{one.name}: {decimal(one.value)}\n{line.name}"),
                cx=x(one.number),
                cy=y(one.value),
                r=4,
                class_="trend-dot",
            ),
            href=one.address,
            aria_label=f"{one.name}: {decimal(one.value)}",
        )
        for one in line.readings
    ]
    if line.tone is None:
        return element("g", dots, class_="tone-other")
    return element("g", element("polyline", points=points, class_="trend"), dots, class_=f"tone-{line.tone}")


def key(names: Sequence[str], others: int) -> Markup:
    """Which colour is which system, and how many share the one of the others."""
    items = [
        element("li", element("span", class_=f"swatch tone-{tone}"), element("bdi", shortened(name, 80)))
        for tone, name in enumerate(names)
    ]
    if others:
        items.append(
            element("li", element("span", class_="swatch tone-other"), counted(others, "other system", "other systems"))
        )
    return element("ul", items, class_="components key", aria_label="Systems")


# The runs page: what was measured when, trends of each metric, and one run as its report.

_MOST_ROWS = 200  # runs in a table; the API has all
_MOST_LINES = 7  # systems with a colour of their own, those measured most often
_MOST_PATH = 48

Run = dict[str, Any]


def show(bench: Bench, values: dict[str, Any]) -> Shown:
    runs = _listed(bench)
    if not runs:
        return Shown("Runs", join([stored_heading(bench, "Runs"), no_runs()]))
    groups: defaultdict[tuple[Any, ...], list[Run]] = defaultdict(list)
    for run in runs:
        groups[run["golden_hash"], run["matching"], run["k"]].append(run)
    newest_first = sorted(groups.values(), key=lambda group: group[-1]["created"], reverse=True)
    about = f"{counted(len(runs), 'run')} on {counted(len(groups), 'golden set')}. Only runs on the same set, matching and depth can be compared."
    return Shown("Runs", join([stored_heading(bench, "Runs", about), *map(_group, newest_first)]))


def one(bench: Bench, values: dict[str, Any]) -> Shown:
    """A run as the report of it."""
    with bench.runs() as store:
        report = drawn(told(store, store.find(values["run"]), None))
    return Shown(values["run"], join([report.header, report.contents, report.main]))


def no_runs() -> Markup:
    return empty(
        "No runs yet",
        "Measure a retriever on a golden set, and it shows here. Without one of your own, make it from the history:",
        command="assay eval mine --output golden.jsonl\nassay eval run --golden golden.jsonl --system assay",
    )


def _listed(bench: Bench) -> list[Run]:
    if not bench.has_runs:
        return []
    with bench.runs() as store:
        return listed(store)


def _group(runs: Sequence[Run]) -> Markup:
    """The runs on one golden set: trends, then the table, the newest first."""
    last = runs[-1]
    facts = f"{counted(last['queries'], 'query', 'queries')}, matching {last['matching']}, first {last['k']}"
    metrics = main_metrics(measured(run["metrics"] for run in runs), last["k"])
    return element(
        "section",
        element("h2", element("bdi", _short_path(last["golden"]), title=last["golden"])),
        element("p", facts, class_="lead"),
        _trends(runs, metrics),
        _table(runs, metrics),
    )


def _trends(runs: Sequence[Run], metrics: Sequence[str]) -> Markup | None:
    """A plot for each metric, a line for each system."""
    if len(runs) < 2:
        return None
    times = Counter(run["system"] for run in reversed(runs))  # of those as often measured, the last
    systems = [system for system, _ in times.most_common()]
    # a system that was measured once has no trend: many such, as of a sweep, would only be confetti
    coloured = [one for one in systems if times[one] > 1][:_MOST_LINES] or systems[:_MOST_LINES]
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
                figure(metric, _meaning(metric), trend(lines, f"{metric} of each run", "run, oldest first", metric))
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
        if run["system"] == system and (value := known(run["metrics"].get(metric))) is not None
    ]


def _meaning(metric: str) -> str:
    meanings = {
        "P": "How much of what came was expected.",
        "R": "How much of what was expected came.",
        "RR": "How soon the first hit came.",
        "nDCG": "What was found, worth less further down.",
    }
    return meanings.get(family(metric), "")


def _table(runs: Sequence[Run], metrics: Sequence[str]) -> Markup:
    before = {run["run_id"]: earlier["run_id"] for earlier, run in pairwise(runs)}
    columns = [
        Column[Run]("Run", _linked, "named"),
        Column[Run]("When", lambda run: moment(run["created"]), "minor"),
        Column[Run]("System", lambda run: element("code", shortened(run["system"], 80), dir="auto"), "wide"),
        *(Column[Run](metric, _metric(metric), "number") for metric in metrics),
        number_column("Queries", lambda run: run["queries"], "", whole, minor=True),
        Column[Run]("", lambda run: _compared(before.get(run["run_id"]), run["run_id"])),
    ]
    newest = list(reversed(runs))[:_MOST_ROWS]
    note = f"The last {_MOST_ROWS} of {len(runs):,}; /api/runs has all." if len(runs) > _MOST_ROWS else None
    return framed_table("Runs", columns, [table_row(columns, run) for run in newest], note)


def _metric(metric: str) -> Any:
    return lambda run: meter(run["metrics"].get(metric))


def _linked(run: Run) -> Markup:
    label = [" ", element("span", run["label"], class_="badge")] if run["label"] else None
    unfinished = (
        [" ", element("span", run["status"], class_="badge kind-loss")] if run["status"] != "complete" else None
    )
    return join([element("a", element("code", run["run_id"]), href=run_address(run["run_id"])), label, unfinished])


def _compared(before: str | None, after: str) -> Child:
    if before is None:
        return None
    return element("a", "compare", title="with the run before", href=f"/compare?{urlencode({'a': before, 'b': after})}")


def run_address(run_id: str) -> str:
    return f"/run?{urlencode({'run': run_id})}"


def _short_path(path: str) -> str:
    """The end of a path, which tells most."""
    return path if len(path) <= _MOST_PATH else "…" + path[-_MOST_PATH:]


PAGES = (
    Page("/runs", show),
    Page("/run", one, (Parameter("run", "a run", default="latest"),), place="/runs"),
)
