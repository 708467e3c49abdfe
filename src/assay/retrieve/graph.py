"""The typed graph as the ranking sees it: containers, how often something is used, and the random walk with restart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.core.edges import EDGE_NAMES, EDGE_TYPES
from assay.retrieve import hits
from assay.retrieve.order import Floats, Ints, added_up, highest
from assay.retrieve.profile import Profile
from assay.store.edges import Edges

_USES = ("calls", "references", "type_hint_of", "extends", "implements")  # what makes something an authority
_STABLE = 10  # the walk ends when the best so many stay the same
_STABLE_STEPS = 2  # … for so many steps
_FAINT = (
    1e-5  # a walker this unlikely to be somewhere goes back: far below what is ever looked at, and most of the graph
)


@dataclass(frozen=True, slots=True)
class _Steps:
    """The edges in one direction, those that leave an item beside each other, and the share of a walker each takes."""

    starts: Ints  # by item: where its edges begin; one more than there are items
    ends: Ints
    types: Ints
    shares: Floats

    def moved(self, items: Ints, walkers: Floats, size: int) -> Floats:
        """Where the walkers of some items are one step later."""
        first, counts = self.starts[items], self.starts[items + 1] - self.starts[items]
        # the places of all edges that leave the items, one range after the other
        places = np.arange(int(counts.sum())) + np.repeat(first - np.concatenate(([0], counts.cumsum()[:-1])), counts)
        weights = np.repeat(walkers, counts) * self.shares[places]
        return added_up(self.ends[places], weights, size)


class Graph:
    """The edges of an index between its own items; arrays are by item number."""

    def __init__(self, edges: Edges, size: int, profile: Profile) -> None:
        self.size = size
        inside = edges.all["target"] > 0
        forwards = edges.all[inside]
        self._source = forwards["source"].astype(np.int64)
        self._target = forwards["target"].astype(np.int64)
        self._type = forwards["type"].astype(np.int64)
        self._confidence = forwards["confidence"].astype(np.float64)
        by_target = edges.by_target
        self._by_target = (np.cumsum(inside) - 1)[
            by_target[inside[by_target]]
        ]  # the stored order, of inside edges only
        contains = self._type == EDGE_TYPES["contains"].code
        self.parent = np.zeros(size, np.int64)  # 0: none
        self.parent[self._target[contains]] = self._source[contains]
        self._uses = np.isin(self._type, [EDGE_TYPES[name].code for name in _USES])
        self._prepare(profile)

    def _prepare(self, profile: Profile) -> None:
        """Both directions of every edge, weighted by type and confidence; what leaves an item adds up to 1."""
        order = self._by_target
        forwards = np.array([profile.edge_weights.get(name, 0.0) for name in EDGE_NAMES])[self._type] * self._confidence
        backwards = np.array([profile.backwards(name) for name in EDGE_NAMES])[self._type] * self._confidence
        leaving = added_up(self._source, forwards, self.size) + added_up(self._target, backwards, self.size)
        self._dead_end = leaving == 0
        whole = np.where(self._dead_end, 1.0, leaving)
        self._steps = (
            _Steps(self._starts(self._source), self._target, self._type, forwards / whole[self._source]),
            _Steps(
                self._starts(self._target[order]),
                self._source[order],
                self._type[order] + len(EDGE_NAMES),  # the second half of the types: against the edge
                (backwards / whole[self._target])[order],
            ),
        )

    def _starts(self, ordered: Ints) -> Ints:
        return np.searchsorted(ordered, np.arange(self.size + 1)).astype(np.int64)

    @property
    def uses(self) -> Floats:
        """How often each item is used, logarithmic, from 0 to 1."""
        counts = np.log1p(np.bincount(self._target[self._uses], minlength=self.size))
        return np.asarray(counts / max(counts.max(initial=0.0), 1e-9), dtype=np.float64)

    @property
    def confidence(self) -> Floats:
        """The confidence of the surest edge to each item."""
        surest = np.zeros(self.size)
        np.maximum.at(surest, self._target, self._confidence)
        return surest

    def neighbours(self, number: int, edge: str) -> Ints:
        """The items that an edge of a type leads to from an item, and from which it leads there."""
        code = EDGE_TYPES[edge].code
        found = []
        for steps in self._steps:
            span = slice(steps.starts[number], steps.starts[number + 1])
            found.append(steps.ends[span][steps.types[span] % len(EDGE_NAMES) == code])
        return np.unique(np.concatenate(found))

    def sources(self, targets: Ints, edge: str) -> Ints:
        """The items from which an edge of a type leads to one of some targets."""
        backwards, code = self._steps[1], EDGE_TYPES[edge].code + len(EDGE_NAMES)
        spans = [slice(backwards.starts[number], backwards.starts[number + 1]) for number in targets.tolist()]
        found = [backwards.ends[span][backwards.types[span] == code] for span in spans]
        return np.unique(np.concatenate(found)) if found else np.empty(0, np.int64)

    def walk(self, seeds: Floats, restart: float, steps: int) -> Floats:
        """Where a walker is found who starts at the seeds, follows edges by weight and goes back with probability `restart`.

        From a dead end, and from where it hardly ever is, it goes back to the seeds. Ends early when the best items no longer change.
        """
        total = seeds.sum()
        if total <= 0:
            return np.zeros(self.size)
        home = seeds / total
        found = home.copy()
        best, unchanged = np.empty(0, np.int64), 0
        for _ in range(steps):
            active = np.flatnonzero((found > _FAINT) & ~self._dead_end)
            walkers = found[active]
            moved = sum(one.moved(active, walkers, self.size) for one in self._steps)
            found = (1 - restart) * (moved + (1 - walkers.sum()) * home) + restart * home
            now = highest(found, _STABLE)
            unchanged = unchanged + 1 if np.array_equal(now, best) else 0
            best = now
            if unchanged >= _STABLE_STEPS:
                break
        return np.asarray(found, dtype=np.float64)

    def brought(self, found: Floats, number: int) -> list[tuple[int, str, float]]:
        """By which edges a walk that ended like this came to an item, most first: (from, edge type, share of what came)."""
        ways: list[tuple[float, int, str]] = []
        for steps in self._steps:
            into = np.flatnonzero(steps.ends == number)
            sources = np.searchsorted(steps.starts, into, side="right") - 1
            flow = found[sources] * steps.shares[into]
            ways += zip(flow.tolist(), sources.tolist(), map(_edge_name, steps.types[into].tolist()), strict=True)
        total = sum(flow for flow, _, _ in ways)
        ways.sort(key=lambda way: (-way[0], way[1], way[2]))
        return [(source, edge, flow / total) for flow, source, edge in ways if flow > 0]

    def adjustment(self, found: Floats, seeds: Floats, top: int) -> Floats:
        """What HITS among the best items of a walk adds to them or takes away."""
        best = highest(found, top)
        place = np.full(self.size, -1)
        place[best] = np.arange(len(best))
        among = self._uses & (place[self._source] >= 0) & (place[self._target] >= 0)
        sources, targets = place[self._source[among]], place[self._target[among]]
        added = np.zeros(self.size)
        added[best] = hits.adjustment(*hits.authorities_and_hubs(sources, targets, len(best)), seeds[best] > 0)
        return added

    def shared(self, scores: Floats, upwards: float, downwards: float, first: int = 400, members: int = 5) -> Floats:
        """Containers gain from their best members (each next one half as much), then members from their container."""
        order = highest(scores, first)
        order = order[self.parent[order] > 0]
        parents = self.parent[order]
        by_parent = np.argsort(parents, kind="stable")  # best member first within each container
        place = np.arange(len(order)) - np.searchsorted(parents[by_parent], parents[by_parent])
        counted = place < members
        best = scores[order[by_parent]][counted] * 0.5 ** place[counted]
        gained = added_up(parents[by_parent][counted], best, self.size)
        raised = scores + upwards * gained
        out = raised.copy()
        out[order] += downwards * raised[parents]
        return np.asarray(out, dtype=np.float64)


def _edge_name(code: int) -> str:
    """The type of an edge, or what it is called when followed backwards."""
    backwards, kind = divmod(code, len(EDGE_NAMES))
    name = EDGE_NAMES[kind]
    return EDGE_TYPES[name].reverse if backwards else name
