"""What a search is confined to, for every command that searches."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypedDict

import click

from assay.core.items import KINDS
from assay.errors import AssayError


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
