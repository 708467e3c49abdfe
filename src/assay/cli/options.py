"""Options that several commands share."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypedDict

import click

from assay.cli.common import F
from assay.core.items import KINDS
from assay.errors import AssayError
from assay.rank.profile import DEFAULT, PROFILES


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


# What the commands that rank have in common.


def profile_option(function: F) -> F:
    return click.option(
        "--profile",
        "profile_name",
        metavar="NAME",
        help=f"How to rank: {', '.join(PROFILES)}, or a profile of assay.toml. Default: {DEFAULT}.",
    )(function)


def session_option(function: F) -> F:
    return click.option(
        "--session",
        default="",
        metavar="NAME",
        help="Whose questions these are: what a session was given lately ranks higher in it.",
    )(function)


# What a search is confined to, for every command that searches.


class FilterOptions(TypedDict):
    """What `Repository.search` takes to confine a search."""

    paths: tuple[str, ...]
    languages: tuple[str, ...]
    kinds: tuple[str, ...]
    since: str | None
    documents: bool
    code: bool


def filter_options(function: Callable[..., None]) -> Callable[..., None]:
    """--path, --language, --kind, --since, --documents-only and --code-only. The command gets them as `filters`."""

    @click.option(
        "--path",
        "paths",
        multiple=True,
        metavar="GLOB",
        help="Only files that match: docs/, '*.md', src/app.py. May be repeated.",
    )
    @click.option(
        "--language",
        "languages",
        multiple=True,
        metavar="NAME",
        help="Only this language, or format of documents: python, markdown, pdf, … May be repeated.",
    )
    @click.option(
        "--kind",
        "kinds",
        multiple=True,
        type=click.Choice(["passage", *sorted(KINDS - {"file"})]),
        metavar="KIND",
        help="Only passages of documents (passage), or definitions of a kind: function, class, … May be repeated.",
    )
    @click.option(
        "--since",
        metavar="WHEN",
        help="Only files changed since a date (2026-11-01) or a commit (v1.2), committed or not.",
    )
    @click.option("--documents-only", is_flag=True, help="Only passages of documents.")
    @click.option("--code-only", is_flag=True, help="Only definitions of code.")
    @functools.wraps(function)
    def confined(
        *arguments: Any,
        paths: tuple[str, ...],
        languages: tuple[str, ...],
        kinds: tuple[str, ...],
        since: str | None,
        documents_only: bool,
        code_only: bool,
        **options: Any,
    ) -> None:
        if documents_only and code_only:
            raise AssayError("--documents-only and --code-only leave nothing to search; give one of them")
        filters = FilterOptions(
            paths=paths, languages=languages, kinds=kinds, since=since, documents=not code_only, code=not documents_only
        )
        function(*arguments, filters=filters, **options)

    return confined
