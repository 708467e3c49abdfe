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

from assay.core.cautions import Caution
from assay.core.golden import Expected, GoldenQuery
from assay.core.items import Outline
from assay.core.progress import Progress
from assay.errors import AssayError
from assay.evaluate.mine import mined
from assay.evaluate.mine.mined import DEFAULTS, SILENT, Definition, LeftOut, Locator, Mined, Options, role, tier
from assay.evaluate.mine.mined import repository as repository_at
from assay.git import Blobs, Git, unquote
from assay.git.diff import OPTIONS, Hunk, read_hunk
from assay.text.prose import without_ids, without_trailers

# a line that starts with NUL opens a commit; no other log line can
_FIELDS = ("%H", "%P", "%ct", "%an <%ae>", "%cn <%ce>", "%B")
_ARGUMENTS = (
    "--format=" + "".join("%x00" + placeholder for placeholder in _FIELDS) + "%x00",
    "--encoding=UTF-8",
    *("--raw", "--no-abbrev", *OPTIONS),
    *("--find-renames=50%", "-l400", "--root", "--diff-merges=off", "--relative"),
    *("--no-color", "--submodule=short", "--no-notes", "--no-mailmap"),
)
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_REGULAR_FILE_MODE = "100"  # mode prefix of regular files


@dataclass(frozen=True, slots=True)
class Change:
    """A changed file of a commit; `old_blob` is empty when the parent does not have it."""

    path: str  # in the parent; for an added file, in the commit
    old_blob: str
    hunks: list[Hunk] = field(default_factory=list)


