"""The typed graph for ranking: containers, in-degree authority, random walk with restart and HITS."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.core.items import EDGE_NAMES, EDGE_TYPES, PROVENANCES
from assay.rank.arrays import Floats, Ints, highest, sorted_unique, sum_by_index
from assay.rank.profile import Profile
from assay.store.edges import Edges

_TINY = 1e-300  # divisor in place of 0


class Direction(NamedTuple):
    """Edges in one direction, sorted by start item, with the number of edges per item; `types` are edge type codes."""

    counts: Ints
    ends: Ints
    types: Ints
    confidence: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Steps:
    """Every edge in both directions. Transition probabilities are computed per item on its first visit."""

    first: Ints  # by item, two columns: offset of its first forward and first backward step
    counts: Ints  # by item, two columns: number of steps
    ends: Ints
    types: Ints  # backward codes follow the forward ones
    confidence: NDArray[np.float32]
    weights: Floats  # by type
    leaving: Floats  # by item: total weight of its steps; NaN until first visited
    shares: Floats  # by step: transition probability, filled in on the first visit of its item

    @classmethod
    def of(cls, along: Direction, against: Direction, weights: Floats) -> Steps:
        """Join the forward and the backward edges."""
        counts = np.stack([along.counts, against.counts], axis=1)
        first = np.stack([edges.counts.cumsum() - edges.counts for edges in (along, against)], axis=1)
        first[:, 1] += len(along.ends)
        ends, types = np.concatenate([along.ends, against.ends]), np.concatenate([along.types, against.types])
        confidence = np.concatenate([along.confidence, against.confidence])
        return cls(first, counts, ends, types, confidence, weights, np.full(len(first), np.nan), np.empty(len(ends)))

    def of_items(self, items: Ints) -> Ints:
        """Return the indices of all steps from some items, item by item, forward steps first."""
        return _ranges(self.first[items].ravel(), self.counts[items].ravel())

    def along(self, items: Ints) -> tuple[Ints, Ints]:
        """Return the forward steps from some items: the item of each step, and the index of the step."""
        counts = self.counts[items, 0]
        return np.repeat(items, counts), _ranges(self.first[items, 0], counts)

    def has_outgoing(self, items: Ints) -> NDArray[np.bool_]:
        """Return a mask of the items with at least one usable step; fill in transition probabilities of new ones."""
        new = items[np.isnan(self.leaving[items])]
        if len(new):
            places, counts = self.of_items(new), self.counts[new].sum(axis=1)
            weights = self.weights[self.types[places]] * self.confidence[places]
            self.leaving[new] = sum_by_index(np.repeat(np.arange(len(new)), counts), weights, len(new))
            self.shares[places] = weights / np.repeat(np.maximum(self.leaving[new], _TINY), counts)
        return np.asarray(self.leaving[items] > 0)


def _ranges(first: Ints, counts: Ints) -> Ints:
    """Return the concatenated integer ranges that start at each `first` and have `counts` elements."""
    before = counts.cumsum() - counts
    places = np.repeat(first - before, counts)
    places += np.arange(len(places))
    return places


# HITS on the neighbourhood of a task: hub and authority scores.

ITERATIONS = 10
# score adjustment: (threshold, factor). Central seeds gain; infrastructure that everything calls loses.
SEED_AUTHORITY = (0.05, 0.25)
OTHER_AUTHORITY = (0.2, -0.15)
SEED_HUB = (0.1, 0.10)


def authorities_and_hubs(sources: Ints, targets: Ints, size: int) -> tuple[Floats, Floats]:
    """Return authority and hub scores of nodes 0 … size - 1, each a unit vector; zeros without edges."""
    authority, hub = np.ones(size), np.ones(size)
    for _ in range(ITERATIONS):
        authority = _unit(sum_by_index(targets, hub[sources], size))
        hub = _unit(sum_by_index(sources, authority[targets], size))
    return authority, hub


def adjustment(authority: Floats, hub: Floats, is_seed: NDArray[np.bool_]) -> Floats:
    """Return the score adjustment of each node from its authority and hub scores."""
    added = np.zeros(len(authority))
    for values, mask, (threshold, factor) in (
        (authority, is_seed, SEED_AUTHORITY),
        (authority, ~is_seed, OTHER_AUTHORITY),
        (hub, is_seed, SEED_HUB),
    ):
        added += np.where(mask & (values > threshold), values * factor, 0.0)
    return added


def _unit(values: Floats) -> Floats:
    length = float(np.linalg.norm(values))
    return np.asarray(values / length if length > 0 else values, dtype=np.float64)


# The graph: containers, authority and the random walk with restart.

_USES = ("calls", "references", "type_hint_of", "extends", "implements")  # edge types that count towards authority
_IS_USE = np.array([name in _USES for name in EDGE_NAMES])  # by edge type code
_TOOL_PROVENANCES = [PROVENANCES.index("lsp"), PROVENANCES.index("scip")]
_PROPAGATED = 400  # best items whose scores their containers share
_COUNTED_MEMBERS = 5  # best members that count for a container
_LARGE_CONTAINER = 30  # with more members than this they divide their container's share: one of hundreds says little
_STABLE_TOP = 10  # the walk stops when this many top items stay the same
_STABLE_STEPS = 2  # … for this many steps
# probability mass below this returns to the seeds: it never matters for the top items, but is most of a large graph
_LEAST_MASS = 1e-4


def _weighted(edges: Edges, tool_edges: float) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Return the confidence of each edge, and a mask that leaves out repeated ones.

    Edges of language tools count `tool_edges` times. Where one repeats an edge of our own, or of another tool, the
    stronger counts: an edge must not weigh twice because two sources know it.
    """
    confidence = np.ascontiguousarray(edges.all["confidence"])
    unique = np.ones(len(confidence), np.bool_)
    from_tool = np.isin(edges.all["provenance"], _TOOL_PROVENANCES)
    if from_tool.any():
        confidence = np.where(from_tool, confidence * np.float32(tool_edges), confidence)
        order = np.lexsort((-confidence, edges.all["type"], edges.all["target"], edges.all["source"]))
        ordered = edges.all[order]
        repeats = np.flatnonzero(
            (ordered["source"][1:] == ordered["source"][:-1])
            & (ordered["target"][1:] == ordered["target"][:-1])
            & (ordered["type"][1:] == ordered["type"][:-1])
        )
        unique[order[repeats + 1]] = False
    return confidence, unique


