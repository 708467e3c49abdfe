"""The typed graph as the ranking sees it: containers, how often something is used, and the random walk with restart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.core.items import EDGE_NAMES, EDGE_TYPES, TYPE_KINDS
from assay.rank.profile import Profile
from assay.rank.ranking import Floats, Ints, added_up, different, highest
from assay.store.edges import Edges

_NOTHING = 1e-300  # instead of 0, to divide by


class Direction(NamedTuple):
    """Edges in one direction, ordered by the item where they start, and how many start at each; `types` are codes."""

    counts: Ints
    ends: Ints
    types: Ints
    confidence: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Steps:
    """Every edge in both directions. What share of the walkers takes each is worked out for an item when one first comes there."""

    first: Ints  # by item, in two columns: where its steps along edges begin, and where those against them
    counts: Ints  # likewise: how many there are
    ends: Ints
    types: Ints  # each direction has codes of its own
    confidence: NDArray[np.float32]
    weights: Floats  # by type
    leaving: Floats  # by item: what its steps weigh together; NaN until a walker came there
    shares: Floats  # by step: the share of the walkers that takes it; filled in with the item's

    @classmethod
    def of(cls, along: Direction, against: Direction, weights: Floats) -> Steps:
        """Joins two directions."""
        counts = np.stack([along.counts, against.counts], axis=1)
        first = np.stack([one.counts.cumsum() - one.counts for one in (along, against)], axis=1)
        first[:, 1] += len(along.ends)
        ends, types = np.concatenate([along.ends, against.ends]), np.concatenate([along.types, against.types])
        confidence = np.concatenate([along.confidence, against.confidence])
        return cls(first, counts, ends, types, confidence, weights, np.full(len(first), np.nan), np.empty(len(ends)))

    def of_items(self, items: Ints) -> Ints:
        """The places of all steps from some items: of one item after the other, those along edges first."""
        return _ranges(self.first[items].ravel(), self.counts[items].ravel())

    def along(self, items: Ints) -> tuple[Ints, Ints]:
        """The steps along edges from some items: for each the item, and the place of the step."""
        counts = self.counts[items, 0]
        return np.repeat(items, counts), _ranges(self.first[items, 0], counts)

    def lead_on(self, items: Ints) -> NDArray[np.bool_]:
        """Whether any step leads on from each of some items. Works out the shares of those that are asked about for the first time."""
        new = items[np.isnan(self.leaving[items])]
        if len(new):
            places, counts = self.of_items(new), self.counts[new].sum(axis=1)
            weights = self.weights[self.types[places]] * self.confidence[places]
            self.leaving[new] = added_up(np.repeat(np.arange(len(new)), counts), weights, len(new))
            self.shares[places] = weights / np.repeat(np.maximum(self.leaving[new], _NOTHING), counts)
        return np.asarray(self.leaving[items] > 0)

    def moved(self, items: Ints, walkers: Floats, size: int) -> Floats:
        """Where the walkers of some items, from all of which steps lead on, are one step later."""
        places = self.of_items(items)
        moving = np.repeat(walkers, self.counts[items].sum(axis=1))
        moving *= self.shares[places]
        return added_up(self.ends[places], moving, size)


def _ranges(first: Ints, counts: Ints) -> Ints:
    """Whole numbers from each `first`, so many as `counts` says, one range after the other."""
    before = counts.cumsum() - counts
    places = np.repeat(first - before, counts)
    places += np.arange(len(places))
    return places


# HITS on the neighbourhood of a task: what much points to (authorities) and what points to much (hubs).

ITERATIONS = 10
# what is added: (authority or hub above, times). Seeds that are central gain; infrastructure that everything calls loses.
SEED_AUTHORITY = (0.05, 0.25)
OTHER_AUTHORITY = (0.2, -0.15)
SEED_HUB = (0.1, 0.10)


def authorities_and_hubs(sources: Ints, targets: Ints, size: int) -> tuple[Floats, Floats]:
    """Both scores of the nodes 0 … size - 1 of a graph, each of length 1 as a vector; zeros without edges."""
    authority, hub = np.ones(size), np.ones(size)
    for _ in range(ITERATIONS):
        authority = _unit(added_up(targets, hub[sources], size))
        hub = _unit(added_up(sources, authority[targets], size))
    return authority, hub


def adjustment(authority: Floats, hub: Floats, is_seed: NDArray[np.bool_]) -> Floats:
    """What the scores of nodes change by, for what they are in their neighbourhood."""
    added = np.zeros(len(authority))
    for values, who, (above, times) in (
        (authority, is_seed, SEED_AUTHORITY),
        (authority, ~is_seed, OTHER_AUTHORITY),
        (hub, is_seed, SEED_HUB),
    ):
        added += np.where(who & (values > above), values * times, 0.0)
    return added


def _unit(values: Floats) -> Floats:
    length = float(np.linalg.norm(values))
    return np.asarray(values / length if length > 0 else values, dtype=np.float64)


# The typed graph as the ranking sees it: containers, how often something is used, and the random walk with restart.

_USES = ("calls", "references", "type_hint_of", "extends", "implements")  # what makes something an authority
_IS_USE = np.array([name in _USES for name in EDGE_NAMES])  # by code
_FAMILY = 30  # members from which on they divide among them what their container passes on: one of hundreds tells little by being one
_STABLE = 10  # the walk ends when the best so many stay the same
_STABLE_STEPS = 2  # … for so many steps
_FAINT = (
    1e-4  # a walker this unlikely to be somewhere goes back: far below what is looked at, but most of a large graph
)


class Graph:
    """The edges of an index between its own items; arrays are by item number."""

    def __init__(self, edges: Edges, size: int, profile: Profile, firsts: Sequence[int] = (0,)) -> None:
        """`firsts` are the numbers that the items of each repository begin from."""
        self.size, self._firsts = size, firsts
        source, target, kind, confidence = (
            np.ascontiguousarray(edges.all[name]) for name in ("source", "target", "type", "confidence")
        )
        inside = np.flatnonzero(target > 0)
        by_target = edges.by_target[len(target) - len(inside) :].astype(np.intp)  # the targets outside come first
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
        """The container of each item; 0: none."""
        contains = self._type == EDGE_TYPES["contains"].code
        parent = np.zeros(self.size, np.int64)
        parent[self._target[contains]] = self._source[contains]
        return parent

    @cached_property
    def _members(self) -> Ints:
        """How many members each item has."""
        return np.bincount(self.parent, minlength=self.size)

    @cached_property
    def uses(self) -> Floats:
        """How often each item is used, logarithmic, as a share of the most used one of its repository."""
        counts = np.log1p(np.bincount(self._target[_IS_USE[self._type]], minlength=self.size))
        ends = [*self._firsts[1:], len(counts)]
        for first, end in zip(self._firsts, ends, strict=True):
            counts[first:end] /= max(counts[first:end].max(initial=0.0), 1e-9)
        return np.asarray(counts, dtype=np.float64)

    def degrees(self, backwards: bool) -> Ints:
        """How many edges lead to each item (backwards), or away from it."""
        return self._steps.counts[:, int(backwards)]

    @cached_property
    def confidence(self) -> Floats:
        """The confidence of the surest edge to each item."""
        surest = np.zeros(self.size)
        np.maximum.at(surest, self._target, self._confidence)
        return surest

    def neighbours(self, number: int, edge: str) -> Ints:
        """The items that an edge of a type leads to from an item, and from which it leads there."""
        steps = self._steps.of_items(np.array([number]))
        return different(self._steps.ends[steps][self._steps.types[steps] % len(EDGE_NAMES) == EDGE_TYPES[edge].code])

    def sources(self, targets: Ints, edge: str) -> Ints:
        """The items from which an edge of a type leads to one of some targets."""
        steps = self._steps.of_items(targets)
        return different(self._steps.ends[steps][self._steps.types[steps] == EDGE_TYPES[edge].code + len(EDGE_NAMES)])

    def walk(self, seeds: Floats, restart: float, steps: int) -> Floats:
        """Where a walker is found who starts at the seeds, follows edges by weight and goes back with probability `restart`.

        From a dead end, and from where it hardly ever is, it goes back to the seeds. Ends early when the best items no longer change.
        """
        total = seeds.sum()
        if total <= 0:
            return np.zeros(self.size)
        starts = np.flatnonzero(seeds)
        home = seeds[starts] / total
        found = np.zeros(self.size)
        found[starts] = home
        likely = starts[home > _FAINT]
        best: Ints = np.empty(0, np.int64)
        unchanged = 0
        for _ in range(steps):
            active = likely[self._steps.lead_on(likely)]
            walkers = found[active]
            found = self._steps.moved(active, walkers, self.size)
            found[starts] += (1 - walkers.sum()) * home
            found *= 1 - restart
            found[starts] += restart * home
            likely = np.flatnonzero(found > _FAINT)
            now = likely[highest(found[likely], _STABLE)] if len(likely) >= _STABLE else highest(found, _STABLE)
            unchanged = unchanged + 1 if np.array_equal(now, best) else 0
            best = now
            if unchanged >= _STABLE_STEPS:
                break
        return found

    def brought(self, found: Floats, number: int) -> list[tuple[int, str, float]]:
        """By which edges a walk that ended like this came to an item, most first: (from, edge type, share of what came)."""
        back = self._steps.of_items(np.array([number]))  # every step from it is one to it, taken the other way
        sources = self._steps.ends[back]
        types = (self._steps.types[back].astype(np.int64) + len(EDGE_NAMES)) % (2 * len(EDGE_NAMES))
        onwards = self._steps.lead_on(sources)
        weights = self._steps.weights[types] * self._steps.confidence[back]
        flow = np.where(onwards, found[sources] * (weights / np.where(onwards, self._steps.leaving[sources], 1.0)), 0.0)
        order = np.lexsort((types, sources, -flow))
        whole = flow.sum()
        return [(int(sources[at]), _edge_name(int(types[at])), float(flow[at] / whole)) for at in order if flow[at] > 0]

    def adjustment(self, found: Floats, seeds: Floats, top: int) -> Floats:
        """What HITS among the best items of a walk adds to them or takes away."""
        best = highest(found, top)
        place = np.full(self.size, -1)
        place[best] = np.arange(len(best))
        sources, steps = self._steps.along(np.sort(best))
        targets = self._steps.ends[steps]
        among = _IS_USE[self._steps.types[steps]] & (place[targets] >= 0)
        sources, targets = place[sources[among]], place[targets[among]]
        added = np.zeros(self.size)
        added[best] = adjustment(*authorities_and_hubs(sources, targets, len(best)), seeds[best] > 0)
        return added

    def shared(self, scores: Floats, upwards: float, downwards: float, first: int = 400, members: int = 5) -> Floats:
        """Containers gain from their best members (each next one half as much), then members from their container, the less the more they are."""
        order = highest(scores, first)
        order = order[self.parent[order] > 0]
        parents = self.parent[order]
        by_parent = np.argsort(parents, kind="stable")  # best member first within each container
        place = np.arange(len(order)) - np.searchsorted(parents[by_parent], parents[by_parent])
        counted = place < members
        best = scores[order[by_parent]][counted] * 0.5 ** place[counted]
        containers = different(parents)
        gained = added_up(np.searchsorted(containers, parents[by_parent][counted]), best, len(containers))
        out = scores.copy()
        out[containers] += upwards * gained
        out[order] += downwards * np.minimum(1, _FAMILY / self._members[parents]) * out[parents]
        return out


def _edge_name(code: int) -> str:
    """The type of an edge, or what it is called when followed backwards."""
    backwards, kind = divmod(code, len(EDGE_NAMES))
    name = EDGE_NAMES[kind]
    return EDGE_TYPES[name].reverse if backwards else name


# Seeds of the walk: from candidates, best first, to where a walker starts and how likely.

CANDIDATES = 40  # of the fused channels
FIRST, LAST = 1.0, 0.4  # the weight of the first and of the last seed


def from_scores(scores: Floats, count: int) -> Floats:
    """The best items; a better one is a likelier start, by the square of its score."""
    best = highest(scores, count)
    seeds = np.zeros(len(scores))
    seeds[best] = scores[best] ** 2
    return seeds


def by_rank(candidates: Sequence[int], size: int, count: int) -> Floats:
    """The first candidates, their weight falling evenly with their rank."""
    kept = np.array(candidates[:count], dtype=np.int64)
    seeds = np.zeros(size)
    seeds[kept] = np.linspace(FIRST, LAST, len(kept)) if len(kept) > 1 else FIRST
    return seeds


def types_first(candidates: Sequence[int], kinds: dict[int, str]) -> list[int]:
    """Types before anything else, else in their order: on a large graph a type's members are near, a function's peers are not."""
    return sorted(candidates, key=lambda number: kinds[number] not in TYPE_KINDS)


def largest_folder_first(candidates: Sequence[int], folders: Ints) -> list[int]:
    """The candidates of the folder that has most of them, then the others: seeds beside each other make a walk that stays on topic."""
    where = [int(folders[number]) for number in candidates]
    most = max(where, key=lambda folder: (where.count(folder), -where.index(folder)), default=0)
    return sorted(candidates, key=lambda number: int(folders[number]) != most)
