"""Commands that search passages and answer questions: search, ask."""

from __future__ import annotations

import click

from assay.answer.reply import FORMS, Reply, rendered, sources
from assay.api import Repository
from assay.cli.common import Bar, Part, echo, echo_styled, format_option, print_json
from assay.cli.opening import repository_options
from assay.cli.options import FilterOptions, filter_options
from assay.search.search import Found
from assay.serve import json_answers
from assay.text.display import printable

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
def search_command(
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


# `assay ask`.

ANSWERED, REFUSED, BROKEN = 0, 1, 2  # exit codes


@click.command("ask")
@click.argument("question")
@repository_options
@filter_options
@click.option(
    "--model",
    metavar="URL#NAME",
    help="Who writes the answer: an OpenAI-compatible server, http://127.0.0.1:8080/v1#NAME. Default: nobody, it is made of excerpts.",
)
@click.option(
    "--threshold",
    type=click.FloatRange(0, 1),
    help="Refuse when less sure than this; 0 never refuses what it found something for. Default: [ask] of assay.toml.",
)
@click.option(
    "--format", "form", type=click.Choice(FORMS), default="text", show_default=True, help="How to print the answer."
)
def ask_command(
    question: str,
    repo: Repository,
    filters: FilterOptions,
    model: str | None,
    threshold: float | None,
    form: str,
) -> None:
    """An answer to QUESTION from the documents and the code, with citations [#1] that say where it stands; or a refusal that says what was searched.

    Exit codes: 0 answered, 1 refused, 2 could not.
    """
    bar = Bar()
    shown = _Shown() if form != "json" else None
    try:
        reply = repo.ask(question, **filters, model=model, threshold=threshold, progress=bar, show=shown)
    finally:
        bar.close()
    stale = repo.freshness().stale
    if form == "json":
        print_json(json_answers.ask(reply, not stale))
    else:
        _print_answer(reply, form, bool(shown and shown.anything))
        if stale:
            echo(f"{len(stale)} files changed since they were indexed; run: {repo.indexing}", err=True)
    if reply.problem:
        echo(f"assay: {printable(reply.problem)}; what came is above", err=True)
    raise click.exceptions.Exit(BROKEN if reply.problem else ANSWERED if reply.grounded else REFUSED)


class _Shown:
    """Shows what a model writes as it comes."""

    anything = False

    def __call__(self, text: str) -> None:
        self.anything = self.anything or bool(text)
        echo(text, nl=False)


def _print_answer(reply: Reply, form: str, streamed: bool) -> None:
    """The answer, then its sources; what was shown while it came is not said again."""
    if not streamed:
        echo(rendered(reply, form))
        return
    rest = sources(reply, form) if reply.grounded or reply.problem else reply.text
    echo("\n" + ("\n" + rest if rest else ""))
