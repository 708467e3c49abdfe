"""Two runs side by side: what changed, by how much, and whether it means anything."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from assay.evaluate.report.data import Comparison, Metrics, Pair, Statistic, lower_is_better, measured, primary_metric
from assay.evaluate.report.overview import definitions, figure, warning_list
from assay.evaluate.report.plots import Change, Effect, difference_bars, forest, slopes, verdict
from assay.html.elements import (
    Child,
    Column,
    Markup,
    bounded_rows,
    decimal,
    element,
    exact,
    filters,
    framed_table,
    join,
    known,
    number_column,
    probability,
    shortened,
    signed,
    table,
    whole,
)
from assay.text.display import counted

_KINDS = ("Regression", "Loss", "Win", "Draw")  # in the order of attention
_SIGNIFICANT = 0.05
_MOST_EFFECTS = 16
_MOST_TEXT = 600

Link = Callable[[Pair], str | None]  # the address of a query's page, where there is one


def comparison_section(comparison: Comparison, k: int | None, link: Link = lambda pair: None) -> Markup:
    """Everything there is to say about the difference of two runs; k says which cut-off matters most."""
    primary = primary_metric(measured(side for pair in comparison.per_query for side in (pair.a, pair.b)), k)
    return element(
        "section",
        element("h2", "Comparison"),
        element(
            "p", "A ", element("code", comparison.run_a), " → B ", element("code", comparison.run_b), class_="lead"
        ),
        warning_list(comparison.warnings),
        _verdict(comparison, primary_metric(comparison.statistics, k)),
        _kinds(comparison),
        element("div", [*_forest(comparison), *_query_figures(comparison, primary)], class_="figures"),
        _statistics(comparison),
        _pairs(comparison, primary, link),
        id="comparison",
    )


def _verdict(comparison: Comparison, metric: str | None) -> Markup | None:
    """The main difference in one sentence."""
    if metric is None:
        return None
    one = comparison.statistics[metric]
    delta, p = known(one.delta), _p(one)
    if delta is None:
        return None
    moved = f"rose by {decimal(delta)}" if delta > 0 else f"fell by {decimal(-delta)}" if delta < 0 else "did not move"
    return element(
        "p",
        element("strong", f"{metric} {moved}"),
        f" over {counted(one.n, 'query', 'queries')}" if one.n else None,
        f" (95\u00a0% interval {signed(one.low)} to {signed(one.high)})" if known(one.low) is not None else None,
        f": {_meaning(p, one)}" if p is not None and delta else ".",
        class_="verdict",
    )


def _meaning(p: float, one: Statistic) -> str:
    said = f"p {probability(p)}{' after Holm' if known(one.p_holm) is not None else ''}"
    if p < _SIGNIFICANT:
        return f"more than chance alone would give ({said})."
    smallest = known(one.detectable)
    limit = f"; these queries can show a change of {decimal(smallest)} or more" if smallest is not None else ""
    return f"chance cannot be ruled out ({said}){limit}."


def _p(one: Statistic) -> float | None:
    """The p value to believe: corrected for the number of metrics, where that was done."""
    corrected = known(one.p_holm)
    return corrected if corrected is not None else known(one.p)


def _kinds(comparison: Comparison) -> Markup | None:
    """How many queries won, lost, drew, and what else is known of the pair, such as the chunker versions."""
    counts: dict[str, Child] = {
        kind: exact(value, whole(value)) for kind, value in comparison.counts.items() if isinstance(value, int)
    }
    words: dict[str, Child] = {
        name.replace("_", " "): value for name, value in comparison.deltas.items() if isinstance(value, str)
    }
    return definitions({**counts, **words}) if counts or words else None


def _forest(comparison: Comparison) -> Iterator[Markup]:
    effects = [
        Effect(metric, delta, low, high, _direction(metric, low, high))
        for metric, one in comparison.statistics.items()
        if (delta := known(one.delta)) is not None
        and (low := known(one.low)) is not None
        and (high := known(one.high)) is not None
        and max(abs(delta), abs(low), abs(high)) <= 1  # what is counted in other units would squeeze the rest
    ]
    if effects:
        sentence = "B − A with its 95 % interval; coloured where the interval leaves out zero."
        if len(effects) > _MOST_EFFECTS:
            sentence += f" The first {_MOST_EFFECTS} of {len(effects)}; the table has all."
        plot = forest(effects[:_MOST_EFFECTS], "Difference of each metric with its 95 % interval", "difference B − A")
        yield figure("Metrics", sentence, plot)


def _direction(metric: str, low: float, high: float) -> str:
    if low <= 0 <= high:
        return "even"
    return verdict(-low if lower_is_better(metric) else low)


def _query_figures(comparison: Comparison, primary: str | None) -> Iterator[Markup]:
    changes = [
        Change(pair.query_id or pair.text, before, after)
        for pair in comparison.per_query
        if primary
        and (before := known(pair.a.get(primary))) is not None
        and (after := known(pair.b.get(primary))) is not None
    ]
    if primary and changes:
        up, down = sum(one.delta > 0 for one in changes), sum(one.delta < 0 for one in changes)
        sentence = f"{up:,} up, {down:,} down, {len(changes) - up - down:,} unchanged; thicker lines are more queries."
        yield figure(
            "Queries", sentence, slopes(changes, f"{primary} of each query in A and in B", ("A", "B"), primary)
        )
        sentence = f"The difference in {primary} of each query that changed."
        yield figure(
            "Gains and losses", sentence, difference_bars(changes, f"Differences in {primary}", f"{primary}, B − A")
        )


def _statistics(comparison: Comparison) -> Markup | None:
    """Every metric with both means, the difference and what the tests say of it."""
    a, b, tests = comparison.aggregate_a, comparison.aggregate_b, comparison.statistics
    numeric: Metrics = {name: value for name, value in comparison.deltas.items() if not isinstance(value, str)}
    metrics = list(dict.fromkeys((*a, *b, *numeric, *tests)))
    if not metrics:
        return None

    def delta(metric: str) -> float | None:
        return numeric[metric] if metric in numeric else tests.get(metric, Statistic()).delta

    columns = [
        Column[str]("Metric", lambda m: m),
        number_column("A", lambda m: a.get(m)),
        number_column("B", lambda m: b.get(m)),
        Column[str]("B − A", lambda m: _difference(delta(m), m), "number"),
    ]
    if tests:
        columns += [
            *(_test(title, field, about, tests) for title, field, about in _TESTS),
            Column("Won / lost / tied", lambda m: _balance(tests.get(m, Statistic())), "number"),
        ]
    return table("Metrics and tests", columns, metrics)


_TESTS = (
    ("95 % low", "low", "lower end of the interval of the difference"),
    ("95 % high", "high", "upper end of the interval of the difference"),
    ("p", "p", "paired randomisation test"),
    ("p Holm", "p_holm", "the same, corrected for the number of metrics"),
    ("p Wilcoxon", "p_wilcoxon", "signed-rank test"),
    ("p t", "p_t", "paired t test"),
    ("Effect", "effect", "Cohen’s d of the paired differences"),
    ("Detects", "detectable", "the smallest change these queries can show, at 80 % power"),
)


def _test(title: str, field: str, about: str, tests: dict[str, Statistic]) -> Column[str]:
    written = probability if field.startswith("p") else decimal if field == "detectable" else signed
    return number_column(title, lambda metric: getattr(tests.get(metric, Statistic()), field), about, written)


def _difference(value: float | None, metric: str) -> Markup:
    number = known(value) or 0.0
    return element("span", exact(value, signed(value)), class_=verdict(-number if lower_is_better(metric) else number))


def _balance(one: Statistic) -> Markup | None:
    if one.wins is None or one.losses is None or one.ties is None:
        return None
    return join([exact(one.wins, str(one.wins)), f" / {one.losses} / {one.ties}"])


def _pairs(comparison: Comparison, primary: str | None, link: Link) -> Markup | None:
    """The table of queries: regressions and losses first, then by the size of the difference."""
    if not comparison.per_query:
        return None
    columns = _pair_columns(comparison.per_query, primary, link)
    pairs = sorted(comparison.per_query, key=lambda pair: (_attention(pair.kind), _sorted_delta(pair, primary)))
    rows, note = bounded_rows(columns, pairs, lambda pair: {"data_kind": pair.kind})
    kinds = sorted({pair.kind for pair in pairs} - {""}, key=_attention)
    return element(
        "div",
        element("h3", "Wins, losses and regressions"),
        filters({"kind": kinds}, {}, len(rows)),
        framed_table("Queries of both runs", columns, rows, note),
        class_="sortable bounded",
    )


def _attention(kind: str) -> int:
    return _KINDS.index(kind) if kind in _KINDS else len(_KINDS)


def _delta(pair: Pair, primary: str | None) -> float | None:
    before, after = (known(side.get(primary)) if primary else None for side in (pair.a, pair.b))
    return None if before is None or after is None else round(after - before, 9)


def _sorted_delta(pair: Pair, primary: str | None) -> float:
    return -abs(_delta(pair, primary) or 0.0)


def _linked(pair: Pair, link: Link) -> Markup:
    words = shortened(pair.text or pair.query_id, _MOST_TEXT)
    address = link(pair)
    return element("a" if address else "span", words, href=address, dir="auto", class_="text")


def _pair_columns(pairs: Sequence[Pair], primary: str | None, link: Link) -> list[Column[Pair]]:
    columns = [
        Column[Pair]("Query", lambda pair: _linked(pair, link), "wide"),
        Column[Pair]("Kind", lambda pair: element("span", pair.kind, class_=f"badge kind-{pair.kind.lower()}")),
        number_column("Rank A", lambda pair: pair.a_hit_rank, "rank of the first hit in A", whole),
        number_column("Rank B", lambda pair: pair.b_hit_rank, "rank of the first hit in B", whole),
    ]
    if primary:
        columns.append(Column(f"{primary}, B − A", lambda pair: _difference(_delta(pair, primary), primary), "number"))
    if any(pair.note for pair in pairs):
        columns.append(
            Column("Note", lambda pair: element("span", shortened(pair.note, _MOST_TEXT), dir="auto"), "minor")
        )
    return columns
