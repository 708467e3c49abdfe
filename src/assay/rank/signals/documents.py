"""What documents say about a task: sections that speak of it name some symbols more than others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from assay.rank.ranking import Floats, highest
from assay.rank.signals.lexical import bm25

if TYPE_CHECKING:
    from assay.store.multi_repo import SectionsOfAll
    from assay.store.sections import Sections

_SATURATION, _LENGTH = 1.2, 0.6  # BM25 over sections
_SECTIONS = 20  # the best so many speak
_LOOKED_AT = 3 * _SECTIONS  # among so many: sections that name nothing do not count


def symbol_shares(sections: Sections | SectionsOfAll, query: Mapping[str, float]) -> dict[int, float]:
    """The symbols that the sections nearest to a task name, each with its share of the most named one.

    A section counts by the square of its score, and each of its symbols by one over the root of how many it names.
    """
    scores = section_scores(sections, query)
    shares: dict[int, float] = {}
    speaking = 0
    for section in highest(scores, _LOOKED_AT).tolist():
        if speaking == _SECTIONS:
            break
        named = sections.symbols(section)
        speaking += bool(named)
        worth = float(scores[section]) ** 2 / max(len(named), 1) ** 0.5
        for number, share in named.items():
            shares[number] = shares.get(number, 0.0) + worth * share
    most = max(shares.values(), default=1.0)
    return {number: share / most for number, share in shares.items()}


def section_scores(sections: Sections | SectionsOfAll, query: Mapping[str, float]) -> Floats:
    """BM25 of every section for a task's terms."""
    return bm25(sections.having, sections.lengths, query, _SATURATION, _LENGTH)
