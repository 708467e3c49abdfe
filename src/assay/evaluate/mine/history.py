"""Golden queries from commits: the message is the query, the symbols its diff touches are expected."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property, lru_cache
from itertools import islice
from pathlib import Path

from assay.core.cautions import Caution
from assay.core.golden import Expected, GoldenQuery
from assay.core.items import Outline
from assay.core.progress import Progress
from assay.errors import AssayError
from assay.evaluate.mine import mined
from assay.evaluate.mine.mined import DEFAULTS, SILENT, Definition, LeftOut, Locator, Mined, Options, role, tier
from assay.evaluate.mine.mined import repository as repository_at
from assay.evaluate.mine.rules import reason_against, says_nothing
from assay.git import Blobs, Git, unquote
from assay.git.diff import OPTIONS, Hunk, read_hunk
from assay.languages import language_of
from assay.system.executor import UnitFailed, WorkersLost, open_executor, require_folder

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
    with (
        closing(commits(git, options)) as newest_first,
        closing(_outcomes(git, newest_first, locate, options)) as mined_commits,
    ):
        for outcome in mined_commits:
            progress.advance()
            if isinstance(outcome, str):
                counts[outcome] += 1
                continue
            try:
                mined.require_new(outcome.text, seen)
            except LeftOut as reason:
                counts[str(reason)] += 1
                continue
            queries.append(outcome)
            if len(queries) == options.limit:
                break
    message = f"{repository} is a shallow clone: older commits are missing (git fetch --unshallow brings them)"
    shallow = Caution("shallow-clone", message)
    return Mined(queries, dict(sorted(counts.items())), [shallow] if git.shallow else [])


Outcome = GoldenQuery | str  # of a commit: its query, or the reason it has none
_BATCH = 32  # commits sent to a process at a time


def _outcomes(git: Git, newest_first: Iterator[Commit], locate: Locator, options: Options) -> Generator[Outcome]:
    """Yield the outcome of each commit in order, computed by workers, if the options ask for some."""
    with open_executor(options.jobs, options.cluster, options.session) as executor:
        if executor is None:
            with git.blobs() as blobs:
                parents = _ParentOutlines(locate, blobs)
                yield from (_outcome(commit, parents, options) for commit in newest_first)
            return
        settings = replace(options, cluster=None, session=None)
        units = ((number, git.root, batch, locate, settings) for number, batch in enumerate(_batches(newest_first)))
        mined: dict[int, list[Outcome]] = {}  # by number, until it is their turn
        following = 0
        try:
            for (number, *_), outcomes in executor.map_units(_mine_batch, units):
                if isinstance(outcomes, UnitFailed):
                    raise AssayError(outcomes.message)
                mined[number] = outcomes
                while following in mined:
                    yield from mined.pop(following)
                    following += 1
        except WorkersLost as error:
            if options.cluster is not None:
                raise AssayError(f"{error}. Nothing was written") from None
            raise AssayError("a worker process was killed, perhaps out of memory; mine with fewer --jobs") from None


def _batches(newest_first: Iterator[Commit]) -> Iterator[list[Commit]]:
    while batch := list(islice(newest_first, _BATCH)):
        yield batch


def _mine_batch(number: int, root: Path, batch: list[Commit], locate: Locator, options: Options) -> list[Outcome]:
    """Return the outcomes of some commits; called in a worker process."""
    require_folder(root)
    with Git(root).blobs() as blobs:
        parents = _ParentOutlines(locate, blobs)
        return [_outcome(commit, parents, options) for commit in batch]


def _outcome(commit: Commit, parents: _ParentOutlines, options: Options) -> Outcome:
    try:
        return _query(commit, parents, options)
    except LeftOut as reason:
        return str(reason)


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
    if says_nothing(text):
        raise LeftOut("says nothing")
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
        hunks = [hunk for change in existing for hunk in change.hunks]
        commented = any(not hunk.formatting for hunk in hunks)
        raise LeftOut("documentation" if commented else "formatting" if hunks else "renamed only")
    return substantial


def _substantial_hunks(change: Change) -> list[Hunk]:
    language = language_of(change.path)
    prefixes = language.comments if language else ()
    return [hunk for hunk in change.hunks if not hunk.formatting and not _is_comment(hunk, prefixes)]


def _is_comment(hunk: Hunk, prefixes: tuple[str, ...]) -> bool:
    """Return True when every changed line that is not blank is a comment; `*` alone begins one only before a space."""
    lines = [line.decode("utf-8", "replace").strip() for line in (*hunk.removed, *hunk.added)]
    return bool(prefixes) and all(
        line.startswith(prefixes) and not (line[:1] == "*" and line[1:2] not in ("", " ", "/"))
        for line in lines
        if line
    )


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
