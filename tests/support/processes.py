"""Processes of this machine, read from /proc so that no tool has to be installed."""

from __future__ import annotations

import contextlib
from pathlib import Path

_PROC = Path("/proc")


def children(pid: int) -> list[int]:
    """The processes that a process began."""
    found = []
    for told in _PROC.glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, parent, *_ = told.read_text().rpartition(")")[2].split()
            if int(parent) == pid and state != "Z":
                found.append(int(told.parent.name))
    return found


def is_alive(pid: int) -> bool:
    """True if a process exists and has not ended; one that nobody waited for has."""
    try:
        return (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def running(*words: str) -> list[int]:
    """The processes whose command line has all of these, one after the other."""
    wanted = "\0".join(words).encode()
    found = []
    for told in _PROC.glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if wanted in told.read_bytes():
                found.append(int(told.parent.name))
    return found
