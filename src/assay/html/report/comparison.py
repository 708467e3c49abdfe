"""Comparison section of a report: effect sizes, significance tests and per-query changes between two runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from assay.html.elements import (
    Child,
    Column,
    Markup,
    badge,
    bounded_rows,
    decimal,
    definitions,
    element,
    exact,
    figure,
    figures,
    filters,
    finite_or_none,
    framed_table,
    join,
    number_column,
    probability,
    section,
    signed,
    table,
    warning_list,
    whole,
)
from assay.html.report.data import Comparison, Metrics, Pair, Statistic, metric_names, primary_metric, verdict
from assay.html.report.plots import Change, Effect, difference_bars, forest, slopes
from assay.text.display import clipped, counted

_KIND_ORDER = ("Regression", "Loss", "Win", "Draw")  # sort order
_SIGNIFICANT = 0.05
_MOST_EFFECTS = 16
_MOST_TEXT = 600

Link = Callable[[Pair], str | None]  # returns the URL of a query's page, or None


def comparison_section(comparison: Comparison, k: int | None, link: Link = lambda pair: None) -> Markup:
    """Render the comparison of two runs; k is the preferred cut-off."""
    primary = primary_metric(metric_names(side for pair in comparison.per_query for side in (pair.a, pair.b)), k)
    runs = ["A ", element("code", comparison.run_a), " → B ", element("code", comparison.run_b)]
    return section(
        "comparison",
        "Comparison",
        element("p", runs, class_="lead"),
        warning_list([*map(str, comparison.warnings)]),
        _verdict(comparison, primary_metric(comparison.statistics, k)),
        _counts(comparison),
        figures(*_forest(comparison), *_query_figures(comparison, primary)),
        _statistics(comparison),
        _pairs(comparison, primary, link),
    )


def _verdict(comparison: Comparison, metric: str | None) -> Markup | None:
    """Describe the difference of the main metric in a sentence."""
    if metric is None:
        return None
    statistic = comparison.statistics[metric]
    delta, p = finite_or_none(statistic.delta), _p_value(statistic)
    if delta is None:
        return None
    moved = f"rose by {decimal(delta)}" if delta > 0 else f"fell by {decimal(-delta)}" if delta < 0 else "did not move"
    return element(
        "p",
        element("strong", f"{metric} {moved}"),
        f" over {counted(statistic.n, 'query', 'queries')}" if statistic.n else None,
        f" (95\u00a0% interval {signed(statistic.low)} to {signed(statistic.high)})"
        if finite_or_none(statistic.low) is not None
        else None,
        f": {_significance(p, statistic)}" if p is not None and delta else ".",
        class_="verdict",
    )


def _significance(p: float, statistic: Statistic) -> str:
    p_text = f"p {probability(p)}{' after Holm' if finite_or_none(statistic.p_holm) is not None else ''}"
    if p < _SIGNIFICANT:
        return f"statistically significant ({p_text})."
    detectable = finite_or_none(statistic.detectable)
    limit = f"; the smallest detectable change is {decimal(detectable)}" if detectable is not None else ""
    return f"not statistically significant ({p_text}){limit}."


def _p_value(statistic: Statistic) -> float | None:
    """Return the Holm-corrected p value, else the uncorrected one."""
    corrected = finite_or_none(statistic.p_holm)
    return corrected if corrected is not None else finite_or_none(statistic.p)


def _counts(comparison: Comparison) -> Markup | None:
    """List wins, losses and draws, and text facts of the pair such as the chunker versions."""
    counts: dict[str, Child] = {
        kind: exact(value, whole(value)) for kind, value in comparison.counts.items() if isinstance(value, int)
    }
    facts: dict[str, Child] = {
        name.replace("_", " "): value for name, value in comparison.deltas.items() if isinstance(value, str)
    }
    return definitions({**counts, **facts}) if counts or facts else None


def _forest(comparison: Comparison) -> Iterator[Markup]:
    effects = [
        Effect(metric, delta, low, high, "even" if low <= 0 <= high else verdict(low, metric))
        for metric, statistic in comparison.statistics.items()
        if (delta := finite_or_none(statistic.delta)) is not None
        and (low := finite_or_none(statistic.low)) is not None
        and (high := finite_or_none(statistic.high)) is not None
        and max(abs(delta), abs(low), abs(high)) <= 1  # metrics in other units would squeeze the scale
    ]
    if effects:
        sentence = "B − A with its 95 % interval; coloured where the interval excludes zero."
        if len(effects) > _MOST_EFFECTS:
            sentence += f" The first {_MOST_EFFECTS} of {len(effects)}; the table has all."
        plot = forest(effects[:_MOST_EFFECTS], "Difference of each metric with its 95 % interval", "difference B − A")
        yield figure("Metrics", sentence, plot)


def _query_figures(comparison: Comparison, primary: str | None) -> Iterator[Markup]:
    changes = [
        Change(pair.query_id or pair.text, before, after)
        for pair in comparison.per_query
        if primary
        and (before := finite_or_none(pair.a.get(primary))) is not None
        and (after := finite_or_none(pair.b.get(primary))) is not None
    ]
    if primary and changes:
        up, down = sum(change.delta > 0 for change in changes), sum(change.delta < 0 for change in changes)
        sentence = (
            f"{up:,} up, {down:,} down, {len(changes) - up - down:,} unchanged; line width is the number of queries."
        )
        yield figure(
            "Queries", sentence, slopes(changes, f"{primary} of each query in A and in B", ("A", "B"), primary)
        )
        sentence = f"The difference in {primary} of each query that changed."
        yield figure(
            "Gains and losses", sentence, difference_bars(changes, f"Differences in {primary}", f"{primary}, B − A")
        )


def _statistics(comparison: Comparison) -> Markup | None:
    """Table of metrics with both means, the difference and the test results."""
    a, b, tests = comparison.aggregate_a, comparison.aggregate_b, comparison.statistics
    numeric: Metrics = {name: value for name, value in comparison.deltas.items() if not isinstance(value, str)}
    metrics = list(dict.fromkeys((*a, *b, *numeric, *tests)))
    if not metrics:
        return None

    def delta(metric: str) -> float | None:
        return numeric[metric] if metric in numeric else tests.get(metric, Statistic()).delta

    columns = [
        Column[str]("Metric", lambda metric: metric),
        number_column("A", lambda metric: a.get(metric)),
        number_column("B", lambda metric: b.get(metric)),
        Column[str]("B − A", lambda metric: _difference(metric, delta(metric)), "number"),
    ]
    if tests:
        columns += [
            *(_test_column(title, field, about, tests) for title, field, about in _TESTS),
            Column("Won / lost / tied", lambda metric: _balance(tests.get(metric, Statistic())), "number"),
        ]
    return table("Metrics and tests", columns, metrics)


_TESTS = (
    ("95 % low", "low", "lower end of the interval of the difference"),
    ("95 % high", "high", "upper end of the interval of the difference"),
    ("p", "p", "paired randomisation test"),
    ("p Holm", "p_holm", "Holm-corrected for the number of metrics"),
    ("p Wilcoxon", "p_wilcoxon", "signed-rank test"),
    ("p t", "p_t", "paired t test"),
    ("Effect", "effect", "Cohen’s d of the paired differences"),
    ("Detects", "detectable", "smallest detectable change at 80 % power"),
)


def _test_column(title: str, field: str, about: str, tests: dict[str, Statistic]) -> Column[str]:
    formatter = probability if field.startswith("p") else decimal if field == "detectable" else signed
    return number_column(title, lambda metric: getattr(tests.get(metric, Statistic()), field), about, formatter)


def _difference(metric: str, value: float | None) -> Markup:
    return element("span", exact(value, signed(value)), class_=verdict(finite_or_none(value) or 0.0, metric))


def _balance(statistic: Statistic) -> Markup | None:
    if statistic.wins is None or statistic.losses is None or statistic.ties is None:
        return None
    return join([exact(statistic.wins, str(statistic.wins)), f" / {statistic.losses} / {statistic.ties}"])


def _pairs(comparison: Comparison, primary: str | None, link: Link) -> Markup | None:
    """Table of queries: regressions and losses first, then by size of the difference."""
    if not comparison.per_query:
        return None
    columns = _pair_columns(comparison.per_query, primary, link)
    pairs = sorted(comparison.per_query, key=lambda pair: (_kind_order(pair.kind), -abs(_delta(pair, primary) or 0.0)))
    rows, note = bounded_rows(columns, pairs, lambda pair: {"data_kind": pair.kind})
    kinds = sorted({pair.kind for pair in pairs} - {""}, key=_kind_order)
    return element(
        "div",
        element("h3", "Wins, losses and regressions"),
        filters({"kind": kinds}, {}, len(rows)),
        framed_table("Queries of both runs", columns, rows, note),
        class_="sortable bounded",
    )


def _kind_order(kind: str) -> int:
    return _KIND_ORDER.index(kind) if kind in _KIND_ORDER else len(_KIND_ORDER)


def _delta(pair: Pair, primary: str | None) -> float | None:
    before, after = (finite_or_none(side.get(primary)) if primary else None for side in (pair.a, pair.b))
    return None if before is None or after is None else round(after - before, 9)


def _query_link(pair: Pair, link: Link) -> Markup:
    words = clipped(pair.text or pair.query_id, _MOST_TEXT)
    address = link(pair)
    return element("a" if address else "span", words, href=address, dir="auto", class_="text")


def _pair_columns(pairs: Sequence[Pair], primary: str | None, link: Link) -> list[Column[Pair]]:
    columns = [
        Column[Pair]("Query", lambda pair: _query_link(pair, link), "wide"),
        Column[Pair]("Kind", lambda pair: badge(pair.kind, f"kind-{pair.kind.lower()}")),
        number_column("Rank A", lambda pair: pair.a_hit_rank, "rank of the first hit in A", whole),
        number_column("Rank B", lambda pair: pair.b_hit_rank, "rank of the first hit in B", whole),
    ]
    if primary:
        columns.append(Column(f"{primary}, B − A", lambda pair: _difference(primary, _delta(pair, primary)), "number"))
    if any(pair.note for pair in pairs):
        columns.append(
            Column("Note", lambda pair: element("span", clipped(pair.note, _MOST_TEXT), dir="auto"), "minor")
        )
    return columns
