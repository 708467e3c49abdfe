"""Golden queries from commits: the message is the query, the symbols its diff touches are expected."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property, lru_cache
from pathlib import Path

from assay.core.golden import Expected, GoldenQuery
from assay.core.items import Outline
from assay.errors import AssayError
from assay.evaluate.mine import mined as message
from assay.evaluate.mine.mined import Definition, LeftOut, Locator, Mined, Options, Progress, role, tier
from assay.evaluate.mine.mined import repository as repository_at
from assay.git import Blobs, Git, unquote
from assay.git.diff import OPTIONS, Hunk, read_hunk
from assay.text.prose import without_ids, without_trailers

# a line that starts with NUL opens a commit; nothing else in a log can
_FIELDS = ("%H", "%P", "%ct", "%an <%ae>", "%cn <%ce>", "%B")
_ARGUMENTS = (
    "--format=" + "".join("%x00" + one for one in _FIELDS) + "%x00",
    "--encoding=UTF-8",
    *("--raw", "--no-abbrev", *OPTIONS),
    *("--find-renames=50%", "-l400", "--root", "--diff-merges=off", "--relative"),
    *("--no-color", "--submodule=short", "--no-notes", "--no-mailmap"),
)
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_FILE = "100"  # how the modes of regular files begin


@dataclass(frozen=True, slots=True)
class Change:
    """One file of a commit; `old_blob` is empty when the parent does not have it."""

    path: str  # in the parent; of an added file, in the commit
    old_blob: str
    hunks: list[Hunk] = field(default_factory=list)


@dataclass(frozen=True)
class Commit:
    """One commit with its changes; a merge has none."""

    sha: str
    parents: tuple[str, ...]
    time: int  # of committing, seconds since 1970
    author: str
    committer: str
    message: str
    changes: list[Change] = field(default_factory=list)

    @cached_property
    def subject(self) -> str:
        return self.message.lstrip().partition("\n")[0].strip()

    @property
    def date(self) -> str:
        """When it was committed, in UTC: 2025-01-31T12:00:00Z."""
        return datetime.fromtimestamp(self.time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def bounds(git: Git, options: Options) -> list[str]:
    """The part of history that is asked for, in the words of git."""
    since, until = _moment(options.since), _moment(options.until)
    out = [f"--max-age={int(since.timestamp())}"] if since else []
    if until:
        whole_day = timedelta(days=1, seconds=-1) if _DATE.fullmatch(options.until) else timedelta()
        out.append(f"--min-age={int((until + whole_day).timestamp())}")
    if options.max_commits:
        out.append(f"--max-count={options.max_commits}")
    out.append(_revision(git, options.until, "--until") if options.until and not until else "HEAD")
    if options.since and not since:
        out.append("^" + _revision(git, options.since, "--since"))
    return [*out, "--", *(["."] if git.prefix else [])]


def count(git: Git, options: Options) -> int:
    """How many commits `commits` will give."""
    return int(git.ask("rev-list", "--count", *bounds(git, options)) or 0)


def commits(git: Git, options: Options) -> Generator[Commit]:
    """The commits asked for, newest first."""
    with git.lines("log", *_ARGUMENTS, *bounds(git, options)) as output:
        yield from read(iter(output))


def read(lines: Iterator[bytes]) -> Iterator[Commit]:
    """The commits of a log in the format asked for above."""
    commit: Commit | None = None
    patched: list[Change] = []  # the changes whose patches follow, in their order
    hunks: list[Hunk] = []
    for line in lines:
        if line.startswith(b"\0"):
            if commit:
                yield commit
            commit, patched = _commit(line, lines), []
        elif line.startswith(b":") and commit:
            change, regular, patches = _change(line)
            patched += [change] * patches
            if regular:
                commit.changes.append(change)
        elif line.startswith(b"diff --git ") and patched:
            hunks = patched.pop(0).hunks
        elif (hunk := read_hunk(line, lines)) is not None:
            hunks.append(hunk)
    if commit:
        yield commit


def _commit(line: bytes, lines: Iterator[bytes]) -> Commit:
    while line.count(b"\0") <= len(_FIELDS):
        line += next(lines)
    _, sha, parents, time, author, committer, message, _ = line.decode("utf-8", "replace").split("\0")
    return Commit(sha, tuple(parents.split()), int(time), author, committer, message.strip())


def _change(line: bytes) -> tuple[Change, bool, int]:
    """One row of --raw; whether it is about a regular file; and how many patches follow for it."""
    described, *paths = line.rstrip(b"\n").split(b"\t")
    old_mode, new_mode, old_blob, _, status = described[1:].decode().split(" ")
    exists = old_mode.startswith(_FILE)
    change = Change(unquote(paths[0]), old_blob if exists else "")
    return change, exists or new_mode.startswith(_FILE), 2 if status.startswith("T") else 1


def _moment(text: str) -> datetime | None:
    """A date, or a date and time, as a moment; UTC unless it says otherwise. None for what is no date."""
    if not _DATE.match(text):
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _revision(git: Git, name: str, option: str) -> str:
    found = git.revision(name)
    if found is None:
        raise AssayError(f"{option} {name}: neither a date like 2025-01-31 nor a revision of {git.root}")
    return found


# Why a commit makes no query, as far as it tells itself: by its parents, its people and its subject.

_SCOPE = r"^\W*(?:\w+(?:\([^)]*\))?!?:\s*)?"  # a conventional prefix, `fix(router):`
_FIXING = (
    r"(?:\w+ly\s+|some\s+|slight\s+|minor\s+|small\s+)*"
    r"(?:fix|updat|improv|clean|correct|clarif|tweak|add|expand|polish|adjust|rework|doc\s+improv)\w*\b(?:[\s-]*up\b)?"
)
_TOOLS = (
    r"(?:black|prettier|gofmt|gofumpt|goimports|rustfmt|isort|ruff|flake8|pylint|eslint|clippy|clang-format|autopep8|yapf|pyupgrade"
    r"|rubocop|checkstyle)"
)

_BOT = re.compile(
    r"\[bot\]|[-_ ]bot\b|\bbot@|dependabot|renovate|github-actions|greenkeeper|pre-commit-ci|snyk|weblate|transifex|mergify"
    r"|allcontributors|pyup|imgbot|semantic-release",
    re.I,
)
_MERGE = re.compile(
    r"^Merge (?:pull request\b|remote-tracking branch|(?:branch|tag|commit) ['\"])", re.I
)  # squashed: it has one parent
_RELEASE = re.compile(
    rf"{_SCOPE}(?:bump(?:ed|s|ing)?\b.*(?:version|\bfrom\b|\bto\b|dependenc|\bdeps\b|\d)"
    r"|(?:prepare|cut|tag|start|begin|next|new|back to)\b.*\b(?:release|version|development)\b"
    r"|releas(?:e|ed|ing)\s+(?:of\s+|version\s+)?\S*\d+\.\d|(?:set|update|change|increment)\s+(?:the\s+)?version\b"
    r"|version\s+(?:bump|v?\d)|v?\d+\.\d+(?:\.\d+)?\S*\s*(?:release)?\s*$)",
    re.I,
)
_REVERT = re.compile(rf"{_SCOPE}(?:revert|reapply)\b", re.I)
_FORMATTING = re.compile(
    rf"^\W*(?:style|lint|clippy|fmt|format|{_TOOLS})(?:\([^)]*\))?(?:!?:|\])"
    rf"|{_SCOPE}(?:(?:run|apply|use|fix|ran|appl(?:y|ied)|satisfy|appease|make|cargo|go)\s+)*"
    rf"(?:{_TOOLS}|fmt"
    r"|(?:re)?format(?:ting|ted)?|lint(?:s|ing|er)?|white\s?space|pep\s?8|code style|trailing spaces?)"
    r"(?:\s+(?:fix(?:es|ed)?|issues?|errors?|warnings?|code|codebase|files?|sources?|everything|all|the|changes|happy|clean-?ups?"
    r"|and\s+\S+|(?:with|using|via|by)\s+\S+|on\s+.*))*\W*$"
    rf"|{_SCOPE}(?:enabl|activat|upgrad|updat|configur)\w*\b.*\b{_TOOLS}\b",
    re.I,
)
_HOUSEKEEPING = re.compile(r"^\W*(?:ci|build|deps)(?:\([^)]*\))?!?:", re.I)
# what follows tells "fix the docs of X" from "fix doc parsing"
_DOCUMENTATION = re.compile(
    r"^\W*(?:docs?|documentation|changelog)(?:\([^)]*\))?!?:"
    rf"|{_SCOPE}(?:{_FIXING}\s+(?:\S+\s+){{0,3}})?(?:typos?\b|(?:spelling|grammar)(?: mistakes?| errors?| issues?)?\W*$)"
    rf"|{_SCOPE}{_FIXING}.*\b(?:docs?|documentation|doc-?strings?|[jk]?doc comments?|java-?docs?|rustdocs?|comments?|changelog|readme|broken links?)"
    r"(?=\W*(?:$|[.,;:]|(?:for|of|in|on|about|and|following|with|entr(?:y|ies)|wording)\b))",
    re.I,
)
_TESTS = re.compile(
    rf"^\W*(?:tests?|fix tests?)(?:\([^)]*\))?!?:|{_SCOPE}{_FIXING}\s+(?:(?:more|a|the|missing|unit|regression|new)\s+)*(?:tests?|coverage)\b",
    re.I,
)
_FOLLOW_UP = re.compile(
    rf"^(?:fixup|squash|amend)!|{_SCOPE}\W*wip\b|{_SCOPE}(?:clean[\s-]*up|refactor(?:ing)?|oops|nits?)\W*$"
    rf"|{_SCOPE}(?:address|appl(?:y|ies)|incorporat|respond)\w*\s+(?:\S+\s+){{0,3}}(?:reviews?|feedback|suggestions?|pr comments?)\b",
    re.I,
)
_DEFAULT = re.compile(
    r"(?:Update|Create|Delete|Rename|Add) \S+\.\w+(?: to \S+)?|Add(?:ed)? files via upload|Initial commit", re.I
)

# reason → whether a commit is left out for it; the second argument is its subject without numbers of issues
_REASONS: dict[str, Callable[[Commit, str], object]] = {
    "merge": lambda commit, subject: len(commit.parents) > 1 or _MERGE.search(subject),
    "bot": lambda commit, subject: _BOT.search(commit.author) or _BOT.search(commit.committer),
    "release": lambda commit, subject: _RELEASE.search(subject),
    "revert": lambda commit, subject: _REVERT.search(subject) or "This reverts commit" in commit.message,
    "formatting": lambda commit, subject: _FORMATTING.search(subject),
    "housekeeping": lambda commit, subject: _HOUSEKEEPING.search(subject),
    "documentation": lambda commit, subject: _DOCUMENTATION.search(subject),
    "follow-up": lambda commit, subject: _FOLLOW_UP.search(subject),
    "default message": lambda commit, subject: _DEFAULT.fullmatch(without_ids(without_trailers(commit.message))),
}


def reason_against(commit: Commit, include_tests: bool) -> str:
    """Why a commit is left out for what it says, the first that applies; empty when nothing speaks against it."""
    subject = without_ids(commit.subject)
    found = next((reason for reason, applies in _REASONS.items() if applies(commit, subject)), "")
    if not found and not include_tests and _TESTS.search(subject):
        return "tests only"
    return found


# Queries from commits: the message asks, the symbols its diff touches answer, as they stood before the commit.

ID_LENGTH = 12  # of a commit's hash: unique in any history, and not a matter of git's settings
_REMEMBERED = 256  # outlines: branches share parents


def mine_history(
    repository: Path, locate: Locator, options: Options | None = None, progress: Progress | None = None
) -> Mined:
    """The queries of a repository's commits, newest first, and why the other commits make none."""
    git, options = repository_at(repository), options or Options()
    queries: list[GoldenQuery] = []
    counts: Counter[str] = Counter()
    seen: set[str] = set()
    if progress:
        progress.start("mining", count(git, options))
    with git.blobs() as blobs, closing(commits(git, options)) as newest_first:
        parents = _Parents(locate, blobs)
        for commit in newest_first:
            if progress:
                progress.advance()
            try:
                query = _query(commit, parents, options)
                message.require_new(query.text, seen)
            except LeftOut as reason:
                counts[str(reason)] += 1
                continue
            queries.append(query)
            if len(queries) == options.limit:
                break
    shallow = f"{repository} is a shallow clone: older commits are missing (git fetch --unshallow brings them)"
    return Mined(queries, dict(sorted(counts.items())), [shallow] if git.shallow else [])


