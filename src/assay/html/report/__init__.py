"""HTML report of a run, optionally with its comparison to another run, readable offline.

    data ──▶ overview (here) · queries · comparison ──▶ page
               │ tables, plots (scales, distributions)
               └ assay.html: elements that escape their content

It is rendered from the JSON of the run. The page is self-contained: style, SVG plots, and a script that only sorts and
filters. Its content security policy blocks every other script and every request. `sweep` renders sweeps the same way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from assay.html.elements import (
    Child,
    Column,
    Markup,
    PageContent,
    Sections,
    decimal,
    definitions,
    element,
    exact,
    figure,
    figures,
    finite_or_none,
    join,
    meter,
    milliseconds,
    number_column,
    page,
    page_header,
    render_sections,
    scale_end,
    section,
    table,
    time_element,
    warning_list,
    whole,
)
from assay.html.report.comparison import comparison_section
from assay.html.report.data import (
    Comparison,
    Group,
    SanityRow,
    Spread,
    Summary,
    cut_off,
    family,
    main_metrics,
    metric_names,
    read,
)
from assay.html.report.plots import Mark, categories, histogram, interval, latency_bins, rank_bins, unit_bins
from assay.html.report.queries import Judged, failure_section, judged_queries, query_section
from assay.text.display import counted

_MEANING = {
    "P": "share of the first {k} results that are relevant",
    "R": "share of the relevant items among the first {k}",
    "RR": "reciprocal rank of the first hit",
    "nDCG": "relevance, discounted by rank",
    "AP": "mean precision at the ranks of the hits",
    "Success": "share of queries with a hit among the first {k}",
    "F1": "harmonic mean of precision and recall",
}
_BREAKDOWNS = {
    "tiers": "Tier",
    "categories": "Category",
    "tags": "Tag",
    "repositories": "Repository",
    "languages": "Language",
    "file_types": "File type",
}
_MOST_GROUPS = 60


def header(summary: Summary) -> Markup:
    """Render the page title and the run's identity."""
    golden = summary.golden
    queries = golden.queries if golden.queries is not None else len(summary.queries)
    facts: dict[str, Child] = {
        "Golden set": [golden.path, f" ({golden.format})" if golden.format else ""] if golden.path else None,
        "Queries": exact(queries, whole(queries)) if queries else None,
        "Matching": summary.matching,
        "Depth": f"first {summary.k}" if summary.k else None,
        "Measured": time_element(summary.created) if summary.created else None,
        "Run": element("code", summary.run_id) if summary.run_id else None,
        "Digest": element("code", golden.digest[:16], title=golden.digest) if golden.digest else None,
    }
    return page_header("assay · retrieval report", element("bdi", summary.system or "Retrieval report"), facts)


def notices(summary: Summary) -> Markup | None:
    """Render the warnings of a run, including that it is unfinished."""
    unfinished = summary.status not in ("", "complete")
    status = [f"This run is {summary.status}: its numbers are not final."] if unfinished else []
    invalid = [] if summary.sanity.measurement else ["This run is not a measurement: see Sanity."]
    return warning_list([*status, *invalid, *map(str, summary.warnings)])


def sanity_section(summary: Summary) -> Markup | None:
    """The checks of a run as a table."""
    columns = [
        Column[SanityRow]("Check", lambda check: check.name),
        Column[SanityRow](
            "State",
            lambda check: element("span", check.state, class_="badge" if check.state == "ok" else "badge kind-loss"),
        ),
        Column[SanityRow]("Finding", lambda check: check.message, "wide"),
    ]
    checks = summary.sanity.checks
    return section("sanity", "Sanity", table("Checks of the run", columns, checks)) if checks else None


def summary_section(summary: Summary) -> Markup | None:
    """Main metrics as tiles, all metrics as a table, and the counts."""
    if not summary.metrics and not summary.counts and not summary.latency:
        return None
    main = main_metrics(summary.metrics, summary.k)
    tiles = [_tile(metric, summary) for metric in main]
    return section(
        "summary",
        "Summary",
        element("ul", tiles, class_="tiles") if tiles else None,
        _counts(summary),
        _all_metrics(summary) if len(summary.metrics) > len(main) else None,
    )


