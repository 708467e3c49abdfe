"""`assay ingest-scip`."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import click

from assay.cli.common import echo, find_one, format_option, home_of, print_json, root_options
from assay.ingest.scip import merge


@click.command("ingest-scip")
@click.argument("file", type=click.Path(path_type=Path))
@root_options
@format_option
def command(file: Path, root: Path | None, index_dir: Path | None, form: str) -> None:
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
