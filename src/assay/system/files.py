"""Bounded reads of regular files, and atomic writes that follow no link.

Everything assay reads may come from a hostile repository: a path can be a link to a device, a pipe that nobody writes
to, or a file larger than memory. `read_regular` rejects all of these. `atomic_write` replaces a file through a newly
created temporary file.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import IO

from assay.errors import AssayError


class TooLarge(AssayError):
    """A file exceeds the reader's limit."""

    def __init__(self, path: Path | str, limit: int) -> None:
        super().__init__(f"{path}: larger than {limit / 1e6:,.3g} MB, which is the most that is read")
        self.limit = limit


def read_regular(path: Path | str, limit: int, follow: bool = True) -> bytes:
    """Return a regular file's content. Raises TooLarge above `limit` bytes and OSError for devices, pipes and folders.

    Without `follow`, a symbolic link as the last component raises OSError, too.
    """
    with open_regular(path, follow) as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise TooLarge(path, limit)
    return data


def open_regular(path: Path | str, follow: bool = False) -> IO[bytes]:
    """Open a regular file for reading without blocking on a pipe."""
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
    """Yield a file to write; it replaces `path` if the block succeeds and is removed otherwise.

    The temporary file has a random name and is created exclusively, so that a planted link is never written through. A
    link at `path` itself is replaced, not followed. The mode of an existing file is preserved.
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


# Checks of index folders

FOLDER = ".assay"
IGNORE = ".gitignore"

_TYPE_MASK, _ALLOWED_TYPES = 0o170000, (stat.S_IFREG, stat.S_IFDIR)


class UnsafeFolder(AssayError):
    """An index folder contains something other than this user's own files and folders."""

    def __init__(self, problem: str, remedy: str = "Remove it") -> None:
        super().__init__(f"{problem}. {remedy}, or keep the index elsewhere with --index-dir DIR.")
        self.problem, self.remedy = problem, remedy


def owners(given: Path | None = None) -> Collection[int] | None:
    """Return the accepted user ids: this user's and, if `given`, the owner of that folder.

    None on systems without ids.
    """
    if not hasattr(os, "geteuid"):
        return None
    accepted = {os.geteuid()}
    if accepted == {0} and os.environ.get("SUDO_UID", "").isdecimal():
        accepted.add(int(os.environ["SUDO_UID"]))  # as git does
    if given is not None:
        with contextlib.suppress(OSError):
            accepted.add(os.stat(given).st_uid)
    return accepted


def check_folder(folder: Path, accepted: Collection[int] | None, given: bool = False) -> None:
    """Raise UnsafeFolder unless a folder and its entries are real and have an accepted owner; a missing folder passes.

    A folder `given` by the user may have any owner.
    """
    try:
        if not given:
            _check(folder, os.lstat(folder), accepted, stat.S_ISDIR)
        with os.scandir(folder) as entries:
            for entry in entries:
                try:
                    info = entry.stat(follow_symlinks=False)
                except FileNotFoundError:  # removed meanwhile by another process
                    continue
                if (info.st_mode & _TYPE_MASK) not in _ALLOWED_TYPES or (
                    accepted is not None and info.st_uid not in accepted
                ):
                    _check(entry, info, accepted, _is_plain)  # raises with the reason
    except FileNotFoundError:
        return
    except NotADirectoryError:
        if os.path.lexists(folder):  # otherwise a parent is not a folder, which creating it will report
            raise UnsafeFolder(f"{folder}: not a folder") from None
    except OSError as error:
        raise UnsafeFolder(f"{folder}: cannot be read ({error.strerror})") from None


def files_in(folder: Path, accepted: Collection[int] | None) -> dict[str, os.stat_result]:
    """Return the regular files of a folder by name, with their status. Raises UnsafeFolder for anything else."""
    stats = {}
    with os.scandir(folder) as entries:
        for entry in entries:
            info = entry.stat(follow_symlinks=False)
            if (info.st_mode & _TYPE_MASK) != stat.S_IFREG or (accepted is not None and info.st_uid not in accepted):
                _check(entry, info, accepted, stat.S_ISREG)
            stats[entry.name] = info
    return stats


