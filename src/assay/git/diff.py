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

# how every patch must be asked for, whatever the user's configuration says
OPTIONS = ("--patch", "--unified=0", "--inter-hunk-context=0", "--diff-algorithm=histogram")

_RANGE = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)")
_SPACE = re.compile(rb"\s+")


@dataclass(frozen=True, slots=True)
class Hunk:
    """A run of changed lines: what stood at `start` of the old text, and what stands at `new_start` of the new one."""

    start: int  # first removed line; the line before the insertion when nothing is removed
    removed: tuple[bytes, ...] = ()
    added: tuple[bytes, ...] = ()
    new_start: int = 0  # first added line; the line before the gap when nothing is added
    context: str = ""  # the definition that git finds above it

    @property
    def formatting(self) -> bool:
        """Whether only white space differs."""
        return _SPACE.sub(b"", b"".join(self.removed)) == _SPACE.sub(b"", b"".join(self.added))

    def places(self) -> Iterator[tuple[int, int]]:
        """The old lines it touches, each as a range: removed lines one by one, or both neighbours of an insertion."""
        return _places(self.start, self.removed)

    def new_places(self) -> Iterator[tuple[int, int]]:
        """The new lines it touches, likewise."""
        return _places(self.new_start, self.added)


def read_hunk(line: bytes, lines: Iterator[bytes]) -> Hunk | None:
    """The hunk that a line opens, taking its lines from those that follow; None when it opens none."""
    found = _RANGE.match(line)
    if found is None:
        return None
    start, removed, new_start, added = (1 if number is None else int(number) for number in found.groups()[:4])
    context = found.group(5).decode("utf-8", "replace")
    return Hunk(start, _taken(lines, removed), _taken(lines, added), new_start, context)


def _places(start: int, texts: Sequence[bytes]) -> Iterator[tuple[int, int]]:
    if not texts:
        yield start, start + 1
    for line, text in enumerate(texts, start):
        if text.strip():
            yield line, line


def _taken(lines: Iterator[bytes], number: int) -> tuple[bytes, ...]:
    """The next lines of a patch without their sign; git's remark about a missing last newline is none of them."""
    out: list[bytes] = []
    while len(out) < number:
        line = next(lines)
        if not line.startswith(b"\\"):
            out.append(line[1:].rstrip(b"\n"))
    return tuple(out)


# What differs between the working tree and the commit that a branch left: committed, staged, not staged, and new
# files.

ADDED, CHANGED, DELETED, MOVED = "added", "changed", "deleted", "moved"
SHORT = 9  # characters of a commit id that are shown

_STATUS = {"A": ADDED, "D": DELETED, "R": MOVED}
_FILE = "100"  # how the modes of regular files begin
_DIFF = (
    *("diff", "--raw", "--no-abbrev", *OPTIONS, "--find-renames=50%", "-l400", "--relative", "--no-color"),
    *("--submodule=short", "--src-prefix=a/", "--dst-prefix=b/"),
)
_SETTINGS = ("core.quotePath=true", "diff.autoRefreshIndex=true")
_DEFAULT_BRANCHES = ("main", "master")


@dataclass(frozen=True, slots=True)
class Base:
    """What a branch is compared with: its name as people know it, and the commit where the branch left it."""

    name: str
    commit: str

    def __str__(self) -> str:
        return f"{self.name} (merge base {self.commit[:SHORT]})"


@dataclass(frozen=True, slots=True)
class Change:
    """One file that differs; paths are relative to the folder that was asked about."""

    path: str  # where it is; of a deleted file, where it was
    status: str = CHANGED
    before: str = ""  # where it was, when it moved
    old_blob: str = ""  # empty when it is new
    hunks: list[Hunk] = field(default_factory=list)  # none of a new file that git does not know yet


def choose_base(git: Git, name: str = "") -> Base:
    """The base of that name; without one, what a pull request would most likely be compared with."""
    if git.ask("rev-parse", "--is-inside-work-tree") != "true":
        raise AssayError(f"{git.root}: not a git repository, so there is no diff. Name files instead: --files A B")
    if git.revision("HEAD") is None:
        raise AssayError(
            f"{git.root}: no commit yet, so there is nothing to compare with. Name files instead: --files A B"
        )
    if name and git.revision(name) is None:
        raise AssayError(f"--pr {name}: {_unknown(git, name)}")
    chosen = name or next(one for one in _candidates(git) if git.revision(one))
    commit = git.ask("merge-base", "--end-of-options", chosen, "HEAD")
    if not commit:
        why = "this clone is shallow; run: git fetch --unshallow" if git.shallow else "they share no history"
        raise AssayError(f"{chosen} and HEAD have no common commit: {why}")
    return Base(chosen, commit)


