"""Commands that build and inspect an index: index, status, watch, ingest-scip."""

from __future__ import annotations

import dataclasses
import sqlite3
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.api import Repository, background_is_allowed
from assay.cli.clones import ClonedIndex, index_addresses, label_addresses
from assay.cli.common import Bar, answering, cluster_option, echo, echo_wrapped, format_option, is_terminal, print_json
from assay.cli.enrich import print_enrichment
from assay.cli.options import (
    find_repository,
    may_index,
    open_repository,
    repository_options,
    roots_options,
    single_repository_options,
)
from assay.config.cluster import choose_cluster
from assay.core.progress import NAMES, Report
from assay.errors import AssayError
from assay.git.address import GitAddress, is_address
from assay.rank.status import Status
from assay.serve import json_answers
from assay.serve.watch.keeper import (
    RESCAN_SECONDS,
    Event,
    Keeper,
    RefreshFinished,
    RefreshProgress,
    TreeWatcher,
    watcher,
)
from assay.text.display import counted

if TYPE_CHECKING:
    from assay.system.cluster import ClusterSettings

_MAX_PROBLEMS = 10  # printed without --verbose


@click.command("index")
@click.argument("paths", nargs=-1, metavar="[PATHS|ADDRESSES]...")
@roots_options
@click.option("--rebuild", is_flag=True, help="Rebuild from scratch instead of updating changed files.")
@click.option("--verbose", "-v", is_flag=True, help="List every skipped file with the reason.")
@click.option("--strict", is_flag=True, help="Exit with 1 also for files with notes (converted encodings).")
@click.option("--yes", "-y", is_flag=True, help="Index a home directory or file system root without asking.")
@click.option(
    "--wait/--no-wait",
    default=None,
    help="Wait for calls and history, or leave them to a background process. Default: wait, except in a terminal.",
)
@click.option(
    "--publish",
    default="",
    metavar="DEST",
    help="Publish the index of each git address to DEST/NAME, a folder or an address that `assay pull` reads.",
)
@cluster_option
@format_option
def index_command(
    paths: tuple[str, ...],
    roots: tuple[str, ...],
    index_dir: Path | None,
    rebuild: bool,
    verbose: bool,
    strict: bool,
    yes: bool,
    wait: bool | None,
    publish: str,
    cluster: str | None,
    form: str,
) -> None:
    """Build or update the index of PATHS, by default of the workspace or repository around the current folder.

    Only changed files are parsed and resolved again. A git address (https://…, ssh://…, git@HOST:PATH, file://…, each
    with an optional #REVISION) is cloned into the cache of the user, on a cluster into that of the worker, and its index
    stays there. In a terminal, the prompt is back as soon as questions can be answered; calls and history follow in a
    background process (ASSAY_BACKGROUND=off: never). Exit code 1 when some files could not be read; the others are indexed.
    """
    members, addresses = _members_and_addresses(paths, roots, index_dir, publish)
    multi_repo = "" not in members
    # a single repository is parsed on all cores here; a cluster indexes whole repositories
    chosen_cluster = choose_cluster(cluster) if cluster or len(members) + len(addresses) > 1 else None
    if wait is None:
        wait = form == "json" or not (is_terminal() and sys.stdin.isatty() and background_is_allowed())
    results, exit_code = dict[str, dict[str, object]](), 0
    for label, result in chain(
        _index_folders(members, rebuild, yes, wait, chosen_cluster),
        index_addresses(addresses, rebuild, publish, chosen_cluster),
    ):
        report = result.report if isinstance(result, ClonedIndex) else result
        exit_code = max(exit_code, _exit_code(report, strict))
        root = result.folder if isinstance(result, ClonedIndex) else members[label].root if label in members else None
        is_first = isinstance(report, Report) and report.stage == NAMES
        follows = members[label].complete_in_background() if is_first else None
        if form == "json":
            results[label] = _result_json(label, root, addresses.get(label), result)
            continue
        _print_result(label, root, result, chosen_cluster is not None, verbose)
        if follows is not None:
            echo("calls and history follow in the background" if follows else members[label].pending)
    if form == "json":
        ordered = [results[label] for label in (*members, *addresses)]
        print_json({"repositories": ordered} if multi_repo else ordered[0])
    raise click.exceptions.Exit(exit_code)


