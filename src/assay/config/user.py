"""The user's own configuration: `~/.config/assay/config.toml`, and where it is kept.

[context], [search], [ask]     the user's defaults, below the same sections of a repository's `assay.toml`
[servers."api.example.com"]    the key of a server, sent to that server and to no other
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.errors import AssayError

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
    from assay.config.toml_file import read_table  # an answer that is remembered needs the stamp alone

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
