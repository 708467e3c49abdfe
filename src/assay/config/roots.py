"""Roots: the repository or workspace around a folder, labelled repositories, and files as the index names them."""

from __future__ import annotations

import os
import re
import stat
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from assay.config.trust import split_root
from assay.config.user import read_settings
from assay.errors import AssayError
from assay.git import locate
from assay.store.index import Index
from assay.text.terms import nearest
from assay.text.tokens import LONGEST_NAME

_SETTINGS = "assay.toml"
_WORKSPACE = re.compile(rb"^[ \t]*+(?:\[[ \t]*+)?workspace\b", re.MULTILINE)


def root_around(place: Path) -> Path:
    """Return the nearest folder with an index at or above `place`, else the repository around it, else `place`.

    The index of a repository does not cover nested repositories (submodules, worktrees); inside one of them, the nested
    repository is returned.
    """
    inner = None
    for folder in (place, *place.parents):
        repository = (folder / ".git").exists()
        if (folder / ".assay" / "current").exists() and (folder == place or _is_own(folder / ".assay")):
            return inner if inner and repository else folder
        if repository and inner is None:
            inner = folder
    around = locate(place)
    return around.top if around else place


def workspace_around(place: Path) -> Path | None:
    """Return the folder at or above `place` whose assay.toml defines a workspace; None inside a repository without one.

    Settings in parent folders that other users can write are ignored, with a warning.
    """
    for folder in (place, *place.parents):
        if _has_workspace(folder):
            if folder == place or (_is_own(folder) and _is_own(folder / _SETTINGS)):
                return folder
            warnings.warn(
                f"{folder / _SETTINGS}: ignored, as other users can write it; to use it, pass --root {folder}",
                stacklevel=1,
            )
        if (folder / ".git").exists() or (folder / ".assay" / "current").exists():
            break
    return None


def _is_own(path: Path) -> bool:
    """Return whether this user owns a path that is not world-writable; True on systems without user ids."""
    if not hasattr(os, "geteuid"):
        return True
    try:
        status = os.lstat(path)
    except OSError:
        return False
    users = {os.geteuid()}
    if os.geteuid() == 0 and os.environ.get("SUDO_UID", "").isdecimal():
        users.add(int(os.environ["SUDO_UID"]))
    if stat.S_ISLNK(status.st_mode):
        return status.st_uid in users  # the mode of a link has no meaning
    return status.st_uid in users and not status.st_mode & stat.S_IWOTH


def _has_workspace(folder: Path) -> bool:
    """Return whether a folder's assay.toml names repositories; also if it is invalid, which opening reports."""
    try:
        written = read_settings(folder / _SETTINGS, folder)
    except AssayError:
        return False  # commands that need the file report it
    if not written or not _WORKSPACE.search(written):
        return False
    from assay.config.configuration import load

    try:
        return bool(load(folder).workspace.roots)
    except AssayError:
        return True


# Labelled repositories, from `assay.toml` or the command line

_NOT_IN_LABEL = re.compile(r"[^\w.@+-]+")


@dataclass(frozen=True, slots=True)
class Root:
    """A labelled repository; the label prefixes its paths."""

    label: str
    path: Path


def roots(written: Iterable[str | Path], base: Path | None = None, where: str = "") -> list[Root]:
    """Parse repositories given as `path` or `label=path`, relative to `base`. Raises AssayError with all problems."""
    repositories, problems = list[Root](), list[str]()
    for text in map(str, written):
        try:
            repositories.append(_root(text, base or Path.cwd()))
        except AssayError as error:
            problems.append(str(error))
    problems += [problem for pair in combinations(repositories, 2) if (problem := _clash(*pair))]
    if problems:
        raise AssayError("\n".join(f"{where}{problem}" for problem in problems))
    return repositories


def roots_of(folder: Path) -> list[Root]:
    """Return the repositories that a workspace's assay.toml names."""
    from assay.config.configuration import NAME, load

    return roots(load(folder).workspace.roots, folder, f"{folder / NAME}: [workspace] ")