class _Parents:
    """Outlines of files as the parents of commits have them."""

    def __init__(self, locate: Locator, blobs: Blobs) -> None:
        self._locate, self._blobs = locate, blobs
        self.outline = lru_cache(_REMEMBERED)(self._outline)

    def _outline(self, path: str, blob: str) -> Outline[Definition]:
        return Outline(self._locate(path, self._blobs.text(blob)))


def _query(commit: Commit, parents: _Parents, options: Options) -> GoldenQuery:
    """The query a commit makes."""
    text = _text(commit, options)
    changes = _changes(commit, options)
    outlines = {change.path: parents.outline(change.path, change.old_blob) for change in changes}
    changes = [change for change in changes if outlines[change.path]]
    if not changes:
        raise LeftOut("no source code")
    touched = [found for change in changes for found in outlines[change.path].touched(_places(change))]
    symbols = _gold(touched, options)
    files = [change.path for change in changes]
    if options.strip_names:
        text = message.without_names(text, symbols, files)
        message.require_words(text, options.min_words)
    return GoldenQuery(
        id=commit.sha[:ID_LENGTH],
        text=text,
        expected=(*(Expected(name) for name in symbols), *(Expected(path, "file") for path in files)),
        tier=tier(files),
        category="history",
        tags=tuple(sorted({found.language for found in touched if found.symbol in symbols and found.language})),
        notes=commit.date,
        commit=commit.sha,
    )


