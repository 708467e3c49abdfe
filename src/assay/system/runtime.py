"""A folder that only this user can enter, for sockets and git's views. Imports nothing that a short command lacks."""

from __future__ import annotations

import os
import stat

PRIVATE = 0o700


def private_folder() -> str:
    """Return the folder, made if it is missing: in XDG_RUNTIME_DIR, the user's cache, or the system's temporary folder.

    Raises OSError if none of them can have one that belongs to this user alone.
    """
    user = os.geteuid() if hasattr(os, "geteuid") else None
    temporary = os.environ.get("TMPDIR") or os.environ.get("TEMP") or "/tmp"  # where others may write
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    places = ((os.environ.get("XDG_RUNTIME_DIR", ""), "assay"), (cache, "assay-run"), (temporary, f"assay-{user}"))
    problem = OSError("no folder for temporary files")
    for parent, name in places:
        folder = os.path.join(parent, name)
        if not os.path.isabs(parent):  # relative to the current folder, it would belong to a repository
            continue
        try:
            if not os.path.lexists(folder):
                _make(parent, folder, user, parent == temporary)
            status = os.lstat(folder)
        except OSError as error:
            problem = error
            continue
        if stat.S_ISDIR(status.st_mode) and (user is None or (status.st_uid == user and not status.st_mode & 0o077)):
            return folder
        problem = PermissionError(f"{folder} is not a folder of this user alone")
    raise problem


def _make(parent: str, folder: str, user: int | None, shared: bool) -> None:
    """Make the folder, and that of a cache, but nothing in a folder of another user (as of the caller of sudo)."""
    if not shared:
        if not os.path.lexists(parent):
            os.mkdir(parent, PRIVATE)
        if user is not None and os.stat(parent).st_uid != user:
            raise PermissionError(f"{parent} belongs to another user")
    os.makedirs(folder, PRIVATE, exist_ok=True)  # another process may have made it meanwhile
