"""Which files changed since a day or a commit: as git knows it, else by the time of the files."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from assay.errors import AssayError
from assay.git import Git

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
