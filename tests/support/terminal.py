"""The real `assay` command in a pseudo terminal."""

from __future__ import annotations

import fcntl
import os
import re
import select
import struct
import subprocess
import termios
from collections.abc import Iterator, Mapping
from pathlib import Path

from support.command import COMMAND, ENVIRONMENT
from support.waiting import PATIENCE

STYLE = re.compile(r"\x1b\[[0-9;]*m")


def in_terminal(
    folder: Path,
    *arguments: str | Path,
    size: tuple[int, int] = (80, 24),
    typed: bytes = b"",
    environment: Mapping[str, str] = {},
) -> tuple[int, str]:
    """Run a command in a terminal of a size (columns, lines); return its exit code and everything it shows."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
    process = subprocess.Popen(
        [*COMMAND, *map(str, arguments)],
        cwd=folder,
        env={**ENVIRONMENT, "TERM": "xterm", **environment},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    os.write(ours, typed)
    shown = b"".join(read_terminal(ours))
    os.close(ours)
    return process.wait(PATIENCE), shown.decode("utf-8", "replace").replace("\r\n", "\n")


def read_terminal(terminal: int) -> Iterator[bytes]:
    """Yield what is shown, until all programs at the other end have closed it."""
    while select.select([terminal], [], [], PATIENCE)[0]:
        try:
            data = os.read(terminal, 4_096)
        except OSError:  # the other end was closed
            return
        if not data:
            return
        yield data


def without_progress(shown: str) -> str:
    """Return what stays on a terminal: a progress bar erases itself."""
    return re.sub(r"\r\x1b\[K[^\n]*?(?=\r\x1b\[K)", "", shown).replace("\r\x1b[K", "")
