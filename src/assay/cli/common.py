"""Shared by all commands: the only functions that print, the progress bar, and the default root.

Repositories are untrusted: `echo` replaces control characters in names and texts, JSON output escapes them.
"""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self, TypeVar

import click

from assay.config.roots import root_around
from assay.core.progress import Progress
from assay.text.display import escaped_in_json, printable

F = TypeVar("F", bound=Callable[..., Any])
Part = str | tuple[str, dict[str, Any]]  # text, optionally with arguments of `click.style`


def format_option(function: F) -> F:
    return click.option(
        "--format",
        "form",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        help="Output format.",
    )(function)


def find_root(path: Path | None) -> Path:
    """Return `path`, else the nearest folder with an index, the enclosing repository, or the current folder."""
    if path is not None:
        return path.resolve()
    return root_around(Path.cwd())


def echo(text: object = "", err: bool = False, nl: bool = True) -> None:
    """Print text; terminal control and bidirectional formatting characters are replaced."""
    click.echo(printable(str(text)), err=err, nl=nl)


def echo_styled(*parts: Part) -> None:
    """Print a line with styled parts."""
    click.echo(
        "".join(
            printable(part) if isinstance(part, str) else click.style(printable(part[0]), **part[1]) for part in parts
        )
    )


def echo_pack(text: str) -> None:
    """Print a rendered pack unchanged: the renderers sanitize it, and its tokens are counted."""
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
    echo(message.getvalue(), err=True, nl=False)


# Progress bar

_WIDTH = 30
_REDRAW_SECONDS = 0.1


class Bar(Progress):
    """Progress bar on stderr with stage, counts and remaining time; silent if stderr is not a terminal.

    As a context manager it erases itself at the end.
    """

    def __init__(self) -> None:
        self._is_terminal = sys.stderr.isatty()
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
