"""`assay search`."""

from __future__ import annotations

import click

from assay import json_answers
from assay.cli.common import Part, echo, echo_styled, format_option, print_json
from assay.cli.filters import FilterOptions, filter_options
from assay.cli.opening import repository_options
from assay.cli.progress import Bar
from assay.repository import Repository
from assay.retrieve.found import Found
from assay.text.printable import printable

_WIDEST = 160  # characters of a line that is shown


@click.command("search")
@click.argument("query")
@repository_options
@click.option(
    "-k", type=click.IntRange(min=1), help="At most so many results. Default: 10, or k of [search] in assay.toml."
)
@filter_options
@click.option(
    "--chunker",
    metavar="SPEC",
    help="How documents are divided: structure:512, tokens:1024:128. Another one is made when it is first used.",
)
@click.option(
    "--embedder",
    metavar="SPEC",
    help="What finds the same in other words: lsa, wordllama, folder:PATH, openai:URL#MODEL, or none. Default: lsa.",
)
@click.option(
    "--reranker",
    metavar="SPEC",
    help="What reads the best once more: features, folder:PATH, rerank:URL#MODEL, or none. Default: features.",
)
@format_option
def command(
    query: str,
    repo: Repository,
    k: int | None,
    filters: FilterOptions,
    chunker: str | None,
    embedder: str | None,
    reranker: str | None,
    form: str,
) -> None:
    """Passages of documents and definitions of code that answer QUERY, best first, with the places to cite.

    Exit code 1 when nothing was found.
    """
    settings = repo.configuration.search.but(chunker=chunker, embedder=embedder, reranker=reranker, k=k)
    bar = Bar()
    try:
        found = repo.search(
            query, settings.k, **filters, chunker=chunker, embedder=embedder, reranker=reranker, progress=bar
        )
    finally:
        bar.close()
    stale = repo.freshness().stale
    if form == "json":
        print_json(json_answers.search(query, settings, not stale, found))
    else:
        _print(found, repo, chunker)
        if stale:
            echo(f"{len(stale)} files changed since they were indexed; run: {repo.indexing}", err=True)
    raise click.exceptions.Exit(0 if found else 1)


def _print(found: list[Found], repo: Repository, chunker: str | None) -> None:
    """One result after the other; words of the query stand out in a terminal."""
    if not found:
        echo(f"nothing found among {repo.searched(chunker)}")
    for number, one in enumerate(found):
        if number:
            echo()
        title: list[Part] = ["  ", (one.title, {"bold": True})] if one.title else []
        echo_styled((one.place, {"fg": "cyan"}), *title)
        for line in one.snippet():
            marked = one.marked(_shown(line))
            echo_styled("    ", *((text, {"fg": "yellow", "bold": True}) if hit else text for text, hit in marked))


def _shown(line: str) -> str:
    safe = printable(line.rstrip())
    return safe if len(safe) <= _WIDEST else safe[: _WIDEST - 1] + "…"
