"""Documentation signal: symbols mentioned in sections that match a task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from assay.rank.arrays import Floats, highest
from assay.rank.signals.lexical import PARSING, bm25
from assay.rank.signals.signal import Signal, Stage

if TYPE_CHECKING:
    from assay.rank.context import QueryContext
    from assay.store.sections import Sections

_SATURATION, _LENGTH = 1.2, 0.6  # BM25 over sections
_CANDIDATES = 30  # symbols that become candidates
_SECTIONS = 20  # matching sections that count
_CONSIDERED = 3 * _SECTIONS  # matching sections considered: sections without symbols do not count


def symbol_shares(sections: Sections, query: Mapping[str, float]) -> dict[int, float]:
    """Return the symbols mentioned by the best matching sections, relative to the most mentioned one.

    A section contributes the square of its score, divided by the square root of the number of its symbols.
    """
    scores = section_scores(sections, query)
    shares: dict[int, float] = {}
    counted = 0
    for section in highest(scores, _CONSIDERED).tolist():
        if counted == _SECTIONS:
            break
        symbols = sections.symbols(section)
        counted += bool(symbols)
        contribution = float(scores[section]) ** 2 / max(len(symbols), 1) ** 0.5
        for number, share in symbols.items():
            shares[number] = shares.get(number, 0.0) + contribution * share
    largest = max(shares.values(), default=1.0)
    return {number: share / largest for number, share in shares.items()}


def section_scores(sections: Sections, query: Mapping[str, float]) -> Floats:
    """Return the BM25 score of every section for the query terms."""
    return bm25(sections.having, sections.lengths, query, _SATURATION, _LENGTH)


def _mentioned(query: QueryContext) -> Floats:
    return query.cached(
        "mentioned", lambda: query.items.by_item(symbol_shares(query.resources.sections, query.task.terms))
    )


CANDIDATES = Signal(
    "documents",
    Stage.CHANNEL,
    "documents",
    "matching documentation sections mention it most",
    weights={"channels.documents": ()},
    reads=PARSING,
    generate=lambda query: query.items.highest(_mentioned(query) * query.items.is_symbol, _CANDIDATES).tolist(),
)
DOCUMENTS = Signal(
    "documents",
    Stage.FACTOR,
    "documents",
    "matching documentation sections mention it",
    weights={"documents": (0.0, 0.25, 1.0, 2.0)},
    reads=PARSING,
    generate=_mentioned,
)
