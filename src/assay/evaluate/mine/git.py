"""The repository to mine, checked before anything is asked of it."""

from __future__ import annotations

from pathlib import Path

from assay.errors import AssayError
from assay.git import Git


def repository(root: Path) -> Git:
    """The git repository around a folder that has commits to mine."""
    if not root.is_dir():
        raise AssayError(f"{root}: not a folder; give the root of a git repository with --root")
    git = Git(root)
    if git.place is None:
        raise AssayError(f"{root}: not a git repository; mining reads commits, so give one with --root")
    if git.revision("HEAD") is None:
        raise AssayError(f"{root}: the repository has no commits yet, so there is nothing to mine")
    return git
