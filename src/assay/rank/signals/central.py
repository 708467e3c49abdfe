"""Central types: the class, model or registry that stands for a concept of the task.

A type is central to a concept when its name is made of the task's words, above all its last word (the head noun), when
those words come early in the task, and when many files of the repository use the type or its members.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assay.rank.arrays import Floats, Ints, highest, share_of_best, sorted_unique
from assay.rank.signals.lexical import PARSING
from assay.rank.signals.signal import Signal, Stage
from assay.store.postings import NAME
from assay.text.terms import terms

if TYPE_CHECKING:
    from assay.rank.context import QueryContext

_CONSIDERED = 200  # types with the best names, whose users are counted
_CANDIDATES = 30  # types that become candidates
_NO_HEAD = 0.5  # weight of a type whose last word is not in the task: `OrderExporter` for "order"
_LATE = 0.5  # loss of a type that the last word of the task names, the first word's losing nothing


@dataclass(frozen=True, slots=True)
class CentralTypes:
    """The types that the task's words name; arrays are by type."""

    numbers: Ints
    scores: Floats  # relative to the best
    users: Ints  # number of other files that use the type or its members, without tests


def central_types(query: QueryContext) -> CentralTypes:
    """Return the types whose names are made of the task's words, with their centrality."""
    return query.cached("central types", lambda: _central_types(query))


def _central_types(query: QueryContext) -> CentralTypes:
    task_terms = list(query.task.terms)
    candidates = [
        named[query.items.is_product_type[named]]
        for named in (query.resources.term_weights[term].named for term in task_terms)
    ]
    types = sorted_unique(np.concatenate([np.empty(0, np.int64), *candidates]))
    hits, first = np.zeros(len(types)), np.full(len(types), len(task_terms))
    for place, named in reversed([*enumerate(candidates)]):
        rows = np.searchsorted(types, named)
        hits[rows] += 1
        first[rows] = place
    precision = hits / np.maximum(query.index.postings.lengths[types, NAME], 1)
    chosen = highest(precision**2 * (1 + query.graph.uses[types]), _CONSIDERED, query.items.order[types])
    types, precision, first = types[chosen], precision[chosen], first[chosen]
    users = _user_files(query, types)
    in_task = set(task_terms)
    has_head = np.array([_head(item.name) in in_task for item in query.items.descriptions[types.tolist()]], bool)
    early = 1 - _LATE * first / max(len(task_terms), 1)
    scores = precision**2 * np.where(has_head, 1.0, _NO_HEAD) * np.log1p(users) * early
    return CentralTypes(types, share_of_best(scores), users)


def _head(name: str) -> str:
    """Return the stem of a name's last word."""
    return (terms(name) or [""])[-1]


def _user_files(query: QueryContext, types: Ints) -> Ints:
    """Count the files, other than its own and tests, with an edge to each type or to one of its members."""
    graph, files, tests = query.graph, query.items.files, query.index.columns.test
    place = np.full(query.items.size, -1)
    owners, members = graph.outgoing(types, "contains")
    place[types] = np.arange(len(types))
    own = (place[members] < 0) & (graph.parent[members] == owners)  # a type within a type stands for itself
    place[members[own]] = place[owners[own]]
    targets, sources = graph.incoming(np.concatenate([types, members[own]]))
    owner = place[targets]
    uses = (files[sources] != files[types[owner]]) & ~tests[sources]
    pairs = sorted_unique(owner[uses] * np.int64(len(query.items.file_folders)) + files[sources[uses]])
    return np.bincount(pairs // len(query.items.file_folders), minlength=len(types))


def _candidates(query: QueryContext) -> list[int]:
    central = central_types(query)
    return [
        int(number)
        for number in central.numbers[highest(central.scores, _CANDIDATES, query.items.order[central.numbers])]
    ]


CENTRAL = Signal(
    "central",
    Stage.CHANNEL,
    "names",
    "type that stands for a concept of the task and that many files use",
    weights={"channels.central": ()},
    reads=PARSING,
    generate=_candidates,
)
