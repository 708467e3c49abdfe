"""`assay watch`."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import click

from assay.cli.common import echo, find_repository, roots_options
from assay.cli.opening import check_servable, repository_at
from assay.ingest.report import Report
from assay.live.hints import ANYWAY, Watching, watcher
from assay.live.keeper import Ended, Event, Keeper, Went
from assay.repository import Repository
from assay.text.counting import counted

_PATIENCE = 5.0  # seconds for the others to end


@click.command("watch")
@roots_options
@click.option(
    "--poll",
    type=click.FloatRange(min=0.1),
    metavar="SECONDS",
    help="Look at the files in intervals: for file systems that tell of no changes (networks, containers).",
)
def command(roots: tuple[str, ...], index_dir: Path | None, poll: float | None) -> None:
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