@dataclass(frozen=True)
class Commit:
    """A commit with its changes; a merge has none."""

    sha: str
    parents: tuple[str, ...]
    time: int  # commit time, Unix seconds
    author: str
    committer: str
    message: str
    changes: list[Change] = field(default_factory=list)

    @cached_property
    def subject(self) -> str:
        return self.message.lstrip().partition("\n")[0].strip()

    @property
    def date(self) -> str:
        """Commit time in UTC: 2025-01-31T12:00:00Z."""
        return datetime.fromtimestamp(self.time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def bounds(git: Git, options: Options) -> list[str]:
    """Return git arguments for the requested part of history."""
    since, until = _parse_moment(options.since), _parse_moment(options.until)
    arguments = [f"--max-age={int(since.timestamp())}"] if since else []
    if until:
        whole_day = timedelta(days=1, seconds=-1) if _DATE.fullmatch(options.until) else timedelta()
        arguments.append(f"--min-age={int((until + whole_day).timestamp())}")
    if options.max_commits:
        arguments.append(f"--max-count={options.max_commits}")
    arguments.append(_resolve_revision(git, options.until, "--until") if options.until and not until else "HEAD")
    if options.since and not since:
        arguments.append("^" + _resolve_revision(git, options.since, "--since"))
    return [*arguments, "--", *(["."] if git.prefix else [])]


def count(git: Git, options: Options) -> int:
    """Count the commits that `commits` will yield."""
    return int(git.ask("rev-list", "--count", *bounds(git, options)) or 0)


def commits(git: Git, options: Options) -> Generator[Commit]:
    """Yield the requested commits, newest first."""
    with git.lines("log", *_ARGUMENTS, *bounds(git, options)) as output:
        yield from read(iter(output))


def read(lines: Iterator[bytes]) -> Iterator[Commit]:
    """Parse the output of `git log` with the arguments above."""
    commit: Commit | None = None
    patched: list[Change] = []  # the changes whose patches follow, in their order
    hunks: list[Hunk] = []
    for line in lines:
        if line.startswith(b"\0"):
            if commit:
                yield commit
            commit, patched = _read_commit(line, lines), []
        elif line.startswith(b":") and commit:
            change, regular, patches = _read_change(line)
            patched += [change] * patches
            if regular:
                commit.changes.append(change)
        elif line.startswith(b"diff --git ") and patched:
            hunks = patched.pop(0).hunks
        elif (hunk := read_hunk(line, lines)) is not None:
            hunks.append(hunk)
    if commit:
        yield commit


def _read_commit(line: bytes, lines: Iterator[bytes]) -> Commit:
    while line.count(b"\0") <= len(_FIELDS):
        line += next(lines)
    _, sha, parents, time, author, committer, message, _ = line.decode("utf-8", "replace").split("\0")
    return Commit(sha, tuple(parents.split()), int(time), author, committer, message.strip())


def _read_change(line: bytes) -> tuple[Change, bool, int]:
    """Parse a --raw row: the change, True for a regular file, and the number of patches that follow."""
    header, *paths = line.rstrip(b"\n").split(b"\t")
    old_mode, new_mode, old_blob, _, status = header[1:].decode().split(" ")
    existed = old_mode.startswith(_REGULAR_FILE_MODE)
    change = Change(unquote(paths[0]), old_blob if existed else "")
    return change, existed or new_mode.startswith(_REGULAR_FILE_MODE), 2 if status.startswith("T") else 1


def _parse_moment(text: str) -> datetime | None:
    """Parse a date or date and time, UTC by default; return None for anything else."""
    if not _DATE.match(text):
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _resolve_revision(git: Git, name: str, option: str) -> str:
    sha = git.revision(name)
    if sha is None:
        raise AssayError(f"{option} {name}: neither a date like 2025-01-31 nor a revision of {git.root}")
    return sha


# reasons to skip a commit, from its parents, people and subject

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
# the lookahead separates "fix the docs of X" from "fix doc parsing"
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

# reason → predicate that skips a commit; the second argument is its subject without issue numbers
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
    """Return the first reason to skip a commit by its metadata; empty when there is none."""
    subject = without_ids(commit.subject)
    first_reason = next((reason for reason, applies in _REASONS.items() if applies(commit, subject)), "")
    if not first_reason and not include_tests and _TESTS.search(subject):
        return "tests only"
    return first_reason


# queries: the message, with the symbols its diff touches in the parent's state as gold

ID_LENGTH = 12  # characters of a commit hash: unique in any history, independent of git's settings
_CACHED_OUTLINES = 256  # branches share parents


def mine_history(repository: Path, locate: Locator, options: Options = DEFAULTS, progress: Progress = SILENT) -> Mined:
    """Return the queries of a repository's commits, newest first, and skip counts by reason."""
    git = repository_at(repository)
    queries: list[GoldenQuery] = []
    counts: Counter[str] = Counter()
    seen: set[str] = set()
    progress.start("mining", count(git, options))
    with git.blobs() as blobs, closing(commits(git, options)) as newest_first:
        parents = _ParentOutlines(locate, blobs)
        for commit in newest_first:
            progress.advance()
            try:
                query = _query(commit, parents, options)
                mined.require_new(query.text, seen)
            except LeftOut as reason:
                counts[str(reason)] += 1
                continue
            queries.append(query)
            if len(queries) == options.limit:
                break
    message = f"{repository} is a shallow clone: older commits are missing (git fetch --unshallow brings them)"
    shallow = Caution("shallow-clone", message)
    return Mined(queries, dict(sorted(counts.items())), [shallow] if git.shallow else [])


class _ParentOutlines:
    """Outlines of files in the parents of commits, cached."""

    def __init__(self, locate: Locator, blobs: Blobs) -> None:
        self._locate, self._blobs = locate, blobs
        self.outline = lru_cache(_CACHED_OUTLINES)(self._outline)

    def _outline(self, path: str, blob: str) -> Outline[Definition]:
        return Outline(self._locate(path, self._blobs.text(blob)))


def _query(commit: Commit, parents: _ParentOutlines, options: Options) -> GoldenQuery:
    """Build the query of a commit; raise LeftOut when it yields none."""
    text = _query_text(commit, options)
    changes = _source_changes(commit, options)
    outlines = {change.path: parents.outline(change.path, change.old_blob) for change in changes}
    changes = [change for change in changes if outlines[change.path]]
    if not changes:
        raise LeftOut("no source code")
    touched = [
        definition for change in changes for definition in outlines[change.path].touched(_changed_ranges(change))
    ]
    symbols = _gold_symbols(touched, options)
    files = [change.path for change in changes]
    if options.strip_names:
        text = mined.without_names(text, symbols, files)
        mined.require_words(text, options.min_words)
    return GoldenQuery(
        id=commit.sha[:ID_LENGTH],
        text=text,
        expected=(*(Expected(name) for name in symbols), *(Expected(path, "file") for path in files)),
        tier=tier(files),
        category="history",
        tags=tuple(
            sorted(
                {definition.language for definition in touched if definition.symbol in symbols and definition.language}
            )
        ),
        notes=commit.date,
        commit=commit.sha,
    )


def _query_text(commit: Commit, options: Options) -> str:
    """Return the cleaned message; raise LeftOut when the commit is skipped or the text too short."""
    if reason := reason_against(commit, options.include_tests):
        raise LeftOut(reason)
    text = commit.message if options.keep_trailers else mined.without_trailers(commit.message)
    if options.strip_ids:
        text = mined.without_ids(text)
    mined.require_words(text, options.min_words)
    return text


def _source_changes(commit: Commit, options: Options) -> list[Change]:
    """Return the changes to likely source files of the parent, by path; raise LeftOut when there are none."""
    roles = {change.path: role(change.path) for change in commit.changes}
    own = [change for change in commit.changes if roles[change.path] != "vendored"]
    if not own:
        raise LeftOut("vendored or generated" if commit.changes else "empty")
    if len(own) > options.max_files:
        raise LeftOut("bulk")
    wanted = ("source", "test") if options.include_tests else ("source",)
    source = [change for change in own if roles[change.path] in wanted]
    if not source:
        raise LeftOut("tests only" if "test" in roles.values() else "no source code")
    return sorted(_substantial(source), key=lambda change: change.path)


def _substantial(source: list[Change]) -> list[Change]:
    """Return the changes to existing files that do more than reformat; raise LeftOut when there are none."""
    existing = [change for change in source if change.old_blob]
    if not existing:
        raise LeftOut("pure addition")
    substantial = [change for change in existing if _substantial_hunks(change)]
    if not substantial:
        raise LeftOut("formatting" if any(change.hunks for change in existing) else "renamed only")
    return substantial


def _substantial_hunks(change: Change) -> list[Hunk]:
    return [hunk for hunk in change.hunks if not hunk.formatting]


def _changed_ranges(change: Change) -> Iterator[tuple[int, int]]:
    return (line_range for hunk in _substantial_hunks(change) for line_range in hunk.places())


def _gold_symbols(touched: list[Definition], options: Options) -> list[str]:
    """Return the distinct symbols to find; raise LeftOut when there are none or too many."""
    relevant = [definition for definition in touched if options.include_tests or not definition.test]
    if not relevant:
        raise LeftOut("tests only" if touched else "pure addition")
    symbols = list(dict.fromkeys(definition.symbol for definition in relevant))
    if len(symbols) > options.max_symbols:
        raise LeftOut("bulk")
    return symbols
