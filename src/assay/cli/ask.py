"""`assay ask`."""

from __future__ import annotations

import click

from assay.answer.reply import EXCERPT, FORMS, Reply, render_reply, sources
from assay.api import Repository, SearchFilters
from assay.cli.common import Bar, echo, echo_lines, print_json, styled
from assay.cli.options import Refresh, TextOrStdin, View, filter_options, question_options, screen_options
from assay.cli.screen import answer_screen
from assay.serve import json_answers
from assay.text.display import printable

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
