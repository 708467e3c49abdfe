"""Query table of a report: outcome of each query, failures first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from assay.html.elements import (
    Child,
    Column,
    Markup,
    badge,
    bounded_rows,
    element,
    exact,
    filters,
    finite_or_none,
    framed_table,
    join,
    milliseconds,
    number_column,
    section,
    table,
    whole,
)
from assay.html.report.data import Query, Summary, main_metrics, metric_names, primary_metric
from assay.text.display import clipped, counted


@dataclass(frozen=True, slots=True)
class Outcome:
    """Outcome of a query. OUTCOMES lists them with failures first."""

    name: str
    about: str
    failed: bool

    @property
    def class_(self) -> str:
        return "outcome-" + self.name.replace(" ", "-")


_ERROR = Outcome("error", "the system failed on the query", True)
_ANSWERED = Outcome("not refused", "unanswerable, but the system returned results", True)
_MISSED = Outcome("missed", "no expected item was retrieved", True)
_PARTLY = Outcome("partly", "some expected items were retrieved", False)
_FOUND = Outcome("found", "all expected items were retrieved", False)
_REFUSED = Outcome("refused", "unanswerable, and the system refused", False)
OUTCOMES = (_ERROR, _ANSWERED, _MISSED, _PARTLY, _FOUND, _REFUSED)


def outcome(query: Query, k: int | None) -> Outcome:
    """Classify a query by its hits among the first k results."""
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
    """A query with its outcome and its anchor on the page."""

    query: Query
    outcome: Outcome
    anchor: str


def judged_queries(summary: Summary) -> list[Judged]:
    """Return all queries with errors and misses first, then by ascending score."""
    primary = primary_metric(metric_names(query.metrics for query in summary.queries), summary.k)
    judged = [Judged(query, outcome(query, summary.k), f"query-{i}") for i, query in enumerate(summary.queries, 1)]

    def sort_key(entry: Judged) -> tuple[int, float]:
        score = finite_or_none(entry.query.metrics.get(primary)) if primary else None
        return OUTCOMES.index(entry.outcome), -1.0 if score is None else score

    return sorted(judged, key=sort_key)


# Per-query results

_MOST_TEXT = 2000
_MOST_NAME = 300
_MOST_NAMES = 20
_MOST_FAILURES = 12


def failure_section(judged: Sequence[Judged]) -> Markup | None:
    """Counts per outcome, errors grouped by message, and the failed queries with their expected items."""
    if not judged:
        return None
    failed = [entry for entry in judged if entry.outcome.failed]
    more = f"{len(failed) - _MOST_FAILURES:,} more are in the table of queries: choose “failed only”."
    return section(
        "failures",
        "Outcomes and failures",
        _outcome_bar(judged),
        _errors(judged),
        element("ol", [_failure(entry) for entry in failed[:_MOST_FAILURES]], class_="failures") if failed else None,
        element("p", more, class_="note") if len(failed) > _MOST_FAILURES else None,
        element("p", "No query failed.", class_="note") if not failed else None,
    )


def _outcome_bar(judged: Sequence[Judged]) -> Markup:
    counts = Counter(entry.outcome for entry in judged)
    present = {kind: counts[kind] for kind in OUTCOMES if counts[kind]}
    parts = [
        element("span", class_=f"part {kind.class_}", style=f"flex-grow:{count}", title=f"{kind.name}: {count:,}")
        for kind, count in present.items()
    ]
    legend = [
        element("li", badge(kind.name, kind.class_), " ", exact(count, whole(count)), element("span", f" {kind.about}"))
        for kind, count in present.items()
    ]
    return join([element("div", parts, class_="stack", aria_hidden="true"), element("ul", legend, class_="legend")])


def _errors(judged: Sequence[Judged]) -> Markup | None:
    """Table of error messages with their number of queries."""
    counts = Counter(clipped(entry.query.error, _MOST_NAME) for entry in judged if entry.query.error)
    if not counts:
        return None
    columns = [
        Column[tuple[str, int]]("Error", lambda row: element("code", row[0], dir="auto")),
        number_column("Queries", lambda row: row[1], "", whole),
    ]
    most_frequent = counts.most_common(_MOST_FAILURES)
    note = f"The {_MOST_FAILURES} most frequent of {len(counts):,}." if len(counts) > _MOST_FAILURES else None
    return table("Errors of the system", columns, most_frequent, note)


def _outcome_badge(entry: Judged) -> Markup:
    return badge(entry.outcome.name, entry.outcome.class_)


def _failure(entry: Judged) -> Markup:
    query = entry.query
    return element(
        "li",
        _outcome_badge(entry),
        " ",
        element("a", element("bdi", clipped(query.text or query.id, 240), dir="auto"), href=f"#{entry.anchor}"),
        element("p", element("b", "error "), element("bdi", clipped(query.error, _MOST_NAME))) if query.error else None,
        element("p", element("b", "expected "), _names(query.expected, 6)) if query.expected else None,
        element("p", element("b", "retrieved "), _names(query.retrieved, 3)) if query.retrieved else None,
    )


def _names(names: Sequence[str], most: int) -> Markup:
    """Join names in one line, at most `most` of them."""
    shown = [
        join([", " if i else "", element("code", clipped(name, _MOST_NAME))]) for i, name in enumerate(names[:most])
    ]
    return join([*shown, f" and {len(names) - most:,} more" if len(names) > most else None])


def query_section(judged: Sequence[Judged], summary: Summary) -> Markup | None:
    """Table of queries; each row opens to its expected and retrieved items."""
    if not judged:
        return None
    columns = _columns(judged, summary)
    rows, note = bounded_rows(columns, judged, _attributes)
    choices = {
        "outcome": [kind.name for kind in OUTCOMES if any(entry.outcome is kind for entry in judged)],
        "tier": sorted({entry.query.tier for entry in judged if entry.query.tier}),
        "category": sorted({entry.query.category for entry in judged if entry.query.category}),
    }
    lead = "Errors and misses first, then the lowest scores. Open a row for its expected and retrieved items."
    return section(
        "queries",
        "Queries",
        element("p", lead, class_="lead"),
        filters(choices, {"failed": "failed only"}, len(rows)),
        framed_table("Queries", columns, rows, note),
        class_="sortable",
    )


def _attributes(entry: Judged) -> dict[str, str | None]:
    """Return the row attributes that links and filters use."""
    return {
        "id": entry.anchor,
        "data_outcome": entry.outcome.name,
        "data_tier": entry.query.tier or None,
        "data_category": entry.query.category or None,
        "data_failed": "yes" if entry.outcome.failed else None,
    }


def _columns(judged: Sequence[Judged], summary: Summary) -> list[Column[Judged]]:
    """Return the columns that have values. Only the primary metric is shown on a phone."""
    queries = [entry.query for entry in judged]
    metrics = metric_names(query.metrics for query in queries)
    primary = primary_metric(metrics, summary.k)
    columns = [
        Column[Judged]("Query", lambda entry: _details(entry.query), "wide"),
        Column[Judged]("Outcome", lambda entry: _outcome_badge(entry)),
        number_column("First hit", lambda entry: entry.query.first_rank, "rank of the first expected item", whole),
    ]
    if any(query.tier for query in queries):
        columns.insert(2, Column("Tier", lambda entry: element("bdi", entry.query.tier), "minor"))
    columns += [_metric_column(metric, metric != primary) for metric in main_metrics(metrics, summary.k)]
    if any(query.latency_ms for query in queries):
        columns.append(number_column("Latency", lambda entry: entry.query.latency_ms, "", milliseconds, minor=True))
    return columns


def _metric_column(metric: str, minor: bool) -> Column[Judged]:
    return number_column(metric, lambda entry: entry.query.metrics.get(metric), minor=minor)


def _details(query: Query) -> Markup:
    """Render a query's text, opening to its id, tags, error and results."""
    facts = [part for part in (query.id, query.category, *query.tags) if part]
    error = element("p", element("b", "error "), element("code", clipped(query.error, _MOST_TEXT)), class_="error")
    more = [
        element(
            "p", [join([" · " if i else "", element("bdi", part)]) for i, part in enumerate(facts)], class_="aside"
        ),
        error if query.error else None,
        sides(query),
    ]
    text = element("span", clipped(query.text or query.id, _MOST_TEXT), dir="auto", class_="text")
    return element("details", element("summary", text), element("div", element("div", *more), class_="more"))