def _text(commit: Commit, options: Options) -> str:
    """The message without what is not asked for."""
    if reason := reason_against(commit, options.include_tests):
        raise LeftOut(reason)
    text = commit.message if options.keep_trailers else message.without_trailers(commit.message)
    if options.strip_ids:
        text = message.without_ids(text)
    message.require_words(text, options.min_words)
    return text


def _changes(commit: Commit, options: Options) -> list[Change]:
    """The changes to what may be source files of the parent, by path."""
    written = [(change, role(change.path)) for change in commit.changes]
    written = [(change, what) for change, what in written if what != "vendored"]
    if not written:
        raise LeftOut("vendored or generated" if commit.changes else "empty")
    if len(written) > options.max_files:
        raise LeftOut("bulk")
    wanted = ("source", "test") if options.include_tests else ("source",)
    source = [change for change, what in written if what in wanted]
    if not source:
        raise LeftOut("tests only" if any(what == "test" for _, what in written) else "no source code")
    existing = [change for change in source if change.old_blob]
    if not existing:
        raise LeftOut("pure addition")
    telling = [change for change in existing if _telling(change)]
    if not telling:
        raise LeftOut("formatting" if any(change.hunks for change in existing) else "renamed only")
    return sorted(telling, key=lambda change: change.path)


def _telling(change: Change) -> list[Hunk]:
    return [hunk for hunk in change.hunks if not hunk.formatting]


def _places(change: Change) -> Iterator[tuple[int, int]]:
    return (place for hunk in _telling(change) for place in hunk.places())


def _gold(touched: list[Definition], options: Options) -> list[str]:
    """The symbols that should be found, once each."""
    wanted = [found for found in touched if options.include_tests or not found.test]
    if not wanted:
        raise LeftOut("tests only" if touched else "pure addition")
    symbols = list(dict.fromkeys(found.symbol for found in wanted))
    if len(symbols) > options.max_symbols:
        raise LeftOut("bulk")
    return symbols