def _tile(metric: str, summary: Summary) -> Markup:
    value, spread = summary.metrics[metric], summary.spread.get(metric, Spread())
    number, low, high = finite_or_none(value), finite_or_none(spread.low), finite_or_none(spread.high)
    detectable = finite_or_none(summary.detectable.get(metric))
    notes = [
        f"sd {decimal(spread.sd)}" if finite_or_none(spread.sd) is not None else "",
        f"detects a change of {decimal(detectable)}" if detectable is not None else "",
    ]
    top = scale_end([number, high])
    return element(
        "li",
        element("h3", metric),
        element("p", exact(value, decimal(value)), class_="value"),
        element("p", _meaning(metric), class_="meaning"),
        [interval(number, low, high, top, _interval_text(metric, number, low, high)), _bar_caption(low, high, top)]
        if number is not None
        else element("p", "Null: no query has the labels this metric needs.", class_="aside"),
        element("p", " · ".join(filter(None, notes)), class_="aside") if any(notes) else None,
    )


def _meaning(metric: str) -> str:
    return _MEANING.get(family(metric), "").format(k=cut_off(metric) or "results")


def _bar_caption(low: float | None, high: float | None, top: float) -> Markup:
    """Caption under a tile's bar: the ends of its scale and the interval."""
    middle = f"95 %: {decimal(low)} – {decimal(high)}" if low is not None and high is not None else ""
    return element("p", *(element("span", text) for text in ("0", middle, f"{top:g}")), class_="bounds")


def _interval_text(metric: str, value: float, low: float | None, high: float | None) -> str:
    bounds = f", 95 % interval {decimal(low)} to {decimal(high)}" if low is not None and high is not None else ""
    return f"{metric} {decimal(value)}{bounds}"


def _counts(summary: Summary) -> Markup | None:
    latency = {f"latency {name}": exact(value, milliseconds(value)) for name, value in summary.latency.items()}
    counts = {name.replace("_", " "): _count(value) for name, value in summary.counts.items()}
    return definitions({**counts, **latency}) if counts or latency else None


def _count(value: float | str | None) -> Markup:
    if isinstance(value, str):
        return element("span", value)
    return exact(value, whole(value) if isinstance(value, int) else decimal(value))


def _all_metrics(summary: Summary) -> Markup:
    spread = {metric: summary.spread.get(metric, Spread()) for metric in summary.metrics}
    power = "smallest detectable change at 80 % power"
    columns = [
        Column[str]("Metric", lambda metric: metric),
        Column[str]("Mean", lambda metric: meter(summary.metrics[metric]), "number"),
        number_column("sd", lambda metric: spread[metric].sd, "standard deviation over the queries"),
        number_column("95 % low", lambda metric: spread[metric].low),
        number_column("95 % high", lambda metric: spread[metric].high),
        number_column("Detects", lambda metric: summary.detectable.get(metric), power),
    ]
    return element(
        "details",
        element("summary", f"All {len(summary.metrics)} metrics"),
        table("All metrics", columns, summary.metrics),
    )


def breakdown_section(summary: Summary) -> Markup | None:
    """One metrics table per way of grouping the queries."""
    tables = [
        _breakdown(title, groups, summary) for name, title in _BREAKDOWNS.items() if (groups := getattr(summary, name))
    ]
    return section("breakdown", "Breakdown", element("div", tables, class_="pairs")) if tables else None


def _breakdown(title: str, groups: dict[str, Group], summary: Summary) -> Markup:
    main = main_metrics(metric_names(group.metrics for group in groups.values()), summary.k)
    top = scale_end(group.metrics.get(metric) for group in groups.values() for metric in main)
    columns = [
        Column[str](title, lambda name: element("bdi", name or "(none)")),
        number_column("Queries", lambda name: groups[name].count, "", whole),
        *(_group_column(metric, groups, top) for metric in main),
    ]
    shown = list(groups)[:_MOST_GROUPS]
    note = f"The first {_MOST_GROUPS} of {len(groups):,} are shown." if len(groups) > _MOST_GROUPS else None
    return element("div", table(f"By {title.lower()}", columns, shown, note))


