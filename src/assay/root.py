"""Which folder is meant: the repository around a place, or the workspace."""

from __future__ import annotations

import os
import re
import stat
import warnings
from pathlib import Path

from assay.config.toml_file import read_settings
from assay.errors import AssayError
from assay.git import find_place

_SETTINGS = "assay.toml"
_WORKSPACE = re.compile(rb"^\s*(?:\[\s*)?workspace\b", re.MULTILINE)


def root_around(place: Path) -> Path:
    """The nearest folder with an index, at or above `place`; else the repository around it; else the place itself.

    The index of a repository has nothing of those inside it (submodules, worktrees): in them, it is not the one that is meant.
    """
    inner = None
    for folder in (place, *place.parents):
        repository = (folder / ".git").exists()
        if (folder / ".assay" / "current").exists() and (folder == place or _is_own(folder / ".assay")):
            return inner if inner and repository else folder
        if repository and inner is None:
            inner = folder
    around = find_place(place)
    return around.top if around else place


def workspace_around(place: Path) -> Path | None:
    """The folder at or above a place whose assay.toml has a workspace; repositories end the search: in one, it alone is meant.

    Nobody chose the folders above: what another user could have put there does not count.
    """
    for folder in (place, *place.parents):
        if _has_workspace(folder):
            if folder == place or (_is_own(folder) and _is_own(folder / _SETTINGS)):
                return folder
            warnings.warn(
                f"{folder / _SETTINGS}: not used, as others than you can write it; if it is meant, name it: --root {folder}",
                stacklevel=1,
            )
        if (folder / ".git").exists() or (folder / ".assay" / "current").exists():
            break
    return None


def _is_own(path: Path) -> bool:
    """Tell whether a file or folder is this user's, and not writable for everybody; where there are no users, it is."""
    if not hasattr(os, "geteuid"):
        return True
    try:
        status = os.lstat(path)
    except OSError:
        return False
    users = {os.geteuid()}
    if os.geteuid() == 0 and os.environ.get("SUDO_UID", "").isdecimal():
        users.add(int(os.environ["SUDO_UID"]))
    if stat.S_ISLNK(status.st_mode):
        return status.st_uid in users  # its mode means nothing
    return status.st_uid in users and not status.st_mode & stat.S_IWOTH


def _has_workspace(folder: Path) -> bool:
    """Whether repositories are named there; also where that is wrong, which is said when they are opened."""
    try:
        written = read_settings(folder / _SETTINGS, folder)
    except AssayError:
        return False  # commands that need the file say what is wrong with it
    if not written or not _WORKSPACE.search(written):
        return False
    from assay.retrieve.configuration import load

    try:
        return bool(load(folder).workspace.roots)
    except AssayError:
        return True
