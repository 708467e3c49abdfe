"""Shared by all commands: finding the root, and the only functions that print.

Names, messages and texts come from repositories, which may be hostile. `echo` prints nothing that a terminal obeys, and JSON escapes it.
"""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from assay.config.roots import root_around, workspace_around
from assay.core.progress import Progress
from assay.errors import AssayError
from assay.store.layout import Home
from assay.text.display import escaped_in_json, printable

F = TypeVar("F", bound=Callable[..., Any])
Part = str | tuple[str, dict[str, Any]]  # of a line: text, perhaps with what `click.style` takes


_index_dir_option = click.option(
    "--index-dir",
    type=click.Path(path_type=Path),
    help="Keep the index in DIR instead of .assay/ at the root.",
    metavar="DIR",
)


def roots_options(function: F) -> F:
    """--root, as often as there are repositories, and --index-dir."""
    return click.option(
        "--root",
        "roots",
        multiple=True,
        metavar="DIR",
        help="The repository. Several, each perhaps LABEL=DIR, are asked as one. Default: the workspace or repository around the current folder.",
    )(_index_dir_option(function))


def root_options(function: F) -> F:
    """--root and --index-dir, for commands about one repository."""
    function = _index_dir_option(function)
    return click.option(
        "--root",
        type=click.Path(path_type=Path),
        help="The repository. Default: the one around the current folder.",
        metavar="DIR",
    )(function)


def format_option(function: F) -> F:
    return click.option(
        "--format",
        "form",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        help="How to print the answer.",
    )(function)


def find_root(given: Path | None) -> Path:
    """The folder given, else the nearest with an index, else the repository around the current folder, else that folder."""
    if given is not None:
        return given.resolve()
    return root_around(Path.cwd())


def find_one(given: Path | None) -> Path:
    """The same for what is about one repository: a workspace is none."""
    folder = workspace_around((given or Path.cwd()).resolve())
    if folder is not None and (given is None or folder == given.resolve()):
        from assay.api import Workspace

        Workspace.at(folder).only("this")
    return find_root(given)


def find_repository(given: Path | None) -> Path:
    """The same for what runs by itself: it never takes somebody's whole home, or disk, for a repository unless it is told to."""
    found = find_root(given)
    if given is None and found in (Path.home().resolve(), Path(found.anchor)) and not (found / ".git").exists():
        raise AssayError(f"{found} is not a repository: run it inside of one, or name it with --root DIR")
    return found


def home_of(root: Path, index_dir: Path | None) -> Home:
    return Home.of(root, index_dir)


def echo(text: object = "", err: bool = False, nl: bool = True) -> None:
    """Print text for people: what could move a cursor, change a colour or turn the direction of writing is replaced."""
    click.echo(printable(str(text)), err=err, nl=nl)


def echo_styled(*parts: Part) -> None:
    """Print a line of which some parts stand out in a terminal."""
    click.echo(
        "".join(
            printable(part) if isinstance(part, str) else click.style(printable(part[0]), **part[1]) for part in parts
        )
    )


def echo_pack(text: str) -> None:
    """Print a pack as it was rendered: every format has made it printable, and its tokens are counted."""
    click.echo(text, nl=False)


def confirm(question: str, default: bool) -> bool:
    """Ask a person at the terminal, on stderr."""
    return click.confirm(printable(question), default=default, err=True)


def print_json(value: object) -> None:
    """Indented JSON; a number that is none becomes null."""
    import msgspec

    click.echo(escaped_in_json(msgspec.json.format(msgspec.json.encode(value), indent=2).decode()))


def show_usage_error(error: click.ClickException) -> None:
    """Print what is wrong with the arguments as click words it; an argument may be a hostile file name."""
    told = io.StringIO()
    error.show(told)
    echo(told.getvalue(), err=True, nl=False)


# A progress bar on stderr: one line that rewrites itself, and nothing at all when stderr is not a terminal.

_WIDTH = 30
_EVERY = 0.1  # seconds between two drawings


class Bar(Progress):
    """Shows the stage, a bar, counts and the time left."""

    def __init__(self) -> None:
        self._shown = sys.stderr.isatty()
        self._stage, self._total, self._done = "", 0, 0
        self._started = self._drawn = 0.0

    def start(self, stage: str, total: int) -> None:
        self._stage, self._total, self._done = stage, total, 0
        self._started = time.monotonic()
        self._draw()

    def advance(self, count: int = 1) -> None:
        self._done += count
        if time.monotonic() - self._drawn > _EVERY:
            self._draw()

    def waiting(self) -> None:
        print("another assay is indexing this repository; waiting for it", file=sys.stderr)

    def close(self) -> None:
        if self._shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)

    def _draw(self) -> None:
        if not self._shown or not self._total:
            return
        self._drawn = time.monotonic()
        share = min(1.0, self._done / self._total)
        spent = self._drawn - self._started
        left = f" {spent / share * (1 - share):.0f}s left" if share > 0.05 else ""
        bar = "█" * round(_WIDTH * share) + "░" * (_WIDTH - round(_WIDTH * share))
        print(f"\r\033[K{self._stage:<10} {bar} {self._done}/{self._total}{left}", end="", file=sys.stderr, flush=True)
