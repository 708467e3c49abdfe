"""`assay feedback`: what was useful and what was not, said by a person or noticed by an editor's hook."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import click

from assay.cli.common import F, echo, find_one, format_option, home_of, print_json, root_options
from assay.core.items import Item
from assay.core.packs import weighted
from assay.errors import AssayError
from assay.feedback import Known, forget_everything, learning
from assay.feedback.learning import score, signal
from assay.pack.source import WorkingTree
from assay.rank.symbols import require_one
from assay.store.index import Index
from assay.store.layout import Home, decode, read_bytes
from assay.text.display import counted

_WORDS = 5  # of a symbol, in the list for people
_LARGEST = 10_000_000  # bytes read of a file that was used
_PLACE = re.compile(r"(?P<path>.+?)(?::(?P<first>\d{1,9})(?:-(?P<last>\d{1,9}))?)?")


@click.group("feedback")
def feedback_command() -> None:
    """Say which symbols were useful and which were not, and see what was learned.

    What is learned moves a symbol up a little in later answers, or down by less. It holds for the code as it is: when a symbol's text changes,
    what was said of it no longer counts. It is kept in learned.db beside the index; measuring (`assay eval`) never looks at it.
    """


def _symbols_and_task(function: F) -> F:
    function = click.option(
        "--task", default="", help="What they were (not) useful for; its words are learned as well."
    )(function)
    return click.argument("symbols", nargs=-1, required=True)(function)


@feedback_command.command("useful")
@_symbols_and_task
@root_options
@format_option
def useful(symbols: tuple[str, ...], task: str, root: Path | None, index_dir: Path | None, form: str) -> None:
    """SYMBOLS were useful: they rank higher from now on."""
    _judge(symbols, True, task, root, index_dir, form)


@feedback_command.command("not-useful")
@_symbols_and_task
@root_options
@format_option
def not_useful(symbols: tuple[str, ...], task: str, root: Path | None, index_dir: Path | None, form: str) -> None:
    """SYMBOLS were not useful: they rank a little lower from now on."""
    _judge(symbols, False, task, root, index_dir, form)


@feedback_command.command("used")
@click.option(
    "--session", required=True, metavar="NAME", help="Whose reading or writing it was: as in context --session."
)
@click.option("--file", "place", metavar="PATH[:A-B]", help="What was read or written. Default: the text on stdin.")
@root_options
@format_option
def used(session: str, place: str | None, root: Path | None, index_dir: Path | None, form: str) -> None:
    """Something was read or written: what the session was given last and is named or defined there was useful.

    For hooks of editors and agents. What a session was given and never used counts as not useful when it is given the next answer.
    """
    index, home = _index(root, index_dir)
    path, lines, text = _read(index.root, place) if place is not None else ("", range(0), _standard_input())
    with learning(index, home, WorkingTree(index)) as told:
        found = told.used(text, session, path, lines)
    if form == "json":
        print_json({"session": session, "used": [item.id for item in found]})
    elif found:
        echo(f"useful: {', '.join(item.id for item in found)}")
    else:
        echo(f"nothing that session '{session}' was given last is named or defined there")


@feedback_command.command("list")
@root_options
@format_option
def listing(root: Path | None, index_dir: Path | None, form: str) -> None:
    """What was learned and counts now, most useful first."""
    index, home = _index(root, index_dir)
    with learning(index, home, WorkingTree(index), write=False) as told:
        rows, expired = told.known()
    rows.sort(key=lambda row: (-signal(row.useful, row.not_useful), -row.useful, row.item.id))
    if form == "json":
        print_json({"symbols": [_json(row) for row in rows], "expired": expired})
        return
    if not rows:
        echo("nothing was learned yet; say what helped with: assay feedback useful SYMBOL --task TASK")
    for row in rows:
        _print(row)
    if expired:
        echo(f"not counted, as the code changed since: {counted(expired, 'symbol')}")


@feedback_command.command("forget")
@click.argument("symbols", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Everything that was learned, also of a damaged file.")
@root_options
@format_option
def forget(symbols: tuple[str, ...], everything: bool, root: Path | None, index_dir: Path | None, form: str) -> None:
    """Forget what was learned of SYMBOLS, or everything."""
    if everything == bool(symbols):
        raise click.UsageError("name the symbols to forget, or give --all")
    if everything:
        forgotten = forget_everything(home_of(find_one(root), index_dir))
    else:
        index, home = _index(root, index_dir)
        items = _items(index, symbols)
        with learning(index, home, WorkingTree(index)) as told:
            forgotten = told.forget(items)
    if form == "json":
        print_json({"forgotten": forgotten})
    elif everything:
        echo("forgotten: everything that was learned")
    else:
        echo(f"forgotten: what was learned of {counted(forgotten, 'symbol')}")


def _index(root: Path | None, index_dir: Path | None) -> tuple[Index, Home]:
    where = find_one(root)
    home = home_of(where, index_dir)
    return Index.open(where, home), home


def _judge(
    symbols: tuple[str, ...], is_useful: bool, task: str, root: Path | None, index_dir: Path | None, form: str
) -> None:
    index, home = _index(root, index_dir)
    items = _items(index, symbols)
    with learning(index, home, WorkingTree(index)) as told:
        told.judge(items, is_useful, task)
    if form == "json":
        print_json({"useful": is_useful, "task": task, "symbols": [item.id for item in items]})
    else:
        echo(f"{'useful' if is_useful else 'not useful'}: {', '.join(item.id for item in items)}")


def _items(index: Index, names: tuple[str, ...]) -> list[Item]:
    return list(dict.fromkeys(require_one(index, name) for name in names))


def _read(root: Path, place: str) -> tuple[str, range, str]:
    """A place in a file: its path inside the root, its lines, and what they say."""
    match = _PLACE.fullmatch(place)
    if match is None:
        raise AssayError("--file: name a file, with lines if you like: PATH, PATH:12 or PATH:12-40")
    path = _inside(root, match["path"])
    first = int(match["first"] or 1)
    last = int(match["last"] or match["first"] or sys.maxsize)
    if not 1 <= first <= last:
        raise AssayError(f"--file {place}: lines are counted from 1, the first before the last")
    try:
        text = decode(read_bytes(root, path, _LARGEST)).data.decode()
    except (OSError, ValueError) as error:
        raise AssayError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})") from None
    return path, range(first, last + 1), "\n".join(text.split("\n")[first - 1 : last])


def _inside(root: Path, file: str) -> str:
    """A file somebody names, from the root or from the current folder, as a path inside the root."""
    named = root / file if (root / file).exists() else Path.cwd() / file
    try:
        return named.resolve().relative_to(root.resolve()).as_posix()
    except ValueError:
        raise AssayError(f"{file}: outside {root}") from None


def _standard_input() -> str:
    if sys.stdin.isatty():
        raise click.UsageError("say what was used: --file PATH[:A-B], or the text on stdin")
    return sys.stdin.buffer.read(_LARGEST).decode("utf-8", "replace")


def _json(row: Known) -> dict[str, object]:
    return {
        "id": row.item.id, "useful": row.useful, "not_useful": row.not_useful,
        "score": round(score(row.useful, row.not_useful), 4),
        "adjustment": round(weighted(signal(row.useful, row.not_useful)), 4), "words": row.words,
    }  # fmt: skip


def _print(row: Known) -> None:
    adjustment = weighted(signal(row.useful, row.not_useful))
    words = ", ".join(f"{word} {count}" for word, count in list(row.words.items())[:_WORDS])
    told = f"{row.useful} useful, {row.not_useful} not" if row.useful or row.not_useful else "words only"
    echo(f"{adjustment:+.3f}  {row.item.id}  {told}" + (f"  ({words})" if words else ""))
