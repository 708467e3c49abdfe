"""Learning from use: feedback, sessions and vocabulary, stored next to the index and never read by an evaluation.

An answer needs only `learned` before ranking and `returned` after it; they never fail it. Everything else goes through
a `Learning`.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence

from assay.core.items import Item
from assay.core.packs import Learned, Source
from assay.feedback.learning import ItemFeedback, Learning
from assay.feedback.store import CannotWrite, Store, Unusable, path_in, remove
from assay.store.index import Index
from assay.store.layout import Home

__all__ = [
    "CannotWrite",
    "ItemFeedback",
    "Learning",
    "Unusable",
    "forget_everything",
    "learned",
    "learning",
    "returned",
]


@contextlib.contextmanager
def learning(
    index: Index, home: Home, source: Source, write: bool = True, now: float | None = None
) -> Iterator[Learning]:
    """Open the feedback store as one transaction, committed if the block ends without an error."""
    with Store.open(path_in(home), write) as store:
        yield Learning(index, source, store, time.time() if now is None else now)


def learned_signals(
    index: Index, home: Home, source: Source, task: str, session: str = "", now: float | None = None
) -> Learned:
    """Return the feedback, session and vocabulary signals for a task; empty where the store cannot be read.

    Raises Unusable for a damaged file, with the command that resets it.
    """
    with contextlib.suppress(CannotWrite), learning(index, home, source, write=False, now=now) as feedback:
        return feedback.learned(task, session)
    return Learned()


def record_returned(
    index: Index, home: Home, source: Source, items: Sequence[Item], task: str, session: str, now: float | None = None
) -> None:
    """Record which items a session received; does nothing without a session or where nothing can be written."""
    if session:
        with contextlib.suppress(CannotWrite, Unusable), learning(index, home, source, now=now) as feedback:
            feedback.returned(items, task, session)


def forget_everything(home: Home) -> int:
    """Delete all feedback, even from a damaged file; return the number of symbols that had records."""
    path = path_in(home)
    if not path.exists():
        return 0
    try:
        with Store.open(path, write=True) as store:
            return store.drop_everything()
    except Unusable:
        remove(path)
        return 0
