"""`assay context`."""

from __future__ import annotations

import click

from assay.api import Repository
from assay.cli.common import echo_pack
from assay.cli.opening import repository_options
from assay.cli.options import SeveralValues, profile_option, session_option
from assay.errors import AssayError
from assay.pack.questions import COMMENT_BUDGET, REVIEW_BUDGET, Files, Question, Review, Task
from assay.pack.render import FORMS
from assay.store.caches import Answer, PackCache, key_of


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
@click.option(
    "--links",
    default="",
    metavar="URL",
    help="With --pr: link every place below this address, as in https://github.com/OWNER/NAME/blob/COMMIT.",
)
@repository_options
@click.option(
    "-k", type=click.IntRange(min=1), help="At most so many items. Default: 50 for a TASK alone, else no limit."
)
@click.option(
    "--budget",
    type=click.IntRange(min=0),
    help=f"At most so many tokens, whatever the format. Default: 50000, with --pr {REVIEW_BUDGET}, of a comment {COMMENT_BUDGET}.",
)
@profile_option
@click.option(
    "--format",
    "form",
    type=click.Choice(list(FORMS)),
    show_default="text",
    help="How to print the answer.",
)
@session_option
@click.option("--no-cache", is_flag=True, help="Neither use nor keep answers to the same question.")
def context_command(
    task: str,
    files: tuple[str, ...],
    base: str | None,
    links: str,
    repo: Repository,
    k: int | None,
    budget: int | None,
    profile_name: str | None,
    form: str | None,
    session: str,
    no_cache: bool,
) -> None:
    """The symbols that TASK needs, best first, in a budget of tokens: names of all, then signatures and bodies where a token buys most.

    Or around files (--files src/app.py src/cli.py), or for the review of a branch (--pr main --format comment).
    Exit code 1 when nothing was found or nothing changed.
    """
    _check(task, files, base)
    if links and base is None:
        raise AssayError("--links belongs to --pr: it is for a comment at a pull request")
    repo.look_ahead()
    settings = (repo, profile_name, form, k, budget)
    asked: Question
    if base is not None:
        asked = Review(*settings, base, links)
    elif files:
        asked = Files(*settings, files, task)
    else:
        asked = Task(*settings, task, session)
    # what a session was given fades by the minute: its answers are not kept
    answer = _answer(asked) if no_cache or session else _remembered(asked)
    echo_pack(answer.text)
    raise click.exceptions.Exit(answer.code)


def _check(task: str, files: tuple[str, ...], base: str | None) -> None:
    if base is not None and (files or task.strip()):
        raise AssayError("--pr asks about a diff: give it neither a TASK nor --files")
    if base is None and not files and not task.strip():
        raise AssayError(
            "what is the task? Say in words what you want to understand or change, or give --files or --pr"
        )


def _answer(asked: Question) -> Answer:
    context = asked.answer()
    return Answer(context.render(), 0 if context.ranked else 1)


def _remembered(asked: Question) -> Answer:
    """The answer to a question that was asked before, as long as nothing it depends on has changed."""
    index, state = asked.repo.index, asked.look.state
    if not state:
        return _answer(asked)
    cache = PackCache(index)
    try:
        key = key_of(index, state, asked.key())
        answer = cache.get(key)
        if answer is None:
            answer = _answer(asked)
            cache.put(key, answer)
        return answer
    finally:
        cache.close()
