"""Calls between services: client calls linked to the handlers of the routes they reach.

Both are edges to external names, `endpoint:GET /users/{}` and `route:GET /users/<id>`, found file by file. They are
matched here over all repositories of an index, so that a client links to a service of another repository.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from assay.core.endpoints import Endpoint, Routes, is_local_host, parse_endpoint
from assay.core.items import EDGE_TYPES, Link
from assay.store.index import Index, Part
from assay.store.links.openapi import named_functions

BY_OPERATION = 0.7  # confidence that a function named like an operation of an OpenAPI document belongs to it
_MOST = 50_000  # routes or endpoints that are matched; real workspaces have a few thousand


class Use(NamedTuple):
    """An item that handles or consumes an external name."""

    id: str
    name: str  # without the prefix: `GET /users/{}`
    path: str
    line: int
    confidence: float


def links(index: Index) -> Iterator[Link]:
    """Yield a `consumes_endpoint` link from each client call to the handlers it reaches."""
    endpoints = list(uses(index, "endpoint:", "consumes_endpoint"))
    handled = list(uses(index, "route:", "handles_route"))
    calling = {use.id for use in endpoints}
    for row in named_functions(index, {use.path for use in endpoints}, {use.id for use in handled}):
        use = Use(row.id, row.route, row.path, row.line, BY_OPERATION)
        if not row.is_client:
            handled.append(use)
        elif row.id not in calling:
            endpoints.append(use)
    if not endpoints:
        return
    mounts = _mounts(index)
    routes = Routes((parse_endpoint(_mounted(use.name, mounts.get(use.path, ""))), use) for use in handled)
    for use in endpoints:
        endpoint = parse_endpoint(use.name)
        if not _may_be_ours(endpoint):
            continue
        matches = routes.matching(endpoint)
        if any(handler.id == use.id for handler, _ in matches):
            continue  # a test that serves what it calls
        for handler, confidence in matches:
            confidence = round(confidence * min(use.confidence, handler.confidence), 3)
            yield Link(
                use.id, handler.id, "consumes_endpoint", "inferred", confidence, use.path, use.line, handler.name
            )


def _mounts(index: Index) -> dict[str, str]:
    """Return the prefix under which each file's routers are mounted elsewhere; not those with several."""
    prefixes: dict[str, set[str]] = defaultdict(set)
    for use in uses(index, "mount:", "handles_route"):
        prefixes[use.path].add(use.name)
    return {path: next(iter(names)) for path, names in prefixes.items() if len(names) == 1}


def _mounted(name: str, prefix: str) -> str:
    """Return a route below the prefix of its router: `GET /{id}` below `/users` is `GET /users/{id}`."""
    verb, space, path = name.rpartition(" ") if name.partition(" ")[0].isupper() else ("", "", name)
    return f"{verb}{space}{prefix.rstrip('/')}/{path.lstrip('/^')}" if prefix else name


def _may_be_ours(endpoint: Endpoint) -> bool:
    return not endpoint.host or is_local_host(endpoint.host)


def uses(index: Index, prefix: str, edge: str) -> Iterator[Use]:
    """Yield the items with an edge of a type to an external name with a prefix, over all repositories."""
    code, left = EDGE_TYPES[edge].code, _MOST
    for part in index.parts:
        for number, name in externals(part, prefix):
            for row in part.generation.edges.into(-number):
                if row["type"] == code and left > 0:
                    left -= 1
                    source = int(row["source"])
                    (id, path) = next(
                        iter(part.execute(
                            "SELECT s.id, f.path FROM symbols s JOIN files f ON f.number = s.file WHERE s.number = ?", (source,)
                        ))
                    )  # fmt: skip
                    yield Use(
                        part.path(id),
                        name.removeprefix(prefix),
                        part.path(path),
                        int(row["line"]),
                        float(row["confidence"]),
                    )


def externals(part: Part, prefix: str) -> Iterable[tuple[int, str]]:
    """Return the external names of a repository that begin with a prefix, with their numbers."""
    after = prefix[:-1] + chr(ord(prefix[-1]) + 1)
    return part.execute(
        "SELECT number, name FROM externals WHERE name >= ? AND name < ? ORDER BY name", (prefix, after)
    )
