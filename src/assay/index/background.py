"""Complete an index in a background process, at low priority.

It takes the writer lock like any indexer, so that there are never two. What kills it loses nothing: its result becomes
current by one rename, and the next command starts another.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path

from assay.store.layout import Home
from assay.system.programs import child_environment, guard

SETTING = (
    "ASSAY_BACKGROUND"  # environment variable of the user: `off` forbids background processes, `on` allows them in CI
)

_NICENESS = 10
_started: list[subprocess.Popen[bytes]] = []  # they outlive this process


def is_allowed() -> bool:
    """Return whether the user allows background processes; a CI job ends with its last command."""
    choice = os.environ.get(SETTING, "").lower()
    return choice == "on" or (choice not in ("off", "no", "0") and not os.environ.get("CI"))


def start(root: Path, home: Home) -> bool:
    """Start completing an index unless a process is writing it; return False if that is not possible here."""
    if not is_allowed() or not os.access(home.folder, os.W_OK):
        return False
    if not home.is_locked():
        # -P: import no modules from the current folder
        command = [sys.executable, "-P", "-m", __name__, str(root), str(home.folder)]
        with contextlib.suppress(OSError):
            _started.append(
                subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    cwd=root.anchor,
                    env=child_environment(),
                    start_new_session=True,
                )
            )
    return True


def main() -> None:
    root, folder = Path(sys.argv[1]), Path(sys.argv[2])
    guard(root)
    if hasattr(os, "nice"):
        os.nice(_NICENESS)
    from assay.index.pipeline import index

    home = Home.of(root, folder)
    try:
        index(root, home)
    except Exception as error:  # nobody sees it: the next command tells, and does not try again by itself
        home.note_failure(str(error) or type(error).__name__)


if __name__ == "__main__":
    main()
