"""Checks that an index folder is this user's own, made of real folders and regular files.

A clone can carry anything in `.assay/`: links that lead out of the repository, or an index that somebody else made. Nothing there is
read, written or removed before these checks. They look at names without following links. The moment between a check and the use is no
gap for what was committed: nobody else works inside the tree meanwhile.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Collection
from pathlib import Path

from assay.errors import AssayError

FOLDER = ".assay"
IGNORE = ".gitignore"

_TYPE, _PLAIN = 0o170000, (stat.S_IFREG, stat.S_IFDIR)


class UnsafeFolder(AssayError):
    """Something in an index folder is not this user's own file or folder."""

    def __init__(self, problem: str, remedy: str = "Remove it") -> None:
        super().__init__(f"{problem}. {remedy}, or keep the index elsewhere with --index-dir DIR.")
        self.problem, self.remedy = problem, remedy


def owners(given: Path | None = None) -> Collection[int] | None:
    """User ids whose files are accepted: this user's and, below a folder that the user named, its owner's. None where there are none."""
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
    """Check that a folder and everything directly in it is real and of an accepted owner; one that does not exist passes.

    A folder that the user has `given` may itself be anybody's.
    """
    try:
        if not given:
            _check(folder, os.lstat(folder), accepted, stat.S_ISDIR)
        with os.scandir(folder) as entries:
            for entry in entries:
                try:
                    info = entry.stat(follow_symlinks=False)
                except FileNotFoundError:  # another process has just removed it
                    continue
                if (info.st_mode & _TYPE) not in _PLAIN or (accepted is not None and info.st_uid not in accepted):
                    _check(entry, info, accepted, _is_plain)  # says what is wrong
    except FileNotFoundError:
        return
    except NotADirectoryError:
        if os.path.lexists(folder):  # else something above it is no folder, which making it will tell
            raise UnsafeFolder(f"{folder}: not a folder") from None
    except OSError as error:
        raise UnsafeFolder(f"{folder}: cannot be read ({error.strerror})") from None


def files_in(folder: Path, accepted: Collection[int] | None) -> dict[str, os.stat_result]:
    """Return the regular files of a folder by name, with their sizes and times; UnsafeFolder when it has anything else."""
    found = {}
    with os.scandir(folder) as entries:
        for entry in entries:
            info = entry.stat(follow_symlinks=False)
            if (info.st_mode & _TYPE) != stat.S_IFREG or (accepted is not None and info.st_uid not in accepted):
                _check(entry, info, accepted, stat.S_ISREG)
            found[entry.name] = info
    return found


def check_file(path: Path, siblings: Collection[str] = ()) -> None:
    """Check that a file, and those beside it whose names end in `siblings`, are this user's own, or do not exist.

    A folder in a file's place passes: it leads nowhere, and opening it says so.
    """
    for suffix in ("", *siblings):
        name = f"{path}{suffix}"
        try:
            info = os.lstat(name)
        except (FileNotFoundError, NotADirectoryError):
            continue
        _check(name, info, owners(path.parent), _is_plain)


def place_in(folder: Path, *parts: str) -> Path:
    """Return a place below an index folder, after a check of every component and of what is directly in the last."""
    accepted = owners()
    place = folder
    check_folder(place, accepted)
    for part in parts:
        place /= part
        check_folder(place, accepted)
    return place


def make_folder(folder: Path, accepted: Collection[int] | None = None, given: bool = False) -> None:
    """Make an index folder that ignores itself in git, where there is none."""
    check_folder(folder, accepted, given)
    folder.mkdir(parents=True, exist_ok=True)
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
    return (mode & _TYPE) in _PLAIN


def _check(
    path: Path | str | os.DirEntry[str],
    info: os.stat_result,
    accepted: Collection[int] | None,
    is_kind: Callable[[int], bool],
) -> None:
    if stat.S_ISLNK(info.st_mode):
        raise UnsafeFolder(f"{os.fspath(path)}: a link, and nothing is read or written through links here")
    if not is_kind(info.st_mode):
        wanted = "folder" if is_kind is stat.S_ISDIR else "regular file"
        raise UnsafeFolder(f"{os.fspath(path)}: not a {wanted}")
    if accepted is not None and info.st_uid not in accepted:
        raise UnsafeFolder(f"{os.fspath(path)}: belongs to another user (uid {info.st_uid})")
