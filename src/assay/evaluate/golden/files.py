"""The text of a file of a golden set, plain or gzipped."""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Iterator
from pathlib import Path

from assay.evaluate.golden.problems import Unreadable
from assay.system import inputs
from assay.system.files import TooLarge

_HEAD = 4096  # bytes enough to tell what a file holds


def read_text(path: Path) -> str:
    """The whole text, without a byte order mark, with `\\n` as the only line end."""
    with _as_problem(path):
        return inputs.read_text(path)


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines that are not blank, with their numbers; only one is held at a time."""
    with _as_problem(path):
        for number, line in inputs.read_lines(path):
            if line and not line.isspace():
                yield number, line


def read_head(path: Path) -> str:
    """The beginning of a file, as far as it is text; empty when it cannot be read."""
    try:
        with inputs.open_unpacked(path, inputs.LARGEST_STREAM) as file:
            head = file.read(_HEAD)
    except (OSError, EOFError, zlib.error):
        return ""
    return "" if b"\0" in head else head.decode("utf-8-sig", "replace").replace("\r\n", "\n").replace("\r", "\n")


def without_gz(path: Path) -> str:
    """The name of a file as it would be if it were not gzipped."""
    return path.name.removesuffix(".gz")


@contextlib.contextmanager
def _as_problem(path: Path) -> Iterator[None]:
    try:
        yield
    except inputs.BadInput as error:
        raise Unreadable(error.line, error.reason, path) from None
    except TooLarge as error:
        raise Unreadable(
            0, f"larger than {error.limit / 1e6:,.0f} MB of text, which is the most that is read", path
        ) from None
    except OSError as error:
        raise Unreadable(0, f"cannot be read ({error.strerror or error})", path) from None
