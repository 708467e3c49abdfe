"""HTML page of a sweep: recommendations, configurations, settings, query groups and queries, readable offline.

Rendered from the comparison report that `eval sweep` writes; `sweep_details` has the plots and the sections about queries.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from assay.html.elements import (
    Child,
    Column,
    Markup,
    PageContent,
    Sections,
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
    meter,
    milliseconds,
    number_column,
    page,
    page_header,
    probability,
    render_sections,
    section,
    signed,
    table,
    time_element,
    warning_list,
    whole,
)
from assay.html.report.sweep_details import (
    Point,
    Report,
    best_first,
    best_report,
    difficulty_section,
    group_section,
    heat_map,
    pareto,
    quality_of,
    query_section,
)
from assay.text.display import counted

_TITLES = {
    "mrr": "RR@",
    "recall_at": "R@",
    "ndcg_at": "nDCG@",
    "precision_at": "P@",
}


def figure_title(name: str, k: int) -> str:
    """Return the measure of a summary key: `avg_recall_at_5` → R@5, `avg_mrr` → RR@k."""
    key = name.removeprefix("avg_")
    stem, _, cut = key.rpartition("_")
    return f"{_TITLES[key]}{k}" if key in _TITLES else f"{_TITLES[stem]}{cut}" if stem in _TITLES else name


# Recommendations and configurations


def recommendation_section(report: Report) -> Markup:
    """Tiles of the recommended configurations and the significance of their lead."""
    recommendations, k = report["recommendations"], report["k"]
    limit = recommendations["best_under"]["limit_ms"]
    tiles = [
        _tile("Best overall quality", recommendations["best_quality"], f"the highest nDCG@{k}", k),
        _tile("Fastest", recommendations["fastest"], "the lowest mean latency", k),
        _tile(f"Best under {limit:g} ms", recommendations["best_under"], "the highest quality in that time", k),
        _tile(
            "Fastest without significant loss",
            recommendations["fastest_not_told_apart"],
            "no significant difference from the best",
            k,
        ),
    ]
    indistinguishable, others = len(report["not_told_apart"]), report["num_configs"] - 1
    different = f"{others - indistinguishable} of" if indistinguishable < others else "None of"
    comparison_note = (
        f"{different} the {counted(others, 'other')} differ significantly from the best "
        "(paired randomisation test, p < 0.05 after Holm correction). "
    )
    bands = ", ".join(
        f"{figure_title(name, report['k'])} {word}" for name, word in best_report(report)["bands"].items()
    )
    return section(
        "recommendations",
        "Recommendations",
        element("ul", tiles, class_="tiles"),
        element("p", comparison_note if others else None, f"The best is {bands}." if bands else None, class_="verdict"),
    )


def _tile(title: str, recommendation: Mapping[str, Any] | None, about: str, k: int) -> Markup:
    if not recommendation or not recommendation.get("name"):
        return element("li", element("h3", title), element("p", "none", class_="chosen"))
    quality, latency = recommendation[f"ndcg_at_{k}"], recommendation["latency_ms"]
    return element(
        "li",
        element("h3", title),
        element("p", _breakable(recommendation["name"]), class_="chosen"),
        element("p", about, class_="meaning"),
        element(
            "p",
            element("span", f"nDCG@{k} ", exact(quality, decimal(quality))),
            exact(latency, milliseconds(latency)),
            class_="bounds",
        ),
    )


def _breakable(name: str) -> Markup:
    """Return a name with line-break opportunities after its underscores."""
    parts = name.split("_")
    return element("bdi", [join([part, "_", element("wbr")]) for part in parts[:-1]], parts[-1])


def configuration_section(report: Report) -> Markup:
    """Pareto plot and sortable table of all configurations."""
    columns = _configuration_columns(report)
    body, note = bounded_rows(columns, best_first(report), lambda row: {})
    content = [filters({}, {}, len(body)), framed_table("Configurations", columns, body, note)]
    return section(
        "configurations",
        "Configurations",
        _pareto_figure(report),
        element("div", content, class_="sortable bounded"),
    )


def _configuration_columns(report: Report) -> list[Column[Report]]:
    names = [name for name in report["reports"][0]["summary"] if name.startswith("avg_") and name != "avg_latency_ms"]
    comparisons = report["against_best"]

    def compared(row: Report, field: str) -> float | None:
        return comparisons.get(row["config"]["name"], {}).get(field)  # type: ignore[no-any-return]

    return [
        Column[Report]("Configuration", lambda row: join([_breakable(row["config"]["name"]), *_badges(row, report)]), "wide"),
        *(_figure_column(name, report) for name in names),
        number_column("Latency", lambda row: row["summary"]["avg_latency_ms"], "mean of a query", milliseconds),
        number_column("p95", lambda row: row["latency"]["p95"], "95th percentile of query latency", milliseconds, minor=True),
        number_column("Δ best", lambda row: compared(row, "delta"), f"difference in nDCG@{report['k']} from the best", signed),
        number_column("p", lambda row: compared(row, "p_holm"), "paired randomisation test, Holm-corrected", probability),
        number_column(
            "Best on",
            lambda row: report["best_shares"][row["config"]["name"]],
            "share of resampled query sets on which it is the best",
            lambda share: f"{share or 0.0:.0%}",
        ),
        Column[Report]("Run", lambda row: element("code", row["run_id"]), "minor number"),
    ]  # fmt: skip


def _figure_column(name: str, report: Report) -> Column[Report]:
    best = max((finite_or_none(row["summary"][name]) or 0.0 for row in report["reports"]), default=0.0)

    def cell(row: Report) -> Markup:
        value = row["summary"][name]
        low, high = (row["intervals"][name][end] for end in ("low", "high"))
        about = f"95 %: {decimal(low)} – {decimal(high)}" + (f" · {row['bands'][name]}" if name in row["bands"] else "")
        class_ = "gain" if value == best and report["num_configs"] > 1 else None
        return element("span", meter(value), title=about, class_=class_)

    return Column(figure_title(name, report["k"]), cell, "number", "hover for the interval and the band")


def _badges(row: Report, report: Report) -> Iterator[Child]:
    name = row["config"]["name"]
    roles = {
        "best": name == report["recommendations"]["best_quality"]["name"],
        "front": name in report["pareto_front"],
        "indistinguishable": name in report["not_told_apart"],
    }
    for role, holds in roles.items():
        if holds and report["num_configs"] > 1:
            yield from (" ", badge(role, f"role-{role}"))


def _pareto_figure(report: Report) -> Markup | None:
    best, front = report["recommendations"]["best_quality"]["name"], set(report["pareto_front"])
    points = [
        Point(name, latency, quality, "best" if name == best else "front" if name in front else "other")
        for row in report["reports"]
        if (name := row["config"]["name"])
        and (latency := finite_or_none(row["summary"]["avg_latency_ms"])) is not None
        and (quality := finite_or_none(quality_of(row, report))) is not None
    ]
    if len(points) < 2:
        return None
    sentence = (
        "Up is better, left is faster. The line is the Pareto front: no other configuration is both better and faster."
    )
    if any(row["latency_under_load"] for row in report["reports"]):
        sentence += " Latencies were measured while other configurations ran."
    return element(
        "div", figure("Quality and latency", sentence, pareto(points, f"nDCG@{report['k']}")), class_="wide-figure"
    )


_MOST_MAPS = 6


def setting_section(report: Report) -> Markup | None:
    """Heat maps of the first two varied settings, one per combination of the other settings."""
    rows = report["reports"]
    axes = {
        name: _values(rows, name)
        for name in dict.fromkeys(setting for row in rows for setting in row["config"]["settings"])
    }
    varied = {name: values for name, values in axes.items() if len(values) > 1}
    if not varied:
        return None
    down, across, *fixed_names = [*varied, ""] if len(varied) == 1 else varied
    combinations = product(*(varied[name] for name in fixed_names))
    fixed = [dict(zip(fixed_names, values, strict=True)) for values in list(combinations)[:_MOST_MAPS]]
    note = "All maps share one colour scale, from the lowest value of the sweep (lightest) to the highest (darkest)."
    maps = [_setting_map(report, varied, down, across, settings) for settings in fixed]
    return section("settings", "Settings", element("p", note, class_="lead"), figures(*maps))


def _setting_map(
    report: Report, varied: Mapping[str, Sequence[str]], down: str, across: str, fixed: Mapping[str, str]
) -> Markup | None:
    """Heat map of the configurations with the fixed settings, by the settings `down` and `across` (may be empty)."""
    quality = f"nDCG@{report['k']}"
    measured = [
        (row["config"]["settings"], value)
        for row in report["reports"]
        if (value := finite_or_none(quality_of(row, report))) is not None
    ]
    values = [value for _, value in measured]
    cells = {
        (settings[down], settings.get(across, "")): value
        for settings, value in measured
        if all(settings.get(name) == wanted for name, wanted in fixed.items())
    }
    if not cells:
        return None
    bounds = (min(values), max(values))
    plot = heat_map(varied[down], varied.get(across, [""]), cells, f"{quality} by {down}", bounds)
    title = ", ".join(f"{name} {value}" for name, value in fixed.items()) or quality
    return figure(title, f"{quality}: {down} down, {across} across." if across else "", plot)


def _values(rows: Sequence[Report], name: str) -> list[str]:
    return list(dict.fromkeys(row["config"]["settings"][name] for row in rows if name in row["config"]["settings"]))


def work_section(report: Report) -> Markup:
    """Counts of the work this sweep did, and the stages its configurations share."""
    work = report["work"]
    facts: dict[str, Child] = {
        name.replace("_", " "): exact(value, whole(value)) for name, value in work.items() if isinstance(value, int)
    }
    columns = [
        Column[Report]("Chunker", lambda row: element("code", row["chunker"])),
        number_column("Passages", lambda row: row["passages"], "", whole),
        number_column("Documents divided", lambda row: row["documents_divided"], "by this command", whole),
        Column[Report]("Embedder", lambda row: element("code", row["embedder"])),
        Column[Report]("Model", lambda row: element("code", row["model"]) if row["model"] else None, "minor"),
        number_column("Texts embedded", lambda row: row["texts_embedded"], "by this command", whole),
    ]
    shared = table("Shared stages", columns, work["stages"]) if work["stages"] else None
    return section("work", "Work", definitions(facts), shared)


# Page


_SECTIONS: Sections[Report] = {
    "recommendations": ("Recommendations", recommendation_section),
    "configurations": ("Configurations", configuration_section),
    "settings": ("Settings", setting_section),
    "groups": ("Groups", group_section),
    "difficulty": ("Difficulty", difficulty_section),
    "queries": ("Queries", query_section),
    "work": ("Work", work_section),
}


def render(report: Report) -> str:
    """Render the comparison report that `eval sweep` writes as an HTML page."""
    return page(build_content(report))


def build_content(report: Report) -> PageContent:
    """Build the page content without the document around it."""
    contents, sections = render_sections(_SECTIONS, report)
    main = join([warning_list([warning["message"] for warning in report["warnings"]]), *sections])
    return PageContent(f"{counted(report['num_configs'], 'configuration')} – sweep", _header(report), contents, main)


def _header(report: Report) -> Markup:
    golden = report["golden"]
    facts: dict[str, Child] = {
        "Golden set": golden["path"],
        "Queries": exact(golden["queries"], whole(golden["queries"])),
        "Matching": report["matching"],
        "Depth": f"first {report['k']}",
        "Measured": time_element(report["timestamp"]),
        "Sweep": element("code", report["sweep_id"]),
    }
    title = f"{counted(report['num_configs'], 'configuration')} on one golden set"
    return page_header("assay · sweep", title, facts)
