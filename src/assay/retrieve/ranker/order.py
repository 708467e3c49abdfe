"""From what candidates are worth to scores in place of those by hand."""

from __future__ import annotations

import numpy as np

from assay.retrieve.order import Floats, share_of_best
from assay.retrieve.ranker.features import Candidates
from assay.retrieve.ranker.model import shipped

_SPREAD = 0.3  # packing gives room by score, and the scores by hand lie closer together than what is learned


def gain(candidates: Candidates, scores: Floats, weight: float) -> Floats:
    """What turns scores by hand into those that were learned, mixed by weight; what is no candidate keeps its order behind them."""
    before = scores[candidates.numbers]
    by_hand = np.log(share_of_best(before))
    worth = by_hand + weight * (shipped().worth(candidates) - by_hand)
    after = np.exp(_SPREAD * (worth - worth.max(initial=-np.inf)))
    gains = np.full(len(scores), after.min(initial=1.0) / before.min(initial=np.inf))
    gains[candidates.numbers] = after / before
    return gains
