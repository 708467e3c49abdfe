"""Update an index before a question is answered, if that is quick: predicted from what changed, and bounded."""

from __future__ import annotations

import os
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from assay.core.progress import Progress
from assay.errors import AssayError
from assay.store.layout import Home
from assay.text.display import counted

if TYPE_CHECKING:
    from assay.index.freshness import Freshness
    from assay.index.scan import Scan

# Predicted seconds up to which a question waits for an update. A changed file takes 0.3 to 0.7 in most languages.
QUICK_SECONDS = 1.0
_MOST_FILES = 100  # read or resolved: a change that more files depend on is not quick, but shows only during the update


@dataclass(frozen=True, slots=True)
class Stale:
    """Files that an answer does not take into account, and why the index was not updated. Prints as one line."""

    files: int
    command: str  # that updates the index
    obstacle: str = ""  # why a quick update was impossible; empty if it would not be quick

    def __str__(self) -> str:
        changed = (
            "1 file changed since it was indexed"
            if self.files == 1
            else f"{counted(self.files, 'file')} changed since they were indexed"
        )
        return f"{changed}; " + (f"not updated: {self.obstacle}" if self.obstacle else f"run: {self.command}")


def is_quick(freshness: Freshness) -> bool:
    return freshness.seconds <= QUICK_SECONDS


def update_quickly(root: Path, home: Home, scanned: Scan | None = None) -> str | None:
    """Update an index without its history; return the obstacle if that fails, empty if it turns out not to be quick.

    The old index stays as it is then. None: it is up to date. `scanned` is the state of the tree if it was just scanned.
    """
    if not os.access(home.folder, os.W_OK):
        return f"{home.folder} is read-only"
    from assay.index.pipeline import index

    try:
        index(root, home, progress=_Bounded(), history=False, scanned=scanned)
    except _NotQuick as reason:
        return str(reason)
    except (AssayError, OSError, sqlite3.DatabaseError) as error:
        return str(error)
    return None


class _NotQuick(Exception):
    """The update was given up."""


class _Bounded(Progress):
    """Gives an update up, before it has written anything, when a stage is long or another process is writing."""

    def start(self, stage: str, total: int) -> None:
        if total > _MOST_FILES:
            raise _NotQuick

    def waiting(self) -> None:
        raise _NotQuick("another assay process is indexing")
