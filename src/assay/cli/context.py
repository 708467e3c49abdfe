"""`assay context`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import click

from assay.api import Repository
from assay.cli.common import Size, echo, styled
from assay.cli.options import (
    MultiValueCommand,
    Refresh,
    TextOrStdin,
    View,
    profile_option,
    question_options,
    screen_options,
    session_option,
)
from assay.errors import AssayError
from assay.pack.questions import COMMENT_BUDGET, REVIEW_BUDGET, Files, Question, Review, Task
from assay.pack.render import FORMS
from assay.store.caches import Answer, PackCache, key_of


@click.command("context", cls=MultiValueCommand, several=("--files",))
@click.argument("task", required=False, default="", type=TextOrStdin("task"))
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
@question_options
@click.option(
    "-k",
    "-n",
    "k",
    type=click.IntRange(min=1),
    help="Number of results. Default: in a terminal as many as fit, otherwise 50 for a TASK alone, else no limit.",
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
@screen_options("budget")
@click.option("--no-cache", is_flag=True, help="Neither read nor write the answer cache.")
def context_command(
    task: str,
    files: tuple[str, ...],
    base: str | None,
    links: str,
    repo: Repository,
    refresh: Refresh,
    k: int | None,
    budget: int | None,
    profile_name: str | None,
    form: str | None,
    session: str,
    view: View,
    no_cache: bool,
) -> None:
    """Rank the symbols TASK needs and pack them into a token budget.

    In a terminal, the best results on one screen. Otherwise, or with --full, --budget or --format, a pack: all results
    are named; signatures and bodies are added by value per token. The TASK - is read from standard input.

    Also for files (--files src/app.py src/cli.py) and for the review of a branch (--pr main --format comment).
    Exit code 1 when nothing was found or nothing changed.
    """
    _check_arguments(task, files, base)
    if links and base is None:
        raise AssayError("--links requires --pr")
    if base is not None or files:
        refresh.complete()
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
    answer = None if no_cache or session else _recall(question, refresh, view)
    if answer is None:
        _bring_up_to_date(question, refresh)
        answer = _screen(question, view.screen) if view.screen else _pack(question)
        if not (no_cache or session):
            _remember(question, refresh, view, answer)
    view.show(answer.text)
    raise click.exceptions.Exit(answer.code)


def _check_arguments(task: str, files: tuple[str, ...], base: str | None) -> None:
    if base is not None and (files or task.strip()):
        raise AssayError("--pr cannot be combined with a TASK or --files")
    if base is None and not files and not task.strip():
        raise AssayError(
            "what is the task? Say in words what you want to understand or change, or give --files or --pr"
        )


def _bring_up_to_date(question: Question, refresh: Refresh) -> None:
    """Update the index if that is quick. An answer says itself if its index is stale; print only why it stays so."""
    if not refresh.enabled or question.look.freshness.fresh:
        return
    stale = question.repo.update_if_quick(question.look)
    if stale and stale.obstacle:
        echo(stale, err=True)


def _pack(question: Question) -> Answer:
    context = question.answer()
    return Answer(context.render(), 0 if context.ranked else 1)


def _screen(question: Question, size: Size) -> Answer:
    from assay.cli.screen import MOST_RESULTS, context_screen  # reads markup

    ranked, heading = question.found()
    shown = ranked[: question.k or MOST_RESULTS]
    lines = context_screen(ranked, heading, question.repo.source, question.words, size, question.k)
    question.note_given([entry.item for entry in shown])
    return Answer("".join(f"{styled(*line)}\n" for line in lines), 0 if ranked else 1)


# The cache of answers


def _recall(question: Question, refresh: Refresh, view: View) -> Answer | None:
    """Return the cached answer to a question. Its key has the state of files and index, so they are not compared."""
    with contextlib.suppress(AssayError), _cache(question) as cache:  # a file may not be indexed yet
        return cache.get(_key(question, refresh, view)) if cache else None
    return None


def _remember(question: Question, refresh: Refresh, view: View, answer: Answer) -> None:
    with _cache(question) as cache:
        if cache:
            cache.put(_key(question, refresh, view), answer)


@contextlib.contextmanager
def _cache(question: Question) -> Iterator[PackCache | None]:
    """Open the cache; None while the index is incomplete, or a file too recent for its state to be known."""
    if not question.look.state or question.repo.pending:
        yield None
        return
    cache = PackCache(question.repo.index)
    try:
        yield cache
    finally:
        cache.close()


def _key(question: Question, refresh: Refresh, view: View) -> bytes:
    """Return the key of an answer. One that was given without an update is none where an update is allowed."""
    parts = [*question.key(), refresh.enabled, view.screen, *question.repo.feedback_state()]
    return key_of(question.repo.index, question.look.state, parts)
