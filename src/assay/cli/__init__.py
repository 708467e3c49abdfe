"""The `assay` command. Each command lives in a module of its own and is imported only when it runs, so that `--help` is instant."""

from __future__ import annotations

import os
import sys
import warnings

import click

from assay import __version__
from assay.cli.lazy import LazyGroup
from assay.errors import AssayError

# command → (module, one line of help); the module defines `COMMAND_command`
COMMANDS = {
    "index": ("assay.cli.index", "Bring the index of a repository up to date."),
    "status": ("assay.cli.index", "What is indexed, how well calls were resolved, and whether it is fresh."),
    "context": ("assay.cli.context", "The symbols a task needs, best first, packed into a budget of tokens."),
    "search": ("assay.cli.search", "Passages of documents and definitions of code for a query, with places to cite."),
    "ask": ("assay.cli.search", "An answer from the documents and the code, with citations, or a refusal."),
    "why": ("assay.cli.symbols", "Why a symbol stands where it stands for a task, or where it was lost."),
    "symbols": ("assay.cli.symbols", "List symbols by name or pattern."),
    "impact": ("assay.cli.symbols", "Who would notice if a symbol changed: its transitive callers."),
    "tests": ("assay.cli.symbols", "The tests that reach the given files, or what git diff shows."),
    "feedback": ("assay.cli.feedback", "Say which symbols were useful and which were not, and see what was learned."),
    "ingest-scip": ("assay.cli.index", "Merge a SCIP index: edges as exact as the compiler that made them."),
    "watch": ("assay.cli.index", "Keep the index up to date while files change."),
    "mcp": ("assay.cli.serve", "Serve agents over the Model Context Protocol."),
    "init": ("assay.cli.serve", "Tell agents and editors about assay: adds it to their configuration."),
    "trust": (
        "assay.cli.config",
        "Decide about the settings of a repository that reach out of it: servers, keys, folders.",
    ),
    "config": ("assay.cli.config", "Every setting, its value, and where it comes from; config check validates."),
    "serve": ("assay.cli.serve", "Search, explanations, runs and sweeps as local web pages and an HTTP API."),
    "eval": ("assay.cli.evaluation", "Measure a retriever, ours or yours: golden sets, runs, comparisons, gates."),
}


@click.group(cls=LazyGroup, commands_table=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="assay")
def cli() -> None:
    """Find the code and documents a task needs, and measure how well that was done.

    Everything is local: an index in .assay/ at the root of the repository, no key, no download.
    Exit codes: 0 done, 1 done but something is not as it should be, 2 could not run.
    """


def _warned(message: Warning | str, *_: object, **__: object) -> None:
    from assay.cli.common import echo

    echo(f"assay: warning: {message}", err=True)


def main() -> None:
    """The entry point: errors meant for people become one line and exit code 2, warnings one line."""
    warnings.showwarning = _warned
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # starting its threads costs every command that counts 20 ms
    try:
        sys.exit(cli.main(standalone_mode=False))
    except Exception as error:
        sys.exit(_explained(error))


def _explained(error: Exception) -> int:
    """Print what went wrong as a line and return the exit code; what nobody foresaw is raised again."""
    import sqlite3

    from assay.cli.common import echo, show_usage_error

    code = 2
    if isinstance(error, AssayError):
        echo(f"assay: {error}", err=True)
        code = error.exit_code
    elif isinstance(error, click.exceptions.Abort):
        echo("assay: interrupted; what was finished before is untouched", err=True)
        code = 130
    elif isinstance(error, click.ClickException):
        show_usage_error(error)
    elif isinstance(error, OSError):
        echo(f"assay: {error}", err=True)
    elif isinstance(error, sqlite3.DatabaseError):
        echo(f"assay: the index is damaged ({error}). Rebuild it with: assay index --rebuild", err=True)
    elif isinstance(error, UnicodeEncodeError):
        echo("assay: what was typed is not valid UTF-8", err=True)
    else:
        raise error
    return code
