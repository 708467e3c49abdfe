"""HTML page of a run report."""

from __future__ import annotations

from typing import Any

from assay.evaluate.report.comparison import comparison_section
from assay.evaluate.report.data import Comparison, Summary, read
from assay.evaluate.report.overview import breakdown_section, distribution_section, header, notices, summary_section
from assay.evaluate.report.queries import failure_section, judged_queries, query_section
from assay.html.document import PageContent, contents, page
from assay.html.elements import Markup, element, join

_TITLES = {
    "summary": "Summary",
    "comparison": "Comparison",
    "breakdown": "Breakdown",
    "distributions": "Distributions",
    "failures": "Failures",
    "queries": "Queries",
}


def render(summary: dict[str, Any], comparison: dict[str, Any] | None = None) -> str:
    """Render the JSON of a run, and optionally of a comparison, as one HTML page."""
    return page(build_content(summary, comparison))


def build_content(summary: dict[str, Any], comparison: dict[str, Any] | None = None) -> PageContent:
    """Build the page content without the document around it."""
    run = read(Summary, summary)
    judged = judged_queries(run)
    sections: dict[str, Markup | None] = {
        "summary": summary_section(run),
        "comparison": comparison_section(read(Comparison, comparison), run.k) if comparison else None,
        "breakdown": breakdown_section(run),
        "distributions": distribution_section(run),
        "failures": failure_section(judged),
        "queries": query_section(judged, run),
    }
    present = {name: section for name, section in sections.items() if section}
    empty_note = element("p", "This run has no results to show.", class_="note") if not present else None
    return PageContent(
        f"{run.system} – retrieval report" if run.system else "Retrieval report",
        header(run),
        contents({name: _TITLES[name] for name in present}),
        join([notices(run), *present.values(), empty_note]),
    )
