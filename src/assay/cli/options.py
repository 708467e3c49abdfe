"""Options shared by commands: multiple values, ranking, search filters."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypedDict

import click

from assay.cli.common import F
from assay.core.items import KINDS
from assay.errors import AssayError
from assay.rank.profile import DEFAULT, PROFILES


class MultiValueCommand(click.Command):
    """Command whose `several` options (each with `multiple`) accept many values after one flag."""

    def __init__(self, *arguments: Any, several: Sequence[str] = (), **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._multi_value_options = several

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, list(self._expand_values(args)))

    def _expand_values(self, arguments: list[str]) -> Iterator[str]:
        """Yield the arguments with the option repeated before each of its values."""
        option = ""
        for position, argument in enumerate(arguments):
            if argument == "--":
                yield from arguments[position:]
                return
            if argument.startswith("-"):
                option = argument if argument in self._multi_value_options else ""
                next_argument = arguments[position + 1 : position + 2]
                if option and next_argument and not next_argument[0].startswith("-"):
                    continue
                yield argument
            else:
                yield from (option, argument) if option else (argument,)


# Ranking options


def profile_option(function: F) -> F:
    return click.option(
        "--profile",
        "profile_name",
        metavar="NAME",
        help=f"Ranking profile: {', '.join(PROFILES)}, or one defined in assay.toml. Default: {DEFAULT}.",
    )(function)


def session_option(function: F) -> F:
    return click.option(
        "--session",
        default="",
        metavar="NAME",
        help="Session name: items recently shown in a session rank higher in it.",
    )(function)


# Search filters


class FilterOptions(TypedDict):
    """Filter arguments of `Repository.search`."""

    paths: tuple[str, ...]
    languages: tuple[str, ...]
    kinds: tuple[str, ...]
    since: str | None
    documents: bool
    code: bool


def filter_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add --path, --language, --kind, --since, --documents-only and --code-only, passed as `filters`."""

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
        help="Only this language or document format: python, markdown, pdf, … May be repeated.",
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
    def with_filters(
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
            raise AssayError("--documents-only and --code-only exclude each other")
        filters = FilterOptions(
            paths=paths, languages=languages, kinds=kinds, since=since, documents=not code_only, code=not documents_only
        )
        function(*arguments, filters=filters, **options)

    return with_filters
