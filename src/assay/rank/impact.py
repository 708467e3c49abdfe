"""Change impact: transitive callers, nearest and surest first; the tests among them; the context of files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from assay.core.items import EDGE_NAMES, EDGE_TYPES, SPACE_KINDS, TYPE_KINDS, Item, Link
from assay.core.packs import Ranked
from assay.rank.engine import Engine
from assay.rank.recency import recency
from assay.store.index import Index

# Edges that propagate a change backwards: to callers, and to whoever overrides, extends or references the symbol.
_PROPAGATING = frozenset(
    EDGE_TYPES[name].code
    for name in [
        "calls", "references", "overrides", "extends", "implements", "accesses_field", "type_hint_of", "consumes_rpc",
        "implements_rpc",
    ]
)  # fmt: skip
_CALLS, _CONTAINS, _OVERRIDES, _REFERENCES, _DECORATES = (
    EDGE_TYPES[name].code for name in ("calls", "contains", "overrides", "references", "decorates")
)
_RPCS = frozenset({EDGE_TYPES["consumes_rpc"].code, EDGE_TYPES["implements_rpc"].code})
_CALLS_ONLY = frozenset({_CALLS, _REFERENCES}) | _RPCS
_LINKED = ("calls", "consumes_endpoint", "consumes_rpc")  # links that propagate a change to their source
_REFERENCE_DISCOUNT = 0.7  # a reference may never be called


@dataclass(frozen=True, slots=True)
class Affected:
    """An item that a change reaches: depth, confidence, and the edge and item through which."""

    item: Item
    depth: int
    confidence: float
    edge: str
    through: str  # id of the item one step closer to the change
    line: int
    detail: str = ""  # of a link: the route it reaches, how often it was observed


class _Step(NamedTuple):
    """A step against the direction of an edge or a link."""

    source: int
    edge: str
    confidence: float
    line: int
    detail: str = ""


def impact(
    index: Index, changed: list[Item], depth: int = 5, least: float = 0.1, everything: bool = False
) -> list[Affected]:
    """Return everything that reaches one of `changed` within `depth` steps with at least `least` confidence.

    The depth is that of the shortest path, the confidence the product along the surest one. Callers only by default;
    `everything` also follows types, fields and inheritance.
    """
    kinds = _PROPAGATING if everything else _CALLS_ONLY
    reached_items: dict[int, Affected] = {}
    roots = {number for item in changed for number in _stand_ins(index, item)}
    expanded = dict.fromkeys(roots, 1.0)  # highest confidence with which each item was expanded
    frontier = dict(expanded)
    links = index.links.callers(_LINKED)
    for depth_here in range(1, depth + 1):
        reached: dict[int, float] = {}
        for number, confidence_here in frontier.items():
            for step in _steps_back(index, number, kinds, links.get(number, ())):
                if step.source in roots:
                    continue
                confidence = confidence_here * step.confidence
                previous = reached_items.get(step.source)
                if confidence < least or (previous is not None and confidence <= previous.confidence):
                    continue
                item = previous.item if previous is not None else index.item(step.source)
                if previous is not None and previous.depth < depth_here:
                    reached_items[step.source] = replace(previous, confidence=confidence)
                else:
                    through = index.item(number).id
                    reached_items[step.source] = Affected(
                        item, depth_here, confidence, step.edge, through, step.line, step.detail
                    )
                for target in (step.source, *_called_for(index, item)):
                    reached[target] = max(confidence, reached.get(target, 0.0))
        frontier = {
            number: confidence for number, confidence in reached.items() if confidence > expanded.get(number, 0.0)
        }
        expanded |= frontier
    rounded = [replace(affected, confidence=round(affected.confidence, 3)) for affected in reached_items.values()]
    return sorted(rounded, key=lambda affected: (affected.depth, -affected.confidence, affected.item.id))


def _steps_back(index: Index, number: int, kinds: frozenset[int], links: Sequence[tuple[int, Link]]) -> Iterator[_Step]:
    """Yield the steps that propagate a change: backwards from users, forwards to what the item decorates.

    Calls of other services and calls observed in production add to what the code says, or confirm it.
    """
    linked = {(source, link.type): link for source, link in links}
    for edge in index.edges.into(number):
        kind, source, confidence = int(edge["type"]), int(edge["source"]), float(edge["confidence"])
        if kind in kinds:
            link = linked.pop((source, EDGE_NAMES[kind]), None)
            confidence = max(confidence, link.confidence) if link else confidence
            discount = _REFERENCE_DISCOUNT if kind == _REFERENCES else 1.0
            yield _Step(source, EDGE_NAMES[kind], confidence * discount, int(edge["line"]), link.detail if link else "")
    for edge in index.edges.out_of(number):
        if edge["type"] == _DECORATES:
            yield _Step(int(edge["target"]), "decorates", float(edge["confidence"]), int(edge["line"]))
    for (source, kind_name), link in linked.items():
        yield _Step(source, kind_name, link.confidence, link.line, link.detail)


def _stand_ins(index: Index, item: Item) -> list[int]:
    """Return the item, the items called in its place, and for a type its constructors."""
    out = [item.number, *_called_for(index, item)]
    if item.kind in TYPE_KINDS:
        members = [int(edge["target"]) for edge in index.edges.out_of(item.number) if edge["type"] == _CONTAINS]
        out += [number for number in members if index.item(number).kind == "constructor"]
    return out


def _called_for(index: Index, item: Item) -> list[int]:
    """Return the items called in an item's place: a constructor's type, an override's overridden method."""
    if item.kind == "constructor":
        return [int(edge["source"]) for edge in index.edges.into(item.number) if edge["type"] == _CONTAINS]
    overridden = [edge for edge in index.edges.out_of(item.number) if edge["type"] == _OVERRIDES]
    return [int(edge["target"]) for edge in overridden if edge["target"] > 0]


