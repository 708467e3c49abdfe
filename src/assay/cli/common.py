"""Shared by all commands: the only functions that print, the progress bar, and the default root.

Repositories are untrusted: `echo` replaces control characters in names and texts and indents what follows a line break
in them, JSON output escapes them.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar, cast

import click

from assay.config.roots import root_around
from assay.core.progress import Progress, Report
from assay.system.programs import find_program, safe_path
from assay.text.display import counted, escaped_in_json, one_line, printable, shortened, wrapped

F = TypeVar("F", bound=Callable[..., Any])
Part = str | tuple[str, dict[str, Any]]  # text, optionally with arguments of `click.style`


class Size(NamedTuple):
    """Size of a terminal, in columns and lines."""

    width: int
    height: int


def format_option(function: F) -> F:
    return click.option(
        "--format",
        "form",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        help="Output format.",
    )(function)


def cluster_option(function: F) -> F:
    """Add --cluster; `assay.config.cluster.choose_cluster` reads it."""
    return click.option(
        "--cluster",
        metavar="ADDRESS",
        help="Run on Dask workers: local, local:N, tcp://HOST:PORT, tls://HOST:PORT, or none. "
        "Default: [cluster] of the user configuration.",
    )(function)


class StoreAddress(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.4
    """Parameter type: the address of a run store in PostgreSQL, as text, or the path of a run file."""

    name = "store"
    _file = click.Path(path_type=Path, dir_okay=False)

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Path | str:
        from assay.database.address import is_postgres

        is_text = isinstance(value, str) and is_postgres(value)
        return cast("Path | str", value if is_text else self._file.convert(value, parameter, context))


STORE = StoreAddress()


def find_root(path: Path | None) -> Path:
    """Return `path`, else the nearest folder with an index, the enclosing repository, or the current folder."""
    if path is not None:
        return path.resolve()
    return root_around(Path.cwd())


_FURTHER_LINE = re.compile(r"(?<=[^\n])(\n+)(?=\S)")


def echo(text: object = "", err: bool = False, nl: bool = True) -> None:
    """Print a message; terminal control and bidirectional formatting characters are replaced.

    Further lines are indented: a value from a repository may have line breaks, and must not pass for another message.
    """
    click.echo(_FURTHER_LINE.sub(r"\1  ", printable(str(text))), err=err, nl=nl)


def echo_lines(text: str, err: bool = False) -> None:
    """Print lines as they are, safe for a terminal: all are ours, or those that are not are marked."""
    click.echo(printable(text), err=err)


def echo_wrapped(text: object) -> None:
    """Print a message; in a terminal, longer lines are wrapped between words and indented."""
    if is_terminal():
        text = "\n".join(wrapped(str(text), shutil.get_terminal_size().columns))
    echo(text)


def echo_row(text: str) -> None:
    """Print a row of a list; in a terminal, a longer one is cut."""
    text = one_line(text)
    echo(shortened(text, shutil.get_terminal_size().columns) if is_terminal() else text)


def is_terminal() -> bool:
    """Return whether output goes to a terminal."""
    return sys.stdout is not None and sys.stdout.isatty()  # None: closed by the caller


def rows_that_fit() -> int:
    """Return the number of rows that a terminal shows below a command and above a message and the prompt."""
    return max(3, shutil.get_terminal_size().lines - 3)


def echo_styled(*parts: Part) -> None:
    """Print a line with styled parts."""
    click.echo(styled(*parts))


def styled(*parts: Part) -> str:
    """Return a line with styled parts, safe to print; `echo_text` removes the styles where there is no colour."""
    return "".join(
        printable(part) if isinstance(part, str) else click.style(printable(part[0]), **part[1]) for part in parts
    )


def echo_text(text: str) -> None:
    """Print text unchanged: that of `styled`, or of a pack, whose renderers sanitize it and count its tokens."""
    click.echo(text, nl=False)


def confirm(question: str, default: bool) -> bool:
    """Ask for confirmation on stderr."""
    return click.confirm(printable(question), default=default, err=True)


def print_json(value: object) -> None:
    """Print indented JSON; NaN becomes null."""
    import msgspec

    click.echo(escaped_in_json(msgspec.json.format(msgspec.json.encode(value), indent=2).decode()))


def show_usage_error(error: click.ClickException) -> None:
    """Print a click usage error, sanitized: an argument may be an untrusted file name."""
    message = io.StringIO()
    error.show(message)
    echo_lines(message.getvalue().rstrip("\n"), err=True)


def use_color(choice: str, environment: Mapping[str, str]) -> bool | None:
    """Return whether to print colour; None: only where output is a terminal.

    The choice of --color counts most, then NO_COLOR, then FORCE_COLOR and CLICOLOR_FORCE, then TERM=dumb.
    """
    if choice != "auto":
        return choice == "always"
    if environment.get("NO_COLOR"):
        return False
    if any(environment.get(name, "") not in ("", "0") for name in ("FORCE_COLOR", "CLICOLOR_FORCE")):
        return True
    return False if _is_dumb(environment) else None


def page(text: str) -> None:
    """Print a long text, as `echo_text` does, through the user's pager."""
    import signal
    import subprocess

    command = pager(os.environ)
    if not command:
        echo_text(text)
        return
    shown = text if click.get_current_context().color is not False else click.unstyle(text)
    # as git does: end if it fits the screen, pass colours on, leave the text on the screen
    environment = {"LESS": "FRX", **os.environ, "PATH": safe_path()}
    process = subprocess.Popen(command, stdin=subprocess.PIPE, env=environment)
    interrupt = signal.signal(signal.SIGINT, signal.SIG_IGN)  # meant for the pager
    try:
        process.communicate(shown.encode("utf-8", "replace"))  # which may end before it has read everything
    finally:
        signal.signal(signal.SIGINT, interrupt)


