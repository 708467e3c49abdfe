"""`assay eval convert`."""

from __future__ import annotations

from pathlib import Path

import click

from assay.cli.common import echo, format_option, print_json
from assay.evaluate.golden import FORMATS, convert


@click.command("convert")
@click.argument("source", type=click.Path(path_type=Path))
@click.argument("target", type=click.Path(path_type=Path))
@click.option("--to", "to", type=click.Choice(list(FORMATS)), required=True, help="The format to write.")
@click.option(
    "--from", "given", type=click.Choice(list(FORMATS)), help="The format of SOURCE, where it should not be detected."
)
@format_option
def command(source: Path, target: Path, to: str, given: str | None, form: str) -> None:
    """Write the golden set SOURCE to TARGET in another format, and say what that format cannot hold."""
    lost = convert(source, target, to, given)
    if form == "json":
        print_json({"source": str(source), "target": str(target), "format": to, "lost": lost})
        return
    echo(f"wrote {target} ({to})")
    for line in lost:
        echo(f"lost: {line}", err=True)
