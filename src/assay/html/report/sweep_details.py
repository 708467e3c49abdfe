"""Plots of a sweep (Pareto front, heat maps, query groups, scatter) and the sections of its page about queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
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
    signed,
    table,
    whole,
)
from assay.html.plots import CHARACTER, WIDTH, Scale, bar, dot, label, power_ticks, round_ticks, svg, x_axis, y_axis
from assay.text.display import clipped, counted

WIDE = 860  # px, for the main plot
_LEFT = 44
_SKEWED = 8  # slowest/fastest ratio above which the latency axis is logarithmic
_MOST_NAME = 34
_LINE = 13  # px between two labels
_ROW = 30  # px, height of a heat map row
_GROUP = 26  # px, height of a query group


@dataclass(frozen=True, slots=True)
class Point:
    """A configuration with its latency, quality and role: best, front or other."""

    name: str
    latency: float
    quality: float
    role: str


def pareto(points: Sequence[Point], quality: str) -> Markup:
    """Plot quality against latency; a line joins the Pareto front, whose points are labelled."""
    height, base = 350, 304
    slowest, fastest = max(point.latency for point in points), max(min(point.latency for point in points), 0.001)
    logarithmic = slowest > _SKEWED * fastest
    ticks = power_ticks(fastest, slowest) if logarithmic else round_ticks(0.0, slowest)
    x = Scale(ticks[0], ticks[-1], _LEFT, WIDE - 16, logarithmic)
    levels = round_ticks(min(point.quality for point in points), max(point.quality for point in points))
    y = Scale(levels[0], levels[-1], base, 30)
    front = sorted((point for point in points if point.role != "other"), key=lambda point: point.latency)
    steps = [
        (x(slower.latency), y(faster.quality)) for faster, slower in pairwise(front)
    ]  # the front is a step function
    corners = [(x(point.latency), y(point.quality)) for point in front]
    line = " ".join(
        f"{across:g},{up:g}" for across, up in sorted([*corners, *steps], key=lambda corner: (corner[0], -corner[1]))
    )
    unit = "mean latency of a query, ms" + (" (logarithmic)" if logarithmic else "")
    return svg(
        height,
        f"{quality} against latency of {len(points)} configurations",
        y_axis(y, levels, _LEFT, WIDE - 16, quality),
        x_axis(x, ticks, base, unit, WIDE),
        element("polyline", points=line, class_="front"),
        [
            _point(point, x, y)
            for point in sorted(points, key=lambda point: ("other", "front", "best").index(point.role))
        ],
        _point_labels(front, x, y, base),
        width=WIDE,
    )


def _point(point: Point, x: Scale, y: Scale) -> Markup:
    tooltip = f"{point.name}: {decimal(point.quality, 4)} in {decimal(point.latency, 2)} ms"
    radius = 4 if point.role == "other" else 6
    return dot(x(point.latency), y(point.quality), radius, f"point {point.role}", tooltip)


def _point_labels(points: Sequence[Point], x: Scale, y: Scale, base: float) -> list[Markup]:
    """Label points, left or right of them, without overlap."""
    labels: list[Markup] = []
    placed: list[tuple[float, float, float]] = []  # left, right, height of a label
    for point in sorted(points, key=lambda point: -point.quality):
        name = clipped(point.name, _MOST_NAME)
        width, anchor = len(name) * CHARACTER + 10, x(point.latency)
        leftwards = anchor + width > WIDE - 10
        left, right = (anchor - width, anchor) if leftwards else (anchor, anchor + width)
        height = y(point.quality) - 10
        while any(low < right and left < high and abs(height - other) < _LINE for low, high, other in placed):
            height += _LINE + 20 if height < y(point.quality) else _LINE
        if height < base:
            placed.append((left, right, height))
            class_ = "label strong" if point.role == "best" else "label"
            labels.append(
                label(name, anchor - 10 if leftwards else anchor + 10, height, "end" if leftwards else "start", class_)
            )
    return labels


def heat_map(
    rows: Sequence[str],
    columns: Sequence[str],
    values: Mapping[tuple[str, str], float],
    name: str,
    bounds: tuple[float, float],
) -> Markup:
    """Plot a value per pair of settings, darker where higher; unmeasured cells stay empty.

    Maps drawn side by side share `bounds`.
    """
    left = min(150.0, max(len(row) for row in rows) * CHARACTER + 14)
    cell_width = (WIDTH - left - 4) / len(columns)
    most_characters = max(3, int(cell_width / CHARACTER))
    column_labels = [
        label(clipped(column, most_characters), left + cell_width * (number + 0.5), 14, "middle")
        for number, column in enumerate(columns)
    ]
    cells = [
        _cell(values[row, column], f"{row}, {column}", left + cell_width * x, 22 + _ROW * y, cell_width, bounds)
        for y, row in enumerate(rows)
        for x, column in enumerate(columns)
        if (row, column) in values
    ]
    row_labels = [
        label(clipped(row, 22), left - 8, 22 + _ROW * (number + 0.5) + 4, "end") for number, row in enumerate(rows)
    ]
    return svg(26 + _ROW * len(rows), name, column_labels, row_labels, cells)


def _cell(value: float, name: str, x: float, y: float, width: float, bounds: tuple[float, float]) -> Markup:
    low, high = bounds
    share = (value - low) / (high - low) if high > low else 0.5
    return element(
        "g",
        element("title", f"{name}: {decimal(value, 4)}"),
        element(
            "rect", x=round(x + 1, 1), y=y + 1, width=round(width - 2, 1), height=_ROW - 2, rx=4, class_="cell",
            fill_opacity=round(0.08 + 0.84 * share, 3),
        ),
        label(decimal(value), x + width / 2, y + _ROW / 2 + 4, "middle", "label onto" if share > 0.55 else "label strong"),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Group:
    """A query group: its size and the quality of the best and of the other configurations on it."""

    name: str
    count: int
    best: float
    others: Sequence[tuple[str, float]]


def groups(query_groups: Sequence[Group], name: str, x_label: str) -> Markup:
    """Plot a bar for the best configuration per group and a dot for every other one."""
    left = min(130.0, max(len(group.name) for group in query_groups) * CHARACTER + 44)
    x = Scale(0.0, 1.0, left, WIDTH - 12)
    base = 8 + _GROUP * len(query_groups)
    rows = []
    for number, group in enumerate(query_groups):
        y = 8 + _GROUP * number
        rows.append(label(f"{clipped(group.name, 16)} ({group.count})", left - 8, y + 14, "end"))
        width = round(max(x(group.best) - left, 0.5), 1)
        tooltip = f"{group.name}, the best: {decimal(group.best)}"
        rows.append(bar(left, y + 4, width, _GROUP - 12, "bar soft", tooltip, radius=2))
        rows += [dot(x(value), y + 11, 2.5, "dot", f"{other}: {decimal(value)}") for other, value in group.others]
    return svg(base + 36, name, x_axis(x, round_ticks(0.0, 1.0), base, x_label), rows)


def scatter(points: Sequence[tuple[str, str, float, float]], name: str, x_label: str, y_label: str) -> Markup:
    """Plot a dot per query, given as (name, class, x, y) with x and y from 0 to 1."""
    base = 214
    x, y = Scale(0.0, 1.0, _LEFT - 6, WIDTH - 14), Scale(0.0, 1.0, base, 28)
    dots = [
        dot(x(x_value), y(y_value), 4, f"dot level-{level}", f"{query}: {decimal(x_value)}, {decimal(y_value)}")
        for query, level, x_value, y_value in points
        if finite_or_none(x_value) is not None and finite_or_none(y_value) is not None
    ]
    ticks = round_ticks(0.0, 1.0)
    return svg(base + 36, name, y_axis(y, ticks, _LEFT - 6, WIDTH - 14, y_label), x_axis(x, ticks, base, x_label), dots)


Report = Mapping[str, Any]

_UNEVEN = "figures uneven"  # side by side, of different heights


def quality_of(row: Report, report: Report) -> float | None:
    """Return the mean nDCG@k of a configuration report."""
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
            plots.append(figure(name, sentence, groups(group_rows, name, f"nDCG@{report['k']}")))
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
        points, "Predicted ease against measured quality", "ease, predicted", f"nDCG@{report['k']}, measured"
    )
    return figure("Ease and outcome", "Each dot is a query; quality is the mean over all configurations.", plot)


def _class_table(report: Report) -> Markup:
    classes, quality = report["difficulty"]["classes"], f"avg_ndcg_at_{report['k']}"
    columns = [
        Column[str]("Predicted", lambda name: badge(name, f"level-{name}")),
        number_column("Queries", lambda name: classes[name]["count"], "", whole),
        number_column(f"nDCG@{report['k']}", lambda name: classes[name][quality], "mean over all configurations"),
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
            "Query", lambda row: element("span", clipped(row["query"] or row["query_id"], _MOST_TEXT), dir="auto", class_="text"), "wide"
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
    lead = f"nDCG@{report['k']} of every query in every configuration, the hardest first.{truncation_note}"
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
