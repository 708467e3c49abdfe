"""The typed graph as the ranking sees it: containers, how often something is used, and the random walk with restart."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from assay.core.edges import EDGE_NAMES, EDGE_TYPES
from assay.retrieve.profile import Profile
from assay.store.edges import Edges

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_USES = ("calls", "references", "type_hint_of", "extends", "implements")  # what makes something an authority
_STABLE = 10  # the walk ends when the best so many stay the same
_STABLE_STEPS = 2  # … for so many steps


class Graph:
    """The edges of an index between its own items; arrays are by item number."""

    def __init__(self, edges: Edges, size: int, profile: Profile) -> None:
        everything = edges.all
        inside = everything[everything["target"] > 0]
        self.size = size
        self._source = inside["source"].astype(np.int64)
        self._target = inside["target"].astype(np.int64)
        self._type = inside["type"]
        contains = self._type == EDGE_TYPES["contains"].code
        self.parent = np.zeros(size, np.int64)  # 0: none
        self.parent[self._target[contains]] = self._source[contains]
        self.authority = self._authority()
        self._prepare(profile, inside["confidence"].astype(np.float64))

    def _authority(self) -> Floats:
        """How often each item is used, logarithmic, from 0 to 1."""
        uses = np.isin(self._type, [EDGE_TYPES[name].code for name in _USES])
        counts = np.log1p(np.bincount(self._target[uses], minlength=self.size))
        return np.asarray(counts / max(counts.max(initial=0.0), 1e-9), dtype=np.float64)

    def _prepare(self, profile: Profile, confidence: Floats) -> None:
        """Both directions of every edge, weighted by type and confidence; what leaves an item adds up to 1."""
        forwards = np.array([profile.edge_weights.get(name, 0.0) for name in EDGE_NAMES])
        backwards = np.array([profile.backwards(name) for name in EDGE_NAMES])
        start = np.concatenate([self._source, self._target])
        end = np.concatenate([self._target, self._source])
        weight = np.concatenate([forwards[self._type] * confidence, backwards[self._type] * confidence])
        kept = weight > 0
        self._start, self._end, weight = start[kept], end[kept], weight[kept]
        self._name = np.concatenate([self._type, self._type + len(EDGE_NAMES)])[kept]  # second half: against the edge
        leaving = np.bincount(self._start, weights=weight, minlength=self.size)
        self._share = weight / leaving[self._start]
        self._dead_end = leaving == 0

    def walk(self, seeds: Floats, restart: float, steps: int) -> Floats:
        """Where a walker is found who starts at the seeds, follows edges by weight and goes back with probability `restart`.

        From a dead end it goes back to the seeds. Ends early when the best items no longer change.
        """
        total = seeds.sum()
        if total <= 0:
            return np.zeros(self.size)
        home = seeds / total
        found = home.copy()
        best, unchanged = np.empty(0, np.int64), 0
        for _ in range(steps):
            moved = np.bincount(self._end, weights=found[self._start] * self._share, minlength=self.size)
            stranded = found[self._dead_end].sum()
            found = (1 - restart) * (moved + stranded * home) + restart * home
            now = np.argsort(-found, kind="stable")[:_STABLE]
            unchanged = unchanged + 1 if np.array_equal(now, best) else 0
            best = now
            if unchanged >= _STABLE_STEPS:
                break
        return np.asarray(found, dtype=np.float64)

    def brought(self, found: Floats, number: int) -> list[tuple[int, str, float]]:
        """By which edges a walk that ended like this came to an item, most first: (from, edge type, share of what came)."""
        into = np.flatnonzero(self._end == number)
        flow = found[self._start[into]] * self._share[into]
        total = flow.sum()
        if total <= 0:
            return []
        order = into[np.argsort(-flow, kind="stable")]
        share = np.sort(flow)[::-1] / total
        return [
            (int(self._start[at]), _edge_name(int(self._name[at])), float(part))
            for at, part in zip(order, share, strict=True)
            if part > 0
        ]

    def shared(self, scores: Floats, upwards: float, downwards: float, first: int = 400, members: int = 5) -> Floats:
        """Containers gain from their best members (each next one half as much), then members from their container."""
        order = np.argsort(-scores, kind="stable")[:first]
        order = order[scores[order] > 0]
        order = order[self.parent[order] > 0]
        parents = self.parent[order]
        by_parent = np.argsort(parents, kind="stable")  # best member first within each container
        place = np.arange(len(order)) - np.searchsorted(parents[by_parent], parents[by_parent])
        counted = place < members
        gained = np.bincount(
            parents[by_parent][counted],
            weights=scores[order[by_parent]][counted] * 0.5 ** place[counted],
            minlength=self.size,
        )
        raised = scores + upwards * gained
        out = raised.copy()
        out[order] += downwards * raised[parents]
        return np.asarray(out, dtype=np.float64)


def _edge_name(code: int) -> str:
    """The type of an edge, or what it is called when followed backwards."""
    backwards, kind = divmod(code, len(EDGE_NAMES))
    name = EDGE_NAMES[kind]
    return EDGE_TYPES[name].reverse if backwards else name
