"""Sections of the sweep page about queries: groups of them, their predicted difficulty, and every one of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.html.elements import (
    Column,
    Markup,
    badge,
    bounded_rows,
    decimal,
    element,
    exact,
    figure,
    filters,
    finite_or_none,
    framed_table,
    number_column,
    probability,
    section,
    shortened,
    signed,
    table,
    whole,
)
from assay.html.report.sweep_plots import Group, groups, scatter
from assay.text.display import counted

Report = Mapping[str, Any]

_UNEVEN = "figures uneven"  # side by side, of different heights


def quality_of(row: Report, report: Report) -> float | None:
    """Return the mean NDCG@k of a configuration report."""
    return row["summary"][f"avg_ndcg_at_{report['k']}"]  # type: ignore[no-any-return]


def best_first(report: Report) -> list[Report]:
    """Return the configuration reports by descending quality."""
    return sorted(report["reports"], key=lambda row: -(finite_or_none(quality_of(row, report)) or 0.0))


def best_report(report: Report) -> Report:
    """Return the report of the best configuration."""
    name = report["recommendations"]["best_quality"]["name"]
    return next(row for row in report["reports"] if row["config"]["name"] == name)


# Groups and predicted difficulty

_GROUPS = {
    "category_metrics": "Category",
    "difficulty_metrics": "Difficulty",
    "predicted_difficulty_metrics": "Predicted difficulty",
    "file_type_metrics": "File type",
}
_MOST_GROUPS = 14  # bars in one plot


def group_section(report: Report) -> Markup | None:
    """Quality of the best configuration per query group, with the other configurations as dots."""
    plots = []
    for key, title in _GROUPS.items():
        group_rows = _query_groups(report, key)
        if len(group_rows) > 1:
            name = f"By {title.lower()}"
            sentence = "Bar: the best configuration. Dots: the others. In brackets: number of queries."
            plots.append(figure(name, sentence, groups(group_rows, name, f"NDCG@{report['k']}")))
    return section("groups", "Groups of queries", element("div", plots, class_=_UNEVEN)) if plots else None


def _query_groups(report: Report, key: str) -> list[Group]:
    best, quality = best_report(report), f"avg_ndcg_at_{report['k']}"
    query_groups = []
    for name, metrics in list(best[key].items())[:_MOST_GROUPS]:
        best_value = finite_or_none(metrics[quality])
        others = [
            (row["config"]["name"], value)
            for row in report["reports"]
            if row is not best and (value := finite_or_none(row[key].get(name, {}).get(quality))) is not None
        ]
        if best_value is not None:
            query_groups.append(Group(name, metrics["count"], best_value, others))
    return query_groups


def difficulty_section(report: Report) -> Markup | None:
    """Predicted query difficulty and its correlation with measured quality."""
    difficulty = report["difficulty"]
    if not difficulty["queries"]:
        return None
    lead = (
        "Predicted without labels, from how clearly the first result stands out (gap and spread of the scores) "
        "and how far the configurations agree. "
    )
    tables = [element("div", _class_table(report)), element("div", _feature_table(difficulty))]
    return section(
        "difficulty",
        "Predicted difficulty",
        element("p", lead, _correlation_sentence(difficulty["correlation"]["ease"]), class_="verdict"),
        element("div", _ease_figure(report), tables, class_=_UNEVEN),
    )


def _correlation_sentence(ease: Report) -> str:
    if finite_or_none(ease["spearman"]) is None:
        return "Its correlation with the measured quality is undefined."
    return (
        f"Rank correlation of predicted ease with measured quality: {signed(ease['spearman'], 2)} "
        f"(p {probability(ease['p'])}, {counted(ease['n'], 'query', 'queries')})."
    )


def _ease_figure(report: Report) -> Markup | None:
    points = [
        (query, row["class"], row["ease"], row["quality"])
        for query, row in report["difficulty"]["queries"].items()
        if finite_or_none(row["ease"]) is not None and finite_or_none(row["quality"]) is not None
    ]
    if not points:
        return None
    plot = scatter(
        points, "Predicted ease against measured quality", "ease, predicted", f"NDCG@{report['k']}, measured"
    )
    return figure("Ease and outcome", "Each dot is a query; quality is the mean over all configurations.", plot)


def _class_table(report: Report) -> Markup:
    classes, quality = report["difficulty"]["classes"], f"avg_ndcg_at_{report['k']}"
    columns = [
        Column[str]("Predicted", lambda name: badge(name, f"level-{name}")),
        number_column("Queries", lambda name: classes[name]["count"], "", whole),
        number_column(f"NDCG@{report['k']}", lambda name: classes[name][quality], "mean over all configurations"),
    ]
    return table("Classes", columns, classes)


def _feature_table(difficulty: Report) -> Markup:
    correlation = difficulty["correlation"]
    columns = [
        Column[str]("Feature", lambda name: name),
        number_column("Spearman", lambda name: correlation[name]["spearman"], "", lambda value: signed(value, 2)),
        number_column("p", lambda name: correlation[name]["p"], "", probability),
    ]
    return table("Difficulty features and quality", columns, correlation)


# Queries per configuration, and work done

_MOST_COLUMNS = 40  # configurations in the matrix
_MOST_TEXT = 300  # characters of a query


def query_section(report: Report) -> Markup | None:
    """Matrix of queries by configurations, hardest query first."""
    shown_reports = best_first(report)[:_MOST_COLUMNS]
    rows_by_name = {
        report_row["config"]["name"]: {row["query_id"]: row for row in report_row["query_results"]}
        for report_row in shown_reports
    }
    difficulty, quality = report["difficulty"]["queries"], f"ndcg_at_{report['k']}"
    queries = sorted(
        shown_reports[0]["query_results"], key=lambda row: _sort_key(difficulty.get(row["query_id"], {}).get("quality"))
    )
    if not queries:
        return None
    columns = [
        Column[Report](
            "Query", lambda row: element("span", shortened(row["query"] or row["query_id"], _MOST_TEXT), dir="auto", class_="text"), "wide"
        ),
        Column[Report]("Predicted", lambda row: _level(row, difficulty.get(row["query_id"], {})), about="hover for the features"),
        number_column("Ease", lambda row: difficulty.get(row["query_id"], {}).get("ease"), "", lambda value: decimal(value, 2), minor=True),
        number_column("Mean", lambda row: difficulty.get(row["query_id"], {}).get("quality"), "over all configurations"),
        *(_matrix_column(name, rows_by_name[name], quality, number) for number, name in enumerate(rows_by_name, 1)),
    ]  # fmt: skip
    body, note = bounded_rows(columns, queries, lambda row: {"data_predicted": row["predicted_difficulty"]})
    legend = [
        element("li", element("b", str(number)), " ", element("bdi", name))
        for number, name in enumerate(rows_by_name, 1)
    ]
    truncation_note = (
        f" The {_MOST_COLUMNS} best of {report['num_configs']} configurations are shown."
        if report["num_configs"] > _MOST_COLUMNS
        else ""
    )
    lead = f"NDCG@{report['k']} of every query in every configuration, the hardest first.{truncation_note}"
    return section(
        "queries",
        "Queries",
        element("p", lead, class_="lead"),
        element("ol", legend, class_="numbered"),
        filters({"predicted": sorted({row["predicted_difficulty"] for row in queries})}, {}, len(body)),
        framed_table("Queries", columns, body, note),
        class_="sortable bounded matrix",
    )


def _level(row: Report, difficulty: Report) -> Markup:
    """Badge of a query's predicted difficulty; its tooltip lists the features."""
    level = row["predicted_difficulty"]
    features = ", ".join(f"{name} {decimal(difficulty.get(name), 2)}" for name in ("gap", "spread", "agreement"))
    return element("span", level, class_=f"badge level-{level}", title=features)


def _matrix_column(name: str, rows: Mapping[str, Report], quality: str, number: int) -> Column[Report]:
    def cell(row: Report) -> Markup | None:
        result = rows.get(row["query_id"])
        value = finite_or_none(result[quality]) if result else None
        if result is None or value is None:
            return exact(None, "–")
        rank = f"first hit at rank {result['first_rank']}" if result["first_rank"] else "nothing found"
        return element(
            "data",
            decimal(value, 2),
            value=repr(value),
            class_="shade",
            style=f"--share:{value:.0%}",
            title=f"{name}: {rank}",
        )

    return Column(str(number), cell, "number tight", name)


def _sort_key(value: float | None) -> float:
    number = finite_or_none(value)
    return 2.0 if number is None else number  # unjudged queries sort last
