"""An answer before there is an index: file names and lines that have the words of a task, found by reading what time allows. No parser.

A word that few files have counts more; one in a path counts three times. Files whose path has a word are read first.
"""

from __future__ import annotations

import math
import os
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, TimeoutError
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from assay.config.configuration import NAME as CONFIGURATION
from assay.errors import AssayError, install
from assay.git import find_place
from assay.index.documents.formats import format_of
from assay.index.scan import CONFIG_NAMES, IGNORE_FILE, is_vendored, scan
from assay.languages import language_of
from assay.rank.vocabulary import STOP_WORDS
from assay.store.layout import read_bytes
from assay.text import terms as identifiers

if TYPE_CHECKING:
    from watchfiles import Change

_SECONDS = 0.6  # for a look: an answer takes less than a second
_BELIEVED = 10.0  # seconds for which a list of files is used again
_IN_PATH = 3.0  # what a word in the path counts, one in the text being 1
_READ = 300_000  # bytes of a file: the rest of a longer one is seldom different
_SHORTEST = 3  # letters of a word
_WORDS = 12  # of a task: more do not fit into the time
_LINES = 3  # shown of a file
_WIDEST = 160  # characters of a line
_DEFINES = re.compile(
    r"^\s*(?:export |public |private |static |async |pub )*(?:def|class|fn|func|function|struct|trait|enum|interface|type|module)\b"
)


Places = dict[str, tuple[Path, str]]  # by the path that is shown: its root, and the path there


@dataclass(frozen=True, slots=True)
class Match:
    """A file, and its lines that say most: (number, text)."""

    path: str
    score: float
    lines: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class Look:
    """What a first look found, best first, in how many of how many files."""

    matches: list[Match]
    read: int
    files: int

    def __str__(self) -> str:
        return f"by words alone, {self.read:,} of {self.files:,} files read"


class FirstLook:
    """A tree that is listed in a thread of its own, before anybody asks, and read when it is asked."""

    def __init__(self, roots: Path | Mapping[str, Path]) -> None:
        """A root, or several by label."""
        self._roots = {"": roots} if isinstance(roots, Path) else roots
        self._listed: Future[Places] | None = None
        self._since = 0.0
        self._guard = threading.Lock()

    def begin(self) -> Future[Places]:
        """Lists the files, unless that was done lately."""
        with self._guard:
            if self._listed is None or (self._listed.done() and time.monotonic() - self._since > _BELIEVED):
                self._listed, self._since = Future(), time.monotonic()
                threading.Thread(target=self._list, args=(self._listed,), name="assay listing", daemon=True).start()
            return self._listed

    def _list(self, listed: Future[Places]) -> None:
        """What can be listed; an error only where nothing can."""
        found, problems = Places(), list[Exception]()
        for label, root in self._roots.items():
            try:
                one = scan(root)
                found |= {f"{label}/{path}".lstrip("/"): (root, path) for path in (*one.files, *one.documents)}
            except (AssayError, OSError) as error:
                problems.append(error)
        if len(problems) == len(self._roots):
            listed.set_exception(problems[0])
        else:
            listed.set_result(found)

    def look(self, text: str, stop: threading.Event | None = None, most: int = 20, seconds: float = _SECONDS) -> Look:
        """The files that have most of the words of a text, as far as the seconds reach."""
        until = time.monotonic() + seconds
        wanted = words(text)
        try:
            found = self.begin().result(seconds)
        except TimeoutError:
            return Look([], 0, 0)
        paths = sorted(found, key=lambda path: (-len(_named(path, wanted)), path))
        having: dict[str, set[str]] = {}
        for path in paths:
            if (stop and stop.is_set()) or time.monotonic() > until:
                break
            having[path] = _having(*found[path], wanted)
        rarity = _rarity(having, wanted)
        ranked = sorted(
            ((_score(path, had, wanted, rarity), path) for path, had in having.items()),
            key=lambda row: (-row[0], row[1]),
        )
        best = [(score, path) for score, path in ranked[:most] if score > 0]
        matches = [Match(path, score, _lines(*found[path], wanted, rarity)) for score, path in best]
        return Look(matches, len(having), len(paths))


def words(text: str) -> tuple[str, ...]:
    """The words of a text that say something, in lower case, identifiers taken apart."""
    found = [word for word in identifiers.words(text) if len(word) >= _SHORTEST]
    return tuple(dict.fromkeys([word for word in found if word not in STOP_WORDS] or found))[:_WORDS]


def _named(path: str, wanted: tuple[str, ...]) -> set[str]:
    return {word for word in wanted if _pattern(word).search(path)}


def _having(root: Path, path: str, wanted: tuple[str, ...]) -> set[str]:
    """The words that stand in a file; none when it cannot be read."""
    data = _read(root, path)
    lower = data.lower()  # looking for a part is fast; most files do not have it
    return {
        word
        for word in wanted
        if _stem(word).encode() in lower and _pattern(word).search(data.decode("utf-8", "replace"))
    }


def _read(root: Path, path: str) -> bytes:
    try:
        return read_bytes(root, path, _READ)
    except (OSError, ValueError):
        return b""


def _stem(word: str) -> str:
    """What a word has in common with its other forms: `signed` and `signing`, `sessions`."""
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST:
            return word[: -len(ending)]
    return word


@lru_cache(maxsize=1_000)
def _pattern(word: str) -> re.Pattern[str]:
    """Where a word begins: `sign` in `sign_cookie`, `getSigner` and `SIGNED`, not in `design`."""
    stem = re.escape(_stem(word))
    return re.compile(rf"(?<![^\W\d_]){stem}|{stem.capitalize()}|(?<![^\W\d_]){stem.upper()}")


def _rarity(having: dict[str, set[str]], wanted: tuple[str, ...]) -> dict[str, float]:
    counts = Counter(word for had in having.values() for word in had)
    return {word: math.log(1 + len(having) / (counts[word] or 1)) for word in wanted}


def _score(path: str, had: set[str], wanted: tuple[str, ...], rarity: dict[str, float]) -> float:
    return sum(rarity[word] for word in had) + _IN_PATH * sum(rarity[word] for word in _named(path, wanted))


def _lines(root: Path, path: str, wanted: tuple[str, ...], rarity: dict[str, float]) -> tuple[tuple[int, str], ...]:
    """The lines with the rarest words, definitions before others, in their order."""
    rows = sorted(_scored(_read(root, path).decode("utf-8", "replace"), wanted, rarity), reverse=True)[:_LINES]
    return tuple(sorted((-number, text) for _, number, text in rows))


def _scored(text: str, wanted: tuple[str, ...], rarity: dict[str, float]) -> Iterator[tuple[float, int, str]]:
    """(score, line number below zero, line) of each line that has a word: of equal ones, the first is the highest."""
    patterns = {word: _pattern(word) for word in wanted}
    for number, line in enumerate(text.splitlines(), 1):
        score = sum(rarity[word] for word, pattern in patterns.items() if pattern.search(line))
        if score:
            yield score * (2 if _DEFINES.match(line) else 1), -number, line.strip()[:_WIDEST]


# When to look whether an index is still fresh: after a burst of changes, when HEAD moved, when somebody asks, and
# once in a while.

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
