"""Commands on stored runs: report, show, experiment."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import click

from assay.cli.common import echo, print_json
from assay.cli.evaluation import options
from assay.cli.evaluation.common import parsed
from assay.cli.evaluation.options import Runs
from assay.cli.evaluation.run import print_run
from assay.errors import AssayError
from assay.evaluate.compare import compare_runs, comparison_json
from assay.evaluate.experiment import begin, conclude, open_entry
from assay.evaluate.files import repository_file, write_output
from assay.evaluate.summary import main_measures, run_json
from assay.html.report import render
from assay.text.suggest import did_you_mean


@click.command("report")
@click.argument("run", default="latest")
@click.option("--against", metavar="RUN", help="Include a comparison with this earlier run.")
@options.path("--output", "-o", type=options.FILE, metavar="FILE.html", help="Default: .assay/runs/RUN/report.html.")
@options.force()
@options.store
def report_command(run: str, against: str | None, output: Path | None, force: bool, runs: Runs, form: str) -> None:
    """Render RUN (default: the last) as one HTML page: summary, distributions and every query.

    With --against, it includes a comparison. The page is self-contained and opens offline.
    """
    with runs.open() as store:
        info = store.find(run)
        summary = run_json(store, info, None)
        comparison = None
        if against:
            texts = {query.id: query.text for query in store.golden(info).queries}
            comparison = comparison_json(compare_runs(store, store.find(against), info, force=force), texts)
    path = output or runs.folder("runs", info.run_id) / "report.html"
    write_output(path, render(summary, comparison))
    if form == "json":
        print_json({"run_id": info.run_id, "file": str(path)})
    else:
        echo(str(path))


# assay eval show


@click.command("show")
@click.argument("run", default="latest")
@click.option(
    "--query", "query_id", metavar="ID", help="Show one query: expected and retrieved items with their ranks."
)
@options.matching("Judge the stored results with another matcher.")
@options.measures
@options.store
def show_command(
    run: str, query_id: str | None, matching: str | None, measures: tuple[str, ...], runs: Runs, form: str
) -> None:
    """Show a stored run. RUN is its id, a prefix of it, its label, `latest` or `latest~1`.

    Metrics are computed from the stored responses, so other measures and matchers can be applied later.
    """
    chosen = parsed(measures)
    with runs.open() as store:
        summary = run_json(store, store.find(run), chosen, matching or "")
    if query_id is not None:
        query = _find_query(summary["queries"], query_id)
        print_json(query) if form == "json" else _print_query(query)
    elif form == "json":
        print_json(summary)
    else:
        print_run(summary, chosen or main_measures(summary["k"]))


def _find_query(queries: list[dict[str, Any]], query_id: str) -> dict[str, Any]:
    by_id = {query["id"]: query for query in queries}
    if query_id not in by_id:
        raise AssayError(f"no query '{query_id}' in this run.{did_you_mean(query_id, by_id, 3)}")
    return by_id[query_id]


def _print_query(query: dict[str, Any]) -> None:
    echo(f"{query['id']}  {query['tier']}\n{query['text']}\n")
    for name in query["expected"]:
        rank = query["found"].get(name)
        echo(f"  expected  {name}  " + (f"found at {rank}" if rank else "not found"))
    if query["refuse"]:
        echo(f"  should be refused; was {'' if query['refused'] else 'not '}refused")
    ranks = {rank: name for name, rank in query["found"].items()}
    echo("")
    for rank, name in enumerate(query["retrieved"], 1):
        echo(f"  {rank:3}  {name}" + (f"   ← {ranks[rank]}" if rank in ranks else ""))
    if query["error"]:
        echo(f"  failed: {query['error']}")


# assay eval experiment

_LOG = "EXPERIMENTS.md"

_log_option = options.path("--log", type=options.FILE, help=f"The log. Default: {_LOG} at the root.")


@click.group("experiment")
def experiment_command() -> None:
    """Log a hypothesis before a change and its outcome after it, from two stored runs."""


@experiment_command.command("new")
@click.argument("title")
@click.option("--hypothesis", required=True, help="What you expect and why.")
@click.option("--what", required=True, help="What you will change.")
@click.option("--before", default="latest", show_default=True, metavar="RUN", help="The run to start from.")
@_log_option
@options.store
def new(title: str, hypothesis: str, what: str, before: str, log: Path | None, runs: Runs, form: str) -> None:
    """Open an experiment called TITLE."""
    log_path = log or repository_file(runs.root, _LOG)
    with runs.open() as store:
        run_id = store.find(before).run_id
    number = begin(log_path, title, hypothesis, what, run_id, date.today())
    if form == "json":
        print_json({"number": number, "before": run_id, "log": str(log_path)})
    else:
        echo(
            f"experiment {number} is open in {log_path}; after the change: assay eval run …, then assay eval experiment conclude"
        )


@experiment_command.command("conclude")
@options.count("--number", help="The experiment. Default: the open one.")
@click.option("--after", default="latest", show_default=True, metavar="RUN", help="The run after the change.")
@click.option("--conclusion", required=True, help="Did it work? Why or why not? Keep or revert?")
@options.force("Conclude even if golden set or settings differ between the runs.")
@_log_option
@options.store
def conclude_(
    number: int | None, after: str, conclusion: str, force: bool, log: Path | None, runs: Runs, form: str
) -> None:
    """Fill in result and conclusion of the open experiment from the runs before and after."""
    log_path = log or repository_file(runs.root, _LOG)
    entry = open_entry(log_path, number)
    with runs.open() as store:
        a, b = store.find(entry.before), store.find(after)
        comparison = comparison_json(compare_runs(store, a, b, force=force))
        before_run, after_run = run_json(store, a, None), run_json(store, b, None)
    entry_text = conclude(log_path, entry, before_run, after_run, comparison, conclusion)
    if form == "json":
        print_json({"number": entry.number, "before": a.run_id, "after": b.run_id, "log": str(log_path)})
    else:
        echo(entry_text)
