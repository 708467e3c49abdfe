"""Which folder is meant: the repository around a place."""

from __future__ import annotations

import subprocess
from pathlib import Path


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
    try:
        done = subprocess.run(
            ["git", "rev-parse", "--show-toplevel"], cwd=place, capture_output=True, text=True, check=False
        )
        if done.returncode == 0 and done.stdout.strip():
            return Path(done.stdout.strip())
    except OSError:
        pass
    return place