def _group_column(metric: str, groups: dict[str, Group], top: float) -> Column[str]:
    return Column(metric, lambda name: meter(groups[name].metrics.get(metric), top), "number")


def distribution_section(summary: Summary) -> Markup | None:
    """Histograms over the queries: main metrics, rank of the first hit, latency."""
    plots = [*_metric_figures(summary), *_rank_figure(summary), *_latency_figure(summary)]
    return section("distributions", "Distributions", figures(*plots)) if plots else None


def _metric_figures(summary: Summary) -> Iterator[Markup]:
    for metric in main_metrics(metric_names(query.metrics for query in summary.queries), summary.k):
        values = [
            value for query in summary.queries if (value := finite_or_none(query.metrics.get(metric))) is not None
        ]
        if values:
            reported_mean = finite_or_none(summary.metrics.get(metric))
            mean = reported_mean if reported_mean is not None else sum(values) / len(values)
            zeros = sum(value == 0 for value in values)
            sentence = f"{zeros:,} of {counted(len(values), 'query', 'queries')} at 0."
            marks = [Mark(mean, f"mean {decimal(mean)}")]
            yield figure(
                metric,
                sentence,
                histogram(unit_bins(values), f"Distribution of {metric}", f"{metric} of a query", marks),
            )


def _rank_figure(summary: Summary) -> Iterator[Markup]:
    ranks = [query.first_rank for query in summary.queries if not query.refuse]
    if ranks:
        bins = rank_bins(ranks, summary.k)
        first = sum(rank == 1 for rank in ranks)
        sentence = f"{first:,} of {len(ranks):,} at rank 1, {bins[-1].count:,} not found."
        plot = categories(bins, "Distribution of the rank of the first hit", "rank of the first hit")
        yield figure("First hit", sentence, plot)


def _latency_figure(summary: Summary) -> Iterator[Markup]:
    values = [value for query in summary.queries if (value := finite_or_none(query.latency_ms)) is not None]
    if any(values):
        bins, logarithmic = latency_bins(values)
        marks = [
            Mark(value, f"{name} {milliseconds(value)}")
            for name in ("p50", "p95")
            if (value := finite_or_none(summary.latency.get(name))) is not None
        ]
        label = "latency, ms (logarithmic)" if logarithmic else "latency, ms"
        sentence = f"Slowest {milliseconds(max(values))}."
        yield figure("Latency", sentence, histogram(bins, "Distribution of latency", label, marks, logarithmic))


@dataclass(frozen=True, slots=True)
class Report:
    """A run, its queries with their outcomes, and optionally its comparison to another run."""

    run: Summary
    judged: list[Judged]
    comparison: Comparison | None


_SECTIONS: Sections[Report] = {
    "summary": ("Summary", lambda report: summary_section(report.run)),
    "sanity": ("Sanity", lambda report: sanity_section(report.run)),
    "comparison": (
        "Comparison",
        lambda report: comparison_section(report.comparison, report.run.k) if report.comparison else None,
    ),
    "breakdown": ("Breakdown", lambda report: breakdown_section(report.run)),
    "distributions": ("Distributions", lambda report: distribution_section(report.run)),
    "failures": ("Failures", lambda report: failure_section(report.judged)),
    "queries": ("Queries", lambda report: query_section(report.judged, report.run)),
}


def render(summary: dict[str, Any], comparison: dict[str, Any] | None = None) -> str:
    """Render the JSON of a run, and optionally of a comparison, as one HTML page."""
    return page(build_content(summary, comparison))


def build_content(summary: dict[str, Any], comparison: dict[str, Any] | None = None) -> PageContent:
    """Build the page content without the document around it."""
    run = read(Summary, summary)
    report = Report(run, judged_queries(run), read(Comparison, comparison) if comparison else None)
    contents, sections = render_sections(_SECTIONS, report)
    empty_note = element("p", "This run has no results to show.", class_="note") if not sections else None
    title = f"{run.system} – retrieval report" if run.system else "Retrieval report"
    return PageContent(title, header(run), contents, join([notices(run), *sections, empty_note]))
