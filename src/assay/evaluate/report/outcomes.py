"""What became of each query, and which deserve attention first."""

from __future__ import annotations

from dataclasses import dataclass

from assay.evaluate.report.data import Query, Summary, measured, primary_metric
from assay.evaluate.report.wording import known


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a query. The order of OUTCOMES is the order of attention."""

    name: str
    about: str
    failed: bool


_ERROR = Outcome("error", "the system gave no answer", True)
_ANSWERED = Outcome("not refused", "nothing answers it, but the system did", True)
_MISSED = Outcome("missed", "nothing that was expected was retrieved", True)
_PARTLY = Outcome("partly", "some of the expected was retrieved", False)
_FOUND = Outcome("found", "all of the expected was retrieved", False)
_REFUSED = Outcome("refused", "nothing answers it, and the system said so", False)
OUTCOMES = (_ERROR, _ANSWERED, _MISSED, _PARTLY, _FOUND, _REFUSED)


def outcome(query: Query, k: int | None) -> Outcome:
    """What became of a query within the first k results."""
    if query.error:
        return _ERROR
    if query.refuse:
        return _REFUSED if query.refused else _ANSWERED
    hits = sum(rank is not None and (k is None or rank <= k) for rank in query.found.values())
    if not hits:
        return _MISSED
    return _FOUND if hits >= len(query.expected) else _PARTLY


@dataclass(frozen=True, slots=True)
class Judged:
    """A query with its outcome and its place on the page."""

    query: Query
    outcome: Outcome
    anchor: str


def judged_queries(summary: Summary) -> list[Judged]:
    """All queries in the order of attention: errors, misses, then the lowest score first."""
    primary = primary_metric(measured(query.metrics for query in summary.queries), summary.k)
    judged = [Judged(query, outcome(query, summary.k), f"query-{i}") for i, query in enumerate(summary.queries, 1)]

    def attention(one: Judged) -> tuple[int, float]:
        score = known(one.query.metrics.get(primary)) if primary else None
        return OUTCOMES.index(one.outcome), -1.0 if score is None else score

    return sorted(judged, key=attention)
