"""Mined queries: options, results, text cleaning, sampling and temporal splits."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from assay.core.cautions import Caution
from assay.core.golden import GoldenQuery
from assay.core.progress import Progress
from assay.errors import AssayError
from assay.git import Git
from assay.languages.conventions import is_test_path
from assay.text.prose import LEADING, tidy, without_ids, without_trailers

if TYPE_CHECKING:
    from assay.system.cluster import ClusterSettings
    from assay.system.executor import Session


@dataclass(frozen=True, slots=True)
class Options:
    """Mining options; 0 and "" mean no limit."""

    limit: int = 0  # queries, the newest first
    max_commits: int = 0  # commits examined
    since: str = ""  # a date (UTC) or a revision
    until: str = ""
    max_files: int = 10  # more is a bulk change, whose message describes none of them
    max_symbols: int = 20
    min_words: int = 4  # fewer are too vague for a query
    keep_trailers: bool = False
    strip_ids: bool = False
    strip_names: bool = False
    include_tests: bool = False
    jobs: int = 1  # processes that read commits
    cluster: ClusterSettings | None = None  # whose workers read commits instead
    session: Session | None = None  # held open by each of them
    held_out: bool = False  # tag docstring queries whose doc comment must be hidden from the index


DEFAULTS = Options()
SILENT = Progress()


@dataclass(frozen=True, slots=True)
class Mined:
    """Mined queries in a stable order, skip counts by reason, and warnings for the user."""

    queries: list[GoldenQuery]
    counts: dict[str, int]
    warnings: list[Caution] = field(default_factory=list)


class LeftOut(Exception):
    """A candidate that yields no query; its text is the reason it is counted under."""


# definitions


@dataclass(frozen=True, slots=True)
class Definition:
    """A definition in a text; lines are 1-based and inclusive."""

    symbol: str  # qualified name, without path
    kind: str
    start: int
    end: int
    doc: str = ""
    language: str = ""
    test: bool = False


# (path, text) → definitions; empty for unsupported files
Locator = Callable[[str, str], list[Definition]]


# file roles by path

_TIERS = {"hard": 4, "medium": 2, "easy": 0}  # minimum number of folders

# the first match decides; without one a file may be source
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
}
# not tests themselves, but only used by them
_TEST_DATA = re.compile(r"(^|/)(test[-_]?suite|fixtures)/|(^|/)tests?\.\w+$")


def role(path: str) -> str:
    """Return the role of a file: vendored, document (also data and configuration), test or source."""
    other = "test" if is_test_path(path) or _TEST_DATA.search(path) else "source"
    return next((name for name, pattern in _ROLES.items() if pattern.search(path)), other)


def tier(paths: Iterable[str]) -> str:
    """Return the difficulty tier of finding all of these files, by their number of folders."""
    folders = len({path.rpartition("/")[0] for path in paths})
    return next(name for name, minimum in _TIERS.items() if folders >= minimum)


# query texts

__all__ = [
    "fingerprint", "require_new", "require_words", "tidy", "without_ids", "without_names", "without_trailers", "word_count",
]  # fmt: skip

_WORD = re.compile(r"[぀-ヿ㐀-鿿가-힣]|[^\W\d_][\w'’-]*")  # in scripts without spaces each character is a word
_SEGMENT = re.compile(r"\.|::|#|/")


def without_names(text: str, names: Iterable[str], paths: Iterable[str]) -> str:
    """Remove literal mentions of the gold: qualified names, their parts, paths and file names."""
    mentions = {part for name in names for part in (name, *_SEGMENT.split(name))}
    mentions |= {name for path in paths for name in (path, path.rpartition("/")[2])}
    mentions = {name for name in mentions if len(name) > 1}
    if not mentions:
        return text
    longest_first = sorted(mentions, key=lambda name: (-len(name), name))
    pattern = rf"(?<![\w$])`*(?:{'|'.join(map(re.escape, longest_first))})(?:\(\))?`*(?![\w$])"
    return tidy(re.sub(pattern, "", text)).lstrip(LEADING)


def word_count(text: str) -> int:
    return len(_WORD.findall(text))


def require_words(text: str, minimum: int) -> None:
    """Raise LeftOut for a text with fewer than `minimum` words."""
    if word_count(text) < minimum:
        raise LeftOut("short text")


def require_new(text: str, seen: set[str]) -> None:
    """Raise LeftOut for a text seen before; remember it otherwise."""
    key = fingerprint(text)
    if key in seen:
        raise LeftOut("duplicate text")
    seen.add(key)


def fingerprint(text: str) -> str:
    """Return a key that is equal for texts differing only in case, spacing and punctuation."""
    return " ".join(_WORD.findall(text.lower()))


# the repository to mine


def repository(root: Path) -> Git:
    """Return the git repository around a folder; raise AssayError when it has no commits."""
    if not root.is_dir():
        raise AssayError(f"{root}: not a folder; give the root of a git repository with --root")
    git = Git(root)
    if git.place is None:
        reason = git.trouble or f"{root}: not a git repository"
        raise AssayError(f"{reason}; mining reads commits, so give a repository with --root")
    if git.revision("HEAD") is None:
        raise AssayError(f"{root}: the repository has no commits yet, so there is nothing to mine")
    return git


# sampling and temporal split

_DATE = re.compile(r"\d{4}-\d\d-\d\d(T[\d:]+Z?)?")


def sample(queries: Sequence[GoldenQuery], size: int, seed: int = 0) -> list[GoldenQuery]:
    """Return `size` of the queries in their order.

    Selection is by a hash of seed and id, so new queries displace few of those selected before.
    """
    drawn = sorted(queries, key=lambda query: sha256(f"{seed}:{query.id}".encode()).digest())[:size]
    chosen = {query.id for query in drawn}
    return [query for query in queries if query.id in chosen]


def cut(text: str) -> str | float:
    """Parse the split point: a day or moment in UTC, or the share of older queries."""
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
    """Split queries mined from history into older and newer ones, each oldest first.

    A date is the first moment of the newer part. Raise AssayError for queries without a date.
    """
    undated = next((query.id for query in queries if not _DATE.match(query.notes)), "")
    if undated:
        raise AssayError(f"--split {at}: '{undated}' has no date; only queries from history can be split by time")
    by_time = sorted(queries, key=lambda query: (query.notes, query.id))
    older = sum(query.notes < at for query in by_time) if isinstance(at, str) else round(at * len(by_time))
    return by_time[:older], by_time[older:]
