"""Click group that imports a command only when it runs."""

from __future__ import annotations

import importlib
import os
from typing import Any

import click


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
        return command

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
            from assay.text.terms import nearest

            near = nearest(name, self.table, 1)
            hint = f" Did you mean '{near[0]}'?" if near else ""
            ctx.fail(f"No such command '{name}'.{hint}")
        return super().resolve_command(ctx, args)
