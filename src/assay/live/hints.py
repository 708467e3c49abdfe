"""When to look whether an index is still fresh: after a burst of changes, when HEAD moved, when somebody asks, and once in a while.

A hint is only that. What changed is found by comparing the tree with the index, so an event that was lost, or a thousand of them, do no harm.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from assay.errors import AssayError
from assay.extras import install
from assay.git import find_place
from assay.ingest.documents.formats import format_of
from assay.ingest.languages import language_of
from assay.ingest.walk import CONFIG_NAMES, IGNORE_FILE, is_vendored
from assay.retrieve.configuration import NAME as CONFIGURATION

if TYPE_CHECKING:
    from watchfiles import Change

QUIET = 0.3  # seconds without a change end a burst; an editor's save, and git between two files, take less
_STEP, _AT_MOST = 50, 100  # milliseconds in which events are put together before we hear of them
_LONGEST = 3.0  # seconds a burst may last: somebody may write a log without end
_LOCKED = 10.0  # seconds git may hold its lock: one that crashed has left it behind
_TICK = 1.0  # seconds between two looks at HEAD, and at whether somebody asked
ANYWAY = 60.0  # seconds after which the tree is compared without a hint
INSTEAD = 2.0  # seconds between two looks where the system tells of nothing
_NAMED = frozenset({".gitignore", IGNORE_FILE, CONFIGURATION}) | CONFIG_NAMES
# of vim, emacs, JetBrains, and whatever is renamed to its real name when it is complete
_TEMPORARY = re.compile(r"~$|^\.#|^#.*#$|\.sw[a-z]$|___jb_\w+___$|\.tmp$|^4913$")


class Hint(Enum):
    """Why to look: something may have changed, or the commit that is checked out is another one."""

    CHANGED = "changed"
    MOVED = "moved"


def watcher() -> Callable[..., Iterator[set[tuple[Change, str]]]]:
    """What tells of changes."""
    try:
        from watchfiles import watch
    except ImportError:
        raise AssayError(
            f"watching needs the package watchfiles: {install('watch')}. Without it, --poll SECONDS looks at the files in intervals."
        ) from None
    return watch


@dataclass
class Watching:
    """How a tree is watched: by events of the file system, and by looking every `poll` seconds."""

    root: Path
    own: Path  # the folder of the index
    events: bool = True
    poll: float = ANYWAY
    stop: threading.Event = field(default_factory=threading.Event)
    asked: threading.Event = field(default_factory=threading.Event)  # somebody wants to know now
    complain: Callable[[str], None] = lambda _text: None  # told when there are no events after all
    following: bool = False  # whether nothing has changed since the last hint, as events tell
    changes: int = 0  # that events told of, and times nobody was told; while it stays the same, nothing changed

    def hints(self) -> Iterator[Hint]:
        """The first at once: nobody knows yet. Ends when `stop` is set."""
        head = self._head()
        yield Hint.MOVED
        looked = time.monotonic()
        for changed in self._ticks():
            if changed:
                self._settle()
            before, head = head, self._head()
            if head != before:
                yield Hint.MOVED
            elif changed or self.asked.is_set() or time.monotonic() - looked >= self.poll:
                self.asked.clear()
                yield Hint.CHANGED
            else:
                continue
            looked = time.monotonic()

    def _ticks(self) -> Iterator[bool]:
        """Whether something of the tree changed, at the end of each burst and every second."""
        there = True
        while not self.stop.is_set():
            was, there = there, self.root.is_dir()
            if self.events and there:
                yield from self._events()
            elif not self.stop.wait(min(_TICK, self.poll)):
                yield was != there

    def _events(self) -> Iterator[bool]:
        """From the system; ends when the root is gone: there may be another one later, which has to be watched anew."""
        began = last = ticked = time.monotonic()
        bursting = True  # what happened before the watch began shows in no event
        self.changes += 1
        try:
            for changes in watcher()(
                self.root, watch_filter=None, debounce=_AT_MOST, step=_STEP, stop_event=self.stop, rust_timeout=int(QUIET * 1000),
                yield_on_timeout=True, ignore_permission_denied=True,
            ):  # fmt: skip
                now = time.monotonic()
                if any(self._matters(path) for _, path in changes):
                    began, last, bursting = began if bursting else now, now, True
                    self.changes += 1
                self.following = (
                    not bursting
                )  # not before the first moment without a change after the last hint was taken
                if bursting and (now - last >= QUIET or now - began >= _LONGEST):
                    bursting, ticked = False, now
                    yield True
                elif now - ticked >= _TICK:
                    ticked = now
                    yield False
                if not self.root.is_dir():
                    return
        except (OSError, RuntimeError, AssayError) as error:  # as a rule, too few watches for so many folders
            self.events, self.poll = False, min(self.poll, INSTEAD)
            self.complain(f"{error}; looking every {self.poll:g} s instead")
        finally:
            self.following = False

    def _matters(self, path: str) -> bool:
        """Whether a change could be one of the index. What is gone may have been a folder."""
        inside = Path(os.path.relpath(path, self.root)).as_posix()
        name = os.path.basename(inside)
        if is_vendored(inside) or _TEMPORARY.search(name) or Path(path).is_relative_to(self.own):
            return False
        known = name in _NAMED or language_of(inside) is not None or format_of(inside) is not None
        return known or os.path.isdir(path) or not os.path.lexists(path)

    def _settle(self) -> None:
        """Waits until git is done: it holds a lock while it switches branches."""
        until = time.monotonic() + _LOCKED
        while self._git and (self._git / "index.lock").exists() and time.monotonic() < until:
            if self.stop.wait(QUIET):
                return

    @cached_property
    def _git(self) -> Path | None:
        """Git's own folder, elsewhere for a worktree."""
        place = find_place(self.root)
        return place.git_dir if place else None

    def _head(self) -> tuple[int, int] | None:
        """Size and time of git's log of where HEAD was; None without one."""
        try:
            found = os.stat(self._git / "logs" / "HEAD") if self._git else None
        except OSError:
            return None
        return (found.st_size, found.st_mtime_ns) if found else None
