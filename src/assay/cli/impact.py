"""`assay impact`."""

from __future__ import annotations

import click

from assay import json_answers
from assay.cli.common import echo, format_option, print_json
from assay.cli.opening import repository_options
from assay.repository import Repository


@click.command("impact")
@click.argument("symbol")
@repository_options
@click.option("--depth", type=click.IntRange(min=1), default=5, show_default=True, help="How many steps to follow.")
@click.option(
    "--min-confidence", type=click.FloatRange(0, 1), default=0.1, show_default=True, help="Leave out what is less sure."
)
@click.option("--all", "everything", is_flag=True, help="Follow types, fields and inheritance too, not only calls.")
@click.option("-n", "--limit", type=click.IntRange(min=1), default=100, show_default=True, help="At most so many.")
@format_option
def command(
    symbol: str,
    repo: Repository,
    depth: int,
    min_confidence: float,
    everything: bool,
    limit: int,
    form: str,
) -> None:
    """Who would notice if SYMBOL changed: its transitive callers, by depth and confidence.

    SYMBOL is a name as you would write it: run, Flask.run, or src/app.py::Flask.run. If several match, all are meant.
    """
    changed = repo.symbol(symbol)
    found = repo.impact(symbol, depth=depth, min_confidence=min_confidence, everything=everything)
    if form == "json":
        print_json(json_answers.impact(changed, found, limit))
        return
    for item in changed:
        echo(f"{item.kind} {item.symbol}  {item.path}:{item.start}")
    if not found:
        echo(f"nothing in {'this repository' if '' in repo.members else 'these repositories'} calls it")
    shown = 0
    for affected in found[:limit]:
        if affected.depth != shown:
            shown = affected.depth
            echo(f"\n{shown} step{'s' if shown > 1 else ''} away:")
        who, what = affected.item.symbol or "(file)", affected.through.rpartition("::")[2]
        echo(f"  {affected.confidence:4.2f}  {affected.item.path}:{affected.line}  {who}  {affected.edge} {what}")
    if len(found) > limit:
        echo(f"… and {len(found) - limit} more; -n shows more", err=True)
