"""Learning from use: feedback, sessions and vocabulary, kept beside the index and never seen by an evaluation.

`learned` before ranking and `returned` after it are all that an answer needs; they never fail it. Everything else is done with a `Learning`.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence

from assay.core.items import Item
from assay.core.packs import Learned, Source
from assay.feedback.learning import Known, Learning
from assay.feedback.store import CannotWrite, Store, Unusable, path_in, remove
from assay.store.index import Index
from assay.store.layout import Home

__all__ = ["CannotWrite", "Known", "Learning", "Unusable", "forget_everything", "learned", "learning", "returned"]


@contextlib.contextmanager
def learning(
    index: Index, home: Home, source: Source, write: bool = True, now: float | None = None
) -> Iterator[Learning]:
    """To ask, and to tell what is then kept if the block ends without an error, all of it or nothing."""
    with Store.open(path_in(home), write) as store:
        yield Learning(index, source, store, time.time() if now is None else now)


def learned(
    index: Index, home: Home, source: Source, task: str, session: str = "", now: float | None = None
) -> Learned:
    """What the engine may know for a task; nothing where it cannot be read. A damaged file is `Unusable`, which says how to get rid of it."""
    with contextlib.suppress(CannotWrite), learning(index, home, source, write=False, now=now) as asked:
        return asked.learned(task, session)
    return Learned()


def returned(
    index: Index, home: Home, source: Source, items: Sequence[Item], task: str, session: str, now: float | None = None
) -> None:
    """Notes what a session was given; without a session, or where nothing can be written, nothing."""
    if session:
        with contextlib.suppress(CannotWrite, Unusable), learning(index, home, source, now=now) as told:
            told.returned(items, task, session)


def forget_everything(home: Home) -> int:
    """Begins anew, also where the file is damaged; returns how many symbols something was known of."""
    path = path_in(home)
    if not path.exists():
        return 0
    try:
        with Store.open(path, write=True) as store:
            return store.drop_everything()
    except Unusable:
        remove(path)
        return 0
