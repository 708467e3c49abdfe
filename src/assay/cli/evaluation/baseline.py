"""`assay eval baseline`."""

from __future__ import annotations

from pathlib import Path

import click

from assay.cli.common import echo, find_root, format_option, print_json
from assay.cli.evaluation.common import columns, figure, root_option, run_store, runs_option
from assay.errors import AssayError
from assay.evaluate.files import file_of
from assay.evaluate.scores import of_run, read_baseline, write_baseline

DEFAULT_FILE = "eval/baseline.json"


def _file_option(function: click.decorators.FC) -> click.decorators.FC:
    return click.option(
        "--file",
        "path",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help=f"Default: {DEFAULT_FILE} at the root.",
    )(function)


@click.group("baseline")
def command() -> None:
    """The baseline that a gate compares with: a file of figures per query, to be committed with the code."""


@command.command("set")
@click.argument("run", default="latest")
@_file_option
@root_option
@runs_option
@format_option
def set_(run: str, path: Path | None, root: Path | None, runs_file: Path | None, form: str) -> None:
    """Make RUN (default: the last) the baseline."""
    with run_store(root, runs_file) as store:
        info = store.find(run)
        if info.status != "complete":
            raise AssayError(
                f"run {info.run_id} is {info.status}; a baseline must be complete. Go on with: assay eval run --resume {info.run_id}"
            )
        scores = of_run(store, info)
    where = path or file_of(find_root(root), DEFAULT_FILE)
    write_baseline(scores, where)
    if form == "json":
        print_json({"run_id": scores.run_id, "file": str(where)})
    else:
        echo(f"baseline is run {scores.run_id} ({len(scores.queries)} queries): {where}")


@command.command("show")
@_file_option
@root_option
@format_option
def show(path: Path | None, root: Path | None, form: str) -> None:
    """Show the baseline."""
    where = path or file_of(find_root(root), DEFAULT_FILE)
    scores = read_baseline(where)
    if form == "json":
        print_json({
            "file": str(where), "run_id": scores.run_id, "created": scores.created, "system": scores.system, "matching": scores.matching,
            "k": scores.k, "golden_hash": scores.golden_hash, "queries": len(scores.queries), "metrics": scores.means,
        })  # fmt: skip
        return
    echo(
        f"{where}: run {scores.run_id} of {scores.created}, {scores.system}, {len(scores.queries)} queries, matching {scores.matching}\n"
    )
    for line in columns(["metric", "value"], [[name, figure(value)] for name, value in scores.means.items()]):
        echo(line)
