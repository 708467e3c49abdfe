"""Find the repository around a folder without running git, which would follow a malicious one.

Git also accepts a folder that merely looks like a git directory, such as a bare repository inside a clone. Here only
`.git` marks a repository, and only data of its own counts: `.git` of an unpacked archive can lead to any repository of
the user, whose history would be indexed, quoted and published as that of the archive.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from assay.errors import AssayError
from assay.system.files import read_regular
from assay.text.display import printable

_SETTINGS_LIMIT = 1_000_000  # bytes of a configuration file; real ones have a few kilobytes
_CORE = frozenset((
    "repositoryformatversion", "filemode", "ignorecase", "precomposeunicode", "symlinks", "longpaths",  # the file system
    "autocrlf", "eol", "trustctime", "checkstat", "sparsecheckout", "sparsecheckoutcone",  # comparing files with the index
))  # fmt: skip
# the first makes git fetch missing objects, the second makes it read another configuration
_BLOCKED_EXTENSIONS = ("partialclone", "worktreeconfig")
_WORD = re.compile(r"[A-Za-z0-9.-]{1,40}")

_HEADER = re.compile(r'\s*\[\s*+([A-Za-z0-9.-]++)\s*+(?:"((?:[^"\\]|\\.)*+)"\s*+)?\]')
_SETTING = re.compile(r"\s*([A-Za-z][A-Za-z0-9-]*)\s*(?:=(.*))?$")
_PIECE = re.compile(r'"((?:[^"\\]|\\.)*)"?|[#;].*|([^"#;]+)')
_ESCAPE = re.compile(r"\\(.)")

# by (section, subsection, key); section and key in lower case
Settings = Mapping[tuple[str, str, str], str]


def read_settings(path: Path) -> dict[tuple[str, str, str], str]:
    """Return the settings of a configuration file; empty if it cannot be read. Included files are not read."""
    try:
        text = read_regular(path, _SETTINGS_LIMIT).decode("utf-8", "replace")
    except (OSError, AssayError):
        return {}
    return dict(_parse(text))


def safe_config(settings: Settings) -> str:
    """Return the settings that are passed to git, as the text of a configuration file."""
    core = {key: value for (section, sub, key), value in settings.items() if (section, sub) == ("core", "")}
    extensions = {key: value for (section, sub, key), value in settings.items() if (section, sub) == ("extensions", "")}
    allowed = {
        "core": {key: value for key, value in core.items() if key in _CORE},
        "extensions": {key: value for key, value in extensions.items() if key not in _BLOCKED_EXTENSIONS},
    }
    lines = []
    for section, values in allowed.items():
        lines.append(f"[{section}]")
        lines += [f"\t{key} = {value}" for key, value in values.items() if _WORD.fullmatch(value)]
    return "\n".join([*lines, "[core]", "\tbare = false", ""])


def is_partial(settings: Settings) -> bool:
    """Return whether the repository is a partial clone, which fetches missing objects on demand."""
    return any(section == "remote" and key == "promisor" for section, _, key in settings)


def _parse(text: str) -> Iterator[tuple[tuple[str, str, str], str]]:
    section, subsection = "", ""
    for line in re.sub(r"\\\r?\n", "", text).splitlines():
        line, place = line.strip(), 0
        while header := _HEADER.match(line, place):
            name, _, old_style = header[1].partition(".")
            section, subsection = name.lower(), _ESCAPE.sub(r"\1", header[2] or "") or old_style.lower()
            place = header.end()
        if setting := _SETTING.match(line, place):
            value = "true" if setting[2] is None else _value(setting[2])
            yield (section, subsection, setting[1].lower()), value


def _value(raw: str) -> str:
    """Return a value without quotes and trailing comment."""
    pieces = [_ESCAPE.sub(r"\1", quoted) if quoted else plain for quoted, plain in _PIECE.findall(raw)]
    return "".join(pieces).strip()


# Repository discovery

_POINTER_LIMIT = 10_000  # bytes of a file that contains a path (`.git`, commondir, gitdir)
_FOLDER_NAME = "assay"  # assay's folder inside the git directory
_WORKTREE = ("core", "", "worktree")
# of a git directory, what is read of it: links there must not lead out of it. `info` has patterns only, hooks do not run
_DATA = frozenset((
    "HEAD", "index", "config", "config.worktree", "packed-refs", "shallow", "logs", "objects", "refs", "reftable",
))  # fmt: skip
_DATA_FOLDERS = ("objects", "objects/pack", "objects/info", "refs", "reftable")


@dataclass(frozen=True)
class Place:
    """A folder in a working tree and its git directories. All paths are absolute and without symlinks."""

    root: Path
    top: Path  # root of the working tree
    git_dir: Path  # contains HEAD and the index
    common_dir: Path  # contains objects and refs, shared by all working trees
    inside_bare: bool = False  # the root is in a folder that git would accept as a bare repository

    @property
    def prefix(self) -> str:
        """Path of the root below the top, with a trailing slash; empty at the top."""
        return "" if self.root == self.top else self.root.relative_to(self.top).as_posix() + "/"

    @cached_property
    def settings(self) -> Settings:
        """Settings of the repository and of this working tree."""
        shared = read_settings(self.common_dir / "config")
        if shared.get(("extensions", "", "worktreeconfig"), "").lower() in ("true", "yes", "on", "1"):
            return shared | read_settings(self.git_dir / "config.worktree")
        return shared

    @cached_property
    def outside(self) -> str:
        """Message that git data of another repository would be read, and what to do; empty if all data is its own."""
        for reason, remedy in self._problems():
            line = (
                f"{self.top}: git data outside this folder is not read: {reason}. It is treated as a folder without git"
            )
            return " ".join(printable(f"{line}. {remedy}").splitlines())
        return ""

    def shared_folder(self) -> Path | None:
        """Return a writable folder in the git directory that all working trees share; None if it is not safe."""
        safe = self._is_referred_to() and _is_own_folder(self.common_dir) and _is_own_folder(self.git_dir)
        folder = self.common_dir / _FOLDER_NAME
        return folder if safe and (not os.path.lexists(folder) or _is_own_folder(folder)) else None

    def _problems(self) -> Iterator[tuple[str, str]]:
        """Yield the ways in which the repository leads to data of another one, each with what to do if that is meant."""
        from shlex import quote

        top, git_dir = quote(str(self.top)), quote(str(self.git_dir))
        if not self._is_referred_to():
            if self.git_dir == self.top / ".git":
                remedy = f"To have a history of its own, clone the repository; or remove {git_dir}/commondir"
            elif self.common_dir != self.git_dir:
                remedy = f"If it is a working tree of that repository, run: git worktree repair {top}"
            elif self.git_dir.name == ".git":
                remedy = "To have that history here, make this folder with: git worktree add"
            else:
                remedy = (
                    f"If that is the repository of this folder, run: git --git-dir={git_dir} config core.worktree {top}"
                )
            yield f"{self.top / '.git'} leads to {self.common_dir}, which does not refer back to it", remedy
        for link in self._links_out():
            yield f"{link} is a link", "Put what it leads to in its place, or clone the repository"
        alternates = self.common_dir / "objects" / "info" / "alternates"
        if _names_folders(alternates):
            copy = f"git -C {top} repack -a -d && rm {quote(str(alternates))}"
            yield f"{alternates} names objects of other repositories", f"If they are yours, copy them: {copy}"

    def _is_referred_to(self) -> bool:
        """Return whether the git directory refers back to this working tree, as git does for worktrees and submodules.

        `.git` may be a file or link that names any folder. Whoever wrote it cannot write to another user's repository.
        `git init --separate-git-dir` leaves no reference: `core.worktree` must be set.
        """
        if self.git_dir == self.top / ".git":
            return self.common_dir == self.git_dir
        if self.common_dir == self.git_dir:
            worktree = self.settings.get(_WORKTREE, "")
            return bool(worktree) and _resolved(self.git_dir / worktree) == self.top
        if self.common_dir != self.git_dir.parent.parent:
            return False
        back_reference = _first_line(self.git_dir / "gitdir")
        return bool(back_reference) and _resolved(self.git_dir / back_reference) == self.top / ".git"

    def _links_out(self) -> Iterator[str]:
        """Yield links that lead from the git directory to data elsewhere.

        Single loose objects are not looked at: there can be thousands, and a link needs the object's id for its name.
        """
        for base in dict.fromkeys((self.common_dir, self.git_dir)):
            for part in ("", *_DATA_FOLDERS):
                with suppress(OSError), os.scandir(base / part) as entries:
                    for entry in entries:
                        is_data = part or entry.name in _DATA or entry.name.startswith("sharedindex.")
                        if is_data and entry.is_symlink() and not _resolved(entry.path).is_relative_to(self.common_dir):
                            yield entry.path


def find_place(root: Path) -> Place | None:
    """Return the position of a folder in the repository around it; None without one, and if its data is not its own."""
    place = locate(root)
    return None if place is None or place.outside else place


def locate(root: Path) -> Place | None:
    """Return the position of a folder in the working tree around it, whose git data may be that of another repository."""
    root = _resolved(root)
    inside_bare, device = False, None
    for folder in (root, *root.parents):
        try:
            folder_device = os.stat(folder).st_dev
        except OSError:
            return None
        if device is not None and folder_device != device:  # like git, do not cross file systems
            return None
        device = folder_device
        git_dir = _git_dir_of(folder)
        if git_dir is not None:
            common_path = _first_line(git_dir / "commondir")
            common_dir = _resolved(git_dir / common_path) if common_path else git_dir
            return Place(root, folder, git_dir, common_dir, inside_bare)
        inside_bare = inside_bare or _looks_like_git_dir(folder)
    return None


def _git_dir_of(folder: Path) -> Path | None:
    """Return the git directory that `.git` in a folder is or points to, if any."""
    dot_git = folder / ".git"
    try:
        mode = os.stat(dot_git).st_mode
    except OSError:
        return None
    if stat.S_ISDIR(mode):
        target = dot_git
    else:
        line = _first_line(dot_git)
        if not line.startswith("gitdir: "):
            return None
        target = folder / line.removeprefix("gitdir: ")
    target = _resolved(target)
    return target if _looks_like_git_dir(target) else None


def _looks_like_git_dir(folder: Path) -> bool:
    """Return whether git might accept a folder as a git directory. Git itself also checks the content of HEAD."""
    if not os.path.lexists(folder / "HEAD"):
        return False
    parts = ("objects", "refs")
    return all(os.path.isdir(folder / part) for part in parts) or os.path.isfile(folder / "commondir")


def _names_folders(path: Path) -> bool:
    """Return whether a file of alternates names any, or cannot be read, in which case git may still do so."""
    try:
        lines = read_regular(path, _POINTER_LIMIT).splitlines()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, AssayError):
        return True
    return any(line.strip() and not line.startswith(b"#") for line in lines)


def _is_own_folder(path: Path) -> bool:
    """Return whether a path is a real folder, not a symlink, owned by the current user."""
    try:
        info = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISDIR(info.st_mode) and (not hasattr(os, "geteuid") or info.st_uid == os.geteuid())


def _first_line(path: Path) -> str:
    """Return the content of a one-line file; empty if it cannot be read."""
    try:
        return read_regular(path, _POINTER_LIMIT).decode("utf-8", "surrogateescape").rstrip("\r\n")
    except (OSError, AssayError):
        return ""


def _resolved(path: Path | str) -> Path:
    """Return a path without symlinks, or unchanged if they are cyclic or the path is invalid."""
    try:
        return Path(os.path.realpath(path))
    except (OSError, ValueError):
        return Path(path)
