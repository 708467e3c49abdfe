"""Commands that search passages and answer questions: search, ask."""

from __future__ import annotations

from collections.abc import Iterator

import click

from assay.answer.reply import EXCERPT, FORMS, Reply, render_reply, sources
from assay.api import Repository, SearchFilters
from assay.cli.common import Bar, echo, echo_lines, format_option, print_json, styled
from assay.cli.options import Refresh, TextOrStdin, View, filter_options, question_options, screen_options
from assay.cli.screen import Line, answer_screen, search_screen
from assay.search.hits import SearchHit, SearchResults
from assay.serve import json_answers
from assay.text.display import counted, one_line, path_mark, printable

_MAX_COLUMNS = 160  # of a printed line


@click.command("search")
@click.argument("query", type=TextOrStdin("query"))
@question_options
@click.option(
    "-k",
    "-n",
    "k",
    type=click.IntRange(min=1),
    help="Maximum number of results. Default: 10, or k of [search] in assay.toml; in a terminal as many as fit.",
)
@filter_options
@click.option("--by", type=click.Choice(["hit", "file"]), default="hit", show_default=True, help="List hits, or files.")
@click.option("--explain", is_flag=True, help="Print what each score is made of.")
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
@screen_options()
def search_command(
    query: str,
    repo: Repository,
    refresh: Refresh,
    k: int | None,
    filters: SearchFilters,
    by: str,
    explain: bool,
    chunker: str | None,
    embedder: str | None,
    reranker: str | None,
    form: str,
    view: View,
) -> None:
    """Search documents and code for QUERY: passages, definitions and files in one list, with locations to cite.

    QUERY is words, "an exact phrase", /a regular expression/, -excluded, path:, lang: and kind: filters in any
    combination; the guide is docs/guides/query-language.md. Put -- before a QUERY that begins with a dash. The
    QUERY - is read from standard input.

    Exit code 1 when nothing was found.
    """
    fresh = refresh()
    settings = repo.configuration.search.but(chunker=chunker, embedder=embedder, reranker=reranker, k=k)
    with Bar() as bar:
        results = repo.search(
            query,
            settings.k,
            **filters,
            chunker=chunker,
            embedder=embedder,
            reranker=reranker,
            by_file=by == "file",
            progress=bar,
        )
    if form == "json":
        print_json(json_answers.search(query, settings, json_answers.index_state(repo, fresh), results, explain))
    elif not results:
        echo(f"nothing found among {repo.searched(chunker)}")
    else:
        lines = search_screen(results, view.screen, k) if view.screen and not explain else _snippets(results, explain)
        view.show("".join(f"{styled(*line)}\n" for line in lines))
    for note in results.notes if form != "json" else ():
        echo(note, err=True)
    raise click.exceptions.Exit(0 if results else 1)


def _snippets(results: SearchResults, explain: bool) -> Iterator[Line]:
    """Yield the lines of all results, some for each; query words and exact matches are highlighted in a terminal."""
    for number, result in enumerate(results):
        if number:
            yield ()
        title: Line = ("  ", (one_line(result.title), {"bold": True})) if result.title else ()
        yield ((one_line(f"{path_mark(result.path)}{result.place}"), {"fg": "cyan"}), *title)
        yield from (("    ", *line) for line in _snippet(result))
        if explain:
            yield ("    ", (_explained(result), {"dim": True}))


def _snippet(result: SearchHit) -> Iterator[Line]:
    """Yield the lines of a result: a number if it matches exactly, then the text in segments."""
    snippet = result.numbered_snippet()
    for number, line in snippet:
        segments = result.marked(_truncate(line))
        words: Line = tuple((text, {"fg": "yellow", "bold": True}) if found else text for text, found in segments)
        yield ((f"{number}: ", {"fg": "green"}), *words) if number else words
    if len(result.matches) > len(snippet):
        yield (f"and {counted(len(result.matches) - len(snippet), 'more matching line')}",)
    if result.also:
        yield (f"also in: {', '.join(result.also)}",)


_CONTRIBUTIONS = 6  # largest contributions that are printed


def _explained(result: SearchHit) -> str:
    """Return the score as a probability and the largest contributions of features to its log odds."""
    largest = sorted(result.contributions.items(), key=lambda pair: -abs(pair[1]))[:_CONTRIBUTIONS]
    parts = ", ".join(f"{amount:+.2f} {name}" for name, amount in largest)
    return f"score {result.score:.3f}" + (f": {parts}" if parts else "")


def _truncate(line: str) -> str:
    safe = one_line(line.rstrip())
    return safe if len(safe) <= _MAX_COLUMNS else safe[: _MAX_COLUMNS - 1] + "…"


# assay ask

ANSWERED, REFUSED, BROKEN = 0, 1, 2  # exit codes


@click.command("ask")
@click.argument("question", type=TextOrStdin("question"))
@question_options
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
    help="Answer from this confidence on; 0 refuses only when nothing was found. Default: [ask] of assay.toml.",
)
@click.option("--format", "form", type=click.Choice(FORMS), default="text", show_default=True, help="Output format.")
@screen_options()
def ask_command(
    question: str,
    repo: Repository,
    refresh: Refresh,
    filters: SearchFilters,
    model: str | None,
    threshold: float | None,
    form: str,
    view: View,
) -> None:
    """Answer QUESTION from documents and code with citations [#1], or refuse and report what was searched.

    The QUESTION - is read from standard input.
    Exit codes: 0 answered, 1 closest passages or not here, 2 could not run.
    """
    fresh = refresh()
    stream = _StreamPrinter(EXCERPT[form]) if form == "text" else None
    with Bar() as bar:
        reply = repo.ask(question, **filters, model=model, threshold=threshold, progress=bar, show=stream)
    if form == "json":
        print_json(json_answers.ask(reply, json_answers.index_state(repo, fresh)))
    else:
        _print_answer(reply, form, bool(stream and stream.anything), view)
    if reply.problem:
        echo(f"assay: {printable(reply.problem)}; the partial answer is above", err=True)
    raise click.exceptions.Exit(BROKEN if reply.problem else ANSWERED if reply.grounded else REFUSED)


class _StreamPrinter:
    """Streams model output to the terminal, with a mark before each line: it is not assay's own."""

    def __init__(self, mark: str) -> None:
        self.anything = False
        self._line_end = f"\n{mark}"

    def __call__(self, text: str) -> None:
        if text:
            echo(("" if self.anything else self._line_end[1:]) + text.replace("\n", self._line_end), nl=False)
            self.anything = True


def _print_answer(reply: Reply, form: str, streamed: bool, view: View) -> None:
    """Print the answer and its sources; after streaming, only what was not printed yet."""
    if not streamed and view.screen:
        lines = answer_screen(reply.notice, reply.quotation, sources(reply, form), view.screen)
        view.show("".join(f"{styled(*line)}\n" for line in lines))
        return
    if not streamed:
        view.show(f"{render_reply(reply, form)}\n")
        return
    remainder = sources(reply, form) if reply.grounded or reply.problem else reply.text
    echo_lines("\n" + ("\n" + remainder if remainder else ""))
