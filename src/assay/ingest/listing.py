"""The files that git knows below a folder: asked for at once, read when they are needed. Meanwhile git works on another core."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

_COMMAND = ("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate")


class Listing:
    """A listing that was begun."""

    def __init__(self, root: Path) -> None:
        try:
            command = ["git", "-C", str(root), *_COMMAND]
            self._git: subprocess.Popen[bytes] | None = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
        except OSError:
            self._git = None

    def paths(self) -> list[str] | None:
        """Paths relative to the root, in order, or None where git does not answer for it."""
        if self._git is None:
            return None
        output, _ = self._git.communicate()
        if self._git.returncode != 0:
            return None
        return sorted(filter(None, os.fsdecode(output).split("\0")))
