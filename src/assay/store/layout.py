"""Where an index lives, and how a new generation replaces the old one in a single step.

    .assay/
      current                the name of the generation in use
      generations/000042/    immutable files: catalogue.db, edges.npy, …
      lock                   held by the one process that writes

A generation is written in a folder of its own and becomes current by one rename. A reader sees a whole generation or the one before;
a writer that is killed leaves only a folder that the next one sweeps away.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

from assay.errors import AssayError

FOLDER = ".assay"
SEAL = "seal.json"
SECTIONS = "sections.npz"  # of documents; beside the generations, as it changes at other times
LEARNED = "learned.db"  # what use has taught; beside the generations, and of none of them
KEEP = 2  # generations kept: the current one, and the last for readers that are just opening it

# numpy reports a disk that is full without a number
_CANNOT_WRITE = (None, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO)

_held: set[int] = set()  # descriptors of the locks this process has


def _let_go() -> None:
    """A lock is its process's own: a forked worker that outlives its parent must not go on holding it."""
    for descriptor in _held:
        os.close(descriptor)
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_let_go)


class Home:
    """The index folder of one root."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.generations = folder / "generations"
        self.pointer = folder / "current"

    @classmethod
    def of(cls, root: Path, elsewhere: Path | None = None) -> Home:
        return cls(elsewhere if elsewhere is not None else root / FOLDER)

    def named(self) -> str | None:
        """What the pointer says: the name of the generation in use, or None when there is no pointer."""
        try:
            name = self.pointer.read_text("ascii", "replace").strip()
        except OSError:
            return None
        return name if name.isdecimal() and name.isascii() and len(name) < 20 else "(garbled)"

    def current(self) -> Path | None:
        """The generation in use, or None when there is none."""
        name = self.named()
        return self.generations / name if name and (self.generations / name).is_dir() else None

    def prepare(self) -> None:
        """Makes the folder; it ignores itself in git."""
        try:
            self.generations.mkdir(parents=True, exist_ok=True)
            ignore = self.folder / ".gitignore"
            if not ignore.exists():
                ignore.write_text("*\n")
        except OSError as error:
            raise cannot_write(self.folder, error) from None

    @contextlib.contextmanager
    def writing(self, waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
        """Holds the writer's lock; `waiting` is called once if another process has it. The lock dies with its process."""
        self.prepare()
        try:
            handle = open(self.folder / "lock", "a+b")  # noqa: SIM115
        except OSError as error:
            raise cannot_write(self.folder, error) from None
        with handle:
            _held.add(handle.fileno())
            try:
                if not _lock(handle.fileno(), wait=False):
                    waiting()
                    _lock(handle.fileno(), wait=True)
                self._sweep()
                yield
            finally:
                _held.discard(handle.fileno())

    @contextlib.contextmanager
    def new_generation(self) -> Iterator[Path]:
        """A folder to fill; becomes current when the block ends without an error, vanishes otherwise."""
        folder = self.generations / f".new-{os.getpid()}"
        shutil.rmtree(folder, ignore_errors=True)
        try:
            folder.mkdir()
            yield folder
            self._publish(folder)
        except (OSError, sqlite3.OperationalError) as error:
            shutil.rmtree(folder, ignore_errors=True)
            if isinstance(error, sqlite3.OperationalError) or error.errno in _CANNOT_WRITE:
                raise cannot_write(self.folder, error) from None
            raise
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise

    def _publish(self, folder: Path) -> None:
        seal(folder)
        numbers = [int(p.name) for p in self.generations.iterdir() if p.name.isdigit()]
        name = f"{max(numbers, default=0) + 1:06d}"
        folder.rename(self.generations / name)
        fresh = self.folder / "current.new"
        fresh.write_text(name + "\n", "ascii")
        fresh.replace(self.pointer)

    def _sweep(self) -> None:
        """Removes what killed writers left, and generations nobody can be opening any more."""
        current = self.current()
        numbered = sorted((p for p in self.generations.iterdir() if p.name.isdigit()), key=lambda p: int(p.name))
        old = [p for p in numbered if p != current][: max(0, len(numbered) - KEEP)]
        for path in [*old, *self.generations.glob(".new-*")]:
            shutil.rmtree(path, ignore_errors=True)


def seal(folder: Path) -> None:
    """Notes size and time of every file of a finished generation."""
    (folder / SEAL).write_text(json.dumps(_stats(folder)))


def is_sealed(folder: Path) -> bool:
    """Whether the files are still as they were when the generation was finished."""
    try:
        return bool(json.loads((folder / SEAL).read_text()) == _stats(folder))
    except (OSError, ValueError):
        return False


def _stats(folder: Path) -> dict[str, list[int]]:
    stats = {entry.name: entry.stat() for entry in os.scandir(folder) if entry.name != SEAL}
    return {name: [info.st_size, info.st_mtime_ns] for name, info in sorted(stats.items())}


def cannot_write(folder: Path, error: OSError | sqlite3.OperationalError) -> AssayError:
    return AssayError(
        f"{folder}: cannot write the index ({getattr(error, 'strerror', None) or error}). The previous index, if any, is untouched. "
        "Free some space or give another place with --index-dir DIR."
    )


def _lock(descriptor: int, wait: bool) -> bool:
    """Takes the lock of an open file; False when another process has it and `wait` is off."""
    try:
        import fcntl
    except ImportError:
        return _lock_windows(descriptor, wait)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    return True


def _lock_windows(descriptor: int, wait: bool) -> bool:
    import importlib

    msvcrt = importlib.import_module("msvcrt")
    os.lseek(descriptor, 0, os.SEEK_SET)
    while True:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
            return True
        except OSError:
            if not wait:
                return False
