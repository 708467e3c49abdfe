"""`assay eval report`."""

from __future__ import annotations

from pathlib import Path

import click

from assay.cli.common import echo, format_option, print_json
from assay.cli.evaluation.common import kept_at, root_option, run_store, runs_option
from assay.errors import AssayError
from assay.evaluate.compare import as_json, compare_runs
from assay.evaluate.report import render
from assay.evaluate.stored import told


@click.command("report")
@click.argument("run", default="latest")
@click.option("--against", metavar="RUN", help="Compare with this earlier run, too.")
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE.html",
    help="Default: .assay/runs/RUN/report.html.",
)
@click.option("--force", is_flag=True, help="Compare although golden set or settings differ.")
@root_option
@runs_option
@format_option
def command(
    run: str,
    against: str | None,
    output: Path | None,
    force: bool,
    root: Path | None,
    runs_file: Path | None,
    form: str,
) -> None:
    """RUN (default: the last) as one HTML page: summary, distributions, every query; with --against, the comparison with plots.

    The page holds everything it needs and opens offline.
    """
    with run_store(root, runs_file) as store:
        info = store.find(run)
        summary = told(store, info, None)
        comparison = None
        if against:
            texts = {query.id: query.text for query in store.golden(info).queries}
            comparison = as_json(compare_runs(store, store.find(against), info, force=force), texts)
    path = output or kept_at(root, runs_file, "runs", info.run_id) / "report.html"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(render(summary, comparison), "utf-8")
    except OSError as error:
        raise AssayError(f"{path}: cannot be written ({error.strerror or error})") from None
    if form == "json":
        print_json({"run_id": info.run_id, "file": str(path)})
    else:
        echo(str(path))
