"""`assay context`."""

from __future__ import annotations

from pathlib import Path

import click

from assay.cli.asked import Asked, Files, Review, Task
from assay.cli.common import find_root, home_of, root_options
from assay.cli.ranking import profile_option
from assay.cli.several import SeveralValues
from assay.errors import AssayError
from assay.ingest.freshness import freshness
from assay.retrieve.profile import profile
from assay.retrieve.render import FORMS
from assay.store.index import Index
from assay.store.pack_cache import Answer, PackCache, key_of


@click.command("context", cls=SeveralValues, several=("--files",))
@click.argument("task", required=False, default="")
@click.option(
    "--files",
    multiple=True,
    metavar="FILE...",
    help="Instead: the symbols of these files and who calls them. With a TASK too, its ranking decides their order.",
)
@click.option(
    "--pr",
    "base",
    is_flag=False,
    flag_value="",
    metavar="[BASE]",
    help="Instead: what a review needs of the changes since BASE, committed or not. "
    "Default: the remote's default branch, else main or master, else the commit before.",
)
@root_options
@click.option(
    "-k", type=click.IntRange(min=1), help="At most so many items. Default: 50 for a TASK alone, else no limit."
)
@click.option(
    "--budget",
    type=click.IntRange(min=0),
    help="At most so many tokens, whatever the format. Default: 50000, with --pr 8000.",
)
@profile_option
@click.option(
    "--format",
    "form",
    type=click.Choice(list(FORMS)),
    default="text",
    show_default=True,
    help="How to print the answer.",
)
@click.option("--no-cache", is_flag=True, help="Neither use nor keep answers to the same question.")
def command(
    task: str,
    files: tuple[str, ...],
    base: str | None,
    root: Path | None,
    index_dir: Path | None,
    k: int | None,
    budget: int | None,
    profile_name: str,
    form: str,
    no_cache: bool,
) -> None:
    """The symbols that TASK needs, best first, in a budget of tokens: names of all, then signatures and bodies where a token buys most.

    Or around files (--files src/app.py src/cli.py), or for the review of a branch (--pr main --format markdown).
    Exit code 1 when nothing was found or nothing changed.
    """
    where = find_root(root)
    _check(task, files, base)
    chosen = profile(profile_name)
    index = Index.open(where, home_of(where, index_dir))
    stale = freshness(where, index).stale
    asked: Asked
    if base is not None:
        asked = Review(index, chosen, stale, form, k, budget, base)
    elif files:
        asked = Files(index, chosen, stale, form, k, budget, task, files)
    else:
        asked = Task(index, chosen, stale, form, k, budget, task)
    answer = asked.answer() if no_cache else _remembered(asked)
    click.echo(answer.text, nl=False)
    raise click.exceptions.Exit(answer.code)


def _check(task: str, files: tuple[str, ...], base: str | None) -> None:
    if base is not None and (files or task.strip()):
        raise AssayError("--pr asks about a diff: give it neither a TASK nor --files")
    if base is None and not files and not task.strip():
        raise AssayError(
            "what is the task? Say in words what you want to understand or change, or give --files or --pr"
        )


def _remembered(asked: Asked) -> Answer:
    """The answer to a question that was asked before, as long as nothing it depends on has changed."""
    cache = PackCache(asked.index)
    try:
        key = key_of(asked.index, asked.stale, asked.question())
        answer = cache.get(key)
        if answer is None:
            answer = asked.answer()
            cache.put(key, answer)
        return answer
    finally:
        cache.close()
