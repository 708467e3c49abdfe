"""Index-free search within a time limit, used until the index is built.

list files → read those whose path matches first → score by inverse document frequency (a path match counts three times)
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

from assay.api import Repository
from assay.errors import AssayError
from assay.rank.vocabulary import STOP_WORDS
from assay.store.layout import read_bytes
from assay.text import terms as identifiers

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
                scanned = Repository(root).scan()
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
