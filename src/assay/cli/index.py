"""`assay index`."""

from __future__ import annotations

import dataclasses
import sqlite3
from collections import Counter
from pathlib import Path

import click

from assay.cli.common import echo, format_option, print_json, roots_options
from assay.cli.opening import may_index, repository_at
from assay.cli.progress import Bar
from assay.errors import AssayError
from assay.ingest.pipeline import index
from assay.ingest.report import Report
from assay.repository import Repository
from assay.text.counting import counted

_SHOWN = 10  # problems printed without --verbose


@click.command("index")
@click.argument("paths", nargs=-1, metavar="[PATHS]...")
@roots_options
@click.option("--rebuild", is_flag=True, help="Start afresh instead of updating what changed.")
@click.option("--verbose", "-v", is_flag=True, help="List every file that was passed over, and why.")
@click.option(
    "--strict", is_flag=True, help="Exit with 1 also for files that were read with a remark (converted encodings)."
)
@click.option(
    "--yes", "-y", is_flag=True, help="Index also a home directory or the root of a file system, without asking."
)
@format_option
def command(
    paths: tuple[str, ...],
    roots: tuple[str, ...],
    index_dir: Path | None,
    rebuild: bool,
    verbose: bool,
    strict: bool,
    yes: bool,
    form: str,
) -> None:
    """Bring the index of each repository up to date: of PATHS, of the workspace, or of the one around the current folder.

    Only what changed is parsed and resolved again. Exit code 1 means that everything else is indexed but some files could not be read.
    """
    repo = repository_at(paths or roots, index_dir)
    several = "" not in repo.members
    told, worst = [], 0
    for label, member in repo.members.items():
        done = _indexed(member, rebuild, several, yes or may_index(member))
        worst = max(worst, _code(done, strict))
        if form == "json":
            told.append(_json(label, member.root, done))
            continue
        if label:
            echo(f"[{label}]")
        if isinstance(done, Report):
            _print(done, member.root, verbose)
        else:
            echo(f"assay: {done}", err=True)
    if form == "json":
        print_json({"repositories": told} if several else told[0])
    raise click.exceptions.Exit(worst)


def _indexed(repo: Repository, rebuild: bool, go_on: bool, anywhere: bool) -> Report | Exception:
    """What was done; where others follow, also what went wrong."""
    bar = Bar()
    try:
        return index(repo.root, repo.home, rebuild, bar, anywhere)
    except (AssayError, OSError, sqlite3.DatabaseError) as error:
        if not go_on:
            raise
        return error
    finally:
        bar.close()


def _code(done: Report | Exception, strict: bool) -> int:
    if not isinstance(done, Report):
        return 2
    return 1 if done.problems or (strict and done.notes) else 0


def _json(label: str, root: Path, done: Report | Exception) -> dict[str, object]:
    named: dict[str, object] = {"repository": label} if label else {}
    told = dataclasses.asdict(done) if isinstance(done, Report) else {"failed": str(done)}
    return {**named, "root": str(root), **told}


def _print(report: Report, root: Path, verbose: bool) -> None:
    if report.reason:
        echo(f"started afresh: {report.reason}")
    if report.mode == "fresh":
        echo(f"up to date: {counted(report.files, 'file')} in {root}")
    elif not report.files and report.documents:
        echo(f"indexed {counted(report.documents, 'document')} in {report.seconds:.1f} s; no source files in {root}")
    elif not report.files:
        echo(f"nothing to index: no source files in {root}")
    else:
        changed = (
            ""
            if report.mode == "full"
            else f" ({report.parsed} changed, {report.removed} removed, {report.resolved} resolved again)"
        )
        echo(f"indexed {counted(report.files, 'file')} in {report.seconds:.1f} s{changed}")
    for warning in report.warnings:
        echo(f"warning: {warning}", err=True)
    counts = Counter(reason.partition(" (")[0] for reason in report.skipped.values())
    if counts:
        listed = "" if verbose else "; --verbose lists them"
        echo("passed over: " + ", ".join(f"{n} {reason}" for reason, n in sorted(counts.items())) + listed)
    if verbose:
        for path, reason in sorted(report.skipped.items()):
            echo(f"  {path}: {reason}")
    for title, rows in (("problem", report.problems), ("note", report.notes)):
        for number, (path, text) in enumerate(sorted(rows.items())):
            if number == _SHOWN and not verbose:
                echo(f"{title}: … and {len(rows) - _SHOWN} more; --verbose lists them", err=True)
                break
            echo(f"{title}: {path}: {text}", err=True)
