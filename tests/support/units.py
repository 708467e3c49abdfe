"""Functions that tests apply to units: workers import them, so they cannot stand in a test module."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from assay.errors import AssayError
from support.waiting import PATIENCE

_entered = 0


@contextmanager
def session(log: Path) -> Iterator[None]:
    global _entered
    _entered += 1
    _write(log, f"enter {os.getpid()}")
    yield
    _write(log, f"leave {os.getpid()}")


def _write(log: Path, line: str) -> None:
    with log.open("a") as file:
        file.write(f"{line}\n")


def times_entered() -> tuple[int, int]:
    """Return the process and how many sessions it has entered."""
    return os.getpid(), _entered


def square(number: int) -> int:
    if number < 0:
        raise AssayError(f"{number} is negative")
    return number * number


def log_start(folder: Path, number: int, seconds: float) -> int:
    """Note that a unit started, and take some time."""
    with (folder / "started").open("a") as file:
        file.write(f"{number} {os.getpid()}\n")
    time.sleep(seconds)
    return number


def hang_in_first_process(folder: Path, number: int) -> int:
    """Take forever in the process that comes first to the last unit, as on a machine that swaps."""
    if number == 5:
        try:
            (folder / "first").touch(exist_ok=False)
        except FileExistsError:
            return number
        time.sleep(2 * PATIENCE)
    return number


def die(number: int) -> int:
    """End the process like a lack of memory does."""
    if number == 3:
        os.kill(os.getpid(), 9)
    return number


def hog(number: int, size: int) -> int:
    """Use memory until the process is ended; the first unit only."""
    if number == 0:
        kept = bytearray(b"x") * size
        time.sleep(60)
        return len(kept)
    return number
