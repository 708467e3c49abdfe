"""The user's own configuration: `~/.config/assay/config.toml`, and where it is kept.

[context], [search], [ask]     the user's defaults, below the same sections of a repository's `assay.toml`
[servers."api.example.com"]    the key of a server, sent to that server and to no other
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
SERVERS = "servers"  # the section that `servers` reads
DIRECTORY_VARIABLE = "ASSAY_CONFIG_DIR"
_XDG = "XDG_CONFIG_HOME"
_DECISIONS = "trust"  # the folder of decisions


class NoHome(AssayError):
    """This process runs for nobody who has a home folder, so there is no user configuration."""


def directory() -> Path:
    """Return the folder of the user's configuration, which need not exist: the environment's word, else `~/.config/assay`."""
    return Path(_directory())


def _directory() -> str:
    if given := os.environ.get(DIRECTORY_VARIABLE):
        if not os.path.isabs(given):  # below the current folder, it would be the repository's
            raise AssayError(f"{DIRECTORY_VARIABLE}={given}: not an absolute path")
        return given
    shared = os.environ.get(_XDG, "")
    if os.path.isabs(shared):  # the specification has relative ones ignored
        return os.path.join(shared, "assay")
    home = os.path.expanduser("~")
    if not os.path.isabs(home):
        raise NoHome(f"there is no home folder to keep configuration in; set {DIRECTORY_VARIABLE}")
    return os.path.join(home, ".config", "assay")


def path() -> Path:
    return directory() / NAME


def read() -> dict[str, Any]:
    """Return the user's configuration as it is written; empty when there is none. Its folders of models begin where it stands."""
    # an answer that is remembered needs the stamp alone

    try:
        table = read_table(path()) or {}
    except NoHome:
        return {}
    search = table.get("search")
    if isinstance(search, dict):
        table["search"] = {name: _located(value) for name, value in search.items()}
    return table


def _located(value: Any) -> Any:
    """A model's folder as an absolute path: a relative one would be looked up in every repository."""
    kind, _, folder = value.partition(":") if isinstance(value, str) else ("", "", "")
    return f"folder:{directory() / Path(folder).expanduser()}" if kind == "folder" and folder else value


def section(table: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return a section of a table; empty where there is none that could be used."""
    rows = table.get(name, {})
    return rows if isinstance(rows, dict) else {}


def decision(file: Path) -> Path:
    """Return where the user's decision about a file of settings is kept (`trust` writes it)."""
    name = hashlib.sha256(os.fsencode(os.path.realpath(file))).hexdigest()
    return directory() / _DECISIONS / f"{name}.json"


def stamp(file: Path | None = None) -> tuple[object, ...]:
    """Return a value that changes with the user's configuration, and with the decision about a file of settings.

    Whoever keeps settings asks for it with every query, so most of the time nothing but two names are looked up.
    """
    try:
        own = os.path.join(_directory(), NAME)
        # most repositories have no file, and then there is nothing to decide
        decided = decision(file) if file is not None and os.path.lexists(file) else None
    except AssayError:
        return ()
    return _status(own), _status(decided) if decided else None


def _status(path: str | Path) -> tuple[int, int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


# Reading a file of settings: a regular file of bounded size, in UTF-8, as TOML; anything else is one clear line.

LIMIT = 1_000_000  # bytes: the largest file of settings seen has 4,000
_PLACE = r" \(at (?:line (\d+), column \d+|end of document)\)$"  # the end of tomllib's messages


class BadConfiguration(AssayError):
    """Everything that is wrong with a configuration, a line for each problem."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


def read_settings(path: Path, within: Path | None = None) -> bytes | None:
    """Return the content of a file of settings; None when there is none.

    `within` is the folder that a link must not leave: what lies outside of a repository is not the repository's to name.
    """
    try:
        if within is not None and path.is_symlink():
            target = Path(os.path.realpath(path))
            if not target.is_relative_to(os.path.realpath(within)):
                raise BadConfiguration([f"{path}: is a link that leaves {within}; put the file itself there"])
        return read_regular(path, LIMIT)
    except FileNotFoundError:
        return None
    except TooLarge as error:
        raise BadConfiguration([str(error)]) from None
    except OSError as error:
        raise BadConfiguration([f"{path}: cannot be read ({error.strerror or error})"]) from None


def read_table(path: Path, within: Path | None = None) -> dict[str, Any] | None:
    """Return a file of settings as a table; None when there is none. Raises BadConfiguration with the line of the mistake."""
    written = read_settings(path, within)
    if written is None:
        return None
    try:
        text = written.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = error.object.count(b"\n", 0, error.start)
        raise BadConfiguration([f"{path}:{before + 1}: not UTF-8"]) from None
    import tomllib  # most repositories have no such file

    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # also for a number too long, and for nesting too deep
        message = str(error)
        place = re.search(_PLACE, message)
        line = f":{place[1] or text.count(chr(10)) + 1}" if place else ""
        raise BadConfiguration([f"{path}{line}: not TOML: {re.sub(_PLACE, '', message)}"]) from None
