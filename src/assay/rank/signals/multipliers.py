"""Multipliers applied after the score parts are summed: folder, learned ranker, repeated names, top-10 reorder."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from assay.rank.arrays import Floats, descending, line, share_of_best, sum_by_index
from assay.rank.signals.signal import Signal, Stage

if TYPE_CHECKING:
    from assay.rank.context import QueryContext
    from assay.rank.ranking import Ranking

_FOLDER_ITEMS = 40  # top items that determine the task's folder
_REPEAT_ITEMS = 100  # top items checked for repeated names: more than any caller requests
_REORDERED = 10  # top items that are reordered by direct evidence


def _folder(query: QueryContext, ranking: Ranking) -> Floats:
    """Return multipliers by the share of the top items' scores that is in the same folder."""
    items = query.items
    best = ranking.highest(ranking.scores, _FOLDER_ITEMS)
    mass = sum_by_index(items.folders[best], ranking.scores[best], len(items.file_folders))
    return np.asarray(line(share_of_best(mass), query.profile.folder, 1)[items.folders])


def _ranker(query: QueryContext, ranking: Ranking) -> Floats:
    from assay.rank.ranker import gain, model_of

    assert ranking.candidates is not None
    profile = query.profile
    return gain(model_of(profile, query.index), ranking.candidates, ranking.scores, profile.ranker)


def _repeated(query: QueryContext, ranking: Ranking) -> Floats:
    """Return penalties for repeated names among the top items: overloads in a file, namesakes in other files."""
    penalty = np.ones(query.items.size)
    best = ranking.highest(ranking.scores, _REPEAT_ITEMS).tolist()
    symbols = query.index.symbols_of(best)
    overload, namesake = query.profile.overload, query.profile.namesake
    seen: Counter[tuple[int, str]] = Counter()  # file and name; file 0 for any
    for number in best:
        here, anywhere = (int(query.items.files[number]), symbols[number]), (0, symbols[number])
        penalty[number] = overload ** seen[here] if seen[here] else namesake ** seen[anywhere]
        seen[here] += 1
        seen[anywhere] += 1
    return penalty


def _reorder(query: QueryContext, ranking: Ranking) -> Floats:
    """Return multipliers that reorder the top items by direct evidence, reassigning their scores."""
    multiplier = np.ones(len(ranking.scores))
    first = ranking.highest(ranking.scores, _REORDERED)
    before, evidence = ranking.scores[first], ranking.direct[first]
    if "direct_hits" in ranking.additions:
        evidence += ranking.additions["direct_hits"][first]
    if "name" in ranking.factors:
        evidence *= ranking.factors["name"][first]
    order = np.argsort(descending(before * (1 + query.profile.reorder * share_of_best(evidence))), kind="stable")
    multiplier[first[order]] = before / before[order]
    return multiplier


FOLDER = Signal(
    "folder",
    Stage.MULTIPLIER,
    "graph",
    "many of the top results are in the same folder",
    weights={"folder": (0.0, 0.15, 0.6, 1.0)},
    score=_folder,
)
RANKER = Signal(
    "ranker",
    Stage.MULTIPLIER,
    "words",
    "learned reranker, replaces the score so far; log-scale contributions",
    weights={"ranker": ()},
    score=_ranker,
)
REPEATED = Signal(
    "repeated",
    Stage.MULTIPLIER,
    "names",
    "a higher-ranked symbol has the same name",
    weights={"overload": (0.1, 0.5, 1.0), "namesake": (0.25, 0.75, 1.0)},
    score=_repeated,
    enabled=lambda profile: (profile.overload, profile.namesake) != (1, 1),
)
REORDER = Signal(
    "reorder",
    Stage.MULTIPLIER,
    "words",
    "top-10 reorder: by direct evidence only",
    weights={"reorder": (0.0, 1.0, 4.0)},
    score=_reorder,
    enabled=lambda profile: bool(profile.reorder and not profile.ranker),
)
