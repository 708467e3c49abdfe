"""Options that take all the values up to the next option: `--files A B C`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import click


class SeveralValues(click.Command):
    """A command some of whose options, each with `multiple`, are written once before several values."""

    def __init__(self, *arguments: Any, several: Sequence[str] = (), **known: Any) -> None:
        super().__init__(*arguments, **known)
        self._several = several

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, list(self._spelled_out(args)))

    def _spelled_out(self, arguments: list[str]) -> Iterator[str]:
        """The arguments with the option before each of its values."""
        option = ""
        for place, argument in enumerate(arguments):
            if argument == "--":
                yield from arguments[place:]
                return
            if argument.startswith("-"):
                option = argument if argument in self._several else ""
                follows = arguments[place + 1 : place + 2]
                if option and follows and not follows[0].startswith("-"):
                    continue
                yield argument
            else:
                yield from (option, argument) if option else (argument,)
