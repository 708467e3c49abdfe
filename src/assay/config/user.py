"""The user's configuration, `~/.config/assay/config.toml`, and reading of settings files.

[context], [search], [ask]     the user's defaults, below the same sections of a repository's `assay.toml`
[servers."api.example.com"]    the key of a server, sent to that server only
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.errors import AssayError
from assay.system.files import TooLarge, read_regular

NAME = "config.toml"
SERVERS = "servers"  # section read by `servers`
DIRECTORY_VARIABLE = "ASSAY_CONFIG_DIR"
_XDG = "XDG_CONFIG_HOME"
_DECISIONS = "trust"  # folder of trust decisions


class NoHome(AssayError):
    """The process has no home folder, so there is no user configuration."""


def directory() -> Path:
    """Return the folder of the user's configuration, which may not exist."""
    return Path(_directory())


def _directory() -> str:
    if configured := os.environ.get(DIRECTORY_VARIABLE):
        if not os.path.isabs(configured):  # relative to the current folder, it would belong to the repository
            raise AssayError(f"{DIRECTORY_VARIABLE}={configured}: not an absolute path")
        return configured
    shared = os.environ.get(_XDG, "")
    if os.path.isabs(shared):  # relative paths are ignored, as specified by XDG
        return os.path.join(shared, "assay")
    home = os.path.expanduser("~")
    if not os.path.isabs(home):
        raise NoHome(f"no home folder for the user configuration; set {DIRECTORY_VARIABLE}")
    return os.path.join(home, ".config", "assay")


def path() -> Path:
    return directory() / NAME


def read() -> dict[str, Any]:
    """Return the user's configuration; empty if there is none.

    Relative model folders are resolved against its own folder.
    """
    try:
        table = read_table(path()) or {}
    except NoHome:
        return {}
    search = table.get("search")
    if isinstance(search, dict):
        table["search"] = {name: _located(value) for name, value in search.items()}
    return table


def _located(value: Any) -> Any:
    """Make a model folder absolute: a relative one would be looked up in every repository."""
    kind, _, folder = value.partition(":") if isinstance(value, str) else ("", "", "")
    return f"folder:{directory() / Path(folder).expanduser()}" if kind == "folder" and folder else value


def section(table: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return a section of a table; empty if it is missing or not a table."""
    rows = table.get(name, {})
    return rows if isinstance(rows, dict) else {}


def decision(file: Path) -> Path:
    """Return the file of the trust decision about a settings file (written by `trust`)."""
    name = hashlib.sha256(os.fsencode(os.path.realpath(file))).hexdigest()
    return directory() / _DECISIONS / f"{name}.json"


def stamp(file: Path | None = None) -> tuple[object, ...]:
    """Return a value that changes with the user's configuration and with the trust decision about a settings file.

    It is computed for every query, so the common case is two file lookups.
    """
    try:
        own = os.path.join(_directory(), NAME)
        # most repositories have no settings file, hence no decision
        decision_file = decision(file) if file is not None and os.path.lexists(file) else None
    except AssayError:
        return ()
    return _status(own), _status(decision_file) if decision_file else None


def _status(path: str | Path) -> tuple[int, int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


# Settings files: regular, bounded, UTF-8, TOML

LIMIT = 1_000_000  # bytes; the largest real settings file has 4,000
_PLACE = r" \(at (?:line (\d+), column \d+|end of document)\)$"  # end of tomllib's messages


class BadConfiguration(AssayError):
    """All problems of a configuration, one line each."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


def read_settings(path: Path, within: Path | None = None) -> bytes | None:
    """Return the content of a settings file; None if it does not exist.

    `within` is the folder that a link must not leave: a repository may not refer to files outside it.
    """
    try:
        if within is not None and path.is_symlink():
            target = Path(os.path.realpath(path))
            if not target.is_relative_to(os.path.realpath(within)):
                raise BadConfiguration([f"{path}: is a link to a file outside {within}; put the file itself there"])
        return read_regular(path, LIMIT)
    except FileNotFoundError:
        return None
    except TooLarge as error:
        raise BadConfiguration([str(error)]) from None
    except OSError as error:
        raise BadConfiguration([f"{path}: cannot be read ({error.strerror or error})"]) from None


def read_table(path: Path, within: Path | None = None) -> dict[str, Any] | None:
    """Parse a settings file; None if it does not exist. Raises BadConfiguration with the line of the error."""
    content = read_settings(path, within)
    if content is None:
        return None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line_index = error.object.count(b"\n", 0, error.start)
        raise BadConfiguration([f"{path}:{line_index + 1}: not UTF-8"]) from None
    import tomllib  # rarely needed

    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # also overlong numbers and deep nesting
        message = str(error)
        place = re.search(_PLACE, message)
        line = f":{place[1] or text.count(chr(10)) + 1}" if place else ""
        raise BadConfiguration([f"{path}{line}: not TOML: {re.sub(_PLACE, '', message)}"]) from None