def affected_tests(index: Index, changed: list[Item], depth: int = 6) -> list[Affected]:
    """Return the tests that a change reaches, and changed tests themselves."""
    reached = [
        affected
        for affected in impact(index, changed, depth, everything=True)
        if affected.item.test and affected.item.kind in ("function", "method", "file", "class")
    ]
    own = [
        Affected(item, 0, 1.0, "", item.id, item.start)
        for item in changed
        if item.test and item.kind in ("function", "method", "file")
    ]
    own_ids = {affected.item.id for affected in own}
    return [*own, *(affected for affected in reached if affected.item.id not in own_ids)]


# Context of files: their symbols, containers and callers.

_BLAST, _CONFIDENCE, _RECENCY, _DISTANCE = 0.40, 0.25, 0.20, 0.15
_TEST_WEIGHT = 0.3
_TIE = 1e-6  # weight of the score above next to a task's: breaks ties only


class _Candidate(NamedTuple):
    item: Item
    steps: int  # from the files of the query
    why: str = ""


def for_files(index: Index, paths: Sequence[str], engine: Engine | None = None, task: str = "") -> list[Ranked]:
    """Rank the symbols of files, their containers and callers; by the task's scores if there is a task."""
    candidates = list(_candidates(index, paths))
    ranked = _scored(index, candidates)
    if engine is not None and task:
        task_scores = engine.rank(task).scores
        ranked = [
            Ranked(entry.item, float(task_scores[entry.item.number]) + _TIE * entry.score, entry.proximity, entry.why)
            for entry in ranked
        ]
    return sorted(ranked, key=lambda entry: (-entry.score, entry.item.id))


def _candidates(index: Index, paths: Sequence[str]) -> Iterator[_Candidate]:
    own = {item.number: item for path in paths for item in _retrievable(index.in_file(path))}
    yield from (_Candidate(item, 0) for item in own.values())
    containers: dict[int, Item] = {}
    for item in own.values():
        for edge in index.edges.into(item.number):
            if edge["type"] == _CONTAINS and int(edge["source"]) not in own:
                containers[int(edge["source"])] = item
    containing = [(index.item(number), inner) for number, inner in containers.items()]
    outer_items = {item.number: (item, inner) for item, inner in containing if item.kind not in SPACE_KINDS}
    yield from (_Candidate(item, 0, f"contains {inner.symbol}") for item, inner in outer_items.values())
    for caller in impact(index, list(own.values()), depth=1):
        if caller.item.number not in outer_items and caller.item.path not in paths:
            called = caller.through.rpartition("::")[2]
            yield _Candidate(caller.item, 1, f"{caller.edge} {called}, line {caller.line}")


def _retrievable(items: list[Item]) -> list[Item]:
    """Return the symbols of a file, or the file itself if it has none."""
    return [item for item in items if item.symbol] or items


def _scored(index: Index, candidates: Sequence[_Candidate]) -> list[Ranked]:
    measured = [(candidate, *_incoming(index, candidate.item.number)) for candidate in candidates]
    max_calls = max((calls for _, calls, _ in measured), default=0) or 1
    return [
        Ranked(
            candidate.item,
            (
                _BLAST * calls / max_calls
                + _CONFIDENCE * surest
                + _RECENCY * recency(index, candidate.item)
                + _DISTANCE / (1 + candidate.steps)
            )
            * (_TEST_WEIGHT if candidate.item.test else 1.0),
            1 / (1 + candidate.steps),
            candidate.why,
        )
        for candidate, calls, surest in measured
    ]


def _incoming(index: Index, number: int) -> tuple[int, float]:
    """Return the number of incoming calls and the confidence of the surest incoming edge, without containment."""
    edges = index.edges.into(number)
    edges = edges[edges["type"] != _CONTAINS]
    return int((edges["type"] == _CALLS).sum()), float(edges["confidence"].max(initial=0.0))
