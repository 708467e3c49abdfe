"""Who would notice a change: transitive callers, nearest and surest first; and the tests among them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from assay.core.edges import EDGE_NAMES, EDGE_TYPES
from assay.core.items import TYPE_KINDS, Item
from assay.store.index import Index

# Edges along which a change is felt, followed backwards. A caller feels it; so does whoever overrides, extends or holds on to the thing.
_FELT = frozenset(
    EDGE_TYPES[name].code
    for name in (
        "calls",
        "references",
        "overrides",
        "extends",
        "implements",
        "accesses_field",
        "type_hint_of",
    )
)
_CALLS_ONLY = frozenset({EDGE_TYPES["calls"].code, EDGE_TYPES["references"].code})
_CONTAINS, _OVERRIDES, _REFERENCES, _DECORATES = (
    EDGE_TYPES[name].code for name in ("contains", "overrides", "references", "decorates")
)
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


def impact(
    index: Index, changed: list[Item], depth: int = 5, least: float = 0.1, everything: bool = False
) -> list[Affected]:
    """Everything that reaches one of `changed` within `depth` steps with at least `least` confidence.

    The depth is that of the shortest path, the confidence the product along the surest one. Callers by default; `everything` also
    follows types, fields and inheritance.
    """
    kinds = _FELT if everything else _CALLS_ONLY
    found: dict[int, Affected] = {}
    roots = {number for item in changed for number in _stand_ins(index, item)}
    spread = dict.fromkeys(roots, 1.0)  # the most confidence with which a change was followed from here
    frontier = dict(spread)
    for steps in range(1, depth + 1):
        reached: dict[int, float] = {}
        for number, so_far in frontier.items():
            for kind, source, edge in _felt(index, number, kinds):
                if source in roots:
                    continue
                confidence = so_far * float(edge["confidence"]) * (_REFERENCE_DISCOUNT if kind == _REFERENCES else 1.0)
                known = found.get(source)
                if confidence < least or (known is not None and confidence <= known.confidence):
                    continue
                item = known.item if known is not None else index.item(source)
                if known is not None and known.depth < steps:
                    found[source] = replace(known, confidence=confidence)
                else:
                    through = index.item(number).id
                    found[source] = Affected(item, steps, confidence, EDGE_NAMES[kind], through, int(edge["line"]))
                for one in (source, *_called_for(index, item)):
                    reached[one] = max(confidence, reached.get(one, 0.0))
        frontier = {
            number: confidence for number, confidence in reached.items() if confidence > spread.get(number, 0.0)
        }
        spread |= frontier
    out = [replace(affected, confidence=round(affected.confidence, 3)) for affected in found.values()]
    return sorted(out, key=lambda a: (a.depth, -a.confidence, a.item.id))


def _felt(index: Index, number: int, kinds: frozenset[int]) -> Iterator[tuple[int, int, Any]]:
    """The edges along which a change of an item is felt: backwards from who uses it, forwards to what it decorates."""
    for edge in index.edges.into(number):
        if int(edge["type"]) in kinds:
            yield int(edge["type"]), int(edge["source"]), edge
    for edge in index.edges.out_of(number):
        if edge["type"] == _DECORATES:
            yield _DECORATES, int(edge["target"]), edge


def _stand_ins(index: Index, item: Item) -> list[int]:
    """The item, what is called in its place, and for a type its constructors."""
    out = [item.number, *_called_for(index, item)]
    if item.kind in TYPE_KINDS:
        members = [int(e["target"]) for e in index.edges.out_of(item.number) if e["type"] == _CONTAINS]
        out += [number for number in members if index.item(number).kind == "constructor"]
    return out


def _called_for(index: Index, item: Item) -> list[int]:
    """What is called in an item's place: the type for its constructor, the overridden method for an override."""
    if item.kind == "constructor":
        return [int(e["source"]) for e in index.edges.into(item.number) if e["type"] == _CONTAINS]
    return [int(e["target"]) for e in index.edges.out_of(item.number) if e["type"] == _OVERRIDES and e["target"] > 0]


def items_in(index: Index, path: str) -> list[Item]:
    """All items of a file, itself included."""
    return index.in_file(path)


def affected_tests(index: Index, changed: list[Item], depth: int = 6, least: float = 0.1) -> list[Affected]:
    """The test items among those that a change would reach, and tests that changed themselves."""
    reached = [
        a
        for a in impact(index, changed, depth, least, everything=True)
        if a.item.test and a.item.kind in ("function", "method", "file", "class")
    ]
    own = [
        Affected(item, 0, 1.0, "", item.id, item.start)
        for item in changed
        if item.test and item.kind in ("function", "method", "file")
    ]
    known = {a.item.id for a in own}
    return [*own, *(a for a in reached if a.item.id not in known)]
