"""Who would notice a change: transitive callers, nearest and surest first; and the tests among them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from assay.core.items import EDGE_NAMES, EDGE_TYPES, SPACE_KINDS, TYPE_KINDS, Item
from assay.core.packs import Ranked
from assay.rank.engine import Engine
from assay.store.edges import Array
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


# The items around one: who uses it and what it uses, the surest and most telling first.

# the most telling first; what is not here is not drawn
_TELLING = (
    "calls", "overrides", "extends", "implements", "inherits", "decorates", "handles_route", "tests", "contains",
    "references", "type_hint_of", "accesses_field", "throws", "imports",
)  # fmt: skip
_ORDER = {EDGE_NAMES.index(relation_name): place for place, relation_name in enumerate(_TELLING)}
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


# What is needed around files: their symbols and whoever calls them, scored by how much hangs on them.

_CALLS, _CONTAINS_EDGE = EDGE_TYPES["calls"].code, EDGE_TYPES["contains"].code
_BLAST, _CONFIDENCE, _RECENCY, _DISTANCE = 0.40, 0.25, 0.20, 0.15
_NEVER_OBSERVED = 0.3  # recency of what no trace has seen
_TEST_WEIGHT = 0.3
_TIE = 1e-6  # of the score above, added to that of a task: orders what the task says nothing about, and nothing else


class _Candidate(NamedTuple):
    item: Item
    steps: int  # from the files asked about
    why: str = ""


def for_files(index: Index, paths: Sequence[str], engine: Engine | None = None, task: str = "") -> list[Ranked]:
    """The symbols of files, what contains them and who calls them, best first; with a task, in the order it ranks them."""
    candidates = list(_candidates(index, paths))
    ranked = _scored(index, candidates)
    if engine is not None and task:
        wanted = engine.rank(task).scores
        ranked = [Ranked(r.item, float(wanted[r.item.number]) + _TIE * r.score, r.proximity, r.why) for r in ranked]
    return sorted(ranked, key=lambda one: (-one.score, one.item.id))


def _candidates(index: Index, paths: Sequence[str]) -> Iterator[_Candidate]:
    own = {item.number: item for path in paths for item in _retrievable(items_in(index, path))}
    yield from (_Candidate(item, 0) for item in own.values())
    containers: dict[int, Item] = {}
    for item in own.values():
        for edge in index.edges.into(item.number):
            if edge["type"] == _CONTAINS_EDGE and int(edge["source"]) not in own:
                containers[int(edge["source"])] = item
    outer = [(index.item(number), inner) for number, inner in containers.items()]
    kept = {item.number: (item, inner) for item, inner in outer if item.kind not in SPACE_KINDS}
    yield from (_Candidate(item, 0, f"contains {inner.symbol}") for item, inner in kept.values())
    for caller in impact(index, list(own.values()), depth=1):
        if caller.item.number not in kept and caller.item.path not in paths:
            called = caller.through.rpartition("::")[2]
            yield _Candidate(caller.item, 1, f"{caller.edge} {called}, line {caller.line}")


def _retrievable(items: list[Item]) -> list[Item]:
    """The symbols of a file; the file itself where it has none."""
    return [item for item in items if item.symbol] or items


def _scored(index: Index, candidates: Sequence[_Candidate]) -> list[Ranked]:
    known = [(one, *_incoming(index, one.item.number)) for one in candidates]
    most = max((calls for _, calls, _ in known), default=0) or 1
    return [
        Ranked(
            one.item,
            (_BLAST * calls / most + _CONFIDENCE * surest + _RECENCY * _NEVER_OBSERVED + _DISTANCE / (1 + one.steps))
            * (_TEST_WEIGHT if one.item.test else 1.0),
            1 / (1 + one.steps),
            one.why,
        )
        for one, calls, surest in known
    ]


def _incoming(index: Index, number: int) -> tuple[int, float]:
    """How many calls come into an item, and the confidence of the surest edge that does; being a member is none."""
    edges = index.edges.into(number)
    edges = edges[edges["type"] != _CONTAINS_EDGE]
    return int((edges["type"] == _CALLS).sum()), float(edges["confidence"].max(initial=0.0))
