"""`assay context`."""

from __future__ import annotations

from pathlib import Path

import click

from assay.cli.common import find_root, home_of, root_options
from assay.cli.ranking import profile_option
from assay.core.packs import Heading
from assay.errors import AssayError
from assay.ingest.freshness import freshness
from assay.retrieve.configuration import load
from assay.retrieve.engine import Engine
from assay.retrieve.pack import pack
from assay.retrieve.render import FORMS, render
from assay.retrieve.source import WorkingTree
from assay.store.index import Index
from assay.text.identifiers import nearest

_SUGGESTED = 5
_NAMED = 3  # stale files named in the heading


@click.command("context")
@click.argument("task")
@root_options
@click.option("-k", type=click.IntRange(min=1), default=50, show_default=True, help="At most so many items.")
@click.option(
    "--budget",
    type=click.IntRange(min=0),
    default=50_000,
    show_default=True,
    help="At most so many tokens, whatever the format.",
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
def command(
    task: str, root: Path | None, index_dir: Path | None, k: int, budget: int, profile_name: str | None, form: str
) -> None:
    """The symbols that TASK needs, best first, in a budget of tokens: names of all, then signatures and bodies where a token buys most.

    Exit code 1 when nothing was found; the nearest names are offered.
    """
    if not task.strip():
        raise AssayError("what is the task? Say in words what you want to understand or change")
    where = find_root(root)
    index = Index.open(where, home_of(where, index_dir))
    ranked = Engine(index, load(where).profile(profile_name)).ranked(task, k)
    made = pack(ranked, budget, WorkingTree(index), _heading(index, where, task, bool(ranked)), form)
    click.echo(render(made), nl=False)
    raise click.exceptions.Exit(0 if ranked else 1)


def _heading(index: Index, root: Path, task: str, found: bool) -> Heading:
    stale = freshness(root, index).stale
    names = ", ".join(stale[:_NAMED]) + (" …" if len(stale) > _NAMED else "")
    said = (
        f"{len(stale)} files changed since it was made ({names}); run: assay index"
        if stale
        else "fresh: nothing changed since"
    )
    if found:
        return Heading(task, not stale, said)
    searched = f"{len(index.names()):,} symbols of {len(index.files):,} files"
    return Heading(task, not stale, said, searched, tuple(nearest(task, index.names(), _SUGGESTED)))
