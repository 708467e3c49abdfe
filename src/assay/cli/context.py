"""`assay context`."""

from __future__ import annotations

import click

from assay.cli.opening import repository_options
from assay.cli.ranking import profile_option
from assay.repository import Repository
from assay.retrieve.configuration import ContextSettings
from assay.retrieve.render import FORMS

_DEFAULTS = ContextSettings()


@click.command("context")
@click.argument("task")
@repository_options
@click.option("-k", type=click.IntRange(min=1), show_default=str(_DEFAULTS.k), help="At most so many items.")
@click.option(
    "--budget",
    type=click.IntRange(min=0),
    show_default=str(_DEFAULTS.budget),
    help="At most so many tokens, whatever the format.",
)
@profile_option
@click.option(
    "--format",
    "form",
    type=click.Choice(list(FORMS)),
    show_default=_DEFAULTS.format,
    help="How to print the answer.",
)
def command(
    task: str, repo: Repository, k: int | None, budget: int | None, profile_name: str | None, form: str | None
) -> None:
    """The symbols that TASK needs, best first, in a budget of tokens: names of all, then signatures and bodies where a token buys most.

    Options that are not given are as assay.toml says. Exit code 1 when nothing was found; the nearest names are offered.
    """
    answer = repo.context(task, budget=budget, k=k, profile=profile_name, format=form)
    click.echo(answer.render(), nl=False)
    raise click.exceptions.Exit(0 if answer.ranked else 1)
