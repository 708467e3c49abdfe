"""Commits with what they change, read from one `git log` stream.

Every option that a user's configuration could change is given, so that the same history gives the same bytes everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property

from assay.errors import AssayError
from assay.evaluate.mine.mined import Options
from assay.git import Git, unquote
from assay.patches import OPTIONS, Hunk, read_hunk

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
