"""The `[cluster]` section of the user's configuration. A repository cannot name a cluster: its workers run our code.

[cluster]
address = "tls://scheduler.example.com:8786"   used by commands that have --cluster; `--cluster none` overrides it
ca_file = "ca.pem"                             TLS files, relative to the folder of the configuration
certificate = "me.pem"
key = "me.key"
memory = "4 GB"                                limit of each worker of a local cluster
allow_tcp = true                               permits a cluster on other machines without TLS
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.config import user
from assay.errors import AssayError
from assay.text.suggest import require_name

if TYPE_CHECKING:
    from assay.system.cluster import ClusterSettings

SECTION = "cluster"
NONE = "none"
_FILES = ("ca_file", "certificate", "key")
_KINDS: dict[str, type] = {**dict.fromkeys(("address", "memory", *_FILES), str), "allow_tcp": bool}
_MEMORY = re.compile(r"\d+(?:\.\d+)? ?(?:[kMGT]i?B|B)")


def read_cluster(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the validated settings of the section. Raises BadConfiguration with all problems."""
    location, rows = f"{user.path()}: [{SECTION}]", table.get(SECTION, {})
    if not isinstance(rows, dict):
        raise user.BadConfiguration([f"{location} must be a table, not {rows!r}"])
    problems: list[str] = []
    for name, value in rows.items():
        try:
            _check(location, name, value)
        except AssayError as error:
            problems.append(str(error))
    if problems:
        raise user.BadConfiguration(problems)
    folder = user.directory()
    return {name: str(folder / Path(value).expanduser()) if name in _FILES else value for name, value in rows.items()}


def _check(location: str, name: str, value: Any) -> None:
    kind = _KINDS[require_name("setting", name, _KINDS, location)]
    if not isinstance(value, kind) or value == "":
        raise AssayError(f"{location} {name} must be {'true or false' if kind is bool else 'text'}, not {value!r}")
    if name == "memory" and not _MEMORY.fullmatch(str(value)):
        raise AssayError(f'{location} memory must be a size, for example "4 GB", not {value!r}')


def choose_cluster(option: str | None) -> ClusterSettings | None:
    """Return the cluster of --cluster, else that of the user's configuration; None for none."""
    if option == NONE:
        return None
    settings = read_cluster(user.read())
    address = option or settings.get("address", NONE)
    if address == NONE:
        return None
    from assay.system.cluster import ClusterSettings  # not needed by most commands, and slow to import

    return ClusterSettings(**settings | {"address": address})
