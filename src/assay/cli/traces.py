"""`assay ingest-otlp`: observed calls from trace files, standard input or a receiver."""

from __future__ import annotations

import dataclasses
import glob
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.api import Repository
from assay.cli.common import Bar, echo, format_option, print_json
from assay.cli.options import repository_options
from assay.errors import AssayError
from assay.text.display import counted

if TYPE_CHECKING:
    from assay.index.enrich.ingest import Ingested

_STDIN = "-"


@click.command("ingest-otlp")
@click.argument("files", nargs=-1, metavar="[FILE]...")
@click.option("--listen", metavar="[HOST:]PORT", help="Receive OTLP/HTTP on loopback instead, until Ctrl-C.")
@click.option("--forget", is_flag=True, help="Delete all observations, even from a damaged file.")
@repository_options
@format_option
def ingest_otlp_command(files: tuple[str, ...], listen: str | None, forget: bool, repo: Repository, form: str) -> None:
    """Add the traces in FILES to the observed calls: who calls whom in production, how often, how fast, when last.

    FILES are OTLP exports: JSON, JSON lines as the collector's file exporter writes them, protobuf; gzipped or not.
    A pattern such as 'traces/*.json.gz' names several, - is standard input. Reading a file again counts nothing twice.
    Only code locations, routes, rpc names, destinations and service names are read; nothing else of a span is kept.
    Exit code 1 when a file could not be read or had bad lines; the others are counted.
    """
    if (bool(files), listen is not None, forget).count(True) != 1:
        raise click.UsageError("name files (or -), or pass --listen PORT, or --forget")
    if forget:
        repo.forget_traces()
        print_json({"forgotten": True}) if form == "json" else echo("forgotten: all observed calls")
    elif listen is not None:
        _listen(repo, listen)
    else:
        results = _ingest(repo, list(_expanded(files)))
        _print_results(results, form)
        raise click.exceptions.Exit(1 if any(result.problems for result in results) else 0)


def _expanded(files: Sequence[str]) -> Iterator[str]:
    """Yield the files that names and patterns mean; a pattern without any stays as it is."""
    for file in files:
        matches = [] if Path(file).exists() else sorted(glob.glob(file, recursive=True))
        yield from (match for match in matches or [file] if match == _STDIN or not Path(match).is_dir())


def _ingest(repo: Repository, files: Sequence[str]) -> list[Ingested]:
    with Bar() as bar, repo.ingesting() as ingestion:
        results = list(ingestion.files([Path(file) for file in files if file != _STDIN], bar))
        if _STDIN in files:
            results.append(ingestion.stream(sys.stdin.buffer, "standard input"))
    return results


def _print_results(results: Sequence[Ingested], form: str) -> None:
    if form == "json":
        print_json({"files": [dataclasses.asdict(result) for result in results]})
        return
    for result in results:
        if result.is_repeated:
            echo(f"{result.name}: counted before")
        elif result.spans or not result.problems:
            before = f", {result.repeated:,} counted before" if result.repeated else ""
            echo(
                f"{result.name}: {counted(result.spans, 'span')} in {result.seconds:.1f} s, "
                f"{counted(result.calls, 'call')} of code in the index{before}"
            )
        for problem in result.problems:
            echo(f"problem: {problem}", err=True)
    if any(result.spans for result in results) and not any(result.calls for result in results):
        echo("no span names code of this repository: see docs/guides/traces.md on attributes", err=True)


def _listen(repo: Repository, address: str) -> None:
    raise AssayError("not yet")