class Graph:
    """The edges between the items of an index; arrays are by item number."""

    def __init__(
        self, edges: Edges, size: int, profile: Profile, firsts: Sequence[int] = (0,), order: Ints | None = None
    ) -> None:
        """Build the graph; `firsts` are the first item numbers of each repository, `order` breaks ties of items."""
        self.size, self._firsts, self._order = size, firsts, order
        source, target, kind = (np.ascontiguousarray(edges.all[name]) for name in ("source", "target", "type"))
        confidence, unique = _weighted(edges, profile.tool_edges)
        inside = np.flatnonzero((target > 0) & unique)
        by_target = edges.by_target[int((target < 0).sum()) :].astype(np.intp)  # external targets come first
        by_target = by_target[unique[by_target]]
        self._source, self._target, self._type = source[inside], target[inside], kind[inside]
        self._confidence = confidence[inside]
        self._steps = Steps.of(
            Direction(np.bincount(self._source, minlength=size), self._target, self._type, self._confidence),
            Direction(
                np.bincount(self._target, minlength=size),
                source[by_target],
                kind[by_target] + np.uint8(len(EDGE_NAMES)),
                confidence[by_target],
            ),
            np.array(
                [profile.edge_weights.get(name, 0.0) for name in EDGE_NAMES] + [*map(profile.backwards, EDGE_NAMES)]
            ),
        )

    @cached_property
    def parent(self) -> Ints:
        """Container of each item; 0 if none."""
        contains = self._type == EDGE_TYPES["contains"].code
        parent = np.zeros(self.size, np.int64)
        parent[self._target[contains]] = self._source[contains]
        return parent

    @cached_property
    def members(self) -> Ints:
        """Number of members of each item."""
        return np.bincount(self.parent, minlength=self.size)

    @cached_property
    def uses(self) -> Floats:
        """Log in-degree of use edges, relative to the most used item of the same repository."""
        counts = np.log1p(np.bincount(self._target[_IS_USE[self._type]], minlength=self.size))
        ends = [*self._firsts[1:], len(counts)]
        for first, end in zip(self._firsts, ends, strict=True):
            counts[first:end] /= max(counts[first:end].max(initial=0.0), 1e-9)
        return np.asarray(counts, dtype=np.float64)

    def use_count(self, number: int) -> int:
        """Return the number of edges that use an item."""
        return int(np.count_nonzero(_IS_USE[self._type[self._target == number]]))

    def degrees(self, backwards: bool) -> Ints:
        """Return the in-degree (backwards) or out-degree of every item."""
        return self._steps.counts[:, int(backwards)]

    @cached_property
    def confidence(self) -> Floats:
        """Confidence of the surest incoming edge of each item."""
        surest = np.zeros(self.size)
        np.maximum.at(surest, self._target, self._confidence)
        return surest

    def neighbours(self, number: int, edge: str) -> Ints:
        """Return the items linked with an item by an edge type, in either direction."""
        steps = self._steps.of_items(np.array([number]))
        return sorted_unique(
            self._steps.ends[steps][self._steps.types[steps] % len(EDGE_NAMES) == EDGE_TYPES[edge].code]
        )

    def sources(self, targets: Ints, edge: str) -> Ints:
        """Return the items from which an edge of a type leads to any of the targets."""
        steps = self._steps.of_items(targets)
        return sorted_unique(
            self._steps.ends[steps][self._steps.types[steps] == EDGE_TYPES[edge].code + len(EDGE_NAMES)]
        )

    def incoming(self, items: Ints) -> tuple[Ints, Ints]:
        """Return every edge into some items: the item of each edge, and its source."""
        counts = self._steps.counts[items, 1]
        return np.repeat(items, counts), self._steps.ends[_ranges(self._steps.first[items, 1], counts)]

    def outgoing(self, items: Ints, edge: str) -> tuple[Ints, Ints]:
        """Return the edges of a type out of some items: the item of each edge, and its target."""
        sources, steps = self._steps.along(items)
        chosen = self._steps.types[steps] == EDGE_TYPES[edge].code
        return sources[chosen], self._steps.ends[steps[chosen]]

    def outgoing_uses(self, items: Ints) -> tuple[Ints, Ints]:
        """Return the edges of use out of some items: the item of each edge, and its target."""
        sources, steps = self._steps.along(items)
        chosen = _IS_USE[self._steps.types[steps]]
        return sources[chosen], self._steps.ends[steps[chosen]]

    def walk(self, seeds: Floats, restart: float, steps: int) -> Floats:
        """Return the visit probabilities of a random walk with restart from the seeds (personalized PageRank).

        Mass at dead ends and mass below the threshold return to the seeds. Stops early once the top items are stable.
        """
        total = seeds.sum()
        if total <= 0:
            return np.zeros(self.size)
        starts = np.flatnonzero(seeds)
        seed_mass = seeds[starts] / total
        mass = np.zeros(self.size)
        mass[starts] = seed_mass
        likely = starts[seed_mass > _LEAST_MASS]
        last_top: Ints = np.empty(0, np.int64)
        unchanged = 0
        visited = np.zeros(self.size, np.bool_)
        visits: Ints = np.empty(0, np.int64)  # visited items with steps; then the steps of all of them, item by item
        counts, ends, shares = visits, visits, np.empty(0)
        for _ in range(steps):
            new = likely[~visited[likely]]
            visited[new] = True
            if len(new := new[self._steps.has_outgoing(new)]):
                places = self._steps.of_items(new)
                visits = np.concatenate([visits, new])
                counts = np.concatenate([counts, self._steps.counts[new].sum(axis=1)])
                ends = np.concatenate([ends, self._steps.ends[places]])
                shares = np.concatenate([shares, self._steps.shares[places]])
            walkers = mass[visits]
            walkers[walkers <= _LEAST_MASS] = 0
            moving = np.repeat(walkers, counts)
            moving *= shares
            mass = sum_by_index(ends, moving, self.size)
            mass[starts] += (1 - walkers.sum()) * seed_mass
            mass *= 1 - restart
            mass[starts] += restart * seed_mass
            likely = np.flatnonzero(mass > _LEAST_MASS)
            top = (
                likely[highest(mass[likely], _STABLE_TOP)] if len(likely) >= _STABLE_TOP else highest(mass, _STABLE_TOP)
            )
            unchanged = unchanged + 1 if np.array_equal(top, last_top) else 0
            last_top = top
            if unchanged >= _STABLE_STEPS:
                break
        return mass

    def incoming_flow(self, mass: Floats, number: int) -> list[tuple[int, str, float]]:
        """Return the edges over which a walk reached an item, largest first: (source, edge type, share of inflow)."""
        back = self._steps.of_items(np.array([number]))  # every step from the item, reversed, is a step to it
        sources = self._steps.ends[back]
        types = (self._steps.types[back].astype(np.int64) + len(EDGE_NAMES)) % (2 * len(EDGE_NAMES))
        has_steps = self._steps.has_outgoing(sources)
        weights = self._steps.weights[types] * self._steps.confidence[back]
        flow = np.where(
            has_steps, mass[sources] * (weights / np.where(has_steps, self._steps.leaving[sources], 1.0)), 0.0
        )
        order = np.lexsort((types, sources, -flow))
        inflow = flow.sum()
        return [
            (int(sources[index]), _edge_name(int(types[index])), float(flow[index] / inflow))
            for index in order
            if flow[index] > 0
        ]

    def adjustment(self, mass: Floats, seeds: Floats, top: int) -> Floats:
        """Return the HITS score adjustment among the `top` items of a walk."""
        best = highest(mass, top, self._order)
        place = np.full(self.size, -1)
        place[best] = np.arange(len(best))
        sources, steps = self._steps.along(np.sort(best))
        targets = self._steps.ends[steps]
        among = _IS_USE[self._steps.types[steps]] & (place[targets] >= 0)
        sources, targets = place[sources[among]], place[targets[among]]
        adjustments = np.zeros(self.size)
        adjustments[best] = adjustment(*authorities_and_hubs(sources, targets, len(best)), seeds[best] > 0)
        return adjustments

    def shared(self, scores: Floats, upwards: float, downwards: float) -> Floats:
        """Add shares of member scores to containers, then of container scores to members.

        Each further member counts half as much; members of a large container divide its share.
        """
        order = highest(scores, _PROPAGATED, self._order)
        order = order[self.parent[order] > 0]
        parents = self.parent[order]
        by_parent = np.argsort(parents, kind="stable")  # best member first within each container
        place = np.arange(len(order)) - np.searchsorted(parents[by_parent], parents[by_parent])
        counted = place < _COUNTED_MEMBERS
        best = scores[order[by_parent]][counted] * 0.5 ** place[counted]
        containers = sorted_unique(parents)
        gained = sum_by_index(np.searchsorted(containers, parents[by_parent][counted]), best, len(containers))
        out = scores.copy()
        out[containers] += upwards * gained
        out[order] += downwards * np.minimum(1, _LARGE_CONTAINER / self.members[parents]) * out[parents]
        return out


def _edge_name(code: int) -> str:
    """Return the edge type name, or its reverse name when followed backwards."""
    backwards, kind = divmod(code, len(EDGE_NAMES))
    name = EDGE_NAMES[kind]
    return EDGE_TYPES[name].reverse if backwards else name
