"""`assay symbols`."""

from __future__ import annotations

import click

from assay import json_answers
from assay.cli.common import echo, format_option, print_json
from assay.cli.opening import repository_options
from assay.repository import Repository
from assay.retrieve.names import NoSuchSymbol
from assay.text.identifiers import nearest


@click.command("symbols")
@click.argument("pattern")
@repository_options
@click.option("-n", "--limit", type=click.IntRange(min=1), default=50, show_default=True, help="At most so many.")
@click.option("--kind", help="Only symbols of this kind: function, method, class, field, …")
@format_option
def command(pattern: str, repo: Repository, limit: int, kind: str | None, form: str) -> None:
    """List symbols that match PATTERN.

    PATTERN is a name (run, Flask.run, src/app.py::Flask.run), a pattern (*Handler, Flask.*) or part of a name.

    Exit code 1 when nothing matches; the nearest names are offered.
    """
    found = repo.symbols(pattern, kind=kind)
    if form == "json":
        print_json(json_answers.symbols(pattern, found, limit))
        raise click.exceptions.Exit(0 if found else 1)
    if not found:
        raise NoSuchSymbol(pattern, nearest(pattern.strip("*?"), repo.index.names()))
    for item in found[:limit]:
        echo(f"{item.path}:{item.start}  {item.kind} {item.symbol}  {item.signature}")
    if len(found) > limit:
        echo(f"… and {len(found) - limit} more; -n shows more", err=True)
