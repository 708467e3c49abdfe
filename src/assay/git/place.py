"""The repository around a folder, found without git, which would follow a hostile one anywhere.

Git also takes a folder for a repository that merely looks like a git directory: a bare one, which a clone can contain. Here only a
`.git` makes a repository.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from assay.errors import AssayError
from assay.git.configuration import Settings, read_settings
from assay.system.files import read_regular

_LIMIT = 10_000  # bytes of a file that names a folder
_OWN = "assay"  # our folder among git's


@dataclass(frozen=True)
class Place:
    """A folder in a working tree, and where git keeps what it knows about it. All paths are absolute and without links."""

    root: Path
    top: Path  # of the working tree
    git_dir: Path  # with HEAD and the index
    common_dir: Path  # with objects and references, shared by all working trees
    inside_bare: bool = False  # the root is in a folder that git would take for a bare repository

    @property
    def prefix(self) -> str:
        """The root's path below the top; empty at the top, else with a slash at its end."""
        return "" if self.root == self.top else self.root.relative_to(self.top).as_posix() + "/"

    @cached_property
    def settings(self) -> Settings:
        """The repository's settings, and those of this working tree."""
        shared = read_settings(self.common_dir / "config")
        if shared.get(("extensions", "", "worktreeconfig"), "").lower() in ("true", "yes", "on", "1"):
            return shared | read_settings(self.git_dir / "config.worktree")
        return shared

    def shared_folder(self) -> Path | None:
        """Return the folder beside git's own files that may be written to, which all working trees share; None where it is not safe.

        `.git` may be a file that names any folder. It is believed where that folder names this working tree in return, as git has it
        do for worktrees and submodules: whoever wrote the one could not have written the other into a repository of somebody else.
        """
        if not self._is_ours():
            return None
        folder = self.common_dir / _OWN
        return folder if not os.path.lexists(folder) or _is_own_folder(folder) else None

    def _is_ours(self) -> bool:
        if not (_is_own_folder(self.common_dir) and _is_own_folder(self.git_dir)):
            return False
        if self.git_dir == self.top / ".git":
            return self.common_dir == self.git_dir
        if self.common_dir == self.git_dir:
            worktree = self.settings.get(("core", "", "worktree"), "")
            return bool(worktree) and _resolved(self.git_dir / worktree) == self.top
        if self.common_dir != self.git_dir.parent.parent:
            return False
        back = _first_line(self.git_dir / "gitdir")
        return bool(back) and _resolved(self.git_dir / back) == self.top / ".git"


def find_place(root: Path) -> Place | None:
    """Return the place of a folder in the working tree around it; None when it is in none."""
    root = _resolved(root)
    inside_bare, device = False, None
    for folder in (root, *root.parents):
        try:
            here = os.stat(folder).st_dev
        except OSError:
            return None
        if device is not None and here != device:  # as git: what is mounted below a repository is not in it
            return None
        device = here
        git_dir = _git_dir_of(folder)
        if git_dir is not None:
            named = _first_line(git_dir / "commondir")
            common_dir = _resolved(git_dir / named) if named else git_dir
            return Place(root, folder, git_dir, common_dir, inside_bare)
        inside_bare = inside_bare or _looks_like_git_dir(folder)
    return None


def _git_dir_of(folder: Path) -> Path | None:
    """Return what `.git` in a folder is or names, when that is a git directory."""
    written = folder / ".git"
    try:
        mode = os.stat(written).st_mode
    except OSError:
        return None
    if stat.S_ISDIR(mode):
        found = written
    else:
        line = _first_line(written)
        if not line.startswith("gitdir: "):
            return None
        found = folder / line.removeprefix("gitdir: ")
    found = _resolved(found)
    return found if _looks_like_git_dir(found) else None


def _looks_like_git_dir(folder: Path) -> bool:
    """Tell whether git might take a folder for a git directory, or more than that: it also looks at what HEAD says."""
    if not os.path.lexists(folder / "HEAD"):
        return False
    parts = ("objects", "refs")
    return all(os.path.isdir(folder / part) for part in parts) or os.path.isfile(folder / "commondir")


def _is_own_folder(path: Path) -> bool:
    """Tell whether a path is a folder, not a link to one, that belongs to this user."""
    try:
        info = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISDIR(info.st_mode) and (not hasattr(os, "geteuid") or info.st_uid == os.geteuid())


def _first_line(path: Path) -> str:
    """Return what a file of one line says; nothing when it is none."""
    try:
        return read_regular(path, _LIMIT).decode("utf-8", "surrogateescape").rstrip("\r\n")
    except (OSError, AssayError):
        return ""


def _resolved(path: Path) -> Path:
    """Return a path without links; as it is where links lead in circles or it holds what no path can."""
    try:
        return Path(os.path.realpath(path))
    except (OSError, ValueError):
        return path
