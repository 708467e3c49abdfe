"""Folders that are wider than a project: file-system roots, folders of the operating system, home directories.

Indexing one of them takes minutes and reads everything its owner has, which is rarely meant. It takes a yes the first time.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from assay.errors import AssayError

# Folders at the root of a file system that belong to the system or hold homes; projects at /app or /workspace are projects.
_SYSTEM = frozenset({
    "bin", "boot", "dev", "etc", "home", "lib", "lib32", "lib64", "media", "mnt", "opt", "proc", "root", "run", "sbin",
    "srv", "sys", "tmp", "usr", "var",
    "applications", "cores", "library", "private", "system", "users", "volumes",  # macOS
    "program files", "program files (x86)", "programdata", "windows",
})  # fmt: skip
_HOMES = frozenset({"home", "users"})  # whose folders are somebody's homes


class TooWide(AssayError):
    """A folder that is only indexed when somebody says so."""

    def __init__(self, root: Path, what: str) -> None:
        self.question = f"{root} is {what} with {_folders(root)} folders in it. Index all of it?"
        super().__init__(
            f"{root} is {what} with {_folders(root)} folders in it, which is rarely meant. "
            f"Name a project inside it with --root DIR; to index all of it run: assay index --yes {root}"
        )


def check_extent(root: Path) -> None:
    """Raise TooWide for a folder that is wider than a project."""
    if what := _described(root):
        raise TooWide(root, what)


def _described(root: Path) -> str:
    """Return what a wide folder is, for people; empty for any other."""
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
    """Return the homes of this user and of the folder's owner."""
    homes = set()
    with contextlib.suppress(RuntimeError, OSError):
        homes.add(Path(os.path.realpath(Path.home())))
    with contextlib.suppress(ImportError, KeyError, OSError):
        import pwd

        for user in {os.getuid(), place.stat().st_uid}:
            homes.add(Path(os.path.realpath(pwd.getpwuid(user).pw_dir)))
    return homes


def _folders(root: Path) -> int:
    try:
        with os.scandir(root) as entries:
            return sum(entry.is_dir(follow_symlinks=False) for entry in entries)
    except OSError:
        return 0
