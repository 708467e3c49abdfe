"""Commands that search passages and answer questions: search, ask."""

from __future__ import annotations

import click

from assay.answer.reply import FORMS, Reply, render_reply, sources
from assay.api import Repository, SearchFilters
from assay.cli.common import Bar, Part, echo, echo_styled, format_option, print_json
from assay.cli.options import filter_options, repository_options
from assay.search.search import SearchHit
from assay.serve import json_answers
from assay.text.display import printable

_MAX_COLUMNS = 160  # of a printed line


@click.command("search")
@click.argument("query")
@repository_options
@click.option(
    "-k", type=click.IntRange(min=1), help="Maximum number of results. Default: 10, or k of [search] in assay.toml."
)
@filter_options
@click.option(
    "--chunker",
    metavar="SPEC",
    help="Chunker of documents: structure:512, tokens:1024:128. Chunks are built on first use.",
)
@click.option(
    "--embedder",
    metavar="SPEC",
    help="Embedder: lsa, words, wordllama, folder:PATH, openai:URL#MODEL, or none. Default: lsa.",
)
@click.option(
    "--reranker",
    metavar="SPEC",
    help="Reranker: features, folder:PATH, rerank:URL#MODEL, or none. Default: features.",
)
@format_option
def search_command(
    query: str,
    repo: Repository,
    k: int | None,
    filters: SearchFilters,
    chunker: str | None,
    embedder: str | None,
    reranker: str | None,
    form: str,
) -> None:
    """Search passages of documents and definitions of code for QUERY, best first, with locations to cite.

    Exit code 1 when nothing was found.
    """
    settings = repo.configuration.search.but(chunker=chunker, embedder=embedder, reranker=reranker, k=k)
    with Bar() as bar:
        results = repo.search(
            query, settings.k, **filters, chunker=chunker, embedder=embedder, reranker=reranker, progress=bar
        )
    stale = repo.freshness().stale
    if form == "json":
        print_json(json_answers.search(query, settings, not stale, results))
    else:
        _print_results(results, repo, chunker)
        if stale:
            echo(f"{len(stale)} files changed since they were indexed; run: {repo.indexing}", err=True)
    raise click.exceptions.Exit(0 if results else 1)


def _print_results(results: list[SearchHit], repo: Repository, chunker: str | None) -> None:
    """Print the results; query words are highlighted in a terminal."""
    if not results:
        echo(f"nothing found among {repo.searched(chunker)}")
    for number, result in enumerate(results):
        if number:
            echo()
        title: list[Part] = ["  ", (result.title, {"bold": True})] if result.title else []
        echo_styled((result.place, {"fg": "cyan"}), *title)
        for line in result.snippet():
            segments = result.marked(_truncate(line))
            echo_styled(
                "    ", *((text, {"fg": "yellow", "bold": True}) if matched else text for text, matched in segments)
            )


def _truncate(line: str) -> str:
    safe = printable(line.rstrip())
    return safe if len(safe) <= _MAX_COLUMNS else safe[: _MAX_COLUMNS - 1] + "…"


# assay ask

ANSWERED, REFUSED, BROKEN = 0, 1, 2  # exit codes


@click.command("ask")
@click.argument("question")
@repository_options
@filter_options
@click.option(
    "--model",
    metavar="URL#NAME",
    help="Model that writes the answer, on an OpenAI-compatible server: http://127.0.0.1:8080/v1#NAME. "
    "Default: none; the answer consists of excerpts.",
)
@click.option(
    "--threshold",
    type=click.FloatRange(0, 1),
    help="Refuse below this confidence; 0 refuses only when nothing was found. Default: [ask] of assay.toml.",
)
@click.option("--format", "form", type=click.Choice(FORMS), default="text", show_default=True, help="Output format.")
def ask_command(
    question: str,
    repo: Repository,
    filters: SearchFilters,
    model: str | None,
    threshold: float | None,
    form: str,
) -> None:
    """Answer QUESTION from documents and code with citations [#1], or refuse and report what was searched.

    Exit codes: 0 answered, 1 refused, 2 could not run.
    """
    stream = _StreamPrinter() if form != "json" else None
    with Bar() as bar:
        reply = repo.ask(question, **filters, model=model, threshold=threshold, progress=bar, show=stream)
    stale = repo.freshness().stale
    if form == "json":
        print_json(json_answers.ask(reply, not stale))
    else:
        _print_answer(reply, form, bool(stream and stream.anything))
        if stale:
            echo(f"{len(stale)} files changed since they were indexed; run: {repo.indexing}", err=True)
    if reply.problem:
        echo(f"assay: {printable(reply.problem)}; the partial answer is above", err=True)
    raise click.exceptions.Exit(BROKEN if reply.problem else ANSWERED if reply.grounded else REFUSED)


class _StreamPrinter:
    """Streams model output to the terminal."""

    anything = False

    def __call__(self, text: str) -> None:
        self.anything = self.anything or bool(text)
        echo(text, nl=False)


def _print_answer(reply: Reply, form: str, streamed: bool) -> None:
    """Print the answer and its sources; after streaming, only what was not printed yet."""
    if not streamed:
        echo(render_reply(reply, form))
        return
    remainder = sources(reply, form) if reply.grounded or reply.problem else reply.text
    echo("\n" + ("\n" + remainder if remainder else ""))
