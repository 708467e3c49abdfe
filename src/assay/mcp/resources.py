"""What agents may read without asking: the figures of the index, and whether it is fresh."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from assay.live import Resident
from assay.store.index import NoIndex


@dataclass(frozen=True)
class Resource:
    """A text of JSON that is made when it is read."""

    uri: str
    name: str
    description: str
    read: Callable[[Resident], dict[str, Any]]


def _status(resident: Resident) -> dict[str, Any]:
    """The figures of `assay status`; before there is an index only how far it is."""
    try:
        with resident.using() as repo:
            return {"root": str(resident.root), "state": _state(resident), **dataclasses.asdict(repo.status())}
    except NoIndex:
        return {"root": str(resident.root), "state": _state(resident)}


def _freshness(resident: Resident) -> dict[str, Any]:
    try:
        with resident.using() as repo:
            found = repo.freshness()
    except NoIndex:
        return {"state": _state(resident), "fresh": False}
    return {"state": _state(resident), "fresh": found.fresh, "stale": found.stale}


def _state(resident: Resident) -> dict[str, Any]:
    state = resident.state
    return {**dataclasses.asdict(state), "left": state.left}


_ALL = (
    Resource(
        "assay://status",
        "status",
        "What is indexed: files, symbols and edges by language, how well calls were resolved.",
        _status,
    ),
    Resource(
        "assay://freshness", "freshness", "Whether the index is as the files are, and which files are not.", _freshness
    ),
)
RESOURCES = {resource.uri: resource for resource in _ALL}
