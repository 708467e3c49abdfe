"""What agents may read without asking: the figures of the index, and whether it is fresh."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from assay import json_answers
from assay.live import Resident, Residents
from assay.store.index import NoIndex


@dataclass(frozen=True)
class Resource:
    """A text of JSON that is made when it is read."""

    uri: str
    name: str
    description: str
    read: Callable[[Resident | Residents], dict[str, Any]]


def _status(resident: Resident | Residents) -> dict[str, Any]:
    """The figures of `assay status`; before there is an index only how far it is."""
    state = {"state": _state(resident)}
    try:
        with resident.using() as repo:
            return state | json_answers.each(
                repo, lambda one: {"root": str(one.root), **dataclasses.asdict(one.status())}
            )
    except NoIndex:
        return {"root": ", ".join(map(str, resident.roots))} | state


def _freshness(resident: Resident | Residents) -> dict[str, Any]:
    try:
        with resident.using() as repo:
            found = repo.freshness()
    except NoIndex:
        return {"state": _state(resident), "fresh": False}
    return {"state": _state(resident), "fresh": found.fresh, "stale": found.stale}


def _state(resident: Resident | Residents) -> dict[str, Any]:
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
