"""`assay status`."""

from __future__ import annotations

from pathlib import Path

import click

from assay import json_answers
from assay.cli.common import echo, format_option, print_json
from assay.cli.opening import repository_options
from assay.repository import Repository
from assay.retrieve.status import Status
from assay.text.counting import counted


@click.command("status")
@repository_options
@format_option
def command(repo: Repository, form: str) -> None:
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
            _print(member.status(), stale[label], member.root)
            for warning in member.look().found.warnings:
                echo(f"warning: {warning}", err=True)
            if member.ignored_settings:
                echo(f"ignored settings: {', '.join(member.ignored_settings)}; see: assay trust --show")
    raise click.exceptions.Exit(1 if any(stale.values()) else 0)


def _print(found: Status, stale: list[str], root: Path) -> None:
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
