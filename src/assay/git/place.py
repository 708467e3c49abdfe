"""The repository around a folder, found without git, which would follow a hostile one anywhere.

Git also takes a folder for a repository that merely looks like a git directory: a bare one, which a clone can contain. Here only a
`.git` makes a repository.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from assay.errors import AssayError
from assay.system.files import read_regular

_SETTINGS_LIMIT = 1_000_000  # bytes of a configuration: real ones have a few kilobytes
_CORE = frozenset((
    "repositoryformatversion", "filemode", "ignorecase", "precomposeunicode", "symlinks", "longpaths",  # the file system
    "autocrlf", "eol", "trustctime", "checkstat", "sparsecheckout", "sparsecheckoutcone",  # comparing files with the index
))  # fmt: skip
# the first would make git look for missing objects elsewhere, the second read another configuration
_NOT_EXTENSIONS = ("partialclone", "worktreeconfig")
_WORD = re.compile(r"[A-Za-z0-9.-]{1,40}")

_HEADER = re.compile(r'\[\s*([A-Za-z0-9.-]+)\s*(?:"((?:[^"\\]|\\.)*)")?\s*\]')
_SETTING = re.compile(r"\s*([A-Za-z][A-Za-z0-9-]*)\s*(?:=\s*(.*))?$")
_PIECE = re.compile(r'"((?:[^"\\]|\\.)*)"?|[#;].*|([^"#;]+)')
_ESCAPE = re.compile(r"\\(.)")

Settings = Mapping[
    tuple[str, str, str], str
]  # by section and key, both in lower case, with the subsection between them


def read_settings(path: Path) -> dict[tuple[str, str, str], str]:
    """Return the settings of a configuration file; none when it cannot be read. Files it includes are not read."""
    try:
        text = read_regular(path, _SETTINGS_LIMIT).decode("utf-8", "replace")
    except (OSError, AssayError):
        return {}
    return dict(_parse(text))


def harmless(settings: Settings) -> str:
    """Return the settings that are handed on to git, as the text of a configuration file."""
    core = {key: value for (section, sub, key), value in settings.items() if (section, sub) == ("core", "")}
    extensions = {key: value for (section, sub, key), value in settings.items() if (section, sub) == ("extensions", "")}
    kept = {
        "core": {key: value for key, value in core.items() if key in _CORE},
        "extensions": {key: value for key, value in extensions.items() if key not in _NOT_EXTENSIONS},
    }
    lines = []
    for section, values in kept.items():
        lines.append(f"[{section}]")
        lines += [f"\t{key} = {value}" for key, value in values.items() if _WORD.fullmatch(value)]
    return "\n".join([*lines, "[core]", "\tbare = false", ""])


def is_partial(settings: Settings) -> bool:
    """Tell whether objects were left behind at a remote repository, to be fetched when they are needed."""
    return any(section == "remote" and key == "promisor" for section, _, key in settings)


def _parse(text: str) -> Iterator[tuple[tuple[str, str, str], str]]:
    section, subsection = "", ""
    for line in re.sub(r"\\\r?\n", "", text).splitlines():
        rest = line.strip()
        while header := _HEADER.match(rest):
            name, _, old_style = header[1].partition(".")
            section, subsection = name.lower(), _ESCAPE.sub(r"\1", header[2] or "") or old_style.lower()
            rest = rest[header.end() :].strip()
        if setting := _SETTING.match(rest):
            value = "true" if setting[2] is None else _value(setting[2])
            yield (section, subsection, setting[1].lower()), value


def _value(written: str) -> str:
    """Return a value without its quotes and the comment behind it."""
    pieces = [_ESCAPE.sub(r"\1", quoted) if quoted else plain for quoted, plain in _PIECE.findall(written)]
    return "".join(pieces).strip()


# The repository around a folder, found without git, which would follow a hostile one anywhere.

_LIMIT = 10_000  # bytes of a file that names a folder
_OWN = "assay"  # our folder among git's


@dataclass(frozen=True)
class Place:
    """A folder in a working tree, and where git keeps what it knows about it. All paths are absolute and without links."""

    root: Path
    top: Path  # of the working tree
    git_dir: Path  # with HEAD and the index
    common_dir: Path  # with objects and references, shared by all working trees
    inside_bare: bool = False  # the root is in a folder that git would take for a bare repository

    @property
    def prefix(self) -> str:
        """The root's path below the top; empty at the top, else with a slash at its end."""
        return "" if self.root == self.top else self.root.relative_to(self.top).as_posix() + "/"

    @cached_property
    def settings(self) -> Settings:
        """The repository's settings, and those of this working tree."""
        shared = read_settings(self.common_dir / "config")
        if shared.get(("extensions", "", "worktreeconfig"), "").lower() in ("true", "yes", "on", "1"):
            return shared | read_settings(self.git_dir / "config.worktree")
        return shared

    def shared_folder(self) -> Path | None:
        """Return the folder beside git's own files that may be written to, which all working trees share; None where it is not safe.

        `.git` may be a file that names any folder. It is believed where that folder names this working tree in return, as git has it
        do for worktrees and submodules: whoever wrote the one could not have written the other into a repository of somebody else.
        """
        if not self._is_ours():
            return None
        folder = self.common_dir / _OWN
        return folder if not os.path.lexists(folder) or _is_own_folder(folder) else None

    def _is_ours(self) -> bool:
        if not (_is_own_folder(self.common_dir) and _is_own_folder(self.git_dir)):
            return False
        if self.git_dir == self.top / ".git":
            return self.common_dir == self.git_dir
        if self.common_dir == self.git_dir:
            worktree = self.settings.get(("core", "", "worktree"), "")
            return bool(worktree) and _resolved(self.git_dir / worktree) == self.top
        if self.common_dir != self.git_dir.parent.parent:
            return False
        back = _first_line(self.git_dir / "gitdir")
        return bool(back) and _resolved(self.git_dir / back) == self.top / ".git"


