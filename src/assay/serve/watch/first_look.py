"""Index-free search within a time limit, used until the index is built; and the file watcher that schedules refreshes.

Search: list files → read those whose path matches first → score by inverse document frequency (a path match counts three times).
Watcher: file system events, HEAD moves, requests and a periodic rescan → debounced `Hint`s.
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

_SEARCH_SECONDS = 0.6  # keeps an answer below one second
_LISTING_TTL = 10.0  # seconds a file listing is reused
_PATH_WEIGHT = 3.0  # of a word in the path; a word in the text weighs 1
_MAX_BYTES = 300_000  # read of a file: the tail of a longer one rarely adds new words
_MIN_LETTERS = 3  # of a query word
_MAX_WORDS = 12  # of a query: more do not fit into the time limit
_MAX_LINES = 3  # shown of a file
_MAX_COLUMNS = 160  # shown of a line
_DEFINITION = re.compile(
    r"^\s*(?:export |public |private |static |async |pub )*(?:def|class|fn|func|function|struct|trait|enum|interface|type|module)\b"
)


Places = dict[str, tuple[Path, str]]  # displayed path → (root, path below that root)


@dataclass(frozen=True, slots=True)
class Match:
    """A matching file and its best lines as (number, text)."""

    path: str
    score: float
    lines: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class Look:
    """Matches, best first, with the number of files read and listed."""

    matches: list[Match]
    read: int
    files: int

    def __str__(self) -> str:
        return f"by words alone, {self.read:,} of {self.files:,} files read"


class FirstLook:
    """Index-free search: files are listed ahead of time in a background thread and read at query time."""

    def __init__(self, roots: Path | Mapping[str, Path]) -> None:
        """Take one root, or several by label."""
        self._roots = {"": roots} if isinstance(roots, Path) else roots
        self._listing: Future[Places] | None = None
        self._listed_at = 0.0
        self._lock = threading.Lock()

    def begin(self) -> Future[Places]:
        """Start listing the files unless a recent listing exists; return its future."""
        with self._lock:
            if self._listing is None or (self._listing.done() and time.monotonic() - self._listed_at > _LISTING_TTL):
                self._listing, self._listed_at = Future(), time.monotonic()
                threading.Thread(target=self._list, args=(self._listing,), name="assay listing", daemon=True).start()
            return self._listing

    def _list(self, listing: Future[Places]) -> None:
        """Resolve the future with the files of all readable roots; fail it only if no root can be listed."""
        places, problems = Places(), list[Exception]()
        for label, root in self._roots.items():
            try:
                scanned = scan(root)
                places |= {f"{label}/{path}".lstrip("/"): (root, path) for path in (*scanned.files, *scanned.documents)}
            except (AssayError, OSError) as error:
                problems.append(error)
        if len(problems) == len(self._roots):
            listing.set_exception(problems[0])
        else:
            listing.set_result(places)

    def look(
        self, text: str, stop: threading.Event | None = None, most: int = 20, seconds: float = _SEARCH_SECONDS
    ) -> Look:
        """Rank files by the query words they contain, reading as many as the time limit allows."""
        deadline = time.monotonic() + seconds
        query_words = words(text)
        try:
            places = self.begin().result(seconds)
        except TimeoutError:
            return Look([], 0, 0)
        paths = sorted(places, key=lambda path: (-len(_words_in_path(path, query_words)), path))
        words_by_path: dict[str, set[str]] = {}
        for path in paths:
            if (stop and stop.is_set()) or time.monotonic() > deadline:
                break
            words_by_path[path] = _words_in_file(*places[path], query_words)
        idf = _idf(words_by_path, query_words)
        ranked = sorted(
            ((_score(path, matched, query_words, idf), path) for path, matched in words_by_path.items()),
            key=lambda row: (-row[0], row[1]),
        )
        best = [(score, path) for score, path in ranked[:most] if score > 0]
        matches = [Match(path, score, _best_lines(*places[path], query_words, idf)) for score, path in best]
        return Look(matches, len(words_by_path), len(paths))


def words(text: str) -> tuple[str, ...]:
    """Split a text into lower-case words without stop words; identifiers are split into their parts."""
    candidates = [word for word in identifiers.words(text) if len(word) >= _MIN_LETTERS]
    return tuple(dict.fromkeys([word for word in candidates if word not in STOP_WORDS] or candidates))[:_MAX_WORDS]


def _words_in_path(path: str, query_words: tuple[str, ...]) -> set[str]:
    return {word for word in query_words if _pattern(word).search(path)}


def _words_in_file(root: Path, path: str, query_words: tuple[str, ...]) -> set[str]:
    """Return the query words a file contains; none if it cannot be read."""
    data = _read(root, path)
    lower = data.lower()  # the substring test is fast and rejects most files before the regex
    return {
        word
        for word in query_words
        if _stem(word).encode() in lower and _pattern(word).search(data.decode("utf-8", "replace"))
    }


def _read(root: Path, path: str) -> bytes:
    try:
        return read_bytes(root, path, _MAX_BYTES)
    except (OSError, ValueError):
        return b""


def _stem(word: str) -> str:
    """Strip a common English suffix: `signed`, `signing` → `sign`, `sessions` → `session`."""
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= _MIN_LETTERS:
            return word[: -len(ending)]
    return word


@lru_cache(maxsize=1_000)
def _pattern(word: str) -> re.Pattern[str]:
    """Return a regex that matches a word at the start of an identifier part: `sign` in `getSigner`, not in `design`."""
    stem = re.escape(_stem(word))
    return re.compile(rf"(?<![^\W\d_]){stem}|{stem.capitalize()}|(?<![^\W\d_]){stem.upper()}")


def _idf(words_by_path: dict[str, set[str]], query_words: tuple[str, ...]) -> dict[str, float]:
    counts = Counter(word for matched in words_by_path.values() for word in matched)
    return {word: math.log(1 + len(words_by_path) / (counts[word] or 1)) for word in query_words}


def _score(path: str, matched: set[str], query_words: tuple[str, ...], idf: dict[str, float]) -> float:
    return sum(idf[word] for word in matched) + _PATH_WEIGHT * sum(
        idf[word] for word in _words_in_path(path, query_words)
    )


def _best_lines(
    root: Path, path: str, query_words: tuple[str, ...], idf: dict[str, float]
) -> tuple[tuple[int, str], ...]:
    """Return the lines with the rarest words in file order; definitions are preferred."""
    rows = sorted(_score_lines(_read(root, path).decode("utf-8", "replace"), query_words, idf), reverse=True)[
        :_MAX_LINES
    ]
    return tuple(sorted((-number, text) for _, number, text in rows))


def _score_lines(text: str, query_words: tuple[str, ...], idf: dict[str, float]) -> Iterator[tuple[float, int, str]]:
    """Yield (score, -line number, line) of matching lines; the negative number sorts earlier lines higher on ties."""
    patterns = {word: _pattern(word) for word in query_words}
    for number, line in enumerate(text.splitlines(), 1):
        score = sum(idf[word] for word, pattern in patterns.items() if pattern.search(line))
        if score:
            yield score * (2 if _DEFINITION.match(line) else 1), -number, line.strip()[:_MAX_COLUMNS]


# File watcher

DEBOUNCE_SECONDS = (
    0.3  # seconds without a change that end a burst; an editor's save and git's gap between files are shorter
)
_STEP_MS, _DEBOUNCE_MS = 50, 100  # event batching of watchfiles
_MAX_BURST = 3.0  # seconds: a log file may be written continuously
_MAX_LOCK = 10.0  # seconds to wait for git's lock: a crashed git leaves it behind
_TICK = 1.0  # seconds between checks of HEAD and of requests
RESCAN_SECONDS = 60.0  # seconds between rescans without any event
POLL_SECONDS = 2.0  # seconds between polls where events are unavailable
_CONFIG_FILES = frozenset({".gitignore", IGNORE_FILE, CONFIGURATION}) | CONFIG_NAMES
# temporary files of vim, emacs, JetBrains, and files renamed into place when complete
_TEMPORARY = re.compile(r"~$|^\.#|^#.*#$|\.sw[a-z]$|___jb_\w+___$|\.tmp$|^4913$")


class Hint(Enum):
    """Reason for a freshness check: files may have changed, or HEAD moved."""

    CHANGED = "changed"
    MOVED = "moved"


def watcher() -> Callable[..., Iterator[set[tuple[Change, str]]]]:
    """Return `watchfiles.watch`. Raises AssayError if watchfiles is not installed."""
    try:
        from watchfiles import watch
    except ImportError:
        raise AssayError(
            f"watching needs the package watchfiles: {install('watch')}. Without it, use --poll SECONDS."
        ) from None
    return watch


@dataclass
class TreeWatcher:
    """Watches a tree by file system events and a rescan every `poll` seconds."""

    root: Path
    own: Path  # index folder, whose changes are ignored
    events: bool = True
    poll: float = RESCAN_SECONDS
    stop: threading.Event = field(default_factory=threading.Event)
    asked: threading.Event = field(default_factory=threading.Event)  # set to request a check now
    complain: Callable[[str], None] = lambda _text: None  # called when events turn out to be unavailable
    following: bool = False  # events confirm that nothing changed since the last hint
    changes: int = 0  # counter of event batches and watcher restarts; equal values mean no change

    def hints(self) -> Iterator[Hint]:
        """Yield a hint whenever freshness should be checked, the first immediately. Ends when `stop` is set."""
        head = self._head_stamp()
        yield Hint.MOVED
        last_check = time.monotonic()
        for changed in self._ticks():
            if changed:
                self._wait_for_git()
            previous_head, head = head, self._head_stamp()
            if head != previous_head:
                yield Hint.MOVED
            elif changed or self.asked.is_set() or time.monotonic() - last_check >= self.poll:
                self.asked.clear()
                yield Hint.CHANGED
            else:
                continue
            last_check = time.monotonic()

    def _ticks(self) -> Iterator[bool]:
        """Yield at the end of each burst and every second: True if relevant files changed."""
        exists = True
        while not self.stop.is_set():
            existed, exists = exists, self.root.is_dir()
            if self.events and exists:
                yield from self._events()
            elif not self.stop.wait(min(_TICK, self.poll)):
                yield existed != exists

    def _events(self) -> Iterator[bool]:
        """Yield ticks from file system events. Ends when the root disappears; a new root needs a new watch."""
        began = last = ticked = time.monotonic()
        bursting = True  # changes before the watch began produce no event
        self.changes += 1
        try:
            for changes in watcher()(
                self.root, watch_filter=None, debounce=_DEBOUNCE_MS, step=_STEP_MS, stop_event=self.stop, rust_timeout=int(DEBOUNCE_SECONDS * 1000),
                yield_on_timeout=True, ignore_permission_denied=True,
            ):  # fmt: skip
                now = time.monotonic()
                if any(self._is_relevant(path) for _, path in changes):
                    began, last, bursting = began if bursting else now, now, True
                    self.changes += 1
                self.following = not bursting  # only once quiet after the last hint was consumed
                if bursting and (now - last >= DEBOUNCE_SECONDS or now - began >= _MAX_BURST):
                    bursting, ticked = False, now
                    yield True
                elif now - ticked >= _TICK:
                    ticked = now
                    yield False
                if not self.root.is_dir():
                    return
        except (OSError, RuntimeError, AssayError) as error:  # usually: inotify watch limit exceeded
            self.events, self.poll = False, min(self.poll, POLL_SECONDS)
            self.complain(f"{error}; polling every {self.poll:g} s instead")
        finally:
            self.following = False

    def _is_relevant(self, path: str) -> bool:
        """Return True if a change can affect the index. A deleted path may have been a folder, so it counts."""
        relative = Path(os.path.relpath(path, self.root)).as_posix()
        name = os.path.basename(relative)
        if is_vendored(relative) or _TEMPORARY.search(name) or Path(path).is_relative_to(self.own):
            return False
        indexable = name in _CONFIG_FILES or language_of(relative) is not None or format_of(relative) is not None
        return indexable or os.path.isdir(path) or not os.path.lexists(path)

    def _wait_for_git(self) -> None:
        """Wait until git releases its lock, which it holds while switching branches."""
        deadline = time.monotonic() + _MAX_LOCK
        while self._git_dir and (self._git_dir / "index.lock").exists() and time.monotonic() < deadline:
            if self.stop.wait(DEBOUNCE_SECONDS):
                return

    @cached_property
    def _git_dir(self) -> Path | None:
        """Git directory, which for a worktree lies elsewhere."""
        place = find_place(self.root)
        return place.git_dir if place else None

    def _head_stamp(self) -> tuple[int, int] | None:
        """Return size and mtime of the HEAD reflog, or None without one."""
        try:
            stat = os.stat(self._git_dir / "logs" / "HEAD") if self._git_dir else None
        except OSError:
            return None
        return (stat.st_size, stat.st_mtime_ns) if stat else None
