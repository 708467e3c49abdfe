"""`assay index`."""

from __future__ import annotations

import dataclasses
from collections import Counter
from pathlib import Path

import click

from assay.cli.common import find_root, format_option, home_of, print_json, root_options
from assay.cli.progress import Bar
from assay.ingest.pipeline import index
from assay.ingest.report import Report
from assay.text.counting import counted

_SHOWN = 10  # problems printed without --verbose


@click.command("index")
@click.argument("path", required=False, type=click.Path(path_type=Path))
@root_options
@click.option("--rebuild", is_flag=True, help="Start afresh instead of updating what changed.")
@click.option("--verbose", "-v", is_flag=True, help="List every file that was passed over, and why.")
@click.option(
    "--strict", is_flag=True, help="Exit with 1 also for files that were read with a remark (converted encodings)."
)
@format_option
def command(
    path: Path | None, root: Path | None, index_dir: Path | None, rebuild: bool, verbose: bool, strict: bool, form: str
) -> None:
    """Bring the index of a repository up to date (PATH, or the one around the current folder).

    Only what changed is parsed and resolved again. Exit code 1 means that everything else is indexed but some files could not be read.
    """
    where = find_root(path or root)
    bar = Bar()
    try:
        report = index(where, home_of(where, index_dir), rebuild, bar)
    finally:
        bar.close()
    if form == "json":
        print_json({"root": str(where), **dataclasses.asdict(report)})
    else:
        _print(report, where, verbose)
    raise click.exceptions.Exit(1 if report.problems or (strict and report.notes) else 0)


def _print(report: Report, root: Path, verbose: bool) -> None:
    if report.reason:
        click.echo(f"started afresh: {report.reason}")
    if report.mode == "fresh":
        click.echo(f"up to date: {counted(report.files, 'file')} in {root}")
    elif not report.files and report.documents:
        click.echo(
            f"indexed {counted(report.documents, 'document')} in {report.seconds:.1f} s; no source files in {root}"
        )
    elif not report.files:
        click.echo(f"nothing to index: no source files in {root}")
    else:
        changed = (
            ""
            if report.mode == "full"
            else f" ({report.parsed} changed, {report.removed} removed, {report.resolved} resolved again)"
        )
        click.echo(f"indexed {counted(report.files, 'file')} in {report.seconds:.1f} s{changed}")
    counts = Counter(reason.partition(" (")[0] for reason in report.skipped.values())
    if counts:
        listed = "" if verbose else "; --verbose lists them"
        click.echo("passed over: " + ", ".join(f"{n} {reason}" for reason, n in sorted(counts.items())) + listed)
    if verbose:
        for path, reason in sorted(report.skipped.items()):
            click.echo(f"  {path}: {reason}")
    for title, rows in (("problem", report.problems), ("note", report.notes)):
        for number, (path, text) in enumerate(sorted(rows.items())):
            if number == _SHOWN and not verbose:
                click.echo(f"{title}: … and {len(rows) - _SHOWN} more; --verbose lists them", err=True)
                break
            click.echo(f"{title}: {path}: {text}", err=True)