def find_place(root: Path) -> Place | None:
    """Return the place of a folder in the working tree around it; None when it is in none."""
    root = _resolved(root)
    inside_bare, device = False, None
    for folder in (root, *root.parents):
        try:
            here = os.stat(folder).st_dev
        except OSError:
            return None
        if device is not None and here != device:  # as git: what is mounted below a repository is not in it
            return None
        device = here
        git_dir = _git_dir_of(folder)
        if git_dir is not None:
            named = _first_line(git_dir / "commondir")
            common_dir = _resolved(git_dir / named) if named else git_dir
            return Place(root, folder, git_dir, common_dir, inside_bare)
        inside_bare = inside_bare or _looks_like_git_dir(folder)
    return None


def _git_dir_of(folder: Path) -> Path | None:
    """Return what `.git` in a folder is or names, when that is a git directory."""
    written = folder / ".git"
    try:
        mode = os.stat(written).st_mode
    except OSError:
        return None
    if stat.S_ISDIR(mode):
        found = written
    else:
        line = _first_line(written)
        if not line.startswith("gitdir: "):
            return None
        found = folder / line.removeprefix("gitdir: ")
    found = _resolved(found)
    return found if _looks_like_git_dir(found) else None


def _looks_like_git_dir(folder: Path) -> bool:
    """Tell whether git might take a folder for a git directory, or more than that: it also looks at what HEAD says."""
    if not os.path.lexists(folder / "HEAD"):
        return False
    parts = ("objects", "refs")
    return all(os.path.isdir(folder / part) for part in parts) or os.path.isfile(folder / "commondir")


def _is_own_folder(path: Path) -> bool:
    """Tell whether a path is a folder, not a link to one, that belongs to this user."""
    try:
        info = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISDIR(info.st_mode) and (not hasattr(os, "geteuid") or info.st_uid == os.geteuid())


def _first_line(path: Path) -> str:
    """Return what a file of one line says; nothing when it is none."""
    try:
        return read_regular(path, _LIMIT).decode("utf-8", "surrogateescape").rstrip("\r\n")
    except (OSError, AssayError):
        return ""


def _resolved(path: Path) -> Path:
    """Return a path without links; as it is where links lead in circles or it holds what no path can."""
    try:
        return Path(os.path.realpath(path))
    except (OSError, ValueError):
        return path