def _members_and_addresses(
    paths: Sequence[str], roots: Sequence[str], index_dir: Path | None, publish: str
) -> tuple[dict[str, Repository], dict[str, GitAddress]]:
    """Return the repositories and the git addresses to index, by label; that of a single repository is empty."""
    folders = [path for path in paths if not is_address(path)]
    given_addresses = [path for path in paths if is_address(path)]
    if publish and (folders or not given_addresses):
        raise AssayError("--publish is for git addresses; publish the index of a folder with: assay publish DEST")
    members: dict[str, Repository] = {}
    if folders or not given_addresses:
        members = dict(open_repository(folders or roots, index_dir).members)
    if given_addresses and "" in members:
        members = {members[""].root.name: members[""]}
    return members, label_addresses(given_addresses, list(members))


def _print_result(
    label: str, root: Path | None, result: Report | ClonedIndex | Exception, on_cluster: bool, verbose: bool
) -> None:
    if label:
        echo(f"[{label}]")
    report = result.report if isinstance(result, ClonedIndex) else result
    if isinstance(report, Report):
        _print_report(report, root, verbose)
    else:
        echo(f"assay: {report}", err=True)
    if isinstance(result, ClonedIndex):
        place = f"{result.host}:{result.folder}" if on_cluster else str(result.folder)
        echo(f"index of commit {result.commit[:12]}: {place}")
        if result.published:
            echo(f"published: assay pull {result.published}")


def _index_folders(
    members: Mapping[str, Repository], rebuild: bool, yes: bool, wait: bool, cluster: ClusterSettings | None
) -> Iterator[tuple[str, Report | Exception]]:
    """Yield the outcome of each repository by label, indexed here or on a cluster."""
    permissions = {label: yes or may_index(member) for label, member in members.items()}
    if cluster is None or not members:
        return _index_members(members, rebuild, "" not in members, permissions, wait)
    from assay.cli.cluster import index_on_cluster  # not needed by most commands, and slow to import

    return index_on_cluster(members, rebuild, permissions, cluster)


def _index_members(
    members: Mapping[str, Repository], rebuild: bool, go_on: bool, permissions: Mapping[str, bool], wait: bool
) -> Iterator[tuple[str, Report | Exception]]:
    """Yield the outcome of each repository, indexed here, by label; with `go_on`, yield an error instead of raising it."""
    for label, member in members.items():
        try:
            with Bar() as bar:
                outcome: Report | Exception = member.refresh(
                    rebuild=rebuild, progress=bar, anywhere=permissions[label], wait=wait
                )
        except (AssayError, OSError, sqlite3.DatabaseError) as error:
            if not go_on:
                raise
            outcome = error
        yield label, outcome  # the bar has erased itself


def _exit_code(result: Report | Exception, strict: bool) -> int:
    if not isinstance(result, Report):
        return 2
    return 1 if result.problems or (strict and result.notes) else 0


def _result_json(
    label: str, root: Path | None, address: GitAddress | None, result: Report | ClonedIndex | Exception
) -> dict[str, object]:
    fields: dict[str, object] = {"repository": label} if label else {}
    fields |= {"address": str(address)} if address else {}
    fields |= {"root": str(root)} if root else {}
    if isinstance(result, ClonedIndex):
        return fields | result.as_json()
    return fields | (dataclasses.asdict(result) if isinstance(result, Report) else {"failed": str(result)})


