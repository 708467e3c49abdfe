"""`assay eval experiment`."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import click

from assay.cli.common import echo, find_root, format_option, print_json
from assay.cli.evaluation.common import root_option, run_store, runs_option
from assay.evaluate.compare import as_json, compare_runs
from assay.evaluate.experiment import begin, conclude, open_entry
from assay.evaluate.files import file_of
from assay.evaluate.stored import told

_LOG = "EXPERIMENTS.md"


def _log_option(function: click.decorators.FC) -> click.decorators.FC:
    return click.option(
        "--log",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help=f"The log. Default: {_LOG} at the root.",
    )(function)


@click.group("experiment")
def command() -> None:
    """Log a hypothesis before a change, and its outcome after it, from two stored runs."""


@command.command("new")
@click.argument("title")
@click.option("--hypothesis", required=True, help="What you expect and why.")
@click.option("--what", required=True, help="What is going to be changed.")
@click.option("--before", default="latest", show_default=True, metavar="RUN", help="The run to start from.")
@_log_option
@root_option
@runs_option
@format_option
def new(
    title: str,
    hypothesis: str,
    what: str,
    before: str,
    log: Path | None,
    root: Path | None,
    runs_file: Path | None,
    form: str,
) -> None:
    """Open an experiment called TITLE."""
    where = log or file_of(find_root(root), _LOG)
    with run_store(root, runs_file) as store:
        run_id = store.find(before).run_id
    number = begin(where, title, hypothesis, what, run_id, date.today())
    if form == "json":
        print_json({"number": number, "before": run_id, "log": str(where)})
    else:
        echo(
            f"experiment {number} is open in {where}; after the change: assay eval run …, then assay eval experiment conclude"
        )


@command.command("conclude")
@click.option("--number", type=click.IntRange(min=1), help="Which experiment. Default: the open one.")
@click.option("--after", default="latest", show_default=True, metavar="RUN", help="The run after the change.")
@click.option("--conclusion", required=True, help="Did it work? Why or why not? Keep or revert?")
@click.option("--force", is_flag=True, help="Conclude although golden set or settings differ between the runs.")
@_log_option
@root_option
@runs_option
@format_option
def conclude_(
    number: int | None,
    after: str,
    conclusion: str,
    force: bool,
    log: Path | None,
    root: Path | None,
    runs_file: Path | None,
    form: str,
) -> None:
    """Fill in result and conclusion of the open experiment from the runs before and after."""
    where = log or file_of(find_root(root), _LOG)
    entry = open_entry(where, number)
    with run_store(root, runs_file) as store:
        a, b = store.find(entry.before), store.find(after)
        comparison = as_json(compare_runs(store, a, b, force=force))
        before_run, after_run = told(store, a, None), told(store, b, None)
    written = conclude(where, entry, before_run, after_run, comparison, conclusion)
    if form == "json":
        print_json({"number": entry.number, "before": a.run_id, "after": b.run_id, "log": str(where)})
    else:
        echo(written)
