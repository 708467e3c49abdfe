"""`assay search`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import click

from assay.api import Repository, SearchFilters
from assay.cli.common import Bar, Part, echo, format_option, print_json, styled
from assay.cli.options import Refresh, TextOrStdin, View, filter_options, question_options, screen_options
from assay.search.hits import SearchHit, SearchResults
from assay.text.display import counted, one_line, path_mark

Line = tuple[Part, ...]

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
        from assay.serve import json_answers

        print_json(json_answers.search(query, settings, json_answers.index_state(repo, fresh), results, explain))
    elif not results:
        echo(f"nothing found among {repo.searched(chunker)}")
    else:
        lines: Iterable[Line] = _snippets(results, explain)
        if view.screen and not explain:
            from assay.cli.screen import search_screen  # reads markup

            lines = search_screen(results, view.screen, k)
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
