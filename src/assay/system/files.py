"""Bounded reads of regular files, and atomic writes that follow no link.

Everything assay reads may come from a hostile repository: a name can be a link to a device, a pipe that nobody writes to, or a file
that is larger than memory. `read_regular` reads none of these. `atomic_write` replaces a file in a single step through a temporary
file that did not exist before.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from assay.errors import AssayError


class TooLarge(AssayError):
    """A file holds more than the reader accepts."""

    def __init__(self, path: Path | str, limit: int) -> None:
        super().__init__(f"{path}: larger than {limit / 1e6:,.3g} MB, which is the most that is read")
        self.limit = limit


def read_regular(path: Path | str, limit: int, follow: bool = True) -> bytes:
    """Return a regular file's content; raise TooLarge above `limit` bytes and OSError for devices, pipes and folders.

    With `follow` off, a symbolic link as the last component is an error as well.
    """
    with open_regular(path, follow) as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise TooLarge(path, limit)
    return data


def open_regular(path: Path | str, follow: bool = False) -> IO[bytes]:
    """Open a regular file for reading without waiting for the other end of a pipe."""
    return open(path, "rb", opener=_follow if follow else _no_follow)


def _no_follow(path: str, flags: int) -> int:
    return _open(path, flags | getattr(os, "O_NOFOLLOW", 0))


def _follow(path: str, flags: int) -> int:
    return _open(path, flags)


def _open(path: str, flags: int) -> int:
    descriptor = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file", path)
    return descriptor


@contextlib.contextmanager
def atomic_write(path: Path, sync: bool = False) -> Iterator[IO[bytes]]:
    """Yield a file to write; it replaces `path` when the block ends without an error and vanishes otherwise.

    The temporary file has a random name and is created exclusively, so that a link planted in its place is never written through.
    A link at `path` itself is replaced, not followed. An existing file's mode is kept.
    """
    temporary = path.with_name(f".{path.name}.{os.urandom(8).hex()}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o666)
    try:
        with open(descriptor, "wb") as file:
            yield file
            file.flush()
            with contextlib.suppress(OSError, AttributeError):
                before = os.lstat(path)
                if stat.S_ISREG(before.st_mode):
                    os.fchmod(file.fileno(), stat.S_IMODE(before.st_mode))
            if sync:
                os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
