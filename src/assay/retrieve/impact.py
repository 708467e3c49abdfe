"""Who would notice a change: transitive callers, nearest and surest first; and the tests among them."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

from assay.core.edges import EDGE_NAMES, EDGE_TYPES
from assay.core.items import Item
from assay.store.index import Index

# Edges along which a change is felt, followed backwards. A caller feels it; so does whoever overrides, extends or holds on to the thing.
_FELT = frozenset(EDGE_TYPES[name].code for name in ("calls", "references", "overrides", "extends", "implements", "decorates", "accesses_field", "type_hint_of"))
_CALLS_ONLY = frozenset({EDGE_TYPES["calls"].code, EDGE_TYPES["references"].code, EDGE_TYPES["decorates"].code})
_CONTAINS, _OVERRIDES = EDGE_TYPES["contains"].code, EDGE_TYPES["overrides"].code
_REFERENCE_DISCOUNT = 0.7  # a name that is only mentioned may never be called


@dataclass(frozen=True, slots=True)
class Affected:
    """An item that a change would reach: by how many steps, how surely, through which edge of which item."""

    item: Item
    depth: int
    confidence: float
    edge: str
    through: str  # id of the item one step nearer to the change
    line: int


def impact(index: Index, changed: list[Item], depth: int = 5, least: float = 0.1, everything: bool = False) -> list[Affected]:
    """Everything that reaches one of `changed` within `depth` steps with at least `least` confidence, the product along the surest path.

    Callers by default; `everything` also follows types, fields and inheritance.
    """
    kinds = _FELT if everything else _CALLS_ONLY
    best: dict[int, float] = {}
    found: dict[int, tuple[int, float, int, int, int]] = {}
    queue: list[tuple[float, int, int]] = []
    for item in changed:
        for number in _stand_ins(index, item):
            best[number] = 1.0
            heapq.heappush(queue, (-1.0, 0, number))
    while queue:
        negative, steps, number = heapq.heappop(queue)
        if -negative < best.get(number, 0) or steps >= depth:
            continue
        for edge in index.edges.into(number):
            kind = int(edge["type"])
            if kind not in kinds:
                continue
            discount = _REFERENCE_DISCOUNT if EDGE_NAMES[kind] == "references" else 1.0
            confidence = -negative * float(edge["confidence"]) * discount
            source = int(edge["source"])
            if confidence >= least and confidence > best.get(source, 0):
                best[source] = confidence
                found[source] = (steps + 1, confidence, kind, number, int(edge["line"]))
                heapq.heappush(queue, (-confidence, steps + 1, source))
    roots = {number for item in changed for number in _stand_ins(index, item)}
    out = [
        Affected(index.item(number), steps, round(confidence, 3), EDGE_NAMES[kind], index.item(through).id, line)
        for number, (steps, confidence, kind, through, line) in found.items()
        if number not in roots
    ]
    return sorted(out, key=lambda a: (a.depth, -a.confidence, a.item.id))


def _stand_ins(index: Index, item: Item) -> list[int]:
    """The item, and what is called in its place: a constructor is called by its type's name, an override through what it overrides."""
    out = [item.number]
    if item.kind == "constructor":
        out += [int(e["source"]) for e in index.edges.into(item.number) if e["type"] == _CONTAINS]
    out += [int(e["target"]) for e in index.edges.out_of(item.number) if e["type"] == _OVERRIDES]
    return out


def items_in(index: Index, path: str) -> list[Item]:
    """All items of a file, itself included."""
    return index.items("f.path = ?", (path,))


def tests_reaching(index: Index, changed: list[Item], depth: int = 6, least: float = 0.1) -> list[Affected]:
    """The test items among those that a change would reach, and tests that changed themselves."""
    reached = [a for a in impact(index, changed, depth, least, everything=True) if a.item.test and a.item.kind in ("function", "method", "file", "class")]
    own = [Affected(item, 0, 1.0, "", item.id, item.start) for item in changed if item.test and item.kind in ("function", "method", "file")]
    known = {a.item.id for a in own}
    return [*own, *(a for a in reached if a.item.id not in known)]
