"""What differs between the working tree and the commit that a branch left: committed, staged, not staged, and new files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from assay.errors import AssayError
from assay.git import Git, unquote
from assay.patches import OPTIONS, Hunk, read_hunk
from assay.text.identifiers import nearest

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
