"""The items around one: who uses it and what it uses, the surest and most telling first."""

from __future__ import annotations

from dataclasses import dataclass

from assay.core.edges import EDGE_NAMES
from assay.core.items import Item
from assay.store.edges import Array
from assay.store.index import Index

# the most telling first; what is not here is not drawn
_TELLING = (
    "calls", "overrides", "extends", "implements", "inherits", "decorates", "handles_route", "tests", "contains",
    "references", "type_hint_of", "accesses_field", "throws", "imports",
)  # fmt: skip
_ORDER = {EDGE_NAMES.index(name): place for place, name in enumerate(_TELLING)}
_LOOKED_AT = 2000  # edges of one direction: an item that everything uses has more than anybody looks at


@dataclass(frozen=True, slots=True)
class Neighbour:
    """An item one edge away."""

    item: Item
    edge: str
    confidence: float
    line: int  # where the edge stands in its source's file


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """An item between those that lead to it and those it leads to. The totals count what was left out, too."""

    item: Item
    sources: tuple[Neighbour, ...]
    targets: tuple[Neighbour, ...]
    source_total: int
    target_total: int


def neighbourhood(index: Index, item: Item, most: int = 7) -> Neighbourhood:
    """At most `most` neighbours on each side."""
    sources = _nearest(index.edges.into(item.number)[:_LOOKED_AT], "source", item.number)
    targets = _nearest(index.edges.out_of(item.number)[:_LOOKED_AT], "target", item.number)
    wanted = {row[0] for rows in (sources, targets) for row in rows[:most]}
    items = index.numbered(wanted)
    left, right = (
        tuple(Neighbour(items[number], edge, confidence, line) for number, edge, confidence, line in rows[:most])
        for rows in (sources, targets)
    )
    return Neighbourhood(item, left, right, len(sources), len(targets))


def _nearest(edges: Array, end: str, own: int) -> list[tuple[int, str, float, int]]:
    """Each neighbour once, by its most telling edge: (number, edge, confidence, line)."""
    best: dict[int, tuple[int, float, int]] = {}
    for edge in edges:
        number, kind = int(edge[end]), int(edge["type"])
        if number > 0 and number != own and kind in _ORDER:
            key = (_ORDER[kind], -round(float(edge["confidence"]), 4), int(edge["line"]))
            best[number] = min(best.get(number, key), key)
    order = sorted(best.items(), key=lambda pair: (*pair[1], pair[0]))
    return [(number, _TELLING[place], -minus, line) for number, (place, minus, line) in order]
