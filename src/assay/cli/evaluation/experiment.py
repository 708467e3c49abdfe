"""`assay eval experiment`: log a hypothesis before a change, and its outcome after it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from assay.cli.common import echo, echo_lines, echo_row, print_json
from assay.cli.evaluation import options
from assay.cli.evaluation.options import Runs, print_result
from assay.errors import AssayError
from assay.evaluate.compare import compare_runs
from assay.evaluate.comparison_json import comparison_json
from assay.evaluate.experiments import FileLog, Log, StoreLog, draft_conclusion, open_entry, result_lines
from assay.evaluate.files import repository_file
from assay.evaluate.scores import run_json

_LOG = "EXPERIMENTS.md"

_log_option = options.path(
    "--log", type=options.FILE, help=f"A log in a file. Default: the store of a team, else {_LOG} at the root."
)


@click.group("experiment")
def experiment_command() -> None:
    """Log a hypothesis before a change and its outcome after it, from two stored runs.

    The log is a Markdown file, or in the store of a team.
    """


@contextmanager
def _log(runs: Runs, file: Path | None, write: bool = False) -> Iterator[Log]:
    """Open the log of a command."""
    if file is None and runs.shared:
        with runs.open(write) as store:
            yield StoreLog(store)
    else:
        yield FileLog(file or repository_file(runs.root, _LOG))


@experiment_command.command("new")
@click.argument("title")
@click.option("--hypothesis", required=True, help="What you expect and why.")
@click.option("--what", required=True, help="What you will change.")
@click.option("--before", default="latest", show_default=True, metavar="RUN", help="The run to start from.")
@_log_option
@options.store
def new(title: str, hypothesis: str, what: str, before: str, log: Path | None, runs: Runs, form: str) -> None:
    """Open an experiment called TITLE."""
    with _log(runs, log, write=True) as opened:
        with runs.open() as store:
            run_id = store.find(before).run_id
        number = opened.begin(title, hypothesis, what, run_id)
    next_step = "after the change: assay eval run …, then assay eval experiment conclude"
    facts = {"number": number, "before": run_id, "log": opened.place}
    print_result(form, facts, f"experiment {number} is open in {opened.place}; {next_step}")


@experiment_command.command("conclude")
@options.count("--number", help="The experiment. Default: the open one.")
@click.option("--after", default="latest", show_default=True, metavar="RUN", help="The run after the change.")
@click.option(
    "--conclusion", default="", help="Did it work? Why or why not? Keep or revert? Default: drafted from the figures."
)
@options.force("Conclude even if golden set or settings differ between the runs.")
@_log_option
@options.store
def conclude(
    number: int | None, after: str, conclusion: str, force: bool, log: Path | None, runs: Runs, form: str
) -> None:
    """Fill in result and conclusion of the open experiment from the runs before and after."""
    with _log(runs, log, write=True) as opened:
        entry = open_entry(opened, number)
        with runs.open() as store:
            a, b = store.find(entry.before), store.find(after)
            if a.run_id == b.run_id and not force:
                raise AssayError(
                    f"{opened.place}: experiment {entry.number} began with run {a.run_id}, and no run was made since; "
                    "make one with `assay eval run`, or name it with --after RUN"
                )
            texts = {query.id: query.text for query in store.golden(b).queries}
            comparison = comparison_json(compare_runs(store, a, b, force=force), texts)
            before_run, after_run = run_json(store, a, None), run_json(store, b, None)
        text = conclusion or draft_conclusion(before_run, after_run, comparison)
        entry_text = opened.conclude(entry, b.run_id, result_lines(before_run, after_run, comparison), text)
    if form == "json":
        print_json({"number": entry.number, "before": a.run_id, "after": b.run_id, "log": opened.place})
    else:
        echo_lines(entry_text)


@experiment_command.command("list")
@_log_option
@options.store
def list_(log: Path | None, runs: Runs, form: str) -> None:
    """List the experiments."""
    with _log(runs, log) as opened:
        entries = opened.entries()
    if form == "json":
        rows = [
            {"number": entry.number, "date": entry.created, "author": entry.author, "title": entry.title,
             "before": entry.before, "after": entry.after, "open": entry.is_open} for entry in entries
        ]  # fmt: skip
        print_json({"log": opened.place, "experiments": rows})
        return
    for entry in entries:
        author = f"  {entry.author}" if entry.author else ""
        echo_row(f"{entry.number:>3}  {entry.created}{author}  {'open' if entry.is_open else 'done'}  {entry.title}")
    if not entries:
        echo(f"{opened.place}: no experiments yet")


@experiment_command.command("show")
@click.argument("number", type=click.IntRange(min=1), required=False)
@_log_option
@options.store
def show(number: int | None, log: Path | None, runs: Runs, form: str) -> None:
    """Print experiment NUMBER, or the whole log, as Markdown."""
    with _log(runs, log) as opened:
        text = opened.text(number)
    if form == "json":
        print_json({"log": opened.place, "text": text})
    else:
        echo_lines(text or f"{opened.place}: no experiments yet")
