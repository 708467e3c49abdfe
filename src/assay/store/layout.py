"""Index folder layout, and how a new generation replaces the old one atomically.

    .assay/
      current                the name of the generation in use
      generations/000042/    immutable files: catalogue.db, edges.npy, …
      lock                   held by the one process that writes

A generation is written in its own folder and becomes current by one rename. Readers see either generation as a whole; a
killed writer leaves only a folder that the next one removes.

The folder may come with a hostile repository. `check` accepts only real folders and regular files of this user, and
precedes every read, write and removal here; temporary files have random names and are created exclusively.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import sqlite3
import time
from collections.abc import Callable, Collection, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from assay.errors import AssayError
from assay.store.seal import seal
from assay.system import files as owned
from assay.system.database import was_interrupted
from assay.system.files import FOLDER, TooLarge, atomic_write, open_regular, read_regular

SECTIONS = "sections.npz"  # of documents; outside the generations, as they change at other times
PROGRESS = "progress"  # of the process that completes the index
LEARNED = "learned.db"  # feedback; outside the generations and independent of them
KEEP = 2  # generations: the current one, and the previous for readers that are opening it

# numpy reports a full disk without an errno
_CANNOT_WRITE = (None, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO)

_DERIVING = "lock-derived"
_POLL_SECONDS = 0.1
_MAX_REASON = 1_000  # bytes of the recorded progress or failure
_MAX_DIGITS = 18  # of a generation's name
_LEFTOVER = re.compile(r"\..+\.[0-9a-f]{16}\.tmp")  # temporary file of a killed `atomic_write`

_lock_descriptors: set[int] = set()  # of locks held by this process


def _close_inherited_locks() -> None:
    """Close inherited lock descriptors: a forked worker that outlives its parent must not keep the lock."""
    for descriptor in _lock_descriptors:
        os.close(descriptor)
    _lock_descriptors.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_inherited_locks)


class Completion(NamedTuple):
    """State of the process that writes an index, or the failure of the last one."""

    running: bool
    share: float = 0.0
    process: int = 0  # 0 if unknown
    failure: str = ""


class Home:
    """The index folder of a root."""

    def __init__(self, folder: Path, given: bool = False) -> None:
        """Set up the folder; one `given` by the user may be reached through links and belong to another user."""
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
        """User ids whose files are accepted."""
        return owned.owners(self.folder if self._given else None)

    def check(self) -> None:
        """Raise UnsafeFolder if a link, a foreign file or anything irregular is in place of the index."""
        accepted = self.owners
        owned.check_folder(self.folder, accepted, self._given)
        owned.check_folder(self.generations, accepted)

    def refuse_tracked(self) -> None:
        """Raise UnsafeFolder if the index is tracked by git, unless the user named the folder."""
        if not self._given:
            from assay.git import refuse_tracked

            refuse_tracked(self.folder)

    def named(self) -> str | None:
        """Return the name of the current generation; None without a pointer file."""
        try:
            name = read_regular(self.pointer, 64, follow=False).decode("ascii", "replace").strip()
        except OSError:
            return None
        except TooLarge:
            return "(garbled)"
        return name if name.isdecimal() and name.isascii() and len(name) < 20 else "(garbled)"

    def current(self) -> Path | None:
        """Return the folder of the current generation, or None."""
        name = self.named()
        return self.generations / name if name and (self.generations / name).is_dir() else None

    def prepare(self) -> None:
        """Create the folder, ignored by git. Raises UnsafeFolder if something irregular is in the way."""
        self.check()
        try:
            owned.make_folder(self.folder, self.owners, self._given)
            self.generations.mkdir(exist_ok=True)
        except OSError as error:
            raise cannot_write(self.folder, error) from None

    @contextlib.contextmanager
    def writing(self, waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
        """Hold the writer lock; `waiting` is called once if another process holds it.

        The lock ends with its process.
        """
        with self._locked("lock", waiting):
            self._sweep()
            yield

    @contextlib.contextmanager
    def deriving(self, waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
        """Hold the lock of files made from an index on first use (passages, vectors): no writer of the index waits."""
        with self._locked(_DERIVING, waiting):
            yield

    @contextlib.contextmanager
    def _locked(self, name: str, waiting: Callable[[], None]) -> Iterator[None]:
        self.check()
        self.refuse_tracked()
        self.prepare()
        try:
            handle = open(self.folder / name, "a+b", opener=_open_lock)  # noqa: SIM115
        except OSError as error:
            raise cannot_write(self.folder, error) from None
        with handle:
            _lock_descriptors.add(handle.fileno())
            try:
                if not _lock(handle.fileno(), wait=False):
                    waiting()
                    _lock(handle.fileno(), wait=True)
                yield
            finally:
                _lock_descriptors.discard(handle.fileno())

    def is_locked(self, name: str = "lock") -> bool:
        """Return whether a process holds a lock, by default that of the writer."""
        try:
            with open_regular(self.folder / name) as handle:
                return not _lock(handle.fileno(), wait=False)
        except OSError:
            return False

    def await_first(self) -> bool:
        """Wait while another process builds a first index, until it answers questions; return whether there is one."""
        while self.named() is None:
            if not self.is_locked():
                return False
            time.sleep(_POLL_SECONDS)
        return True

    # progress of the process that completes the index, for others

    def note_progress(self, share: float) -> None:
        """Record the share of an index that is done, for other processes."""
        with contextlib.suppress(OSError), atomic_write(self.folder / PROGRESS) as file:
            file.write(f"{share:.2f} {os.getpid()}\n".encode("ascii"))

    def note_failure(self, reason: str) -> None:
        """Record why the index could not be completed."""
        with contextlib.suppress(OSError), atomic_write(self.folder / PROGRESS) as file:
            file.write(f"failed {reason}".encode("utf-8", "replace")[:_MAX_REASON])

    def forget_progress(self) -> None:
        with contextlib.suppress(OSError):
            (self.folder / PROGRESS).unlink()

    def progress(self) -> Completion:
        """Return how far the process is that writes the index."""
        is_running = self.is_locked()
        try:
            text = read_regular(self.folder / PROGRESS, _MAX_REASON, follow=False).decode("utf-8", "replace")
            if text.startswith("failed "):
                return Completion(is_running, failure="" if is_running else text[len("failed ") :])
            share, process = text.split()
            return Completion(is_running, min(max(float(share), 0.0), 1.0), int(process))
        except (OSError, TooLarge, ValueError):
            return Completion(is_running)

    @contextlib.contextmanager
    def new_generation(self) -> Iterator[Path]:
        """Yield a folder to fill; it becomes current if the block succeeds and is removed otherwise."""
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
            if was_interrupted(error):  # by damage in the previous generation
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
        """Return the existing generations (real folders) by number."""
        with os.scandir(self.generations) as entries:
            folders = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
        names = (name for name in folders if name.isdecimal() and name.isascii() and len(name) <= _MAX_DIGITS)
        return {int(name): self.generations / name for name in names}

    def _sweep(self) -> None:
        """Remove leftovers of killed writers and generations that no reader can be opening."""
        current = self.current()
        generations = [path for _, path in sorted(self._numbered().items())]
        old = [path for path in generations if path != current][: max(0, len(generations) - KEEP)]
        for path in [*old, *self.generations.glob(".new-*")]:
            shutil.rmtree(path, ignore_errors=True)
        if self.is_locked(_DERIVING):
            return
        with os.scandir(self.folder) as entries:
            leftovers = [entry.path for entry in entries if _LEFTOVER.fullmatch(entry.name)]
        for name in leftovers:
            with contextlib.suppress(OSError):
                os.unlink(name)


def cannot_write(folder: Path, error: OSError | sqlite3.OperationalError) -> AssayError:
    return AssayError(
        f"{folder}: cannot write the index ({getattr(error, 'strerror', None) or error}). The previous index, if any, is untouched. "
        "Free some space, or choose another folder with --index-dir DIR."
    )


@contextlib.contextmanager
def lock_file(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on a file of its own, created if missing. The lock ends with its process."""
    with open(path, "a+b", opener=_open_lock) as handle:
        _lock(handle.fileno(), wait=True)
        yield


def _open_lock(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o666)


def _lock(descriptor: int, wait: bool) -> bool:
    """Lock an open file; False if another process holds it and `wait` is off."""
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


# Reading source files

RACY_SECONDS = 2  # a file changed this shortly before indexing may have changed again within the same timestamp


class Decoded(NamedTuple):
    """A file's text as UTF-8 bytes; `note` says how it was converted, `problem` why it could not be."""

    data: bytes
    note: str = ""
    problem: str = ""


def content_hash(data: bytes) -> bytes:
    return blake2b(data, digest_size=16).digest()


def surely_same(indexed: tuple[int, int], current: tuple[int, int], indexed_at: int) -> bool:
    """Return whether (size, mtime) prove that a file is unchanged since it was indexed; times in nanoseconds."""
    return indexed == current and current[1] < indexed_at - RACY_SECONDS * 10**9


def read_bytes(root: Path, path: str, limit: int) -> bytes:
    """Read at most `limit` bytes of a regular file, without following a link or blocking on a pipe."""
    with open_regular(root / path) as handle:
        return handle.read(limit)


def decode(data: bytes) -> Decoded:
    """Decode to UTF-8 without BOM; UTF-16 and Latin-1 are converted, binary data is a problem."""
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
