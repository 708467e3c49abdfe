"""The `assay` command line. Command modules are imported only when they run, so that `--help` is fast."""

from __future__ import annotations

import gc
import importlib
import os
import sys
import warnings
from typing import Any

import click

from assay import __version__
from assay.errors import AssayError

# command → (module, one line of help); the module defines `COMMAND_command`
COMMANDS = {
    "index": ("assay.cli.index", "Build or update the index of a repository."),
    "status": ("assay.cli.index", "Show index statistics, the share of resolved calls, and freshness."),
    "context": ("assay.cli.context", "Rank the symbols a task needs and pack them into a token budget."),
    "search": ("assay.cli.search", "Search passages of documents and definitions of code, with locations to cite."),
    "ask": ("assay.cli.ask", "Answer a question from documents and code with citations, or refuse."),
    "why": ("assay.cli.symbols", "Explain the rank of a symbol for a task, or the step that dropped it."),
    "symbols": ("assay.cli.symbols", "List symbols by name or pattern."),
    "impact": ("assay.cli.symbols", "List the transitive callers of a symbol: what a change could break."),
    "graph": ("assay.cli.symbols", "Draw what is around a symbol, as Mermaid, Graphviz or JSON."),
    "owners": ("assay.cli.symbols", "Name the owners, authors and last change of a file or a symbol."),
    "tests": ("assay.cli.symbols", "List the tests that reach the given files, or the files of git diff."),
    "feedback": ("assay.cli.feedback", "Record which symbols were useful or not, and show what was learned."),
    "enrich": ("assay.cli.enrich", "Add compiler-exact edges from installed SCIP indexers and language servers."),
    "publish": ("assay.cli.share", "Publish the index to a shared folder or object store."),
    "pull": ("assay.cli.share", "Get a published index instead of building one."),
    "ingest-scip": ("assay.cli.index", "Merge a SCIP index: exact edges from a compiler or language server."),
    "ingest-otlp": ("assay.cli.traces", "Add traces of running services: who calls whom in production."),
    "watch": ("assay.cli.index", "Keep the index up to date while files change."),
    "mcp": ("assay.cli.serve", "Serve agents over the Model Context Protocol."),
    "token": ("assay.cli.serve", "Create, list and revoke personal tokens of a server."),
    "repositories": ("assay.cli.serve", "Register repositories with a server: add, remove, list."),
    "init": ("assay.cli.serve", "Add assay to the configuration of agents and editors."),
    "trust": (
        "assay.cli.config",
        "Trust or revoke settings with effects outside the repository: servers, keys, folders.",
    ),
    "config": ("assay.cli.config", "Show every setting with its value and origin; config check validates."),
    "serve": ("assay.cli.serve", "Serve search, explanations, runs and sweeps as web pages and an HTTP API."),
    "store": ("assay.cli.store", "Set up and maintain the store of a team: init, migrate, copy, check, prune."),
    "eval": ("assay.cli.evaluation", "Evaluate a retriever, ours or yours: golden sets, runs, comparisons, gates."),
}


def _set_color(ctx: click.Context, _option: click.Parameter, choice: str | None) -> None:
    """Decide on colour for all output of a command; without --color, its group has decided."""
    from assay.cli.common import use_color

    if choice:
        ctx.color = use_color(choice, os.environ)


def color_option(default: str | None = None) -> click.Option:
    return click.Option(
        ["--color"],
        type=click.Choice(["auto", "always", "never"]),
        default=default,
        expose_value=False,
        callback=_set_color,
        help="Colour: auto (in a terminal; obeys NO_COLOR, FORCE_COLOR, TERM=dumb), always or never.",
    )


def _with_color(command: click.Command) -> click.Command:
    """Add --color to a command and to those of a group, so that it may stand anywhere."""
    if not any(parameter.name == "color" for parameter in command.params):
        command.params.append(color_option())
    if isinstance(command, click.Group):
        for nested in command.commands.values():
            _with_color(nested)
    return command


class LazyGroup(click.Group):
    """Click group with a static table of commands: name → (module, one-line help)."""

    def __init__(self, *arguments: Any, commands_table: dict[str, tuple[str, str]], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.table = commands_table

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.table:
            return None
        module = importlib.import_module(self.table[cmd_name][0])
        command: click.Command = getattr(module, f"{cmd_name.replace('-', '_')}_command")
        return _with_color(command)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in self.table.items()])

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; an interrupt becomes Abort, a closed output pipe (`| head`) exit code 0."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise click.exceptions.Abort from None
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # discards buffered output at exit
            raise click.exceptions.Exit(0) from None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0] if args else ""
        if name not in self.table and not name.startswith("-"):
            from assay.text.suggest import did_you_mean

            ctx.fail(f"No such command '{name}'.{did_you_mean(name, self.table)}")
        return super().resolve_command(ctx, args)


@click.group(
    cls=LazyGroup,
    commands_table=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"]},
    params=[color_option("auto")],
)
@click.version_option(__version__, prog_name="assay")
def cli() -> None:
    """Find the code and documents a task needs, and measure retrieval quality.

    Everything is local: an index in .assay/ at the root of the repository, no key, no download.
    Exit codes: 0 success, 1 completed with a negative result or problems, 2 could not run.
    """


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    from assay.cli.common import echo

    echo(f"assay: warning: {message}", err=True)


def main() -> None:
    """Run the command line: expected errors become one line and an exit code, warnings one line."""
    warnings.showwarning = _show_warning
    gc.set_threshold(100_000)  # imports and indexes make no garbage: collecting it takes a tenth of a question
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # starting its threads costs 20 ms per command
    try:
        sys.exit(cli.main(standalone_mode=False))
    except Exception as error:
        sys.exit(_report_error(error))


def _report_error(error: Exception) -> int:
    """Print an expected error as one line and return the exit code; re-raise unexpected ones."""
    import sqlite3

    from assay.cli.common import echo, show_usage_error

    code = 2
    if isinstance(error, AssayError):
        echo(f"assay: {error}", err=True)
        code = error.exit_code
    elif isinstance(error, click.exceptions.Abort):
        echo("assay: interrupted; completed work is kept", err=True)
        code = 130
    elif isinstance(error, click.ClickException):
        show_usage_error(error)
    elif isinstance(error, OSError):
        echo(f"assay: {error}", err=True)
    elif isinstance(error, sqlite3.DatabaseError):
        echo(f"assay: the index is damaged ({error}). Rebuild it with: assay index --rebuild", err=True)
    elif isinstance(error, UnicodeEncodeError):
        echo("assay: the command line is not valid UTF-8", err=True)
    else:
        raise error
    return code
