"""Commit history: postings from terms to commits, and the files and symbols that each commit touched.

One file in `.assay/`, replaced atomically when HEAD moves; new commits are put before those of the last one. Commits
are numbered from 0, newest first. Touched files and
symbols are stored by path and name and resolved against an open index, so that edits never rewrite the history.

A `CommitLog` is the file of one repository, `History` those of all parts of an index.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain
from pathlib import Path

import numpy as np

from assay.core.items import Item
from assay.store import arrays
from assay.store.arrays import Array
from assay.store.generation import Generation, UnusableIndex
from assay.store.index import Index

NAME = "history.npz"
FORMAT = 3  # file format version
_WHAT = "the history"  # in messages
HALF_LIFE = 365 * 86400  # seconds after which a co-change counts half: last year's design is less relevant
_RELATIONS = arrays.Relations(
    rows=(
        ("times", "places", "ids", "sizes", "lengths", "authors", "subject"), ("commits", "counts"), ("files", "before"),
    ),
    numbers={
        "authors": ["author"], "commits": ["times"], "files": ["path"], "names": ["path", "name"], "before": ["path"],
    },
    optional=("before",),
    widths=("ids",),
    groups={"file_starts": ("files", "times"), "name_starts": ("names", "times"), "term_starts": ("commits", "term")},
)  # fmt: skip
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
    author: str = ""
    place: int = 0  # in the walk from HEAD, which also has commits that are not stored


def write(path: Path, key: str, commits: Sequence[Commit], older: Mapping[str, Array] | None = None) -> None:
    """Write a history atomically; `key` identifies its input. The commits of `older` (see `shifted`) follow."""
    stored = _arrays(key, commits)
    arrays.write(path, _joined(stored, older) if older else stored)


def key_of(path: Path) -> str | None:
    """Return the input key of a history; None if it is missing or damaged."""
    stored = read(path)
    return key(stored) if stored else None


def key(stored: Mapping[str, Array]) -> str | None:
    """Return the key that a stored history was written with."""
    return arrays.key_of(stored, FORMAT)


def read(path: Path) -> dict[str, Array] | None:
    """Return a stored history; None if it is missing or damaged."""
    try:
        return _load(path)
    except (OSError, UnusableIndex):
        return None


def _load(path: Path) -> dict[str, Array]:
    return arrays.read(path, FORMAT, _WHAT, _empty_arrays(), _RELATIONS)


@cache
def _empty_arrays() -> dict[str, Array]:
    """Return the arrays of an empty history."""
    return _arrays("", [])


def _arrays(key: str, commits: Sequence[Commit]) -> dict[str, Array]:
    touches = [touch for commit in commits for touch in commit.touched]
    paths = _numbered(path for touch in touches for path in (touch.path, touch.before) if path)
    names = _numbered(name for touch in touches for name, _ in touch.names)
    authors = _numbered(commit.author for commit in commits)
    symbols = [[(paths[t.path], names[name], line) for t in c.touched for name, line in t.names] for c in commits]
    return {
        "key": arrays.key(FORMAT, key),
        "ids": np.frombuffer(bytes.fromhex("".join(c.id for c in commits)), "u1").reshape(len(commits), -1)
        if commits
        else np.zeros((0, 20), "u1"),
        "times": np.array([c.time for c in commits], "<i8"),
        "places": np.array([c.place for c in commits], "<i4"),
        "sizes": np.array([c.size for c in commits], "<i4"),
        "lengths": np.array([sum(c.terms.values()) for c in commits], "<i4"),
        "authors": np.array([authors[c.author] for c in commits], "<i4"),
        **_postings(commits),
        "files": np.array([paths[touch.path] for touch in touches], "<i4"),
        "file_starts": arrays.starts(c.touched for c in commits),
        "names": np.array(list(chain.from_iterable(symbols)), "<i4").reshape(-1, 3),
        "name_starts": arrays.starts(symbols),
        "before": np.array([paths[touch.before] if touch.before else -1 for touch in touches], "<i4"),
        **arrays.strings("subject", (c.subject for c in commits)),
        **arrays.strings("path", paths),
        **arrays.strings("name", names),
        **arrays.strings("author", authors),
    }


def _numbered(values: Iterable[str]) -> dict[str, int]:
    """Number distinct values in order of appearance."""
    return {value: number for number, value in enumerate(dict.fromkeys(values))}


def _postings(commits: Sequence[Commit]) -> dict[str, Array]:
    """Return the terms, and the commits of each with its term frequency."""
    vocabulary = _numbered(term for commit in commits for term in commit.terms)
    entries = [(vocabulary[t], n, min(count, 255)) for n, c in enumerate(commits) for t, count in c.terms.items()]
    return _sorted_postings([*vocabulary], np.array(entries, "<i4").reshape(-1, 3))


def _sorted_postings(terms: Sequence[str], rows: Array) -> dict[str, Array]:
    """Return postings from rows of term, commit and frequency; terms without rows are dropped."""
    used = sorted((terms[number], number) for number in set(rows[:, 0].tolist()))
    places = np.zeros(len(terms), "<i4")
    places[[number for _, number in used]] = np.arange(len(used))
    numbers = places[rows[:, 0]]
    order = np.lexsort((rows[:, 1], numbers))
    return {
        "commits": rows[order, 1],
        "counts": rows[order, 2].astype("u1"),
        "term_starts": np.searchsorted(numbers[order], np.arange(len(used) + 1)).astype("<i4"),
        **arrays.strings("term", (term for term, _ in used)),
    }


# New commits before stored ones. Strings are numbered in order of appearance, so those of the oldest commits are last


def shifted(older: Mapping[str, Array], added: int, most: int, most_named: int) -> Mapping[str, Array]:
    """Return a stored history as it follows `added` new commits: of `most`, and `most_named` with definitions."""
    places = older["places"] + np.int32(added)
    count, named = np.searchsorted(places, (most, most_named))
    files, names = older["file_starts"][count], older["name_starts"][min(count, named)]
    rows = {name: older[name][:count] for name in ("ids", "times", "sizes", "lengths", "authors")}
    terms = np.repeat(np.arange(len(older["term_starts"]) - 1, dtype="<i4"), np.diff(older["term_starts"]))
    postings = np.stack([terms, older["commits"], older["counts"]], axis=1)
    return {
        **older, **rows, "places": places[:count],
        "subject_text_starts": older["subject_text_starts"][: count + 1],
        "files": older["files"][:files], "before": older["before"][:files], "file_starts": older["file_starts"][: count + 1],
        "names": older["names"][:names], "name_starts": np.minimum(older["name_starts"][: count + 1], names),
        "postings": postings[postings[:, 1] < count],
    }  # fmt: skip


def _joined(fresh: dict[str, Array], older: Mapping[str, Array]) -> dict[str, Array]:
    """Return new commits with `shifted` older ones after them, as if all had been read at once."""
    out = {name: np.concatenate([fresh[name], older[name]]) for name in ("times", "places", "sizes", "lengths")}
    out["ids"] = np.concatenate([rows for rows in (fresh["ids"], older["ids"]) if len(rows)] or [fresh["ids"]])
    for name in ("file_starts", "name_starts"):
        out[name] = np.concatenate([fresh[name], older[name][1:] + fresh[name][-1]])
    subjects = [*arrays.strings_of(fresh, "subject"), *arrays.strings_of(older, "subject")]
    out |= arrays.strings("subject", subjects)
    # rows of numbers, all in order of appearance in the touches of a commit
    touches = np.stack([older["files"], older["before"]], axis=1)
    paths, path_numbers = _joined_strings("path", fresh, older, touches)
    names, name_numbers = _joined_strings("name", fresh, older, older["names"][:, 1])
    authors, author_numbers = _joined_strings("author", fresh, older, older["authors"])
    out |= paths | names | authors
    named = np.stack(
        [path_numbers[older["names"][:, 0]], name_numbers[older["names"][:, 1]], older["names"][:, 2]], axis=1
    )
    out["authors"] = np.concatenate([fresh["authors"], author_numbers[older["authors"]]])
    out["files"] = np.concatenate([fresh["files"], path_numbers[older["files"]]])
    out["before"] = np.concatenate([fresh["before"], path_numbers[older["before"]]])
    out["names"] = np.concatenate([fresh["names"], named])
    terms = _numbered([*arrays.strings_of(fresh, "term"), *arrays.strings_of(older, "term")])
    renumbered = np.array([terms[term] for term in arrays.strings_of(older, "term")], "<i4")
    rows = np.repeat(np.arange(len(fresh["term_starts"]) - 1, dtype="<i4"), np.diff(fresh["term_starts"]))
    fresh_rows = np.stack([rows, fresh["commits"], fresh["counts"]], axis=1)
    older_rows = older["postings"].copy()
    older_rows[:, 0], older_rows[:, 1] = renumbered[older_rows[:, 0]], older_rows[:, 1] + len(fresh["times"])
    out |= _sorted_postings([*terms], np.concatenate([fresh_rows, older_rows]))
    return {name: out.get(name, array) for name, array in fresh.items()}


def _joined_strings(
    what: str, fresh: Mapping[str, Array], older: Mapping[str, Array], used: Array
) -> tuple[dict[str, Array], Array]:
    """Return the strings of both, numbered in order of appearance, and the numbers of the older ones; -1 stays -1."""
    strings = [*arrays.strings_of(older, what)][: used.max(initial=-1) + 1]
    numbers = _numbered([*arrays.strings_of(fresh, what), *strings])
    return arrays.strings(what, numbers), np.array([*(numbers[string] for string in strings), -1], "<i4")


class CommitLog:
    """The history of one repository, resolved against its index: files and symbols that are not indexed are left out."""

    def __init__(self, generation: Generation, stored: Mapping[str, Array]) -> None:
        self._generation, self.arrays = generation, stored
        self.subjects, self._terms, self._paths, self._names, self._authors = (
            arrays.strings_of(stored, what) for what in ("subject", "term", "path", "name", "author")
        )
        self._symbols: dict[int, dict[str, list[tuple[int, int, int]]]] = {}
        self._changed_spans: dict[int, list[tuple[int, int, int]]] = {}

    @classmethod
    def open(cls, generation: Generation) -> CommitLog:
        """Open the history of a repository; empty if there is none that this version reads."""
        return cls(generation, arrays.read_or_empty(generation.home / NAME, FORMAT, _WHAT, _empty_arrays(), _RELATIONS))

    def __len__(self) -> int:
        return len(self.arrays["times"])

    def commits(self, term: str) -> tuple[Array, Array]:
        position = self._terms.find(term)
        start, end = self.arrays["term_starts"][position : position + 2] if position >= 0 else (0, 0)
        return self.arrays["commits"][start:end], self.arrays["counts"][start:end]

    def touched(self, commit: int) -> Array:
        start, end = self.arrays["file_starts"][commit : commit + 2]
        numbers = np.sort(self._numbers[self.arrays["files"][start:end]])
        return numbers[(numbers > 0) & (np.diff(numbers, prepend=0) > 0)]

    def symbols(self, commit: int) -> Array:
        start, end = self.arrays["name_starts"][commit : commit + 2]
        if start == end:
            return np.zeros(0, "<i4")
        out: set[int] = set()
        for path, name, line in self.arrays["names"][start:end].tolist():
            named = self._named(int(self._numbers[path])).get(self._names[name], [])
            if len(named) == 1:
                out.add(named[0][0])
            elif named:
                out.add(min((_distance(line, start, end), number) for number, start, end in named)[1])
        return np.array(sorted(out), "<i4")

    def author(self, commit: int) -> str:
        return self._authors[int(self.arrays["authors"][commit])]

    def changes(self, file: int) -> Array:
        """Return the commits that touched a file, newest first."""
        files, commits = self._by_file
        start, end = np.searchsorted(files, [file, file + 1])
        return np.unique(commits[start:end])

    def symbol_changes(self, file: int, first: int, last: int) -> list[int]:
        """Return the commits that touched a definition of a file within some lines, newest first."""
        return sorted(
            {commit for commit, start, end in self._definition_changes(file) if first <= start and end <= last}
        )

    def _definition_changes(self, file: int) -> list[tuple[int, int, int]]:
        """Return the commits that touched definitions of a file, each with the current lines of the definition."""
        if file not in self._changed_spans:
            files, rows = self._by_named_file
            start, end = np.searchsorted(files, [file, file + 1])
            commits = np.searchsorted(self.arrays["name_starts"], rows[start:end], "right") - 1
            named, out = self._named(file), self._changed_spans.setdefault(file, [])
            for commit, (_, name, line) in zip(
                commits.tolist(), self.arrays["names"][rows[start:end]].tolist(), strict=True
            ):
                spans = [span for _, *span in named.get(self._names[name], [])]
                if spans:
                    first, last = min(spans, key=lambda span: (_distance(line, *span), *span))
                    out.append((commit, first, last))
        return self._changed_spans[file]

    @cached_property
    def _by_file(self) -> tuple[Array, Array]:
        """File and commit of every touch of an existing file, by file."""
        files, commits = self._touches
        order = np.argsort(files, kind="stable")
        return files[order], commits[order]

    @cached_property
    def _by_named_file(self) -> tuple[Array, Array]:
        """File of every changed definition and the row that states it, by file."""
        files = self._numbers[self.arrays["names"][:, 0]] if len(self._numbers) else np.zeros(0, "<i4")
        order = np.argsort(files, kind="stable")
        return files[order], order

    def counts(self) -> Array:
        """Return the number of commits per file number."""
        return np.bincount(self._touches[0], minlength=self._generation.last_file + 1)

    def ages(self) -> Array:
        (numbers, commits), times = self._touches, self.arrays["times"]
        last = np.full(self._generation.last_file + 1, times[-1] if len(self) else 0, "<i8")
        np.maximum.at(last, numbers, times[commits])
        return np.asarray(times.max(initial=0) - last)

    @cached_property
    def _touches(self) -> tuple[Array, Array]:
        """File and commit of every touch of an existing file."""
        numbers = self._numbers[self.arrays["files"]]
        commits = np.repeat(np.arange(len(self)), np.diff(self.arrays["file_starts"]))
        return numbers[numbers > 0], commits[numbers > 0]

    @cached_property
    def _numbers(self) -> Array:
        """Current file number of every stored path, following renames; 0 if the file is gone."""
        files, touched, before = self._generation.files, self.arrays["files"], self.arrays["before"]
        later = np.full(len(self._paths), -1, "<i4")  # the path that each path was renamed to; the newest rename wins
        later[before[::-1][before[::-1] >= 0]] = touched[::-1][before[::-1] >= 0]
        current = [files[path].number if path in files else 0 for path in self._paths]
        out = np.zeros(len(current), "<i4")
        for number in range(len(current)):
            seen, place = {number}, number
            while not current[place] and later[place] >= 0 and int(later[place]) not in seen:
                place = int(later[place])
                seen.add(place)
            out[number] = current[place]
        return out

    def _named(self, file: int) -> dict[str, list[tuple[int, int, int]]]:
        """Return the symbols of a file by name, each with its first and last line."""
        if file not in self._symbols:
            named = self._symbols[file] = {}
            rows = self._generation.catalogue.connection.execute(
                "SELECT name, number, start, end FROM symbols WHERE file = ? AND ordinal >= 0", (file,)
            )
            for name, *span in rows:
                named.setdefault(name, []).append(tuple(span))
        return self._symbols[file]


class History:
    """The commits of an index, one part after the other. Files and symbols are numbers of the index."""

    def __init__(self, index: Index, logs: Sequence[CommitLog]) -> None:
        self.index, self.logs = index, logs  # one log per part
        self._firsts = arrays.offsets(map(len, logs))

    @classmethod
    def open(cls, index: Index) -> History:
        """Open the history of an index; empty if there is none."""
        return cls(index, [CommitLog.open(part.generation) for part in index.parts])

    def __len__(self) -> int:
        return self._firsts[-1]

    @cached_property
    def times(self) -> Array:
        """Time of each commit, in seconds since 1970."""
        return arrays.concatenated([log.arrays["times"] for log in self.logs])

    @cached_property
    def sizes(self) -> Array:
        """Number of files that each commit touched, including files that are not indexed."""
        return arrays.concatenated([log.arrays["sizes"] for log in self.logs])

    @cached_property
    def lengths(self) -> Array:
        """Number of terms in each commit message."""
        return arrays.concatenated([log.arrays["lengths"] for log in self.logs])

    def id(self, commit: int) -> str:
        place, local = arrays.locate(self._firsts, commit)
        return bytes(self.logs[place].arrays["ids"][local]).hex()

    def subject(self, commit: int) -> str:
        place, local = arrays.locate(self._firsts, commit)
        return self.logs[place].subjects[local]

    def commits(self, term: str) -> tuple[Array, Array]:
        """Return the commits whose message has a term, newest of each part first, and the term frequencies."""
        return arrays.concatenated_postings([log.commits(term) for log in self.logs], self._firsts)

    def touched(self, commit: int) -> Array:
        """Return the current file numbers that a commit touched."""
        place, local = arrays.locate(self._firsts, commit)
        return self.logs[place].touched(local) + self.index.parts[place].first_file

    def symbols(self, commit: int) -> Array:
        """Return the symbols that a commit touched (recorded for the newest commits only).

        Among namesakes in a file, the one nearest to the changed line is taken: code keeps its order.
        """
        place, local = arrays.locate(self._firsts, commit)
        return self.logs[place].symbols(local) + self.index.parts[place].first

    @cached_property
    def counts(self) -> Array:
        """Number of commits per file number."""
        return arrays.concatenated([log.counts() for log in self.logs])

    @cached_property
    def ages(self) -> Array:
        """Seconds between each file's last commit and the newest commit; untouched files have the age of the first."""
        return arrays.concatenated([log.ages() for log in self.logs])

    def author(self, commit: int) -> str:
        """Return the name of a commit's author; empty if it is not recorded."""
        place, local = arrays.locate(self._firsts, commit)
        return self.logs[place].author(local)

    def changes(self, file: int) -> list[int]:
        """Return the commits that touched a file, newest first."""
        place, local = arrays.locate(self._first_files, file)
        return [commit + self._firsts[place] for commit in self.logs[place].changes(local).tolist()]

    def symbol_changes(self, item: Item) -> list[int]:
        """Return the commits that touched a symbol or what it contains, newest first; of the newest commits only."""
        if not item.symbol:
            return self.changes(self.index.files[item.path].number)
        place, file = arrays.locate(self._first_files, self.index.files[item.path].number)
        commits = self.logs[place].symbol_changes(file, item.start, item.end)
        return [commit + self._firsts[place] for commit in commits]

    @cached_property
    def _first_files(self) -> list[int]:
        return [part.first_file for part in self.index.parts]

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


def _distance(line: int, start: int, end: int) -> int:
    """Return the distance of a line from a span; 0 inside it."""
    return max(start - line, line - end, 0)
