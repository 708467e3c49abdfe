"""The runs page: what was measured when, trends of each metric, and one run as its report."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import pairwise
from typing import Any
from urllib.parse import urlencode

from assay.evaluate.report.data import family, main_metrics, measured
from assay.evaluate.report.markup import Child, Markup, element, join
from assay.evaluate.report.overview import figure
from assay.evaluate.report.page import drawn
from assay.evaluate.report.tables import Column, framed_table, meter, number_column, table_row
from assay.evaluate.report.wording import known, moment, shortened, whole
from assay.evaluate.stored import listed, told
from assay.serve.bench import Bench
from assay.serve.pages.shell import Page, Shown, empty, stored_heading
from assay.serve.pages.trends import Line, Reading, key, trend
from assay.serve.parameters import Parameter
from assay.text.counting import counted

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