def _print_report(report: Report, root: Path | None, verbose: bool) -> None:
    if report.reason:
        echo(f"rebuilt from scratch: {report.reason}")
    if report.mode == "fresh":
        echo(f"up to date: {counted(report.files, 'file')} in {root}")
    elif report.stage == NAMES:
        echo(answering(report))
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
        listed = "" if verbose else " (list: --verbose)"
        echo_wrapped("skipped: " + ", ".join(f"{n} {reason}" for reason, n in sorted(counts.items())) + listed)
    if verbose:
        for path, reason in sorted(report.skipped.items()):
            echo(f"  {path}: {reason}")
    for title, rows in (("problem", report.problems), ("note", report.notes)):
        for number, (path, text) in enumerate(sorted(rows.items())):
            if number == _MAX_PROBLEMS and not verbose:
                echo(f"{title}: … and {len(rows) - _MAX_PROBLEMS} more; --verbose lists them", err=True)
                break
            echo(f"{title}: {path}: {text}", err=True)


# assay status


@click.command("status")
@repository_options
@format_option
def status_command(repo: Repository, form: str) -> None:
    """Show index statistics, the share of resolved calls, and freshness.

    "calls resolved" is the share of calls to names defined in the repository that were resolved to a definition.
    Exit code 1 when files changed since they were indexed.
    """
    checks = {label: member.look() for label, member in repo.members.items()}
    if form == "json":
        print_json(json_answers.per_repository(repo, json_answers.status))
    else:
        for number, (label, member) in enumerate(repo.members.items()):
            if label:
                echo(("\n" if number else "") + f"[{label}]")
            _print_status(member.status(), checks[label].freshness.stale, member.root)
            if pending := member.pending:
                process = member.home.progress().process
                echo(pending + (f", in process {process}" if process else ""))
            for warning in checks[label].found.warnings:
                echo(f"warning: {warning}", err=True)
            if member.ignored_settings:
                echo_wrapped(f"ignored settings: {', '.join(member.ignored_settings)}; see: assay trust --show")
    raise click.exceptions.Exit(0 if all(check.freshness.fresh for check in checks.values()) else 1)


def _print_status(status: Status, stale: list[str], root: Path) -> None:
    figures = {"file": status.files, "line": status.lines, "symbol": status.symbols, "edge": status.edges}
    echo_wrapped(f"{root}: " + ", ".join(counted(number, noun) for noun, number in figures.items()))
    if status.languages:
        echo(f"\n{'language':<12} {'files':>6} {'symbols':>8} {'calls':>8} {'resolved':>9}")
    for name, row in status.languages.items():
        share = f"{row.calls_resolved:8.1%}" if row.calls_resolved is not None else "       –"
        echo(f"{name:<12} {row.files:>6} {row.symbols:>8} {row.calls:>8} {share:>9}")
    if status.calls_resolved is not None and status.calls_resolved_floor is not None:
        floor = f"at least {status.calls_resolved_floor:.1%} if every ambiguous name is defined here"
        echo_wrapped(
            f"calls resolved: {status.calls_resolved:.1%} of calls to names defined in this repository ({floor})"
        )
    if status.enrichment is not None:
        print_enrichment(status.enrichment)
    if status.edge_types:
        echo_wrapped("\nedges: " + ", ".join(f"{name} {count:,}" for name, count in status.edge_types.items()))
    if status.documents:
        unread = f", {status.unread_documents} could not be read" if status.unread_documents else ""
        echo(f"documents: {status.documents:,} with {counted(status.sections, 'section')}{unread}")
    if status.observed_since is not None:
        since = time.strftime("%Y-%m-%d %H:%M", time.localtime(status.observed_since))
        symbols = counted(status.observed_symbols, "symbol")
        echo(f"traces: {counted(status.observed_calls, 'observed call')} of {symbols}, since {since}")
    if status.skipped:
        echo_wrapped("skipped: " + ", ".join(f"{count} {reason}" for reason, count in status.skipped.items()))
    if status.problems:
        echo(f"problems: {counted(status.problems, 'file')} could not be read; assay index -v lists them")
    echo(f"index: {status.bytes / 1e6:.1f} MB; last {status.mode} index: {status.seconds:.1f} s")
    if stale:
        names = ", ".join(stale[:5]) + (f" and {len(stale) - 5} more" if len(stale) > 5 else "")
        echo_wrapped(f"stale: {counted(len(stale), 'file')} changed since ({names}); run: assay index")
    else:
        echo("fresh: nothing changed since")


