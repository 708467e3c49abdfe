"""The page itself."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from assay.evaluate.report.comparison import comparison_section
from assay.evaluate.report.data import Comparison, Summary, read
from assay.evaluate.report.markup import Markup, element, join
from assay.evaluate.report.outcomes import judged_queries
from assay.evaluate.report.overview import (
    breakdown_section,
    distribution_section,
    header,
    notices,
    summary_section,
)
from assay.evaluate.report.queries import failure_section, query_section

_TITLES = {
    "summary": "Summary",
    "comparison": "Comparison",
    "breakdown": "Breakdown",
    "distributions": "Distributions",
    "failures": "Failures",
    "queries": "Queries",
}


def render(summary: dict[str, Any], comparison: dict[str, Any] | None = None) -> str:
    """The report of a run, as `eval run` prints it, and of a comparison, as `eval compare` does: one HTML page."""
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
    nothing = element("p", "This run holds nothing to show.", class_="note") if not present else None
    return _page(
        f"{run.system} – retrieval report" if run.system else "Retrieval report",
        element("a", "Skip to the results", href="#results", class_="skip"),
        header(run),
        _contents(list(present)),
        element("main", notices(run), *present.values(), nothing, id="results"),
        element("footer", "Written by assay. Hover over a mark of a plot for its value."),
    )


def _contents(names: Sequence[str]) -> Markup | None:
    links = [element("a", _TITLES[name], href=f"#{name}") for name in names]
    return element("nav", links, aria_label="Sections") if len(links) > 1 else None


def _page(title: str, *body: Markup | None) -> str:
    """The document around the body, with its style, its script and the policy that allows no other."""
    style, script = (Markup(files(__package__).joinpath(name).read_text("utf-8")) for name in ("page.css", "page.js"))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; img-src data:"
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("link", rel="icon", href="data:,"),
        element("title", title),
        element("style", style),
    )
    page = element("html", head, element("body", *body, element("script", script)), lang="en")
    return join([Markup("<!doctype html>\n"), page, Markup("\n")])
