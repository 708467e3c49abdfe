"""HITS on the neighbourhood of a task: what much points to (authorities) and what points to much (hubs)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from assay.retrieve.order import Floats, Ints, added_up

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
