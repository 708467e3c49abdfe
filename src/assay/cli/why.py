"""`assay why`."""

from __future__ import annotations

import click

from assay import json_answers
from assay.cli.common import echo, format_option, print_json
from assay.cli.opening import repository_options
from assay.cli.ranking import profile_option, session_option
from assay.repository import Repository
from assay.retrieve.explained import told


@click.command("why")
@click.argument("task")
@click.argument("symbol")
@click.option(
    "-k", type=click.IntRange(min=1), default=10, show_default=True, help="How many results count as the answer."
)
@profile_option
@session_option
@repository_options
@format_option
def command(
    task: str, symbol: str, k: int, profile_name: str | None, session: str, repo: Repository, form: str
) -> None:
    """Why SYMBOL stands where it stands in what `assay context TASK` answers: what each word, each factor and the graph added.

    For a symbol that is not among the first k, the step that lost it. If SYMBOL means several, each is explained.
    """
    found = repo.why(task, symbol, k, profile=profile_name, session=session)
    if form == "json":
        print_json(json_answers.why(task, repo.configuration.profile(profile_name).name, found))
        return
    for number, one in enumerate(found):
        if number:
            echo()
        for line in told(one):
            echo(line)