# assay watch

_STOP_SECONDS = 5.0  # for the other keeper threads to end


@click.command("watch")
@roots_options
@click.option(
    "--poll",
    type=click.FloatRange(min=0.1),
    metavar="SECONDS",
    help="Poll at this interval: for file systems without change events (networks, containers).",
)
def watch_command(roots: tuple[str, ...], index_dir: Path | None, poll: float | None) -> None:
    """Keep the index up to date while files change, until Ctrl-C.

    A burst of changes, such as a save or a branch switch, triggers one update. Files the index ignores are ignored.
    `assay mcp` and `assay serve` watch by themselves.
    """
    repo = open_repository(roots, index_dir, find_repository)
    repo.check_servable()
    members = repo.members
    if poll is None:
        watcher()  # raises if watchfiles is missing
    keepers = [_make_keeper(label, member, poll) for label, member in members.items()]
    others = [threading.Thread(target=keeper.run, name="assay keeper", daemon=True) for keeper in keepers[1:]]
    _log(f"watching {', '.join(str(member.root) for member in members.values())}; Ctrl-C stops it")
    try:
        for thread in others:
            thread.start()
        keepers[0].run()
    finally:
        for keeper in keepers:
            keeper.stop()
        for thread in others:
            thread.join(_STOP_SECONDS)


def _make_keeper(label: str, repo: Repository, poll: float | None) -> Keeper:
    printer = _EventPrinter(f"[{label}] " if label else "")
    watching = TreeWatcher(repo.root, repo.home.folder, poll is None, poll or RESCAN_SECONDS, complain=printer.say)
    return Keeper(repo.root, repo.home.folder, watching, printer.tell)


class _EventPrinter:
    """Prints keeper events, prefixed with a label; repeated waiting and failure messages only once."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._last = ""
        self._first = True

    def tell(self, event: Event) -> None:
        if isinstance(event, RefreshProgress) and event.step.waiting:
            self._say_once("another assay process is indexing this repository; waiting for it")
        elif isinstance(event, RefreshFinished) and event.why:
            self._say_once(f"failed: {event.why}")
        elif isinstance(event, RefreshFinished) and event.report:
            self._last = ""
            if event.report.mode != "fresh" or self._first:
                self.say(_describe_report(event.report))
            self._first = False

    def say(self, text: str) -> None:
        _log(f"{self._prefix}{text}")

    def _say_once(self, text: str) -> None:
        if text != self._last:
            self.say(text)
        self._last = text


def _describe_report(report: Report) -> str:
    duration = f"in {report.seconds:.1f} s"
    problems = f"; {counted(len(report.problems), 'file')} could not be read" if report.problems else ""
    if report.mode == "fresh":
        return f"up to date: {counted(report.files, 'file')}"
    if report.mode == "full":
        return f"indexed {counted(report.files, 'file')} {duration}{problems}"
    return f"updated {duration}: {report.parsed} changed, {report.removed} removed, {report.resolved} resolved again{problems}"


def _log(text: str) -> None:
    echo(f"{time.strftime('%H:%M:%S')} {text}", err=True)


# assay ingest-scip


@click.command("ingest-scip")
@click.argument("file", type=click.Path(path_type=Path))
@single_repository_options
@format_option
def ingest_scip_command(file: Path, repo: Repository, form: str) -> None:
    """Merge FILE, a SCIP index (index.scip): exact edges from a compiler or language server.

    Create one with scip-python, scip-typescript, scip-java, rust-analyzer scip, …
    Its edges have confidence 1 and are kept until their source file changes.
    Exit code 1 when some of its documents are not in the index.
    """
    merged = repo.merge_scip(file)
    if form == "json":
        print_json(dataclasses.asdict(merged))
    else:
        echo(f"{merged.documents} documents, {merged.edges} edges, {merged.new_edges} of them new")
        if merged.missing:
            echo(f"{len(merged.missing)} documents are not in the index, such as {merged.missing[0]}", err=True)
    raise click.exceptions.Exit(1 if merged.missing else 0)
