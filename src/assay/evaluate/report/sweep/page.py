"""The page itself."""

from __future__ import annotations

from assay.evaluate.report.document import Drawn, contents, page
from assay.evaluate.report.markup import Child, Markup, element, join
from assay.evaluate.report.overview import definitions, warning_list
from assay.evaluate.report.sweep.choices import configuration_section, recommendation_section
from assay.evaluate.report.sweep.groups import difficulty_section, group_section, setting_section
from assay.evaluate.report.sweep.queries import query_section, work_section
from assay.evaluate.report.sweep.shape import Report
from assay.evaluate.report.wording import exact, moment, whole
from assay.text.counting import counted


def render(report: Report) -> str:
    """The page of a comparison report, as `eval sweep` writes it."""
    return page(drawn(report))


def drawn(report: Report) -> Drawn:
    """The same without the document around it."""
    sections: dict[str, tuple[str, Markup | None]] = {
        "recommendations": ("Recommendations", recommendation_section(report)),
        "configurations": ("Configurations", configuration_section(report)),
        "settings": ("Settings", setting_section(report)),
        "groups": ("Groups", group_section(report)),
        "difficulty": ("Difficulty", difficulty_section(report)),
        "queries": ("Queries", query_section(report)),
        "work": ("Work", work_section(report)),
    }
    present = {name: pair for name, pair in sections.items() if pair[1]}
    return Drawn(
        f"{counted(report['num_configs'], 'configuration')} – sweep",
        _header(report),
        contents({name: title for name, (title, _) in present.items()}),
        join([warning_list(report["warnings"]), *(section for _, section in present.values())]),
    )


def _header(report: Report) -> Markup:
    golden = report["golden"]
    facts: dict[str, Child] = {
        "Golden set": golden["path"],
        "Queries": exact(golden["queries"], whole(golden["queries"])),
        "Matching": report["matching"],
        "Depth": f"first {report['k']}",
        "Measured": moment(report["timestamp"]),
        "Sweep": element("code", report["sweep_id"]),
    }
    return element(
        "header",
        element("p", "assay · sweep", class_="eyebrow"),
        element("h1", f"{counted(report['num_configs'], 'configuration')} on one golden set"),
        definitions(facts),
        class_="top",
    )
