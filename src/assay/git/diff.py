"""Differences between the working tree and a commit: changed files, hunks, files changed since a date."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from assay.errors import AssayError
from assay.git import Git, unquote
from assay.text.terms import nearest

# options of every patch, independent of the user's configuration
OPTIONS = ("--patch", "--unified=0", "--inter-hunk-context=0", "--diff-algorithm=histogram")

_RANGE = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)")
_SPACE = re.compile(rb"\s+")


@dataclass(frozen=True, slots=True)
class Hunk:
    """A run of changed lines: removed lines at `start` of the old text, added lines at `new_start` of the new one."""

    start: int  # first removed line; the line before the insertion when nothing is removed
    removed: tuple[bytes, ...] = ()
    added: tuple[bytes, ...] = ()
    new_start: int = 0  # first added line; the line before the gap when nothing is added
    context: str = ""  # enclosing definition, as printed by git

    @property
    def formatting(self) -> bool:
        """True if only white space differs."""
        return _SPACE.sub(b"", b"".join(self.removed)) == _SPACE.sub(b"", b"".join(self.added))

    def places(self) -> Iterator[tuple[int, int]]:
        """Yield the old line ranges it touches: each removed line, or both neighbours of an insertion."""
        return _touched_ranges(self.start, self.removed)

    def new_places(self) -> Iterator[tuple[int, int]]:
        """Yield the new line ranges it touches, like `places`."""
        return _touched_ranges(self.new_start, self.added)


def read_hunk(line: bytes, lines: Iterator[bytes]) -> Hunk | None:
    """Parse the hunk that starts at `line`, consuming its content from `lines`; None if it is not a hunk header."""
    header = _RANGE.match(line)
    if header is None:
        return None
    start, removed, new_start, added = (1 if number is None else int(number) for number in header.groups()[:4])
    context = header.group(5).decode("utf-8", "replace")
    return Hunk(start, _take_lines(lines, removed), _take_lines(lines, added), new_start, context)


def _touched_ranges(start: int, texts: Sequence[bytes]) -> Iterator[tuple[int, int]]:
    if not texts:
        yield start, start + 1
    for line, text in enumerate(texts, start):
        if text.strip():
            yield line, line


def _take_lines(lines: Iterator[bytes], number: int) -> tuple[bytes, ...]:
    r"""Return the next lines of a patch without their sign, skipping "\ No newline at end of file"."""
    out: list[bytes] = []
    while len(out) < number:
        line = next(lines)
        if not line.startswith(b"\\"):
            out.append(line[1:].rstrip(b"\n"))
    return tuple(out)


# Changes since the merge base: committed, staged, unstaged and untracked

ADDED, CHANGED, DELETED, MOVED = "added", "changed", "deleted", "moved"
SHORT = 9  # displayed characters of a commit id

_STATUS = {"A": ADDED, "D": DELETED, "R": MOVED}
_FILE = "100"  # mode prefix of regular files
_DIFF = (
    *("diff", "--raw", "--no-abbrev", *OPTIONS, "--find-renames=50%", "-l400", "--relative", "--no-color"),
    *("--submodule=short", "--src-prefix=a/", "--dst-prefix=b/"),
)
_SETTINGS = ("core.quotePath=true", "diff.autoRefreshIndex=true")
_DEFAULT_BRANCHES = ("main", "master")


@dataclass(frozen=True, slots=True)
class Base:
    """Base of a comparison: a branch name and the merge base."""

    name: str
    commit: str

    def __str__(self) -> str:
        return f"{self.name} (merge base {self.commit[:SHORT]})"


@dataclass(frozen=True, slots=True)
class Change:
    """A changed file; paths are relative to the queried folder."""

    path: str  # current path; last path of a deleted file
    status: str = CHANGED
    before: str = ""  # previous path of a moved file
    old_blob: str = ""  # empty for a new file
    hunks: list[Hunk] = field(default_factory=list)  # empty for an untracked file


def choose_base(git: Git, name: str = "") -> Base:
    """Return the base named `name`; without a name, the one a pull request would most likely use."""
    if git.ask("rev-parse", "--is-inside-work-tree") != "true":
        reason = git.trouble or f"{git.root}: not a git repository, so there is no diff"
        raise AssayError(f"{reason}. Name files instead: --files A B")
    if git.revision("HEAD") is None:
        raise AssayError(
            f"{git.root}: no commit yet, so there is nothing to compare with. Name files instead: --files A B"
        )
    if name and git.revision(name) is None:
        raise AssayError(f"--pr {name}: {_unknown_revision(git, name)}")
    chosen = name or next(candidate for candidate in _base_candidates(git) if git.revision(candidate))
    commit = git.ask("merge-base", "--end-of-options", chosen, "HEAD")
    if not commit:
        reason = "this clone is shallow; run: git fetch --unshallow" if git.shallow else "they share no history"
        raise AssayError(f"{chosen} and HEAD have no common commit: {reason}")
    return Base(chosen, commit)


def _base_candidates(git: Git) -> Iterator[str]:
    """Yield the remote's default branch, the usual names, the previous commit, and HEAD (uncommitted changes only)."""
    references = (git.ask("for-each-ref", "--format=%(refname)", "refs/remotes") or "").split()
    remotes = {reference.split("/")[2] for reference in references}
    for remote in sorted(remotes, key=lambda name: (name != "origin", name))[:1]:
        head = git.ask("symbolic-ref", "--quiet", "--short", f"refs/remotes/{remote}/HEAD")
        yield from [head] if head else []
        yield from (f"{remote}/{branch}" for branch in _DEFAULT_BRANCHES)
    yield from _DEFAULT_BRANCHES
    yield from ("HEAD~1", "HEAD")