def _root(text: str, base: Path) -> Root:
    label, path = split_root(text, base)
    written = text.removeprefix(f"{label}=") if label else text
    if not path.exists():
        raise AssayError(f"{written}: no such folder")
    if not path.is_dir():
        raise AssayError(f"{written}: not a folder; name the folder that contains it")
    resolved = path.resolve()
    label = label or _NOT_IN_LABEL.sub("-", resolved.name)
    if not label.strip("."):
        raise AssayError(f"{written}: has no name to call it by; write label={written}")
    return Root(label, resolved)


def _clash(first: Root, other: Root) -> str:
    """Return why two repositories cannot be combined; empty if they can."""
    if first.path == other.path:
        return f"{first.path} is named twice"
    outer, inner = sorted((first, other), key=lambda root: len(root.path.parts))
    if inner.path.is_relative_to(outer.path) and not all((root.path / ".git").exists() for root in (outer, inner)):
        return f"{inner.path} is inside {outer.path}, so its files would be found twice; leave out one of them"
    if first.label == other.label:
        paths = f"{first.path} and {other.path}"
        return f"two repositories are called '{first.label}' ({paths}); give one of them a name: other={other.path}"
    return ""


def listed(repositories: Sequence[Root]) -> str:
    """Render roots for messages: `api (../api), web (../web)`."""
    return ", ".join(f"{root.label} ({root.path})" for root in repositories)


# File arguments

_MAX_SUGGESTIONS = 3
_MAX_SHOWN = 80  # characters of an overlong path


def indexed_paths(files: Sequence[str], root: Path, index: Index) -> list[str]:
    """Return the index paths of files, without duplicates. Raises AssayError with the reason for a missing one."""
    out = dict.fromkeys(_index_path(file, root, index) for file in files)
    return list(out)


def _index_path(file: str, root: Path, index: Index) -> str:
    """Resolve a file against the current folder, then the root; absolute paths must be inside the root."""
    places = [Path(file)] if os.path.isabs(file) else [Path.cwd() / file, root / file]
    inside = [path for place in places if (path := _inside(place, root)) is not None]
    if not inside:
        raise AssayError(f"{file}: outside {root}")
    indexed = [path for path in inside if path in index.files]
    if indexed:
        return indexed[0]
    existing = [path for path in inside if os.path.exists(root / path)]  # False for invalid names
    path = (existing or inside)[0]
    shown = path if len(path) <= LONGEST_NAME else f"{path[:_MAX_SHOWN]}… ({len(path):,} characters)"
    raise AssayError(f"{shown}: not in the index. {_reason(path, root, index)}")


def _inside(place: Path, root: Path) -> str | None:
    try:
        return place.resolve().relative_to(root.resolve()).as_posix()
    except (ValueError, OSError, RuntimeError):
        return None


def _reason(path: str, root: Path, index: Index) -> str:
    """Return why a file is not in the index, and what to do."""
    try:
        full_path = root / path
        if full_path.is_dir():
            return "It is a folder; name files in it."
        if not full_path.exists():
            suggestions = nearest(path, index.files, _MAX_SUGGESTIONS)
            return f"Nearest: {', '.join(suggestions)}" if suggestions else f"There is no such file in {root}."
    except (OSError, ValueError):
        return f"There is no such file in {root}."
    from assay.index.scan import scan
    from assay.languages import language_of

    skipped_row = index.catalogue.connection.execute("SELECT reason FROM skipped WHERE path = ?", (path,)).fetchone()
    scanned = scan(root)
    reason = scanned.skipped.get(path) or scanned.problems.get(path) or (skipped_row and skipped_row[0])
    if reason:
        return f"It was skipped: {reason}."
    if path in scanned.files:
        return f"If it is new, run: assay index {root}"
    if language_of(path) is None:
        return "It is in no language that assay parses."
    return "It is ignored by .gitignore or .assayignore."
