"""Where an index lives, and how a new generation replaces the old one in a single step.

    .assay/
      current                the name of the generation in use
      generations/000042/    immutable files: catalogue.db, edges.npy, …
      lock                   held by the one process that writes

A generation is written in a folder of its own and becomes current by one rename. A reader sees a whole generation or the one before;
a writer that is killed leaves only a folder that the next one sweeps away.

The folder may have come with a hostile repository. `check` accepts real folders and regular files of this user only, and comes before
everything that is read, written or removed here; temporaries have random names and are made exclusively.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import sqlite3
from collections.abc import Callable, Collection, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from assay.errors import AssayError
from assay.store.seal import seal
from assay.system import files as owned
from assay.system.database import was_interrupted
from assay.system.files import FOLDER, TooLarge, atomic_write, open_regular, read_regular

SECTIONS = "sections.npz"  # of documents; beside the generations, as it changes at other times
LEARNED = "learned.db"  # what use has taught; beside the generations, and of none of them
KEEP = 2  # generations kept: the current one, and the last for readers that are just opening it

# numpy reports a disk that is full without a number
_CANNOT_WRITE = (None, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO)

_MOST_DIGITS = 18  # of a generation's name
_LEFT = re.compile(r"\..+\.[0-9a-f]{16}\.tmp")  # what a killed `atomic_write` leaves

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

    def __init__(self, folder: Path, given: bool = False) -> None:
        """The folder at a path; one that the user has `given` may be reached through links and belong to somebody else."""
        self.folder = folder
        self.generations = folder / "generations"
        self.pointer = folder / "current"
        self._given = given

    @classmethod
    def of(cls, root: Path, elsewhere: Path | str | None = None) -> Home:
        own = root / FOLDER
        if elsewhere is None or os.path.abspath(elsewhere) == os.path.abspath(own):
            return cls(own)
        place = Path(elsewhere).resolve()
        return cls(own) if place == own else cls(place, given=True)

    @property
    def owners(self) -> Collection[int] | None:
        """User ids whose files are accepted here."""
        return owned.owners(self.folder if self._given else None)

    def check(self) -> None:
        """Raise UnsafeFolder when a link, a file of another user or anything irregular is where the index is, or should be."""
        accepted = self.owners
        owned.check_folder(self.folder, accepted, self._given)
        owned.check_folder(self.generations, accepted)

    def refuse_tracked(self) -> None:
        """Raise UnsafeFolder when the index came with the repository. The user's own word counts more: a given folder may be tracked."""
        if not self._given:
            from assay.git import refuse_tracked

            refuse_tracked(self.folder)

    def named(self) -> str | None:
        """What the pointer says: the name of the generation in use, or None when there is no pointer."""
        try:
            name = read_regular(self.pointer, 64, follow=False).decode("ascii", "replace").strip()
        except OSError:
            return None
        except TooLarge:
            return "(garbled)"
        return name if name.isdecimal() and name.isascii() and len(name) < 20 else "(garbled)"

    def current(self) -> Path | None:
        """The generation in use, or None when there is none."""
        name = self.named()
        return self.generations / name if name and (self.generations / name).is_dir() else None

    def prepare(self) -> None:
        """Makes the folder; it ignores itself in git. Nothing is made where something irregular is in the way."""
        self.check()
        try:
            owned.make_folder(self.folder, self.owners, self._given)
            self.generations.mkdir(exist_ok=True)
        except OSError as error:
            raise cannot_write(self.folder, error) from None

    @contextlib.contextmanager
    def writing(self, waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
        """Holds the writer's lock; `waiting` is called once if another process has it. The lock dies with its process."""
        self.check()
        self.refuse_tracked()
        self.prepare()
        try:
            handle = open(self.folder / "lock", "a+b", opener=_open_lock)  # noqa: SIM115
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
        folder = self.generations / f".new-{os.getpid()}-{os.urandom(8).hex()}"
        try:
            folder.mkdir()
        except OSError as error:
            raise cannot_write(self.folder, error) from None
        try:
            yield folder
            self._publish(folder)
        except (OSError, sqlite3.OperationalError) as error:
            shutil.rmtree(folder, ignore_errors=True)
            if was_interrupted(error):  # by what the last generation holds
                raise
            if isinstance(error, sqlite3.OperationalError) or error.errno in _CANNOT_WRITE:
                raise cannot_write(self.folder, error) from None
            raise
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise

    def _publish(self, folder: Path) -> None:
        seal(folder)
        name = f"{max(self._numbered(), default=0) + 1:06d}"
        folder.rename(self.generations / name)
        with atomic_write(self.pointer) as file:
            file.write(f"{name}\n".encode("ascii"))

    def _numbered(self) -> dict[int, Path]:
        """The generations there are: real folders, by number."""
        with os.scandir(self.generations) as entries:
            real = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
        numbers = (name for name in real if name.isdecimal() and name.isascii() and len(name) <= _MOST_DIGITS)
        return {int(name): self.generations / name for name in numbers}

    def _sweep(self) -> None:
        """Removes what killed writers left, and generations nobody can be opening any more. What is a link is not there: see `check`."""
        current = self.current()
        numbered = [path for _, path in sorted(self._numbered().items())]
        old = [path for path in numbered if path != current][: max(0, len(numbered) - KEEP)]
        for path in [*old, *self.generations.glob(".new-*")]:
            shutil.rmtree(path, ignore_errors=True)
        with os.scandir(self.folder) as entries:
            left = [entry.path for entry in entries if _LEFT.fullmatch(entry.name)]
        for name in left:
            with contextlib.suppress(OSError):
                os.unlink(name)


def cannot_write(folder: Path, error: OSError | sqlite3.OperationalError) -> AssayError:
    return AssayError(
        f"{folder}: cannot write the index ({getattr(error, 'strerror', None) or error}). The previous index, if any, is untouched. "
        "Free some space or give another place with --index-dir DIR."
    )


def _open_lock(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o666)


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


# Reading a file of the tree the way it is indexed: opened safely, decoded to UTF-8, recognised by its content.

RACY_SECONDS = 2  # a file changed this shortly before it was indexed may have changed again within the same timestamp


class Decoded(NamedTuple):
    """A file's text as UTF-8 bytes; `note` says how it was converted, `problem` why there is none."""

    data: bytes
    note: str = ""
    problem: str = ""


def content_hash(data: bytes) -> bytes:
    return blake2b(data, digest_size=16).digest()


def surely_same(known: tuple[int, int], found: tuple[int, int], indexed_at: int) -> bool:
    """Whether (size, mtime) alone prove that a file is as it was indexed; times in nanoseconds."""
    return known == found and found[1] < indexed_at - RACY_SECONDS * 10**9


def read_bytes(root: Path, path: str, limit: int) -> bytes:
    """At most `limit` bytes of a regular file: never through a symlink, and never waiting for the other end of a pipe."""
    with open_regular(root / path) as handle:
        return handle.read(limit)


def decode(data: bytes) -> Decoded:
    """UTF-8 without its mark; UTF-16 and Latin-1 are converted, binary data is a problem."""
    note = ""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        try:
            data, note = data.decode("utf-16").encode(), "UTF-16, converted"
        except UnicodeError:
            return Decoded(b"", problem="begins like UTF-16 but is not valid UTF-16")
    elif data[:3] == b"\xef\xbb\xbf":
        data = data[3:]
    if b"\0" in data:
        return Decoded(b"", problem="contains NUL bytes: binary, or text in an unknown encoding")
    try:
        data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        data, note = data.decode("latin-1").encode(), f"invalid UTF-8 at line {line}, read as Latin-1"
    return Decoded(data, note)