def sides(query: Query) -> Markup:
    """Render a query's expected and retrieved items side by side."""
    return element("div", _expected(query), _retrieved(query), class_="sides")


def _expected(query: Query) -> Markup:
    title = element("h4", "Expected")
    if query.refuse:
        return element("div", title, element("p", "A refusal: the corpus has no answer.", class_="aside"))
    items = [_expectation(name, query.found.get(name)) for name in query.expected[:_MOST_NAMES]]
    return element("div", title, element("ul", items, class_="names"), _truncation_note(query.expected))


def _expectation(name: str, rank: int | None) -> Markup:
    position = element("span", "not found" if rank is None else f"rank {rank}", class_="where")
    return element(
        "li", element("code", clipped(name, _MOST_NAME)), " ", position, class_="missing" if rank is None else "hit"
    )


def _retrieved(query: Query) -> Markup:
    title = element("h4", "Retrieved")
    if not query.retrieved:
        return element("div", title, element("p", "No results.", class_="aside"))
    hit_ranks = set(query.found.values())
    items = [
        element("li", element("code", clipped(name, _MOST_NAME)), class_="hit" if rank in hit_ranks else None)
        for rank, name in enumerate(query.retrieved[:_MOST_NAMES], 1)
    ]
    return element("div", title, element("ol", items, class_="names"), _truncation_note(query.retrieved))


def _truncation_note(names: Sequence[str]) -> Child:
    hidden = len(names) - _MOST_NAMES
    return element("p", f"and {counted(hidden, 'more', 'more')}", class_="aside") if hidden > 0 else None
