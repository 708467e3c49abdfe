"""An answer before there is an index: file names and lines that have the words of a task, found by reading what time allows. No parser.

A word that few files have counts more; one in a path counts three times. Files whose path has a word are read first.
"""

from __future__ import annotations

import math
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, TimeoutError
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from assay.errors import AssayError
from assay.ingest.walk import scan
from assay.retrieve.vocabulary import STOP_WORDS
from assay.store.files import read_bytes
from assay.text import identifiers

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