def check_file(path: Path, siblings: Collection[str] = ()) -> None:
    """Raise UnsafeFolder unless a file, and those with the suffixes `siblings`, are this user's own or missing.

    A folder in place of a file passes: opening it fails anyway.
    """
    for suffix in ("", *siblings):
        name = f"{path}{suffix}"
        try:
            info = os.lstat(name)
        except (FileNotFoundError, NotADirectoryError):
            continue
        _check(name, info, owners(path.parent), _is_plain)


def place_in(folder: Path, *parts: str) -> Path:
    """Return a path below an index folder after checking every component and the entries of the last."""
    accepted = owners()
    place = folder
    check_folder(place, accepted)
    for part in parts:
        place /= part
        check_folder(place, accepted)
    return place


def make_folder(folder: Path, accepted: Collection[int] | None = None, given: bool = False) -> None:
    """Create an index folder that is ignored by git, if it is missing.

    Only the user's own choice creates the folders above it: a repository that was deleted meanwhile must stay deleted.
    """
    check_folder(folder, accepted, given)
    folder.mkdir(parents=given, exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    try:
        descriptor = os.open(folder / IGNORE, flags, 0o666)
    except FileExistsError:
        return
    try:
        os.write(descriptor, b"*\n")
    finally:
        os.close(descriptor)


def _is_plain(mode: int) -> bool:
    return (mode & _TYPE_MASK) in _ALLOWED_TYPES


def _check(
    path: Path | str | os.DirEntry[str],
    info: os.stat_result,
    accepted: Collection[int] | None,
    is_kind: Callable[[int], bool],
) -> None:
    if stat.S_ISLNK(info.st_mode):
        raise UnsafeFolder(f"{os.fspath(path)}: a symbolic link, which is not followed here")
    if not is_kind(info.st_mode):
        expected = "folder" if is_kind is stat.S_ISDIR else "regular file"
        raise UnsafeFolder(f"{os.fspath(path)}: not a {expected}")
    if accepted is not None and info.st_uid not in accepted:
        raise UnsafeFolder(f"{os.fspath(path)}: belongs to another user (uid {info.st_uid})")


# Folders wider than a project: file system roots, system folders, home directories

# Top-level folders of the system or of homes; /app or /workspace may be projects.
_SYSTEM = frozenset({
    "bin", "boot", "dev", "etc", "home", "lib", "lib32", "lib64", "media", "mnt", "opt", "proc", "root", "run", "sbin",
    "srv", "sys", "tmp", "usr", "var",
    "applications", "cores", "library", "private", "system", "users", "volumes",  # macOS
    "program files", "program files (x86)", "programdata", "windows",
})  # fmt: skip
_HOMES = frozenset({"home", "users"})  # parents of home folders


class TooWide(AssayError):
    """A folder that is indexed only on explicit request."""

    def __init__(self, root: Path, what: str) -> None:
        self.question = f"{root} is {what} with {_count_folders(root)} folders in it. Index all of it?"
        super().__init__(
            f"{root} is {what} with {_count_folders(root)} folders in it, which is rarely meant. "
            f"Name a project inside it with --root DIR; to index all of it run: assay index --yes {root}"
        )


def check_extent(root: Path) -> None:
    """Raise TooWide for a folder that is wider than a project."""
    if description := _describe_wide(root):
        raise TooWide(root, description)


def _describe_wide(root: Path) -> str:
    """Return a description of a wide folder; empty for any other."""
    place = Path(os.path.realpath(root))
    top = Path(place.anchor)
    if place == top:
        return "the root of a file system"
    if place in _homes(place):
        return "a home directory"
    if place.parent == top and place.name.lower() in _SYSTEM:
        return "a folder of the system"
    if place.parent.parent == top and place.parent.name.lower() in _HOMES:
        return "a home directory"
    return ""


def _homes(place: Path) -> set[Path]:
    """Return the home folders of this user and of the folder's owner."""
    homes = set()
    with contextlib.suppress(RuntimeError, OSError):
        homes.add(Path(os.path.realpath(Path.home())))
    with contextlib.suppress(ImportError, KeyError, OSError):
        import pwd

        for user in {os.getuid(), place.stat().st_uid}:
            homes.add(Path(os.path.realpath(pwd.getpwuid(user).pw_dir)))
    return homes


def _count_folders(root: Path) -> int:
    try:
        with os.scandir(root) as entries:
            return sum(entry.is_dir(follow_symlinks=False) for entry in entries)
    except OSError:
        return 0
