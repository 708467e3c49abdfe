"""`assay search`."""

from __future__ import annotations

import click

from assay import json_answers
from assay.cli.common import format_option, print_json
from assay.cli.opening import repository_options
from assay.cli.progress import Bar
from assay.core.items import KINDS
from assay.errors import AssayError
from assay.repository import Repository
from assay.retrieve.found import Found

_WIDEST = 160  # characters of a line that is shown


@click.command("search")
@click.argument("query")
@repository_options
@click.option(
    "-k", type=click.IntRange(min=1), help="At most so many results. Default: 10, or k of [search] in assay.toml."
)
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
    "--since", metavar="WHEN", help="Only files changed since a date (2026-11-01) or a commit (v1.2), committed or not."
)
@click.option("--documents-only", is_flag=True, help="Only passages of documents.")
@click.option("--code-only", is_flag=True, help="Only definitions of code.")
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
    help="What reads the best once more: features, folder:PATH, rerank:URL#MODEL, or none. Default: none.",
)
@format_option
def command(
    query: str,
    repo: Repository,
    k: int | None,
    paths: tuple[str, ...],
    languages: tuple[str, ...],
    kinds: tuple[str, ...],
    since: str | None,
    documents_only: bool,
    code_only: bool,
    chunker: str | None,
    embedder: str | None,
    reranker: str | None,
    form: str,
) -> None:
    """Passages of documents and definitions of code that answer QUERY, best first, with the places to cite.

    Exit code 1 when nothing was found.
    """
    if documents_only and code_only:
        raise AssayError("--documents-only and --code-only leave nothing to search; give one of them")
    settings = repo.configuration.search.but(chunker=chunker, embedder=embedder, reranker=reranker, k=k)
    bar = Bar()
    try:
        found = repo.search(
            query,
            settings.k,
            paths=paths,
            languages=languages,
            kinds=kinds,
            since=since,
            documents=not code_only,
            code=not documents_only,
            chunker=chunker,
            embedder=embedder,
            reranker=reranker,
            progress=bar,
        )
    finally:
        bar.close()
    stale = repo.freshness().stale
    if form == "json":
        print_json(json_answers.search(query, settings, not stale, found))
    else:
        _print(found, repo, chunker)
        if stale:
            click.echo(f"{len(stale)} files changed since they were indexed; run: assay index", err=True)
    raise click.exceptions.Exit(0 if found else 1)


def _print(found: list[Found], repo: Repository, chunker: str | None) -> None:
    """One result after the other; words of the query stand out in a terminal."""
    if not found:
        click.echo(f"nothing found among {repo.searched(chunker)}")
    for number, one in enumerate(found):
        if number:
            click.echo()
        title = f"  {click.style(one.title, bold=True)}" if one.title else ""
        click.echo(click.style(one.place, fg="cyan") + title)
        for line in one.snippet():
            click.echo(
                "    "
                + "".join(
                    click.style(text, fg="yellow", bold=True) if hit else text for text, hit in one.marked(_shown(line))
                )
            )


def _shown(line: str) -> str:
    printable = "".join(sign if sign.isprintable() or sign == "\t" else "\ufffd" for sign in line.rstrip())
    return printable if len(printable) <= _WIDEST else printable[: _WIDEST - 1] + "…"
