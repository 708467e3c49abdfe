"""`assay context`."""

from __future__ import annotations

import click

from assay.api import Repository
from assay.cli.common import echo_pack
from assay.cli.options import MultiValueCommand, profile_option, repository_options, session_option
from assay.errors import AssayError
from assay.pack.questions import COMMENT_BUDGET, REVIEW_BUDGET, Files, Question, Review, Task
from assay.pack.render import FORMS
from assay.store.caches import Answer, PackCache, key_of


@click.command("context", cls=MultiValueCommand, several=("--files",))
@click.argument("task", required=False, default="")
@click.option(
    "--files",
    multiple=True,
    metavar="FILE...",
    help="Pack the symbols of these files and their callers instead; ordered by a TASK if given.",
)
@click.option(
    "--pr",
    "base",
    is_flag=False,
    flag_value="",
    metavar="[BASE]",
    help="Pack context for a review of the changes since BASE, committed or not, instead. "
    "Default: the remote's default branch, else main or master, else the previous commit.",
)
@click.option(
    "--links",
    default="",
    metavar="URL",
    help="With --pr: base URL of links, such as https://github.com/OWNER/NAME/blob/COMMIT.",
)
@repository_options
@click.option(
    "-k", type=click.IntRange(min=1), help="Maximum number of items. Default: 50 for a TASK alone, else no limit."
)
@click.option(
    "--budget",
    type=click.IntRange(min=0),
    help=f"Maximum number of tokens. Default: 50000; {REVIEW_BUDGET} with --pr; {COMMENT_BUDGET} for a comment.",
)
@profile_option
@click.option(
    "--format",
    "form",
    type=click.Choice(list(FORMS)),
    show_default="text",
    help="Output format.",
)
@session_option
@click.option("--no-cache", is_flag=True, help="Neither read nor write the answer cache.")
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
    """Rank the symbols TASK needs and pack them into a token budget.

    All are named; signatures and bodies are added by value per token.

    Also for files (--files src/app.py src/cli.py) and for the review of a branch (--pr main --format comment).
    Exit code 1 when nothing was found or nothing changed.
    """
    _check_arguments(task, files, base)
    if links and base is None:
        raise AssayError("--links requires --pr")
    repo.look_ahead()
    settings = (repo, profile_name, form, k, budget)
    question: Question
    if base is not None:
        question = Review(*settings, base, links)
    elif files:
        question = Files(*settings, files, task)
    else:
        question = Task(*settings, task, session)
    # session boosts decay by the minute, so answers of a session are not cached
    answer = _compute_answer(question) if no_cache or session else _cached_answer(question)
    echo_pack(answer.text)
    raise click.exceptions.Exit(answer.code)


def _check_arguments(task: str, files: tuple[str, ...], base: str | None) -> None:
    if base is not None and (files or task.strip()):
        raise AssayError("--pr cannot be combined with a TASK or --files")
    if base is None and not files and not task.strip():
        raise AssayError(
            "what is the task? Say in words what you want to understand or change, or give --files or --pr"
        )


def _compute_answer(question: Question) -> Answer:
    context = question.answer()
    return Answer(context.render(), 0 if context.ranked else 1)


def _cached_answer(question: Question) -> Answer:
    """Return the cached answer to a question, or compute and cache it; any relevant change invalidates the cache."""
    index, state = question.repo.index, question.look.state
    if not state:
        return _compute_answer(question)
    cache = PackCache(index)
    try:
        key = key_of(index, state, question.key())
        answer = cache.get(key)
        if answer is None:
            answer = _compute_answer(question)
            cache.put(key, answer)
        return answer
    finally:
        cache.close()