def _unknown_revision(git: Git, name: str) -> str:
    branches = (
        git.ask("for-each-ref", "--format=%(refname:short)", "refs/heads", "refs/remotes", "refs/tags") or ""
    ).split()
    near = nearest(name, branches, 3)
    message = f"no branch, tag or commit of {git.root}."
    if git.shallow:
        return f"{message} This clone is shallow; perhaps: git fetch --unshallow"
    return f"{message} Nearest: {', '.join(near)}" if near else message


def read_changes(git: Git, commit: str) -> list[Change]:
    """Return the files that differ from a commit, sorted by path."""
    with git.lines(*_DIFF, "--end-of-options", commit, "--", ".", settings=_SETTINGS) as output:
        changes = {change.path: change for change in parse_diff(iter(output))}
    with git.lines("ls-files", "-z", "--others", "--exclude-standard") as output:
        for raw in output.read().split(b"\0")[:-1]:
            path = raw.decode("utf-8", "replace")
            changes.setdefault(path, Change(path, ADDED))
    return [changes[path] for path in sorted(changes)]


def parse_diff(lines: Iterator[bytes]) -> Iterator[Change]:
    """Parse a diff in the format of `_DIFF`: raw rows for all files, then their patches."""
    changes: dict[str, Change] = {}
    hunks: list[Hunk] = []
    for line in lines:
        if line.startswith(b":"):
            change = _parse_raw_row(line)
            if change:
                changes.setdefault(change.path, change)
        elif line.startswith(b"diff --git "):
            hunks = []
        elif line.startswith((b"--- a/", b"+++ b/", b'--- "a/', b'+++ "b/')):
            path = unquote(line[4:].rstrip(b"\t\n"))[2:]
            hunks = changes[path].hunks if path in changes else hunks
        elif (hunk := read_hunk(line, lines)) is not None:
            hunks.append(hunk)
    yield from changes.values()


def _parse_raw_row(line: bytes) -> Change | None:
    """Parse one row of --raw; None if it is not about a regular file."""
    attributes, *paths = line.rstrip(b"\n").split(b"\t")
    old_mode, new_mode, old_blob, _, status = attributes[1:].decode().split(" ")
    existed, exists = old_mode.startswith(_FILE), new_mode.startswith(_FILE)
    if not existed and not exists:
        return None
    change_status = DELETED if not exists else ADDED if not existed else _STATUS.get(status[:1], CHANGED)
    before = unquote(paths[0]) if change_status == MOVED else ""
    return Change(unquote(paths[-1]), change_status, before, old_blob if existed else "")


# Files changed since a date or commit

_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?)?")


def changed_since(root: Path, when: str, paths: Iterable[str]) -> frozenset[str]:
    """Return those of `paths` that changed since a date (2026-11-01) or commit (v1.2, HEAD~5), committed or not.

    Outside git, a date is compared with the files' modification times.
    """
    git = Git(root)
    inside = git.ask("rev-parse", "--is-inside-work-tree") == "true"
    if _DATE.fullmatch(when):
        moment = _parse_date(when)
        if not inside:
            return frozenset(path for path in paths if _modified_at(root / path) >= moment.timestamp())
        listed = git.ask("log", f"--since={moment.isoformat()}", "--format=", "--name-only", "--relative", "-z")
        return frozenset(paths) & {*_names(listed), *_uncommitted(git, "HEAD")}
    commit = git.revision(when) if inside else None
    if commit is None:
        no_git = git.trouble or "this folder is not under git"
        hint = "a date (2026-11-01) or a commit" if inside else f"a date (2026-11-01); {no_git}"
        raise AssayError(f"--since {when}: write {hint}")
    return frozenset(paths) & {*_uncommitted(git, commit)}


def _uncommitted(git: Git, commit: str) -> list[str]:
    """Return paths that differ from a commit in the working tree, untracked files included."""
    differing = git.ask("diff", "--name-only", "--relative", "-z", commit)
    return [*_names(differing), *_names(git.ask("ls-files", "-z", "--others", "--exclude-standard"))]


def _names(output: str | None) -> list[str]:
    return [name.strip("\n") for name in (output or "").split("\0") if name.strip("\n")]


def _parse_date(when: str) -> datetime:
    try:
        return datetime.fromisoformat(when).astimezone()
    except ValueError:
        raise AssayError(f"--since {when}: not a valid date") from None


def _modified_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
