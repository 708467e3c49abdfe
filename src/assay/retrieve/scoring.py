"""Scoring: the named parts whose sum is an item's score, in two ways: `shares` (the default) and `composite` (seed 003)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.retrieve.order import Floats, share_of_best

# weights of the composite score: (blast radius, confidence, recency, distance), without and with HITS
BASE, WITH_HITS = (0.40, 0.25, 0.20, 0.15), (0.35, 0.20, 0.15, 0.15)
NOT_OBSERVED = 0.3  # recency of what no runtime trace has shown: an index has none, so it is everybody's
REACHED = 0.02  # of the walk's best; what the walk reached less is not scored
NEXT = 0.5  # distance of what is not a seed: one step away, 1 / (1 + 1)


@dataclass(frozen=True, slots=True)
class Walked:
    """What the walk and HITS say about every item."""

    found: Floats
    seeds: Floats
    adjustment: Floats  # by HITS; zeros when it is switched off


def shares(direct: Floats, walked: Walked, walk: float, hits: float) -> dict[str, Floats]:
    """The share of the best direct score, of the best of the walk, and what HITS adds."""
    parts = {"direct": share_of_best(direct), "walk": walk * share_of_best(walked.found)}
    return parts | ({"hits": hits * walked.adjustment} if hits else {})


def composite(walked: Walked, confidence: Floats, hits: float) -> dict[str, Floats]:
    """Blast radius, confidence, recency and distance, weighted; only for what the walk reached."""
    blast, sure, recent, near = WITH_HITS if hits else BASE
    radius = share_of_best(walked.found)
    reached = radius >= REACHED
    parts = {
        "blast radius": blast * radius,
        "confidence": sure * confidence,
        "recency": np.full(len(radius), recent * NOT_OBSERVED),
        "distance": near * np.where(walked.seeds > 0, 1.0, NEXT),
        "hits": hits * walked.adjustment,
    }
    return {name: np.where(reached, values, 0.0) for name, values in parts.items()}
