"""Which folder is meant: the repository around a place, or the workspace."""

from __future__ import annotations

import re
from pathlib import Path

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
        if (folder / ".assay" / "current").exists():
            return inner if inner and repository else folder
        if repository and inner is None:
            inner = folder
    around = find_place(place)
    return around.top if around else place


def workspace_around(place: Path) -> Path | None:
    """The folder at or above a place whose assay.toml has a workspace; repositories end the search: in one, it alone is meant."""
    for folder in (place, *place.parents):
        if _has_workspace(folder):
            return folder
        if (folder / ".git").exists() or (folder / ".assay" / "current").exists():
            break
    return None


def _has_workspace(folder: Path) -> bool:
    """Whether repositories are named there; also where that is wrong, which is said when they are opened."""
    try:
        written = (folder / _SETTINGS).read_bytes()
    except OSError:
        return False
    if not _WORKSPACE.search(written):
        return False
    from assay.retrieve.configuration import load

    try:
        return bool(load(folder).workspace.roots)
    except AssayError:
        return True
