"""Commit history: postings from terms to commits, and the files and symbols that each commit touched.

One file in `.assay/`, replaced atomically when HEAD moves. Commits are numbered from 0, newest first. Touched files and
symbols are stored by path and name and resolved against an open index, so that edits never rewrite the history.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import chain
from pathlib import Path

import numpy as np

from assay.store import arrays
from assay.store.arrays import Array, Strings
from assay.store.index import Index, UnusableIndex

NAME = "history.npz"
FORMAT = 1  # file format version
HALF_LIFE = 365 * 86400  # seconds after which a co-change counts half: last year's design is less relevant
UNPAIRED = 1.0  # pseudo-commit in the denominator: changing together once is not a pattern


@dataclass(frozen=True, slots=True)
class Touch:
    """A file touched by a commit: its path, its previous path, and the definitions changed."""

    path: str
    before: str = ""  # previous path if the commit moved it
    names: tuple[tuple[str, int], ...] = ()  # changed definitions, each with a changed line


@dataclass(frozen=True, slots=True)
class Commit:
    """The stored facts of a commit."""

    id: str
    time: int  # commit time, seconds since 1970
    subject: str
    terms: Mapping[str, int]
    touched: Sequence[Touch]
    size: int  # files touched, including files that are not indexed


def write(path: Path, key: str, commits: Sequence[Commit]) -> None:
    """Write a history atomically; `key` identifies its input."""
    arrays.write(path, _arrays(key, commits))


def key_of(path: Path) -> str | None:
    """Return the input key of a history; None if it is missing or damaged."""
    try:
        return arrays.key_of(_load(path), FORMAT)
    except (OSError, UnusableIndex):
        return None


def _load(path: Path) -> dict[str, Array]:
    return arrays.load(path, FORMAT, "the history", _empty_arrays())


@cache
def _empty_arrays() -> dict[str, Array]:
    """Return the arrays of an empty history."""
    return _arrays("", [])


def _arrays(key: str, commits: Sequence[Commit]) -> dict[str, Array]:
    paths: dict[str, int] = {}
    names: dict[str, int] = {}
    for commit in commits:
        for touch in commit.touched:
            paths.setdefault(touch.path, len(paths))
            if touch.before:
                paths.setdefault(touch.before, len(paths))
            for name, _ in touch.names:
                names.setdefault(name, len(names))
    later = np.full(len(paths), -1, "<i4")
    for commit in reversed(commits):  # the newest rename of a path wins
        for touch in commit.touched:
            if touch.before:
                later[paths[touch.before]] = paths[touch.path]
    vocabulary = sorted({term for commit in commits for term in commit.terms})
    term_numbers = {term: number for number, term in enumerate(vocabulary)}
    entries = [(term_numbers[t], n, min(count, 255)) for n, c in enumerate(commits) for t, count in c.terms.items()]
    postings = np.array(entries, "<i4").reshape(-1, 3)
    postings = postings[np.lexsort((postings[:, 1], postings[:, 0]))]
    symbols = [[(paths[t.path], names[name], line) for t in c.touched for name, line in t.names] for c in commits]
    return {
        "key": arrays.key(FORMAT, key),
        "ids": np.frombuffer(bytes.fromhex("".join(c.id for c in commits)), "u1").reshape(len(commits), -1)
        if commits
        else np.zeros((0, 20), "u1"),
        "times": np.array([c.time for c in commits], "<i8"),
        "sizes": np.array([c.size for c in commits], "<i4"),
        "lengths": np.array([sum(c.terms.values()) for c in commits], "<i4"),
        "commits": postings[:, 1].copy(),
        "counts": postings[:, 2].astype("u1"),
        "term_starts": np.searchsorted(postings[:, 0], np.arange(len(vocabulary) + 1)).astype("<i4"),
        "files": np.array([paths[t.path] for c in commits for t in c.touched], "<i4"),
        "file_starts": arrays.starts(c.touched for c in commits),
        "names": np.array(list(chain.from_iterable(symbols)), "<i4").reshape(-1, 3),
        "name_starts": arrays.starts(symbols),
        "later": later,
        **arrays.strings("subject", (c.subject for c in commits)),
        **arrays.strings("term", vocabulary),
        **arrays.strings("path", paths),
        **arrays.strings("name", names),
    }


@dataclass(frozen=True)
class History:
    """The history for one index. Files and symbols are numbers of its catalogue; those not indexed are left out."""

    index: Index
    arrays: Mapping[str, Array]
    _symbols: dict[int, dict[str, list[tuple[int, int, int]]]] = field(default_factory=dict)

    @classmethod
    def open(cls, index: Index) -> History:
        """Open the history of an index; empty if there is none."""
        try:
            return cls(index, _load(index.folder.parent.parent / NAME))
        except FileNotFoundError:
            return cls(index, _empty_arrays())

    def __len__(self) -> int:
        return len(self.times)

    @property
    def head(self) -> str:
        """The commit that the history ends at; empty if there is none."""
        return (arrays.key_of(self.arrays, FORMAT) or "").partition(" ")[0]

    @property
    def times(self) -> Array:
        return self.arrays["times"]

    @property
    def sizes(self) -> Array:
        """Number of files that each commit touched, including files that are not indexed."""
        return self.arrays["sizes"]

    @property
    def lengths(self) -> Array:
        """Number of terms in each commit message."""
        return self.arrays["lengths"]

    def id(self, commit: int) -> str:
        return bytes(self.arrays["ids"][commit]).hex()

    def subject(self, commit: int) -> str:
        return self._strings_of("subject")[commit]

    def commits(self, term: str) -> tuple[Array, Array]:
        """Return the commits whose message has a term, newest first, and the term frequencies."""
        position = self._strings_of("term").find(term)
        if position < 0:
            return self.arrays["commits"][:0], self.arrays["counts"][:0]
        start, end = self.arrays["term_starts"][position : position + 2]
        return self.arrays["commits"][start:end], self.arrays["counts"][start:end]

    def touched(self, commit: int) -> Array:
        """Return the current file numbers that a commit touched."""
        start, end = self.arrays["file_starts"][commit : commit + 2]
        numbers = self._numbers[self.arrays["files"][start:end]]
        return np.array(sorted(set(numbers[numbers > 0].tolist())), numbers.dtype)

    def symbols(self, commit: int) -> Array:
        """Return the symbols that a commit touched (recorded for the newest commits only).

        Among namesakes in a file, the one nearest to the changed line is taken: code keeps its order.
        """
        start, end = self.arrays["name_starts"][commit : commit + 2]
        out: set[int] = set()
        for path, name, line in self.arrays["names"][start:end].tolist():
            named = self._named(int(self._numbers[path])).get(self._strings_of("name")[name], [])
            out.update(number for _, number in sorted((_distance(line, *span), number) for number, *span in named)[:1])
        return np.array(sorted(out), "<i4")

    @cached_property
    def counts(self) -> Array:
        """Number of commits per file number."""
        return np.bincount(self._touches[0], minlength=self._last_file + 1)

    @cached_property
    def ages(self) -> Array:
        """Seconds between each file's last commit and the newest commit; untouched files have the age of the first."""
        numbers, commits = self._touches
        last = np.full(self._last_file + 1, self.times[-1] if len(self) else 0, "<i8")
        np.maximum.at(last, numbers, self.times[commits])
        return np.asarray(self.times.max(initial=0) - last)

    @property
    def _last_file(self) -> int:
        return max((row.number for row in self.index.files.values()), default=0)

    @cached_property
    def _touches(self) -> tuple[Array, Array]:
        """File and commit of every touch of an existing file."""
        numbers = self._numbers[self.arrays["files"]]
        commits = np.repeat(np.arange(len(self)), np.diff(self.arrays["file_starts"]))
        return numbers[numbers > 0], commits[numbers > 0]

    def changes(self, file: int) -> list[int]:
        """Return the commits that touched a file, newest first."""
        return self._changes.get(file, [])

    def co_changed(self, file: int) -> list[tuple[int, float]]:
        """Return the files that change together with a file, with scores; small and recent commits count most."""
        commits = self.changes(file)
        weights = 0.5 ** ((self.times.max(initial=0) - self.times[commits]) / HALF_LIFE)
        shares: defaultdict[int, float] = defaultdict(float)
        for commit, weight in zip(commits, weights, strict=True):
            others = self.touched(commit)
            for other in others[others != file]:
                shares[int(other)] += float(weight) / max(1, int(self.sizes[commit]) - 1)
        total = float(weights.sum()) + UNPAIRED
        return sorted(
            ((other_file, share / total) for other_file, share in shares.items()), key=lambda pair: (-pair[1], pair[0])
        )

    def _strings_of(self, name: str) -> Strings:
        return self._all_strings[name]

    @cached_property
    def _all_strings(self) -> dict[str, Strings]:
        kinds = ("subject", "term", "path", "name")
        return {name: arrays.strings_of(self.arrays, name) for name in kinds}

    @cached_property
    def _numbers(self) -> Array:
        """Current file number of every stored path, following renames; 0 if the file is gone."""
        paths, later = self._strings_of("path"), self.arrays["later"]
        current = [
            self.index.files[path].number if (path := paths[n]) in self.index.files else 0 for n in range(len(paths))
        ]
        out = np.zeros(len(paths), "<i4")
        for number in range(len(paths)):
            seen, place = {number}, number
            while not current[place] and later[place] >= 0 and int(later[place]) not in seen:
                place = int(later[place])
                seen.add(place)
            out[number] = current[place]
        return out

    @cached_property
    def _changes(self) -> dict[int, list[int]]:
        """Commits per file."""
        out: defaultdict[int, list[int]] = defaultdict(list)
        for commit in range(len(self)):
            for file in self.touched(commit):
                out[int(file)].append(commit)
        return out

    def _named(self, file: int) -> dict[str, list[tuple[int, int, int]]]:
        """Return the symbols of a file by name, each with its first and last line."""
        if file not in self._symbols:
            named = self._symbols[file] = {}
            rows = self.index.catalogue.connection.execute(
                "SELECT name, number, start, end FROM symbols WHERE file = ? AND ordinal >= 0", (file,)
            )
            for name, *span in rows:
                named.setdefault(name, []).append(tuple(span))
        return self._symbols[file]


def _distance(line: int, start: int, end: int) -> int:
    """Return the distance of a line from a span; 0 inside it."""
    return max(start - line, line - end, 0)
