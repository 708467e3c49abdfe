"""Calls between services by gRPC: callers of an rpc linked to the methods that implement it.

Both have edges to the rpc: an item of a `.proto` file, or an external name where the repository has none. They are
matched here over all repositories of an index, by package, service and method.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from assay.core.items import EDGE_TYPES, Link
from assay.store.index import Index, Part

_MOST = 50_000  # edges of each type that are matched; the largest repositories have a few thousand
_MOST_LINKS = 20  # implementations of one rpc that a caller is linked to; more are fakes and generated variants
_OTHER_SPELLING = 0.8  # confidence if only one side tells the package

_ITEMS = (
    "SELECT s.id, s.name, s.owner, s.test, f.path FROM symbols s JOIN files f ON f.number = s.file WHERE s.number = ?"
)


class Rpc(NamedTuple):
    """An rpc; the package is empty if nothing tells it."""

    package: str
    service: str
    method: str


class _Use(NamedTuple):
    id: str
    path: str
    line: int
    confidence: float
    rpc: Rpc
    test: bool


def links(index: Index) -> Iterator[Link]:
    """Yield a `consumes_rpc` link from each caller of an rpc to the methods that implement it."""
    callers = [use for part in index.parts for use in _uses(part, "consumes_rpc")][:_MOST]
    if not callers:
        return
    by_name: dict[tuple[str, str], list[_Use]] = defaultdict(list)
    for part in index.parts:
        for use in _uses(part, "implements_rpc"):
            by_name[use.rpc.service, _folded(use.rpc.method)].append(use)
    for caller in callers:
        candidates = by_name.get((caller.rpc.service, _folded(caller.rpc.method)), [])
        for method in _implementing(caller.rpc, candidates)[:_MOST_LINKS]:
            if method.id != caller.id and (caller.test or not method.test):  # fakes are called by tests only
                same = method.rpc.package == caller.rpc.package and bool(caller.rpc.package)
                confidence = caller.confidence * method.confidence * (1 if same else _OTHER_SPELLING)
                yield Link(
                    caller.id, method.id, "consumes_rpc", "inferred", round(confidence, 3), caller.path, caller.line,
                    f"{'.'.join(filter(None, method.rpc[:2]))}/{method.rpc.method}",
                )  # fmt: skip


def _implementing(rpc: Rpc, candidates: list[_Use]) -> list[_Use]:
    """Return the implementations of an rpc: of the same package, or of an unknown one if only one may be meant."""
    packages = {use.rpc.package for use in candidates if use.rpc.package}
    if rpc.package:
        others = packages - {rpc.package}
        return [use for use in candidates if use.rpc.package == rpc.package or (not use.rpc.package and not others)]
    return candidates if len(packages) <= 1 else []


def _uses(part: Part, edge: str) -> Iterator[_Use]:
    """Yield the items of a repository with an edge of a type to an rpc."""
    rows = part.generation.edges.all
    rpcs: dict[int, Rpc] = {}
    for row in rows[np.flatnonzero(rows["type"] == EDGE_TYPES[edge].code)[:_MOST]]:
        target = int(row["target"])
        if target not in rpcs:
            rpcs[target] = _rpc(part, target)
        id, _, _, test, path = _item(part, int(row["source"]))
        yield _Use(part.path(id), part.path(path), int(row["line"]), float(row["confidence"]), rpcs[target], bool(test))


def _item(part: Part, number: int) -> tuple[str, str, str, int, str]:
    row: tuple[str, str, str, int, str] = next(iter(part.execute(_ITEMS, (number,))))
    return row


def _rpc(part: Part, target: int) -> Rpc:
    """Return the rpc that an edge points to: an item of a `.proto` file, whose owner is the service, or a name."""
    if target > 0:
        _, method, owner, _, _ = _item(part, target)
        service = owner.partition(":")[2]
    else:
        (name,) = next(iter(part.execute("SELECT name FROM externals WHERE number = ?", (-target,))))
        service, _, method = str(name).removeprefix("rpc:").partition("/")
    package, _, service = service.rpartition(".")
    return Rpc(package, service, method)


def _folded(method: str) -> str:
    return method.replace("_", "").lower()
