"""The query table of a report: outcome of each query, failures first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from assay.evaluate.report.data import Query, Summary, main_metrics, measured, primary_metric
from assay.html.elements import (
    Child,
    Column,
    Markup,
    bounded_rows,
    element,
    exact,
    filters,
    framed_table,
    join,
    known,
    milliseconds,
    number_column,
    shortened,
    table,
    whole,
)
from assay.text.display import counted


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


# The single queries: what became of each, the failed ones first.

_MOST_TEXT = 2000
_MOST_NAME = 300
_MOST_NAMES = 20
_MOST_FAILURES = 12


def failure_section(judged: Sequence[Judged]) -> Markup | None:
    """How the queries ended, the errors by message, and the failed queries with what was expected of them."""
    if not judged:
        return None
    failed = [one for one in judged if one.outcome.failed]
    more = f"{len(failed) - _MOST_FAILURES:,} more are in the table of queries: choose “failed only”."
    return element(
        "section",
        element("h2", "Outcomes and failures"),
        _outcome_bar(judged),
        _errors(judged),
        element("ol", [_failure(one) for one in failed[:_MOST_FAILURES]], class_="failures") if failed else None,
        element("p", more, class_="note") if len(failed) > _MOST_FAILURES else None,
        element("p", "No query failed.", class_="note") if not failed else None,
        id="failures",
    )


def _outcome_bar(judged: Sequence[Judged]) -> Markup:
    counts = Counter(one.outcome for one in judged)
    present = [one for one in OUTCOMES if counts[one]]
    parts = [
        element(
            "span", class_=f"part {_class(one)}", style=f"flex-grow:{counts[one]}", title=f"{one.name}: {counts[one]:,}"
        )
        for one in present
    ]
    legend = [
        element("li", badge(one), " ", exact(counts[one], whole(counts[one])), element("span", f" {one.about}"))
        for one in present
    ]
    return join([element("div", parts, class_="stack", aria_hidden="true"), element("ul", legend, class_="legend")])


def badge(one: Outcome) -> Markup:
    """An outcome as a coloured word."""
    return element("span", one.name, class_=f"badge {_class(one)}")


def _class(one: Outcome) -> str:
    return "outcome-" + one.name.replace(" ", "-")


def _errors(judged: Sequence[Judged]) -> Markup | None:
    """Errors that say the same are one row."""
    groups = Counter(shortened(one.query.error, _MOST_NAME) for one in judged if one.query.error)
    if not groups:
        return None
    columns = [
        Column[tuple[str, int]]("Error", lambda group: element("code", group[0], dir="auto")),
        number_column("Queries", lambda group: group[1], "", whole),
    ]
    kinds = groups.most_common(_MOST_FAILURES)
    note = f"The {_MOST_FAILURES} most frequent of {len(groups):,}." if len(groups) > _MOST_FAILURES else None
    return table("Errors of the system", columns, kinds, note)


def _failure(one: Judged) -> Markup:
    query = one.query
    return element(
        "li",
        badge(one.outcome),
        " ",
        element("a", element("bdi", shortened(query.text or query.id, 240), dir="auto"), href=f"#{one.anchor}"),
        element("p", element("b", "error "), element("bdi", shortened(query.error, _MOST_NAME)))
        if query.error
        else None,
        element("p", element("b", "expected "), _names(query.expected, 6)) if query.expected else None,
        element("p", element("b", "retrieved "), _names(query.retrieved, 3)) if query.retrieved else None,
    )


def _names(names: Sequence[str], most: int) -> Markup:
    """Names in one line."""
    shown = [
        join([", " if i else "", element("code", shortened(name, _MOST_NAME))]) for i, name in enumerate(names[:most])
    ]
    return join([*shown, f" and {len(names) - most:,} more" if len(names) > most else None])


def query_section(judged: Sequence[Judged], summary: Summary) -> Markup | None:
    """The table of single queries, each row of which opens to what was expected and what was retrieved."""
    if not judged:
        return None
    columns = _columns(judged, summary)
    rows, note = bounded_rows(columns, judged, _attributes)
    choices = {
        "outcome": [kind.name for kind in OUTCOMES if any(one.outcome is kind for one in judged)],
        "tier": sorted({one.query.tier for one in judged if one.query.tier}),
        "category": sorted({one.query.category for one in judged if one.query.category}),
    }
    return element(
        "section",
        element("h2", "Queries"),
        element(
            "p",
            "Errors and misses first, then the lowest scores. A row opens to what was expected and retrieved.",
            class_="lead",
        ),
        filters(choices, {"failed": "failed only"}, len(rows)),
        framed_table("Queries", columns, rows, note),
        id="queries",
        class_="sortable",
    )


def _attributes(one: Judged) -> dict[str, str | None]:
    """What links and filters find a row by."""
    return {
        "id": one.anchor,
        "data_outcome": one.outcome.name,
        "data_tier": one.query.tier or None,
        "data_category": one.query.category or None,
        "data_failed": "yes" if one.outcome.failed else None,
    }


def _columns(judged: Sequence[Judged], summary: Summary) -> list[Column[Judged]]:
    """The columns for which there is something to show. On a phone only the primary metric is left of the metrics."""
    queries = [one.query for one in judged]
    metrics = measured(query.metrics for query in queries)
    primary = primary_metric(metrics, summary.k)
    columns = [
        Column[Judged]("Query", lambda one: _opening(one.query), "wide"),
        Column[Judged]("Outcome", lambda one: badge(one.outcome)),
        number_column("First hit", lambda one: one.query.first_rank, "rank of the first expected item", whole),
    ]
    if any(query.tier for query in queries):
        columns.insert(2, Column("Tier", lambda one: element("bdi", one.query.tier), "minor"))
    columns += [_metric_column(metric, metric != primary) for metric in main_metrics(metrics, summary.k)]
    if any(query.latency_ms for query in queries):
        columns.append(number_column("Latency", lambda one: one.query.latency_ms, "", milliseconds, minor=True))
    return columns


def _metric_column(metric: str, minor: bool) -> Column[Judged]:
    return number_column(metric, lambda one: one.query.metrics.get(metric), minor=minor)


def _opening(query: Query) -> Markup:
    """The text of a query that opens to all there is to know about it."""
    about = [part for part in (query.id, query.category, *query.tags) if part]
    error = element("p", element("b", "error "), element("code", shortened(query.error, _MOST_TEXT)), class_="error")
    more = [
        element(
            "p", [join([" · " if i else "", element("bdi", part)]) for i, part in enumerate(about)], class_="aside"
        ),
        error if query.error else None,
        sides(query),
    ]
    words = element("span", shortened(query.text or query.id, _MOST_TEXT), dir="auto", class_="text")
    return element("details", element("summary", words), element("div", element("div", *more), class_="more"))


def sides(query: Query) -> Markup:
    """What was expected of a query beside what was retrieved for it."""
    return element("div", _expected(query), _retrieved(query), class_="sides")


def _expected(query: Query) -> Markup:
    title = element("h4", "Expected")
    if query.refuse:
        return element("div", title, element("p", "A refusal: nothing in the corpus answers it.", class_="aside"))
    items = [_expectation(name, query.found.get(name)) for name in query.expected[:_MOST_NAMES]]
    return element("div", title, element("ul", items, class_="names"), _more(query.expected))


def _expectation(name: str, at: int | None) -> Markup:
    where = element("span", "not found" if at is None else f"rank {at}", class_="where")
    return element(
        "li", element("code", shortened(name, _MOST_NAME)), " ", where, class_="missing" if at is None else "hit"
    )


def _retrieved(query: Query) -> Markup:
    title = element("h4", "Retrieved")
    if not query.retrieved:
        return element("div", title, element("p", "Nothing.", class_="aside"))
    hits = set(query.found.values())
    items = [
        element("li", element("code", shortened(name, _MOST_NAME)), class_="hit" if at in hits else None)
        for at, name in enumerate(query.retrieved[:_MOST_NAMES], 1)
    ]
    return element("div", title, element("ol", items, class_="names"), _more(query.retrieved))


def _more(names: Sequence[str]) -> Child:
    hidden = len(names) - _MOST_NAMES
    return element("p", f"and {counted(hidden, 'more', 'more')}", class_="aside") if hidden > 0 else None
