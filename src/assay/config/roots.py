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

from assay.config.configuration import NAME, load
from assay.config.trust import split_root
from assay.config.user import read_settings
from assay.errors import AssayError
from assay.git import find_place
from assay.store.index import Index
from assay.text.terms import nearest
from assay.text.tokens import LONGEST_NAME

_SETTINGS = "assay.toml"
_WORKSPACE = re.compile(rb"^\s*(?:\[\s*)?workspace\b", re.MULTILINE)


def root_around(place: Path) -> Path:
    """The nearest folder with an index, at or above `place`; else the repository around it; else the place itself.

    The index of a repository has nothing of those inside it (submodules, worktrees): in them, it is not the one that is meant.
    """
    inner = None
    for folder in (place, *place.parents):
        repository = (folder / ".git").exists()
        if (folder / ".assay" / "current").exists() and (folder == place or _is_own(folder / ".assay")):
            return inner if inner and repository else folder
        if repository and inner is None:
            inner = folder
    around = find_place(place)
    return around.top if around else place


def workspace_around(place: Path) -> Path | None:
    """The folder at or above a place whose assay.toml has a workspace; repositories end the search: in one, it alone is meant.

    Nobody chose the folders above: what another user could have put there does not count.
    """
    for folder in (place, *place.parents):
        if _has_workspace(folder):
            if folder == place or (_is_own(folder) and _is_own(folder / _SETTINGS)):
                return folder
            warnings.warn(
                f"{folder / _SETTINGS}: not used, as others than you can write it; if it is meant, name it: --root {folder}",
                stacklevel=1,
            )
        if (folder / ".git").exists() or (folder / ".assay" / "current").exists():
            break
    return None


def _is_own(path: Path) -> bool:
    """Tell whether a file or folder is this user's, and not writable for everybody; where there are no users, it is."""
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
        return status.st_uid in users  # its mode means nothing
    return status.st_uid in users and not status.st_mode & stat.S_IWOTH


def _has_workspace(folder: Path) -> bool:
    """Whether repositories are named there; also where that is wrong, which is said when they are opened."""
    try:
        written = read_settings(folder / _SETTINGS, folder)
    except AssayError:
        return False  # commands that need the file say what is wrong with it
    if not written or not _WORKSPACE.search(written):
        return False
    from assay.config.configuration import load

    try:
        return bool(load(folder).workspace.roots)
    except AssayError:
        return True


# Which repositories are asked together: folders with a label each, named in `assay.toml` or on the command line.

_NOT_IN_LABEL = re.compile(r"[^\w.@+-]+")


@dataclass(frozen=True, slots=True)
class Root:
    """A repository among others: its paths begin with the label."""

    label: str
    path: Path


def roots(written: Iterable[str | Path], base: Path | None = None, where: str = "") -> list[Root]:
    """The repositories that are meant by `path` or `label=path`; everything that is wrong with them is one error. `base`: paths begin there."""
    found, problems = list[Root](), list[str]()
    for text in map(str, written):
        try:
            found.append(_root(text, base or Path.cwd()))
        except AssayError as error:
            problems.append(str(error))
    problems += [problem for pair in combinations(found, 2) if (problem := _clash(*pair))]
    if problems:
        raise AssayError("\n".join(f"{where}{problem}" for problem in problems))
    return found


def roots_of(folder: Path) -> list[Root]:
    """The repositories of a workspace, as its assay.toml names them."""
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


def _clash(one: Root, other: Root) -> str:
    """Why two cannot be asked together; empty when they can."""
    if one.path == other.path:
        return f"{one.path} is named twice"
    outer, inner = sorted((one, other), key=lambda root: len(root.path.parts))
    if inner.path.is_relative_to(outer.path) and not all((root.path / ".git").exists() for root in (outer, inner)):
        return f"{inner.path} is inside {outer.path}, so its files would be found twice; leave out one of them"
    if one.label == other.label:
        paths = f"{one.path} and {other.path}"
        return f"two repositories are called '{one.label}' ({paths}); give one of them a name: other={other.path}"
    return ""


def listed(found: Sequence[Root]) -> str:
    """For people: `api (../api), web (../web)`."""
    return ", ".join(f"{root.label} ({root.path})" for root in found)


# Files named on the command line, as the index calls them.

_SUGGESTED = 3
_SHOWN = 80  # characters of a path that is too long to be one


def indexed_paths(files: Sequence[str], root: Path, index: Index) -> list[str]:
    """The paths of files in the index, each once; one that it does not have is an error that says why."""
    out = dict.fromkeys(_indexed(file, root, index) for file in files)
    return list(out)


def _indexed(file: str, root: Path, index: Index) -> str:
    """A file relative to the current folder, else to the root; absolute ones must be inside of it."""
    places = [Path(file)] if os.path.isabs(file) else [Path.cwd() / file, root / file]
    inside = [path for place in places if (path := _inside(place, root)) is not None]
    if not inside:
        raise AssayError(f"{file}: outside {root}")
    known = [path for path in inside if path in index.files]
    if known:
        return known[0]
    existing = [path for path in inside if os.path.exists(root / path)]  # False for what no file can be called
    path = (existing or inside)[0]
    shown = path if len(path) <= LONGEST_NAME else f"{path[:_SHOWN]}… ({len(path):,} characters)"
    raise AssayError(f"{shown}: not in the index. {_reason(path, root, index)}")


def _inside(place: Path, root: Path) -> str | None:
    try:
        return place.resolve().relative_to(root.resolve()).as_posix()
    except (ValueError, OSError, RuntimeError):
        return None


def _reason(path: str, root: Path, index: Index) -> str:
    """Why a file is not in the index, and what to do."""
    try:
        there = root / path
        if there.is_dir():
            return "It is a folder; name files in it."
        if not there.exists():
            near = nearest(path, index.files, _SUGGESTED)
            return f"Nearest: {', '.join(near)}" if near else f"There is no such file in {root}."
    except (OSError, ValueError):
        return f"There is no such file in {root}."
    from assay.index.scan import scan
    from assay.languages import language_of

    passed = index.catalogue.connection.execute("SELECT reason FROM skipped WHERE path = ?", (path,)).fetchone()
    found = scan(root)
    reason = found.skipped.get(path) or found.problems.get(path) or (passed and passed[0])
    if reason:
        return f"It was passed over: {reason}."
    if path in found.files:
        return f"If it is new, run: assay index {root}"
    if language_of(path) is None:
        return "It is in no language that assay parses."
    return "It is ignored by .gitignore or .assayignore."