def _candidates(git: Git) -> Iterator[str]:
    """The remote's default branch, the usual names, the commit before, at last HEAD itself for what is not committed."""
    references = (git.ask("for-each-ref", "--format=%(refname)", "refs/remotes") or "").split()
    remotes = {reference.split("/")[2] for reference in references}
    for remote in sorted(remotes, key=lambda name: (name != "origin", name))[:1]:
        head = git.ask("symbolic-ref", "--quiet", "--short", f"refs/remotes/{remote}/HEAD")
        yield from [head] if head else []
        yield from (f"{remote}/{branch}" for branch in _DEFAULT_BRANCHES)
    yield from _DEFAULT_BRANCHES
    yield from ("HEAD~1", "HEAD")


def _unknown(git: Git, name: str) -> str:
    branches = (
        git.ask("for-each-ref", "--format=%(refname:short)", "refs/heads", "refs/remotes", "refs/tags") or ""
    ).split()
    near = nearest(name, branches, 3)
    said = f"no branch, tag or commit of {git.root}."
    if git.shallow:
        return f"{said} This clone is shallow; perhaps: git fetch --unshallow"
    return f"{said} Nearest: {', '.join(near)}" if near else said


def read_changes(git: Git, commit: str) -> list[Change]:
    """The files that differ from a commit, by path."""
    with git.lines(*_DIFF, "--end-of-options", commit, "--", ".", settings=_SETTINGS) as output:
        found = {change.path: change for change in read(iter(output))}
    with git.lines("ls-files", "-z", "--others", "--exclude-standard") as output:
        for raw in output.read().split(b"\0")[:-1]:
            path = raw.decode("utf-8", "replace")
            found.setdefault(path, Change(path, ADDED))
    return [found[path] for path in sorted(found)]


def read(lines: Iterator[bytes]) -> Iterator[Change]:
    """The changes of a diff in the format asked for above: rows for all files first, then their patches."""
    changes: dict[str, Change] = {}
    hunks: list[Hunk] = []
    for line in lines:
        if line.startswith(b":"):
            change = _row(line)
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


def _row(line: bytes) -> Change | None:
    """One row of --raw; None when it is not about a regular file."""
    described, *paths = line.rstrip(b"\n").split(b"\t")
    old_mode, new_mode, old_blob, _, status = described[1:].decode().split(" ")
    existed, exists = old_mode.startswith(_FILE), new_mode.startswith(_FILE)
    if not existed and not exists:
        return None
    what = DELETED if not exists else ADDED if not existed else _STATUS.get(status[:1], CHANGED)
    before = unquote(paths[0]) if what == MOVED else ""
    return Change(unquote(paths[-1]), what, before, old_blob if existed else "")


# Which files changed since a day or a commit: as git knows it, else by the time of the files.

_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?)?")


def changed_since(root: Path, when: str, paths: Iterable[str]) -> frozenset[str]:
    """The files among `paths` that changed since a date (2026-11-01) or a commit (v1.2, HEAD~5), committed or not."""
    git = Git(root)
    inside = git.ask("rev-parse", "--is-inside-work-tree") == "true"
    if _DATE.fullmatch(when):
        moment = _moment(when)
        if not inside:
            return frozenset(path for path in paths if _changed_at(root / path) >= moment.timestamp())
        listed = git.ask("log", f"--since={moment.isoformat()}", "--format=", "--name-only", "--relative", "-z")
        return frozenset(paths) & {*_names(listed), *_uncommitted(git, "HEAD")}
    commit = git.revision(when) if inside else None
    if commit is None:
        hint = "a date (2026-11-01) or a commit" if inside else "a date (2026-11-01); this folder is not under git"
        raise AssayError(f"--since {when}: write {hint}")
    return frozenset(paths) & {*_uncommitted(git, commit)}


def _uncommitted(git: Git, commit: str) -> list[str]:
    """What differs from a commit in the working tree, new files included."""
    differing = git.ask("diff", "--name-only", "--relative", "-z", commit)
    return [*_names(differing), *_names(git.ask("ls-files", "-z", "--others", "--exclude-standard"))]


def _names(output: str | None) -> list[str]:
    return [name.strip("\n") for name in (output or "").split("\0") if name.strip("\n")]


def _moment(when: str) -> datetime:
    try:
        return datetime.fromisoformat(when).astimezone()
    except ValueError:
        raise AssayError(f"--since {when}: there is no such day") from None


def _changed_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
