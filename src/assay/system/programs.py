"""Look up every program that assay starts, never inside a repository.

A clone may bring its own `git`, `node` or language server in a folder that stands on the user's PATH: an activated
environment, `node_modules/.bin`, a relative entry. `guard` names the folders whose programs are never started. Programs
are found by `find_program`, and processes get `safe_path` as their PATH, as they start programs, too.
"""

from __future__ import annotations

import functools
import os
import stat
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path, PurePath

from assay.errors import announce

_MARKERS = (".git", "assay.toml")  # of a repository, and of a workspace
_PACKAGE_ROOT = str(Path(__file__).parents[2])  # PYTHONPATH entry of a child process
_MAX_LINKS = 40  # as in Linux

# guarded folders of this process: their paths, with and without links, and the same as (device, inode), for other names
_paths: set[str] = set()
_identities: set[tuple[int, int]] = set()
_programs: dict[tuple[str, str, int], str] = {}  # by name, PATH and number of guarded paths


class SkippedPrograms(UserWarning):
    """Folders of PATH are skipped, because a repository decides what is in them."""


def guard(folder: Path | str) -> None:
    """Start no program inside a folder, nor inside the repositories and workspaces around it, in this process.

    The user's home directory does not count as one around it: those who keep it in git have their own programs there.
    """
    written = os.path.abspath(folder)
    if written not in _paths:
        for path in dict.fromkeys((written, os.path.realpath(written))):
            _add(path)
            _guard_around(os.path.dirname(path))


@functools.lru_cache(maxsize=1024)
def _guard_around(path: str) -> None:
    """Guard the repositories and workspaces that a folder is in; it may be one of them."""
    home = PurePath(os.path.realpath(os.path.expanduser("~")))
    for folder in (PurePath(path), *PurePath(path).parents):
        if home.is_relative_to(folder):
            return
        if any(os.path.lexists(folder / marker) for marker in _MARKERS):
            _add(str(folder))


def guarding(folders: Iterable[Path]) -> AbstractContextManager[None]:
    """Guard folders in a worker, as the session of an executor."""
    for folder in folders:
        guard(folder)
    return nullcontext()


def _add(path: str) -> None:
    _paths.add(path)
    try:
        status = os.stat(path)
    except OSError:
        return
    _identities.add((status.st_dev, status.st_ino))


def is_guarded(path: Path | str) -> bool:
    """Return whether an absolute path leads into a guarded folder: as written, or by any link on the way."""
    place, parts, links = os.sep, os.fspath(path).split(os.sep)[::-1], 0
    while parts:
        part = parts.pop()
        if part == os.pardir:
            place = os.path.dirname(place)
        if part in ("", os.curdir, os.pardir):
            continue
        place = os.path.join(place, part)
        if place in _paths:
            return True
        try:
            status = os.lstat(place)
        except OSError:
            return False
        if (status.st_dev, status.st_ino) in _identities:
            return True
        if stat.S_ISLNK(status.st_mode):
            links += 1
            if links > _MAX_LINKS:
                return True
            target = os.readlink(place)
            place = os.sep if os.path.isabs(target) else os.path.dirname(place)
            parts += target.split(os.sep)[::-1]
    return False


def find_program(name: str, path: str | None = None) -> str | None:
    """Return the absolute path of a program from the safe folders of PATH, or of `path`; None if there is none.

    A name with a folder must be absolute, and is then the user's choice. Says so if a folder is skipped that has one.
    """
    if os.path.dirname(name):
        return name if os.path.isabs(name) and _is_program(name) else None
    path, count = _current(path)
    key = (name, path, count)
    if key not in _programs:
        for folder, safe in _folders(path, count):
            program = os.path.join(folder, name)
            if not _is_program(program):
                continue
            if safe and not is_guarded(program):
                _programs[key] = program
                break
            _announce_skipped(*([] if safe else skipped_folders(path)), *([program] if safe else []))
    return _programs.get(key)


def safe_path(tell: bool = False) -> str:
    """Return PATH for a process: its absolute folders outside the guarded ones. With `tell`, name the others."""
    path, count = _current(None)
    if tell and (skipped := skipped_folders(path)):
        _announce_skipped(*skipped)
    # not empty, which would stand for the current folder
    return os.pathsep.join(folder for folder, safe in _folders(path, count) if safe) or os.devnull


def skipped_folders(path: str | None = None) -> list[str]:
    """Return the entries of PATH that are relative or inside a guarded folder, as written."""
    return [folder for folder, safe in _folders(*_current(path)) if not safe]


def _current(path: str | None) -> tuple[str, int]:
    """Return PATH and the number of guarded paths, which decide where programs are found.

    Also guards the repositories around the current folder, which may be other ones than those that are read.
    """
    with suppress(OSError):  # it was removed
        _guard_around(os.getcwd())
    return os.environ.get("PATH", os.defpath) if path is None else path, len(_paths)


@functools.lru_cache(maxsize=16)
def _folders(path: str, _count: int) -> tuple[tuple[str, bool], ...]:
    """Return the entries of PATH, each with whether it is safe; cached until another folder is guarded."""
    return tuple((entry, os.path.isabs(entry) and not is_guarded(entry)) for entry in path.split(os.pathsep))


def _is_program(path: str) -> bool:
    return os.access(path, os.X_OK) and os.path.isfile(path)


def _announce_skipped(*places: str) -> None:
    listed = ", ".join(dict.fromkeys(place or "(empty)" for place in places))
    announce(
        f"PATH: skipped {listed}: relative, or inside a folder that assay reads, whose programs are never started",
        SkippedPrograms,
    )


def child_environment() -> dict[str, str]:
    """Return the environment of a child, which imports this very package and starts no program that we would not."""
    paths = [_PACKAGE_ROOT, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PATH": safe_path(), "PYTHONPATH": os.pathsep.join(paths), "PYTHONIOENCODING": "utf-8"}