def pager(environment: Mapping[str, str]) -> list[str]:
    """Return the command of the user's pager, $PAGER or less; empty without one, and on a terminal it cannot control."""
    import shlex

    try:
        command = shlex.split(environment.get("PAGER", "less -FRX"))
    except ValueError:
        return []
    usable = command and command != ["cat"] and not _is_dumb(environment)
    program = find_program(command[0], environment.get("PATH")) if usable else None
    return [program, *command[1:]] if program else []


def _is_dumb(environment: Mapping[str, str]) -> bool:
    """Return whether the terminal understands no escape sequences."""
    return environment.get("TERM") == "dumb"


# Progress bar

_WIDTH = 30
_REDRAW_SECONDS = 0.1


def answering(report: Report) -> str:
    """Return in words that an index answers questions."""
    return f"ready for questions: {counted(report.files, 'file')} in {report.seconds:.1f} s"


class Bar(Progress):
    """Progress bar on stderr with stage, counts and remaining time; silent if stderr is not a terminal that can erase.

    As a context manager it erases itself at the end.
    """

    def __init__(self) -> None:
        self._is_terminal = sys.stderr.isatty() and not _is_dumb(os.environ)
        self._stage, self._total, self._done = "", 0, 0
        self._started = self._drawn = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def start(self, stage: str, total: int) -> None:
        self._stage, self._total, self._done = stage, total, 0
        self._started = time.monotonic()
        self._draw()

    def advance(self, count: int = 1) -> None:
        self._done += count
        if time.monotonic() - self._drawn > _REDRAW_SECONDS:
            self._draw()

    def waiting(self) -> None:
        print("another assay process is indexing this repository; waiting for it", file=sys.stderr)

    def answering(self, report: Report) -> None:
        if self._is_terminal:
            self.close()
            echo(f"{answering(report)}; calls and history follow", err=True)

    def close(self) -> None:
        if self._is_terminal:
            print("\r\033[K", end="", file=sys.stderr, flush=True)

    def _draw(self) -> None:
        if not self._is_terminal or not self._total:
            return
        self._drawn = time.monotonic()
        share = min(1.0, self._done / self._total)
        elapsed = self._drawn - self._started
        left = f" {elapsed / share * (1 - share):.0f}s left" if share > 0.05 else ""
        bar = "█" * round(_WIDTH * share) + "░" * (_WIDTH - round(_WIDTH * share))
        print(f"\r\033[K{self._stage:<10} {bar} {self._done}/{self._total}{left}", end="", file=sys.stderr, flush=True)
