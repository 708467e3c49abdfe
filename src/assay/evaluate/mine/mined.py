"""Mined queries: settings, results, cleaning of texts, sampling and splits in time."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Protocol

from assay.core.golden import GoldenQuery
from assay.errors import AssayError
from assay.git import Git
from assay.text.prose import LEADING, tidy, without_ids, without_trailers


@dataclass(frozen=True, slots=True)
class Options:
    """What to mine and what to leave out; 0 and "" mean no bound."""

    limit: int = 0  # queries, the newest first
    max_commits: int = 0  # commits looked at
    since: str = ""  # a date (UTC) or a revision
    until: str = ""
    max_files: int = 10  # more is a bulk change: its message speaks of none of them
    max_symbols: int = 20
    min_words: int = 4  # fewer say too little to search for
    keep_trailers: bool = False
    strip_ids: bool = False
    strip_names: bool = False
    include_tests: bool = False
    held_out: bool = False  # mark docstring queries as ones whose doc comment the index must not see


class Progress(Protocol):
    """What is told how far the work is."""

    def start(self, stage: str, total: int) -> None: ...
    def advance(self, count: int = 1) -> None: ...


@dataclass(frozen=True, slots=True)
class Mined:
    """Mined queries in a stable order, how many candidates were left out for each reason, and what the user should know."""

    queries: list[GoldenQuery]
    counts: dict[str, int]
    warnings: list[str] = field(default_factory=list)


class LeftOut(Exception):
    """A candidate that makes no query; the text is the reason it is counted under."""


# The definitions of a text, as mining is told of them.


@dataclass(frozen=True, slots=True)
class Definition:
    """One definition in a text; lines count from 1, both included."""

    symbol: str  # the qualified name, without a path
    kind: str
    start: int
    end: int
    doc: str = ""
    language: str = ""
    test: bool = False


# path and text of a file → its definitions; none for what it cannot read
Locator = Callable[[str, str], list[Definition]]


# What a file is, by its path.

_TIERS = {"hard": 4, "medium": 2, "easy": 0}  # folders from which on

# the first that fits; what fits none may be source
_ROLES = {
    "vendored": re.compile(
        r"(^|/)(node_modules|bower_components|vendor|vendored|_vendor|third[_-]party|site-packages|dist|\.yarn)/"
        r"|\.(min|bundle)\.\w+$|\.(lock|lockb|sum|snap|map)$|(^|/)(package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml)$"
        r"|_pb2(_grpc)?\.pyi?$|\.pb\.(go|cc|h)$|\.g\.(cs|dart)$|\.designer\.cs$|[._](generated|gen)\.\w+$|(^|/)zz_generated[^/]*$",
        re.I,
    ),
    "document": re.compile(
        r"^docs?/|\.(md|mdx|markdown|rst|txt|adoc|asciidoc|org|tex|html?|css|scss|less|svg|png|jpe?g|gif|ico|pdf)$"
        r"|\.(json|jsonl|ya?ml|toml|ini|cfg|conf|csv|tsv|xml|properties|mod)$"
        r"|(^|/)(LICEN[CS]E|AUTHORS|CONTRIBUTORS|NOTICE|README|CHANGES|CHANGELOG|Makefile|Dockerfile)[^/.]*$|(^|/)\.[^/]+$",
        re.I,
    ),
    "test": re.compile(
        r"(^|/)(tests?|specs?|testing|testdata|test[-_]?suite|__tests__|__mocks__|fixtures|[\w.-]*Tests?)/"
        r"|(^|/)(test_[^/]*|conftest|[^/]*(_test|_tests|_spec|\.test|\.spec|[a-z]Tests?|[a-z]TestCase))\.\w+$|(^|/)tests?\.\w+$"
    ),
}


def role(path: str) -> str:
    """vendored, document (also data and configuration), test or source."""
    return next((name for name, pattern in _ROLES.items() if pattern.search(path)), "source")


def tier(paths: Iterable[str]) -> str:
    """How hard it is to find all of these: by the number of folders they are in."""
    folders = len({path.rpartition("/")[0] for path in paths})
    return next(name for name, least in _TIERS.items() if folders >= least)


# From a commit message, a doc comment or a section to the text of a query.

__all__ = [
    "fingerprint", "require_new", "require_words", "tidy", "without_ids", "without_names", "without_trailers", "word_count",
]  # fmt: skip

_WORD = re.compile(r"[぀-ヿ㐀-鿿가-힣]|[^\W\d_][\w'’-]*")  # a sign of a script that has no spaces is a word
_SEGMENT = re.compile(r"\.|::|#|/")


def without_names(text: str, names: Iterable[str], paths: Iterable[str]) -> str:
    """The text without gold that it names literally: qualified names, each of their parts, paths and file names."""
    known = {name for one in names for name in (one, *_SEGMENT.split(one))}
    known |= {name for path in paths for name in (path, path.rpartition("/")[2])}
    known = {name for name in known if len(name) > 1}
    if not known:
        return text
    longest_first = sorted(known, key=lambda name: (-len(name), name))
    pattern = rf"(?<![\w$])`*(?:{'|'.join(map(re.escape, longest_first))})(?:\(\))?`*(?![\w$])"
    return tidy(re.sub(pattern, "", text)).lstrip(LEADING)


def word_count(text: str) -> int:
    return len(_WORD.findall(text))


def require_words(text: str, least: int) -> None:
    """Leaves out what says too little to search for."""
    if word_count(text) < least:
        raise LeftOut("short text")


def require_new(text: str, seen: set[str]) -> None:
    """Leaves out what was asked before; remembers it otherwise."""
    same = fingerprint(text)
    if same in seen:
        raise LeftOut("duplicate text")
    seen.add(same)


def fingerprint(text: str) -> str:
    """The same for texts that differ only in case, spacing and punctuation."""
    return " ".join(_WORD.findall(text.lower()))


# The repository to mine, checked before anything is asked of it.


def repository(root: Path) -> Git:
    """The git repository around a folder that has commits to mine."""
    if not root.is_dir():
        raise AssayError(f"{root}: not a folder; give the root of a git repository with --root")
    git = Git(root)
    if git.place is None:
        raise AssayError(f"{root}: not a git repository; mining reads commits, so give one with --root")
    if git.revision("HEAD") is None:
        raise AssayError(f"{root}: the repository has no commits yet, so there is nothing to mine")
    return git


# Choosing among mined queries: a sample, and a split in time.

_DATE = re.compile(r"\d{4}-\d\d-\d\d(T[\d:]+Z?)?")


def sample(queries: Sequence[GoldenQuery], size: int, seed: int = 0) -> list[GoldenQuery]:
    """`size` of the queries in their order. The seed alone decides about each: new ones displace few of those chosen before."""
    drawn = sorted(queries, key=lambda query: sha256(f"{seed}:{query.id}".encode()).digest())[:size]
    chosen = {query.id for query in drawn}
    return [query for query in queries if query.id in chosen]


def cut(text: str) -> str | float:
    """Where to split, as it is written: a day or moment in UTC, or the share of the older queries."""
    if _DATE.fullmatch(text):
        return text
    try:
        share = float(text)
    except ValueError:
        share = 0.0
    if not 0 < share < 1:
        raise AssayError(f"--split {text}: give a date like 2025-01-31, or the share of older queries, between 0 and 1")
    return share


def split(queries: Sequence[GoldenQuery], at: str | float) -> tuple[list[GoldenQuery], list[GoldenQuery]]:
    """Queries mined from history as the older and the newer ones, each oldest first; a date is the first of the newer."""
    undated = next((query.id for query in queries if not _DATE.match(query.notes)), "")
    if undated:
        raise AssayError(f"--split {at}: '{undated}' has no date; only queries from history can be split by time")
    by_time = sorted(queries, key=lambda query: (query.notes, query.id))
    older = sum(query.notes < at for query in by_time) if isinstance(at, str) else round(at * len(by_time))
    return by_time[:older], by_time[older:]
