"""What documents say about a task: sections that speak of it name some symbols more than others."""

from __future__ import annotations

import numpy as np

from assay.retrieve.graph import Floats
from assay.retrieve.lexical import rarity_of
from assay.store.sections import Sections

_SATURATION, _LENGTH = 1.2, 0.6  # BM25 over sections
_SECTIONS = 20  # the best so many speak
_LOOKED_AT = 3 * _SECTIONS  # among so many: sections that name nothing do not count


def symbol_shares(sections: Sections, query: dict[str, int]) -> dict[int, float]:
    """The symbols that the sections nearest to a task name, each with its share of the most named one.

    A section counts by the square of its score, and each of its symbols by one over the root of how many it names.
    """
    scores = section_scores(sections, query)
    shares: dict[int, float] = {}
    speaking = 0
    for section in np.argsort(-scores, kind="stable")[:_LOOKED_AT].tolist():
        if scores[section] <= 0 or speaking == _SECTIONS:
            break
        named = sections.symbols(section)
        speaking += bool(named)
        worth = float(scores[section]) ** 2 / max(len(named), 1) ** 0.5
        for number, share in named.items():
            shares[number] = shares.get(number, 0.0) + worth * share
    most = max(shares.values(), default=1.0)
    return {number: share / most for number, share in shares.items()}


def section_scores(sections: Sections, query: dict[str, int]) -> Floats:
    """BM25 of every section for a task's terms."""
    total = len(sections)
    scores = np.zeros(total)
    average = max(float(sections.lengths.mean()), 1.0) if total else 1.0
    for term, times in query.items():
        found, counts = sections.having(term)
        if not len(found):
            continue
        norm = _SATURATION * (1 - _LENGTH + _LENGTH * sections.lengths[found] / average)
        often = counts.astype(np.float64)
        scores[found] += times * rarity_of(total, len(found)) * often * (_SATURATION + 1) / (often + norm)
    return scores
