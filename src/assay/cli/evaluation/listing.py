"""`assay eval list`."""

from __future__ import annotations

from pathlib import Path

import click

from assay.cli.common import echo, format_option, print_json
from assay.cli.evaluation.common import columns, figure, root_option, run_store, runs_option, shortened
from assay.evaluate.stored import listed


@click.command("list")
@click.option("--system", metavar="TEXT", help="Only runs of systems that contain TEXT.")
@click.option("--golden", metavar="TEXT", help="Only runs on golden sets whose path contains TEXT.")
@click.option("-n", "--limit", type=click.IntRange(min=1), default=50, show_default=True, help="At most the last N.")
@root_option
@runs_option
@format_option
def command(
    system: str | None, golden: str | None, limit: int, root: Path | None, runs_file: Path | None, form: str
) -> None:
    """The runs there are, oldest first."""
    with run_store(root, runs_file) as store:
        told = listed(store)
    chosen = [run for run in told if (system or "") in run["system"] and (golden or "") in run["golden"]][-limit:]
    if form == "json":
        print_json({"runs": chosen})
        return
    rows = [
        [r["run_id"], r["status"], *(figure(r["metrics"].get(f"{name}@{r['k']}")) for name in ("P", "R", "RR", "nDCG")), r["queries"],
         r["label"], shortened(r["system"], 40), shortened(r["golden"], 40)]
        for r in chosen
    ]  # fmt: skip
    for line in columns(["run", "status", "P@k", "R@k", "RR@k", "nDCG@k", "N", "label", "system", "golden"], rows):
        echo(line)
