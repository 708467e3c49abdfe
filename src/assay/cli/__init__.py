"""The `assay` command. Each command lives in a module of its own and is imported only when it runs, so that `--help` is instant."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

import click

from assay import __version__
from assay.errors import AssayError

# command → (module, one line of help); the module defines `command`
COMMANDS = {
    "index": ("assay.cli.index", "Bring the index of a repository up to date."),
    "status": ("assay.cli.status", "What is indexed, how well calls were resolved, and whether it is fresh."),
    "symbols": ("assay.cli.symbols", "List symbols by name or pattern."),
    "impact": ("assay.cli.impact", "Who would notice if a symbol changed: its transitive callers."),
    "tests": ("assay.cli.affected_tests", "The tests that reach the given files, or what git diff shows."),
    "ingest-scip": ("assay.cli.ingest_scip", "Merge a SCIP index: edges as exact as the compiler that made them."),
}


class _LazyGroup(click.Group):
    """Knows the names and help lines of all commands without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(COMMANDS[cmd_name][0]).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> Any:
        """Runs a command; being interrupted, and a reader of our output that stops reading (`| head`), are ordinary ends."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise click.exceptions.Abort from None
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is still buffered goes nowhere
            raise click.exceptions.Exit(0) from None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0] if args else ""
        if name not in COMMANDS and not name.startswith("-"):
            from assay.text.identifiers import nearest

            near = nearest(name, COMMANDS, 1)
            hint = f" Did you mean '{near[0]}'?" if near else ""
            ctx.fail(f"No such command '{name}'.{hint}")
        return super().resolve_command(ctx, args)


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="assay")
def cli() -> None:
    """Find the code and documents a task needs, and measure how well that was done.

    Everything is local: an index in .assay/ at the root of the repository, no key, no download.
    Exit codes: 0 done, 1 done but something is not as it should be, 2 could not run.
    """


def main() -> None:
    """The entry point: errors meant for people become one line and exit code 2."""
    try:
        sys.exit(cli.main(standalone_mode=False))
    except AssayError as error:
        click.echo(f"assay: {error}", err=True)
        sys.exit(error.exit_code)
    except click.exceptions.Abort:
        click.echo("assay: interrupted; the previous index, if any, is untouched", err=True)
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except Exception as error:
        import sqlite3

        if isinstance(error, OSError):
            click.echo(f"assay: {error}", err=True)
        elif isinstance(error, sqlite3.DatabaseError):
            click.echo(f"assay: the index is damaged ({error}). Rebuild it with: assay index --rebuild", err=True)
        else:
            raise
        sys.exit(2)
