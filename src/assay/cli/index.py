"""Commands that make and inspect an index: index, status, watch, ingest-scip."""

from __future__ import annotations

import dataclasses
import sqlite3
import threading
import time
from collections import Counter
from pathlib import Path

import click

from assay.api import Repository
from assay.cli.common import (
    Bar,
    echo,
    find_one,
    find_repository,
    format_option,
    home_of,
    print_json,
    root_options,
    roots_options,
)
from assay.cli.opening import check_servable, may_index, repository_at, repository_options
from assay.core.progress import Report
from assay.errors import AssayError
from assay.index.enrich.scip import merge
from assay.index.pipeline import index
from assay.rank.status import Status
from assay.serve import json_answers
from assay.serve.watch.first_look import ANYWAY, Watching, watcher
from assay.serve.watch.keeper import Ended, Event, Keeper, Went
from assay.text.display import counted

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
def index_command(
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


# `assay status`.


@click.command("status")
@repository_options
@format_option
def status_command(repo: Repository, form: str) -> None:
    """What is indexed, how well calls were resolved, and whether it is fresh.

    "calls resolved" is the share of call sites that name something defined in the repository and were resolved to it.
    Exit code 1 means that files changed since they were indexed.
    """
    stale = {label: member.freshness().stale for label, member in repo.members.items()}
    if form == "json":
        print_json(json_answers.each(repo, json_answers.status))
    else:
        for number, (label, member) in enumerate(repo.members.items()):
            if label:
                echo(("\n" if number else "") + f"[{label}]")
            _print_status(member.status(), stale[label], member.root)
            for warning in member.look().found.warnings:
                echo(f"warning: {warning}", err=True)
            if member.ignored_settings:
                echo(f"ignored settings: {', '.join(member.ignored_settings)}; see: assay trust --show")
    raise click.exceptions.Exit(1 if any(stale.values()) else 0)


def _print_status(found: Status, stale: list[str], root: Path) -> None:
    figures = {"file": found.files, "line": found.lines, "symbol": found.symbols, "edge": found.edges}
    echo(f"{root}: " + ", ".join(counted(number, noun) for noun, number in figures.items()))
    if found.languages:
        echo(f"\n{'language':<12} {'files':>6} {'symbols':>8} {'calls':>8} {'resolved':>9}")
    for name, row in found.languages.items():
        share = f"{row.calls_resolved:8.1%}" if row.calls_resolved is not None else "       –"
        echo(f"{name:<12} {row.files:>6} {row.symbols:>8} {row.calls:>8} {share:>9}")
    if found.calls_resolved is not None and found.calls_resolved_floor is not None:
        floor = f"at least {found.calls_resolved_floor:.1%} if every doubtful name were one of ours"
        echo(f"calls resolved: {found.calls_resolved:.1%} of those that name something of this repository ({floor})")
    if found.edge_types:
        echo("\nedges: " + ", ".join(f"{name} {count:,}" for name, count in found.edge_types.items()))
    if found.documents:
        unread = f", {found.unread_documents} could not be read" if found.unread_documents else ""
        echo(f"documents: {found.documents:,} with {counted(found.sections, 'section')}{unread}")
    if found.skipped:
        echo("passed over: " + ", ".join(f"{count} {reason}" for reason, count in found.skipped.items()))
    if found.problems:
        echo(f"problems: {counted(found.problems, 'file')} could not be read; assay index -v lists them")
    echo(f"index: {found.bytes / 1e6:.1f} MB; code of the last {found.mode} indexed in {found.seconds:.1f} s")
    if stale:
        names = ", ".join(stale[:5]) + (f" and {len(stale) - 5} more" if len(stale) > 5 else "")
        echo(f"stale: {counted(len(stale), 'file')} changed since ({names}); run: assay index")
    else:
        echo("fresh: nothing changed since")


# `assay watch`.

_PATIENCE = 5.0  # seconds for the others to end


@click.command("watch")
@roots_options
@click.option(
    "--poll",
    type=click.FloatRange(min=0.1),
    metavar="SECONDS",
    help="Look at the files in intervals: for file systems that tell of no changes (networks, containers).",
)
def watch_command(roots: tuple[str, ...], index_dir: Path | None, poll: float | None) -> None:
    """Keep the index up to date while files change, until Ctrl-C.

    A burst of changes, be it a save or the switch of a branch, is one update of what changed. What the index ignores is ignored.
    `assay mcp` and `assay serve` do the same by themselves.
    """
    members = repository_at(roots, index_dir, find_repository).members
    for one in members.values():
        check_servable(one)
    if poll is None:
        watcher()  # says so if it cannot
    keepers = [_keeper(label, one, poll) for label, one in members.items()]
    others = [threading.Thread(target=keeper.run, name="assay keeper", daemon=True) for keeper in keepers[1:]]
    _say(f"watching {', '.join(str(one.root) for one in members.values())}; Ctrl-C ends it")
    try:
        for thread in others:
            thread.start()
        keepers[0].run()
    finally:
        for keeper in keepers:
            keeper.stop()
        for thread in others:
            thread.join(_PATIENCE)


def _keeper(label: str, repo: Repository, poll: float | None) -> Keeper:
    telling = _Telling(f"[{label}] " if label else "")
    watching = Watching(repo.root, repo.home.folder, poll is None, poll or ANYWAY, complain=telling.say)
    return Keeper(repo.root, repo.home.folder, watching, telling.tell)


class _Telling:
    """Says what was done, of several of which; that something is waited for, or went wrong, once and not every second."""

    def __init__(self, whose: str) -> None:
        self._whose = whose
        self._last = ""
        self._first = True

    def tell(self, event: Event) -> None:
        if isinstance(event, Went) and event.step.waiting:
            self._once("another assay is indexing this repository; waiting for it")
        elif isinstance(event, Ended) and event.why:
            self._once(f"failed: {event.why}")
        elif isinstance(event, Ended) and event.report:
            self._last = ""
            if event.report.mode != "fresh" or self._first:
                self.say(_done(event.report))
            self._first = False

    def say(self, text: str) -> None:
        _say(f"{self._whose}{text}")

    def _once(self, text: str) -> None:
        if text != self._last:
            self.say(text)
        self._last = text


def _done(report: Report) -> str:
    took = f"in {report.seconds:.1f} s"
    problems = f"; {counted(len(report.problems), 'file')} could not be read" if report.problems else ""
    if report.mode == "fresh":
        return f"up to date: {counted(report.files, 'file')}"
    if report.mode == "full":
        return f"indexed {counted(report.files, 'file')} {took}{problems}"
    return (
        f"updated {took}: {report.parsed} changed, {report.removed} removed, {report.resolved} resolved again{problems}"
    )


def _say(text: str) -> None:
    echo(f"{time.strftime('%H:%M:%S')} {text}", err=True)


# `assay ingest-scip`.


@click.command("ingest-scip")
@click.argument("file", type=click.Path(path_type=Path))
@root_options
@format_option
def ingest_scip_command(file: Path, root: Path | None, index_dir: Path | None, form: str) -> None:
    """Merge FILE, a SCIP index (index.scip): edges as exact as the compiler that made them.

    Make one with scip-python, scip-typescript, scip-java, rust-analyzer scip, … Its edges have confidence 1 and stay until the file they were
    read from changes. Exit code 1 when some of its documents are not in the index.
    """
    where = find_one(root)
    merged = merge(where, home_of(where, index_dir), file)
    if form == "json":
        print_json(dataclasses.asdict(merged))
    else:
        echo(f"{merged.documents} documents, {merged.edges} edges, {merged.new_edges} of them new")
        if merged.missing:
            echo(f"{len(merged.missing)} documents are not in the index, such as {merged.missing[0]}", err=True)
    raise click.exceptions.Exit(1 if merged.missing else 0)
