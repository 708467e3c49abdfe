"""The single queries: what became of each, the failed ones first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from assay.evaluate.report.data import Metrics, Query, Summary, main_metrics, primary_metric
from assay.evaluate.report.markup import Child, Markup, element, join
from assay.evaluate.report.numbers import NOTHING, counted, decimal, exact, known, milliseconds
from assay.evaluate.report.tables import Column, filters, framed_table, table, table_row

MOST_ROWS = 1000
MOST_BYTES = 2_000_000  # of one table: the page stays under 5 MB whatever the texts are
_MOST_TEXT = 2000
_MOST_NAME = 300
_MOST_NAMES = 20
_MOST_FAILURES = 20


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
    primary = primary_metric(_metrics_of(summary.queries), summary.k)
    judged = [Judged(query, outcome(query, summary.k), f"query-{i}") for i, query in enumerate(summary.queries, 1)]

    def attention(one: Judged) -> tuple[int, float]:
        score = known(one.query.metrics.get(primary)) if primary else None
        return OUTCOMES.index(one.outcome), -1.0 if score is None else score

    return sorted(judged, key=attention)


def _metrics_of(queries: Sequence[Query]) -> Metrics:
    return {metric: None for query in queries for metric in query.metrics}


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
        element("li", badge(one), " ", exact(counts[one], f"{counts[one]:,}"), element("span", f" {one.about}"))
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
    groups = Counter(cut(one.query.error, _MOST_NAME) for one in judged if one.query.error)
    if not groups:
        return None
    columns = [
        Column[tuple[str, int]]("Error", lambda group: element("code", group[0], dir="auto")),
        Column[tuple[str, int]]("Queries", lambda group: exact(group[1], f"{group[1]:,}"), "number"),
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
        element("a", element("bdi", cut(query.text or query.id, 240), dir="auto"), href=f"#{one.anchor}"),
        element("p", element("b", "error "), element("bdi", cut(query.error, _MOST_NAME))) if query.error else None,
        element("p", element("b", "expected "), _names(query.expected, 6)) if query.expected else None,
        element("p", element("b", "retrieved "), _names(query.retrieved, 3)) if query.retrieved else None,
    )


def _names(names: Sequence[str], most: int) -> Markup:
    """Names in one line."""
    shown = [join([", " if i else "", element("code", cut(name, _MOST_NAME))]) for i, name in enumerate(names[:most])]
    return join([*shown, f" and {len(names) - most:,} more" if len(names) > most else None])


def cut(words: str, most: int) -> str:
    """Long text without its end."""
    return words if len(words) <= most else words[: most - 1].rstrip() + "…"


def query_section(judged: Sequence[Judged], summary: Summary) -> Markup | None:
    """The table of single queries, each row of which opens to what was expected and what was retrieved."""
    if not judged:
        return None
    columns = _columns(judged, summary)
    rows: list[Markup] = []
    size = 0
    for one in judged[:MOST_ROWS]:
        row = table_row(columns, one, id=one.anchor, **_filtered_by(one))
        size += len(row.encode())
        if size > MOST_BYTES:
            break
        rows.append(row)
    tiers = sorted({one.query.tier for one in judged} - {""})
    outcomes = [kind.name for kind in OUTCOMES if any(one.outcome is kind for one in judged)]
    return element(
        "section",
        element("h2", "Queries"),
        element(
            "p",
            "Errors and misses first, then the lowest scores. A row opens to what was expected and retrieved.",
            class_="lead",
        ),
        filters({"outcome": outcomes, "tier": tiers}, {"failed": "failed only"}, len(rows)),
        framed_table("Queries", columns, rows, left_out(len(rows), len(judged), summary.run_id)),
        id="queries",
        class_="sortable",
    )


def left_out(shown: int, total: int, run: str) -> str | None:
    """The note under a table that does not hold everything."""
    if shown == total:
        return None
    return f"The first {shown:,} of {total:,} are shown, in the order of attention; `assay eval show {run} --format json` has all."


def _filtered_by(one: Judged) -> dict[str, str | None]:
    return {
        "data_outcome": one.outcome.name,
        "data_tier": one.query.tier or None,
        "data_failed": "yes" if one.outcome.failed else None,
    }


def _columns(judged: Sequence[Judged], summary: Summary) -> list[Column[Judged]]:
    queries = [one.query for one in judged]
    columns = [
        Column[Judged]("Query", lambda one: _opening(one.query), "wide"),
        Column[Judged]("Outcome", lambda one: badge(one.outcome)),
    ]
    if any(query.tier for query in queries):
        columns.append(Column("Tier", lambda one: element("bdi", one.query.tier), "minor"))
    if any(query.category for query in queries):
        columns.append(Column("Category", lambda one: element("bdi", one.query.category), "minor"))
    columns.append(
        Column("First hit", lambda one: rank(one.query.first_rank), "number", "rank of the first expected item")
    )
    columns += [_metric_column(metric) for metric in main_metrics(_metrics_of(queries), summary.k)]
    if any(query.latency_ms for query in queries):
        columns.append(
            Column(
                "Latency", lambda one: exact(one.query.latency_ms, milliseconds(one.query.latency_ms)), "number minor"
            )
        )
    return columns


def _metric_column(metric: str) -> Column[Judged]:
    return Column(
        metric, lambda one: exact(one.query.metrics.get(metric), decimal(one.query.metrics.get(metric))), "number"
    )


def rank(value: int | None) -> Markup:
    """A rank, or a dash."""
    return exact(value, NOTHING if value is None else str(value))


def _opening(query: Query) -> Markup:
    """The text of a query that opens to all there is to know about it."""
    about = [part for part in (query.id, query.category, *query.tags) if part]
    return element(
        "details",
        element("summary", element("span", cut(query.text or query.id, _MOST_TEXT), dir="auto", class_="text")),
        element(
            "p", [join([" · " if i else "", element("bdi", part)]) for i, part in enumerate(about)], class_="aside"
        ),
        element("p", element("b", "error "), element("code", cut(query.error, _MOST_TEXT), dir="auto"), class_="error")
        if query.error
        else None,
        element("div", _expected(query), _retrieved(query), class_="sides"),
    )


def _expected(query: Query) -> Markup:
    title = element("h4", "Expected")
    if query.refuse:
        return element("div", title, element("p", "A refusal: nothing in the corpus answers it.", class_="aside"))
    items = [_expectation(name, query.found.get(name)) for name in query.expected[:_MOST_NAMES]]
    return element("div", title, element("ul", items, class_="names"), _more(query.expected))


def _expectation(name: str, at: int | None) -> Markup:
    where = element("span", "not found" if at is None else f"rank {at}", class_="where")
    return element("li", element("code", cut(name, _MOST_NAME)), " ", where, class_="missing" if at is None else "hit")


def _retrieved(query: Query) -> Markup:
    title = element("h4", "Retrieved")
    if not query.retrieved:
        return element("div", title, element("p", "Nothing.", class_="aside"))
    hits = set(query.found.values())
    items = [
        element("li", element("code", cut(name, _MOST_NAME)), class_="hit" if at in hits else None)
        for at, name in enumerate(query.retrieved[:_MOST_NAMES], 1)
    ]
    return element("div", title, element("ol", items, class_="names"), _more(query.retrieved))


def _more(names: Sequence[str]) -> Child:
    hidden = len(names) - _MOST_NAMES
    return element("p", f"and {counted(hidden, 'more', 'more')}", class_="aside") if hidden > 0 else None
