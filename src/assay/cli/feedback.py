"""`assay feedback`: record explicit judgements and editor-hook usage, list and forget what was learned."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import click

from assay.api import Repository
from assay.cli.common import F, echo, format_option, print_json
from assay.cli.options import single_repository_options
from assay.core.items import Item
from assay.errors import AssayError
from assay.feedback import ItemFeedback, score, signal
from assay.rank.profile import Profile
from assay.store.layout import decode, read_bytes
from assay.text.display import counted

_MAX_WORDS = 5  # listed per symbol in text output
_MAX_BYTES = 10_000_000  # read of a used file or of stdin
_PLACE = re.compile(r"(?P<path>.+?)(?::(?P<first>\d{1,9})(?:-(?P<last>\d{1,9}))?)?")


@click.group("feedback")
def feedback_command() -> None:
    """Record which symbols were useful or not, and show what was learned.

    Feedback raises the rank of a symbol slightly in later answers, or lowers it by less. It expires when the symbol's
    text changes. It is stored in learned.db next to the index, or in the store of a team (`assay store`), which all
    clones of a repository share; evaluation (`assay eval`) never reads it.
    """


def _symbol_arguments(function: F) -> F:
    function = click.option(
        "--task", default="", help="Task they were (not) useful for; its words are learned as well."
    )(function)
    return click.argument("symbols", nargs=-1, required=True)(function)


@feedback_command.command("useful")
@_symbol_arguments
@single_repository_options
@format_option
def useful(symbols: tuple[str, ...], task: str, repo: Repository, form: str) -> None:
    """Mark SYMBOLS as useful: they rank higher from now on."""
    _judge(symbols, True, task, repo, form)


@feedback_command.command("not-useful")
@_symbol_arguments
@single_repository_options
@format_option
def not_useful(symbols: tuple[str, ...], task: str, repo: Repository, form: str) -> None:
    """Mark SYMBOLS as not useful: they rank slightly lower from now on."""
    _judge(symbols, False, task, repo, form)


@feedback_command.command("used")
@click.option("--session", required=True, metavar="NAME", help="Session name, as in context --session.")
@click.option(
    "--file", "place", metavar="PATH[:A-B]", help="File or lines that were written. Default: the text on stdin."
)
@single_repository_options
@format_option
def used(session: str, place: str | None, repo: Repository, form: str) -> None:
    """Record a file or text that was written: items last shown in the session and defined or named there were useful.

    For hooks of editors and agents; never report what was only read. Items shown but never used count as not useful at
    the session's next answer. Items whose own text changes are found without a report.
    """
    repo.index  # noqa: B018 (raises NoIndex before stdin is read)
    path, lines, text = _read_place(repo.root, place) if place is not None else ("", range(0), _read_stdin())
    with repo.feedback() as store:
        items = store.used(text, session, path, lines)
    if form == "json":
        print_json({"session": session, "used": [item.id for item in items]})
    elif items:
        echo(f"useful: {', '.join(item.id for item in items)}")
    else:
        echo(f"no item last shown in session '{session}' is named or defined there")


@feedback_command.command("list")
@single_repository_options
@format_option
def listing(repo: Repository, form: str) -> None:
    """List active feedback, most useful first."""
    profile = repo.configuration.profile()
    with repo.feedback(write=False) as store:
        rows, expired = store.active()
    rows.sort(key=lambda row: (-signal(row.useful, row.not_useful), -row.useful, row.item.id))
    if form == "json":
        print_json({"symbols": [_feedback_json(row, profile) for row in rows], "expired": expired})
        return
    if not rows:
        echo("no feedback yet; add some with: assay feedback useful SYMBOL --task TASK")
    for row in rows:
        _print_feedback(row, profile)
    if expired:
        echo(f"expired, because the code changed: {counted(expired, 'symbol')}")


@feedback_command.command("forget")
@click.argument("symbols", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Delete all feedback, even from a damaged file.")
@click.option("--team", "of_team", is_flag=True, help="With --all: also what a team shares, for everybody.")
@single_repository_options
@format_option
def forget(symbols: tuple[str, ...], everything: bool, of_team: bool, repo: Repository, form: str) -> None:
    """Delete the feedback on SYMBOLS, or all of it."""
    if everything == bool(symbols) or (of_team and not everything):
        raise click.UsageError("name the symbols to forget, or pass --all")
    if everything:
        forgotten = repo.forget_feedback(of_team)
    else:
        items = _resolve_symbols(repo, symbols)
        with repo.feedback() as store:
            forgotten = store.forget(items)
    if form == "json":
        print_json({"forgotten": forgotten})
    elif everything:
        echo("forgotten: everything that was learned")
    else:
        echo(f"forgotten: what was learned of {counted(forgotten, 'symbol')}")


def _judge(symbols: tuple[str, ...], is_useful: bool, task: str, repo: Repository, form: str) -> None:
    items = _resolve_symbols(repo, symbols)
    with repo.feedback() as store:
        store.judge(items, is_useful, task)
    if form == "json":
        print_json({"useful": is_useful, "task": task, "symbols": [item.id for item in items]})
    else:
        echo(f"{'useful' if is_useful else 'not useful'}: {', '.join(item.id for item in items)}")


def _resolve_symbols(repo: Repository, names: tuple[str, ...]) -> list[Item]:
    return list(dict.fromkeys(repo.one_symbol(name) for name in names))


def _read_place(root: Path, place: str) -> tuple[str, range, str]:
    """Parse PATH[:A-B]; return the path below the root, the line range and its text. Raises AssayError."""
    match = _PLACE.fullmatch(place)
    if match is None:
        raise AssayError("--file: expected PATH, PATH:12 or PATH:12-40")
    path = _relative_path(root, match["path"])
    first = int(match["first"] or 1)
    last = int(match["last"] or match["first"] or sys.maxsize)
    if not 1 <= first <= last:
        raise AssayError(f"--file {place}: lines start at 1, and the first must not exceed the last")
    try:
        text = decode(read_bytes(root, path, _MAX_BYTES)).data.decode()
    except (OSError, ValueError) as error:
        raise AssayError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})") from None
    return path, range(first, last + 1), "\n".join(text.split("\n")[first - 1 : last])


def _relative_path(root: Path, file: str) -> str:
    """Resolve a file relative to the root or the current folder to a path below the root. Raises AssayError."""
    named = root / file if (root / file).exists() else Path.cwd() / file
    try:
        return named.resolve().relative_to(root.resolve()).as_posix()
    except ValueError:
        raise AssayError(f"{file}: outside {root}") from None


def _read_stdin() -> str:
    if sys.stdin.isatty():
        raise click.UsageError("nothing to record: pass --file PATH[:A-B], or text on stdin")
    return sys.stdin.buffer.read(_MAX_BYTES).decode("utf-8", "replace")


def _feedback_json(row: ItemFeedback, profile: Profile) -> dict[str, object]:
    return {
        "id": row.item.id, "useful": row.useful, "not_useful": row.not_useful,
        "score": round(score(row.useful, row.not_useful), 4),
        "adjustment": round(profile.feedback_boost(signal(row.useful, row.not_useful)), 4), "words": row.words,
    }  # fmt: skip


def _print_feedback(row: ItemFeedback, profile: Profile) -> None:
    adjustment = profile.feedback_boost(signal(row.useful, row.not_useful))
    words = ", ".join(f"{word} {count}" for word, count in list(row.words.items())[:_MAX_WORDS])
    counts = f"{row.useful} useful, {row.not_useful} not" if row.useful or row.not_useful else "words only"
    echo(f"{adjustment:+.3f}  {row.item.id}  {counts}" + (f"  ({words})" if words else ""))
