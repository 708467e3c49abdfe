"""`assay ask`."""

from __future__ import annotations

import click

from assay import json_answers
from assay.answer.render import FORMS, rendered, sources
from assay.answer.reply import Reply
from assay.cli.common import echo, print_json
from assay.cli.filters import FilterOptions, filter_options
from assay.cli.opening import repository_options
from assay.cli.progress import Bar
from assay.repository import Repository
from assay.text.printable import printable

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
def command(
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
        _print(reply, form, bool(shown and shown.anything))
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


def _print(reply: Reply, form: str, streamed: bool) -> None:
    """The answer, then its sources; what was shown while it came is not said again."""
    if not streamed:
        echo(rendered(reply, form))
        return
    rest = sources(reply, form) if reply.grounded or reply.problem else reply.text
    echo("\n" + ("\n" + rest if rest else ""))
