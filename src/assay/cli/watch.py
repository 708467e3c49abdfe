"""`assay watch`."""

from __future__ import annotations

import time
from pathlib import Path

import click

from assay.cli.common import find_repository, home_of, root_options
from assay.ingest.report import Report
from assay.ingest.walk import check_root
from assay.live.hints import ANYWAY, Watching, watcher
from assay.live.keeper import Ended, Event, Keeper, Went
from assay.text.counting import counted


@click.command("watch")
@root_options
@click.option(
    "--poll",
    type=click.FloatRange(min=0.1),
    metavar="SECONDS",
    help="Look at the files in intervals: for file systems that tell of no changes (networks, containers).",
)
def command(root: Path | None, index_dir: Path | None, poll: float | None) -> None:
    """Keep the index up to date while files change, until Ctrl-C.

    A burst of changes, be it a save or the switch of a branch, is one update of what changed. What the index ignores is ignored.
    `assay mcp` and `assay serve` do the same by themselves.
    """
    where = find_repository(root)
    check_root(where)
    if poll is None:
        watcher()  # says so if it cannot
    home = home_of(where, index_dir)
    watching = Watching(where, home.folder, poll is None, poll or ANYWAY, complain=_say)
    keeper = Keeper(where, home.folder, watching, _Telling().tell)
    _say(f"watching {where}; Ctrl-C ends it")
    try:
        keeper.run()
    finally:
        keeper.stop()


class _Telling:
    """Says what was done; that something is waited for, or went wrong, once and not every second."""

    def __init__(self) -> None:
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
                _say(_done(event.report))
            self._first = False

    def _once(self, text: str) -> None:
        if text != self._last:
            _say(text)
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
    click.echo(f"{time.strftime('%H:%M:%S')} {text}", err=True)
