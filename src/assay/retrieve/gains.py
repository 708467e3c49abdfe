"""What multiplies a score when all of it is added up: by the folder, by names that repeat, by the order of the first. Arrays are by item."""

from __future__ import annotations

from collections import Counter

import numpy as np

from assay.retrieve.everything import Everything
from assay.retrieve.order import Floats, added_up, highest, line, share_of_best
from assay.retrieve.profile import Profile
from assay.retrieve.ranking import Ranking
from assay.store.index import Index

_FOCUS = 40  # of the best that say which folder the task is about
_CHECKED = 100  # of the best that are looked at for names that repeat: more than anybody asks for
_FIRST = 10  # of the best whose order is looked at again


def folder(ranking: Ranking, everything: Everything, weight: float) -> Floats:
    """What each item gains by how much of the best stands in the same folder."""
    if not weight:
        return np.ones(everything.size)
    best = highest(ranking.scores, _FOCUS)
    mass = added_up(everything.folders[best], ranking.scores[best], len(everything.file_folders))
    return np.asarray(line(share_of_best(mass), weight, 1)[everything.folders])


def repeated(ranking: Ranking, everything: Everything, index: Index, profile: Profile) -> Floats:
    """What the same name again counts, the best standing for all: another overload in the file, or a namesake in another one."""
    loss = np.ones(everything.size)
    best = highest(ranking.scores, _CHECKED).tolist()
    symbols = index.symbols_of(best)
    before: Counter[tuple[int, str]] = Counter()  # file and name; file 0 for any
    for number in best:
        here, anywhere = (int(everything.files[number]), symbols[number]), (0, symbols[number])
        loss[number] = profile.overload ** before[here] if before[here] else profile.namesake ** before[anywhere]
        before[here] += 1
        before[anywhere] += 1
    return loss


def own(ranking: Ranking, weight: float) -> Floats:
    """Puts the first in another order, their scores staying: company brought them there, what is said of each itself decides."""
    gain = np.ones(len(ranking.scores))
    first = highest(ranking.scores, _FIRST)
    said = (ranking.direct + ranking.pointed) * ranking.factors.get("name", 1.0)
    before = ranking.scores[first]
    order = np.argsort(-before * (1 + weight * share_of_best(said[first])), kind="stable")
    gain[first[order]] = before / before[order]
    return gain
