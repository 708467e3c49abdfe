"""HTML report of a run, optionally with its comparison to another run, readable offline.

    data ──▶ overview · queries · comparison ──▶ page
               │ tables, plots (scales, distributions)
               └ assay.html: elements that escape their content

It is rendered from the JSON of the run. The page is self-contained: style, SVG plots, and a script that only sorts and
filters. Its content security policy blocks every other script and every request. `sweep` renders sweeps the same way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from assay.html.document import PageContent, Sections, page, render_sections
from assay.html.elements import element, join
from assay.html.report.comparison import comparison_section
from assay.html.report.data import Comparison, Summary, read
from assay.html.report.overview import breakdown_section, distribution_section, header, notices, summary_section
from assay.html.report.queries import Judged, failure_section, judged_queries, query_section


@dataclass(frozen=True, slots=True)
class Report:
    """A run, its queries with their outcomes, and optionally its comparison to another run."""

    run: Summary
    judged: list[Judged]
    comparison: Comparison | None


_SECTIONS: Sections[Report] = {
    "summary": ("Summary", lambda report: summary_section(report.run)),
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
