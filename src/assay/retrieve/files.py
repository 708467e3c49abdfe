"""What is needed around files: their symbols and whoever calls them, scored by how much hangs on them.

    score = 0.40 · calls that come in, as a share of the most + 0.25 · the surest edge that comes in + 0.20 · recency + 0.15 / (1 + steps)

as the specification has it for files. There are no traces of running programs yet, so recency is what it says for code that was only read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from assay.core.edges import EDGE_TYPES
from assay.core.items import SPACE_KINDS, Item
from assay.core.packs import Ranked
from assay.retrieve.engine import Engine
from assay.retrieve.impact import impact, items_in
from assay.store.index import Index

_CALLS, _CONTAINS = EDGE_TYPES["calls"].code, EDGE_TYPES["contains"].code
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
            if edge["type"] == _CONTAINS and int(edge["source"]) not in own:
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
    edges = edges[edges["type"] != _CONTAINS]
    return int((edges["type"] == _CALLS).sum()), float(edges["confidence"].max(initial=0.0))
