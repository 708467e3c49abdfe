"""The user's own configuration: `~/.config/assay/config.toml`, and where it is kept.

[context], [search], [ask]     the user's defaults, below the same sections of a repository's `assay.toml`
[servers."api.example.com"]    the key of a server, sent to that server and to no other
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.config.toml_file import read_table
from assay.errors import AssayError

NAME = "config.toml"
SERVERS = "servers"  # the section that `servers` reads
DIRECTORY_VARIABLE = "ASSAY_CONFIG_DIR"
_XDG = "XDG_CONFIG_HOME"


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


def stamp() -> tuple[int, int] | None:
    """Return size and time of the user's configuration: whoever keeps settings reads them again when it changes."""
    try:
        status = os.stat(os.path.join(_directory(), NAME))  # asked with every query: no Path is made
    except (OSError, AssayError):
        return None
    return status.st_size, status.st_mtime_ns
