"""`assay ingest-otlp`: observed calls from trace files, standard input or a receiver."""

from __future__ import annotations

import dataclasses
import glob
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.api import Repository
from assay.cli.common import Bar, echo, format_option, print_json
from assay.cli.options import repository_options
from assay.errors import AssayError, install
from assay.serve.access import Access, listen
from assay.serve.telemetry import PerMinute
from assay.text.display import counted

if TYPE_CHECKING:
    from assay.index.enrich.ingest import Ingested

_STDIN = "-"


@click.command("ingest-otlp")
@click.argument("files", nargs=-1, metavar="[FILE]...")
@click.option("--listen", "address", metavar="[HOST:]PORT", help="Receive OTLP/HTTP on loopback instead, until Ctrl-C.")
@click.option("--forget", is_flag=True, help="Delete all observations, even from a damaged file.")
@repository_options
@format_option
def ingest_otlp_command(files: tuple[str, ...], address: str | None, forget: bool, repo: Repository, form: str) -> None:
    """Add the traces in FILES to the observed calls: who calls whom in production, how often, how fast, when last.

    FILES are OTLP exports: JSON, JSON lines as the collector's file exporter writes them, protobuf; gzipped or not.
    A pattern such as 'traces/*.json.gz' names several, - is standard input. Reading a file again counts nothing twice.
    Only code locations, routes, rpc names, destinations and service names are read; nothing else of a span is kept.
    Exit code 1 when a file could not be read or had bad lines; the others are counted.
    """
    if (bool(files), address is not None, forget).count(True) != 1:
        raise click.UsageError("name files (or -), or pass --listen PORT, or --forget")
    if forget:
        repo.forget_traces()
        print_json({"forgotten": True}) if form == "json" else echo("forgotten: all observed calls")
    elif address is not None:
        _listen(repo, address)
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


# Receiving

_REPORT_SECONDS = 10.0  # between two lines about what was received
_PROBLEMS_PER_MINUTE = 30  # lines


def _listen(repo: Repository, address: str) -> None:
    """Receive traces until Ctrl-C."""
    try:
        from assay.serve.receiver import PATH, Receiver, run
    except ImportError as error:
        raise AssayError(f"assay ingest-otlp --listen needs {error.name}: {install('web')}") from None
    host, port = _address(address)
    access = Access(host)
    repo.index  # noqa: B018 (raises NoIndex before anything is received)
    totals = _Totals()
    with closing(listen(host, port)) as listening, closing(Receiver(repo, access, totals.add)) as receiver:
        url = f"http://{access.shown}:{listening.getsockname()[1]}"
        echo(f"receiving traces at {url}{PATH} (Ctrl-C stops it). Point an exporter at it:")
        echo(f"  OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf OTEL_EXPORTER_OTLP_ENDPOINT={url}")
        with suppress(KeyboardInterrupt):  # the way to stop it
            run(receiver, listening)
    totals.print("received")


def _address(text: str) -> tuple[str, int]:
    """Parse [HOST:]PORT; the host must be loopback."""
    host, _, port = text.rpartition(":")
    host = host.strip("[]") or "127.0.0.1"
    if not (port.isdecimal() and port.isascii() and int(port) < 65536):
        raise AssayError(f"--listen {text}: expected PORT or HOST:PORT, such as 4318")
    if host not in ("localhost", "127.0.0.1", "::1"):
        raise AssayError(f"--listen {text}: traces are received on this machine only: 127.0.0.1, ::1 or localhost")
    return host, int(port)


class _Totals:
    """Counts of a receiver, printed now and then."""

    def __init__(self) -> None:
        self._requests = self._spans = self._calls = 0
        self._printed = time.monotonic()
        self._problems = PerMinute(_PROBLEMS_PER_MINUTE)

    def add(self, ingested: Ingested) -> None:
        self._requests += 1
        self._spans += ingested.spans
        self._calls += ingested.calls
        for problem in ingested.problems[:1]:
            left_out = self._problems.admit()
            if left_out is not None:
                echo(f"problems left out in this minute: {left_out}" if left_out else f"problem: {problem}", err=True)
        if time.monotonic() - self._printed > _REPORT_SECONDS:
            self._printed = time.monotonic()
            self.print(time.strftime("%H:%M:%S"))

    def print(self, prefix: str) -> None:
        echo(
            f"{prefix}: {counted(self._spans, 'span')} in {counted(self._requests, 'request')}, "
            f"{counted(self._calls, 'call')} of code in the index"
        )
