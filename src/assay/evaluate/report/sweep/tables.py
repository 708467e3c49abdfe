"""Sections of the sweep page: recommendations, configurations, settings, query groups, queries, work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from assay.evaluate.report.overview import definitions, figure, warning_list
from assay.evaluate.report.sweep.plots import Group, Point, groups, heat_map, pareto, scatter
from assay.html.document import PageContent, contents, page
from assay.html.elements import (
    Child,
    Column,
    Markup,
    bounded_rows,
    decimal,
    element,
    exact,
    filters,
    finite_or_none,
    framed_table,
    join,
    meter,
    milliseconds,
    number_column,
    probability,
    shortened,
    signed,
    table,
    time_element,
    whole,
)
from assay.text.display import counted

Report = Mapping[str, Any]

_TITLES = {
    "mrr": "MRR",
    "recall_at": "Recall@",
    "ndcg_at": "NDCG@",
    "precision_at": "P@",
}


def figure_title(name: str) -> str:
    """Return the heading of a summary key: `avg_recall_at_5` → Recall@5."""
    stem, _, cut = name.removeprefix("avg_").rpartition("_")
    return _TITLES.get(stem, "") + cut if stem in _TITLES else _TITLES.get(name.removeprefix("avg_"), name)


def quality_of(row: Report, report: Report) -> float | None:
    """Return the mean NDCG@k of a configuration report."""
    return row["summary"][f"avg_ndcg_at_{report['k']}"]  # type: ignore[no-any-return]


def best_first(report: Report) -> list[Report]:
    """Return the configuration reports by descending quality."""
    return sorted(report["reports"], key=lambda row: -(finite_or_none(quality_of(row, report)) or 0.0))


# Recommendations and configurations


def recommendation_section(report: Report) -> Markup:
    """Tiles of the recommended configurations and the significance of their lead."""
    recommendations, k = report["recommendations"], report["k"]
    limit = recommendations["best_under"]["limit_ms"]
    tiles = [
        _tile("Best overall quality", recommendations["best_quality"], f"the highest NDCG@{k}", k),
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
    best = next(row for row in report["reports"] if row["config"]["name"] == recommendations["best_quality"]["name"])
    bands = ", ".join(f"{figure_title(name)} {word}" for name, word in best["bands"].items())
    return element(
        "section",
        element("h2", "Recommendations"),
        element("ul", tiles, class_="tiles"),
        element("p", comparison_note if others else None, f"The best is {bands}." if bands else None, class_="verdict"),
        id="recommendations",
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
            element("span", f"NDCG@{k} ", exact(quality, decimal(quality))),
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
    rows = best_first(report)
    body, note = bounded_rows(columns, rows, lambda row: {})
    return element(
        "section",
        element("h2", "Configurations"),
        _pareto_figure(report),
        element(
            "div",
            filters({}, {}, len(body)),
            framed_table("Configurations", columns, body, note),
            class_="sortable bounded",
        ),
        id="configurations",
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
        number_column("Δ best", lambda row: compared(row, "delta"), f"difference in NDCG@{report['k']} from the best", signed),
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

    return Column(figure_title(name), cell, "number", "hover for the interval and the band")


def _badges(row: Report, report: Report) -> Iterator[Child]:
    name = row["config"]["name"]
    roles = {
        "best": name == report["recommendations"]["best_quality"]["name"],
        "front": name in report["pareto_front"],
        "indistinguishable": name in report["not_told_apart"],
    }
    for role, holds in roles.items():
        if holds and report["num_configs"] > 1:
            yield from (" ", element("span", role, class_=f"badge role-{role.replace(' ', '-')}"))


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
        "div", figure("Quality and latency", sentence, pareto(points, f"NDCG@{report['k']}")), class_="wide-figure"
    )


# Quality by setting, query group and predicted difficulty

_GROUPS = {
    "category_metrics": "Category",
    "difficulty_metrics": "Difficulty",
    "predicted_difficulty_metrics": "Predicted difficulty",
    "file_type_metrics": "File type",
}
_MOST_GROUPS = 14  # bars in one plot
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
    row_setting, *other_settings = varied
    column_setting = other_settings[0] if other_settings else ""
    fixed_axes = {name: varied[name] for name in other_settings[1:]}
    qualities = [value for row in rows if (value := finite_or_none(quality_of(row, report))) is not None]
    bounds = (min(qualities, default=0.0), max(qualities, default=1.0))
    maps = []
    for values in list(product(*fixed_axes.values()))[:_MOST_MAPS]:
        fixed = dict(zip(fixed_axes, values, strict=True))
        cells = {
            (row["config"]["settings"][row_setting], row["config"]["settings"].get(column_setting, "")): value
            for row in rows
            if all(row["config"]["settings"].get(name) == value for name, value in fixed.items())
            and (value := finite_or_none(quality_of(row, report))) is not None
        }
        if cells:
            title = ", ".join(f"{name} {value}" for name, value in fixed.items()) or f"NDCG@{report['k']}"
            plot = heat_map(
                varied[row_setting],
                varied.get(column_setting, [""]),
                cells,
                f"NDCG@{report['k']} by {row_setting}",
                bounds,
            )
            maps.append(
                figure(
                    title,
                    f"NDCG@{report['k']}: {row_setting} down, {column_setting} across." if column_setting else "",
                    plot,
                )
            )
    note = "All maps share one colour scale, from the lowest value of the sweep (lightest) to the highest (darkest)."
    return element(
        "section",
        element("h2", "Settings"),
        element("p", note, class_="lead"),
        element("div", maps, class_="figures"),
        id="settings",
    )


def _values(rows: Sequence[Report], name: str) -> list[str]:
    return list(dict.fromkeys(row["config"]["settings"][name] for row in rows if name in row["config"]["settings"]))


def group_section(report: Report) -> Markup | None:
    """Quality of the best configuration per query group, with the other configurations as dots."""
    best_name = report["recommendations"]["best_quality"]["name"]
    best_report = next(row for row in report["reports"] if row["config"]["name"] == best_name)
    quality = f"avg_ndcg_at_{report['k']}"
    plots = []
    for key, title in _GROUPS.items():
        group_rows = []
        for name, metrics in list(best_report[key].items())[:_MOST_GROUPS]:
            best_value = finite_or_none(metrics[quality])
            if best_value is not None:
                others = [
                    (row["config"]["name"], value)
                    for row in report["reports"]
                    if row is not best_report
                    and (value := finite_or_none(row[key].get(name, {}).get(quality))) is not None
                ]
                group_rows.append(Group(name, metrics["count"], best_value, others))
        if len(group_rows) > 1:
            sentence = "Bar: the best configuration. Dots: the others. In brackets: number of queries."
            plots.append(
                figure(
                    f"By {title.lower()}", sentence, groups(group_rows, f"By {title.lower()}", f"NDCG@{report['k']}")
                )
            )
    return (
        element(
            "section", element("h2", "Groups of queries"), element("div", plots, class_="figures uneven"), id="groups"
        )
        if plots
        else None
    )


def difficulty_section(report: Report) -> Markup | None:
    """Predicted query difficulty and its correlation with measured quality."""
    difficulty = report["difficulty"]
    if not difficulty["queries"]:
        return None
    return element(
        "section",
        element("h2", "Predicted difficulty"),
        element(
            "p",
            "Predicted without labels, from how clearly the first result stands out (gap and spread of the scores) ",
            "and how far the configurations agree. ",
            _correlation_sentence(difficulty["correlation"]["ease"]),
            class_="verdict",
        ),
        element(
            "div", _ease_figure(report), element("div", _class_table(report)), element("div", _feature_table(difficulty)), class_="figures uneven"
        ),
        id="difficulty",
    )  # fmt: skip


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
        Column[str]("Predicted", lambda name: element("span", name, class_=f"badge level-{name}")),
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
    return element(
        "section",
        element("h2", "Queries"),
        element("p", f"NDCG@{report['k']} of every query in every configuration, the hardest first.{truncation_note}", class_="lead"),
        element("ol", legend, class_="numbered"),
        filters({"predicted": sorted({row["predicted_difficulty"] for row in queries})}, {}, len(body)),
        framed_table("Queries", columns, body, note),
        id="queries",
        class_="sortable bounded matrix",
    )  # fmt: skip


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
    return element(
        "section",
        element("h2", "Work"),
        definitions(facts),
        table("Shared stages", columns, work["stages"]) if work["stages"] else None,
        id="work",
    )


# Page


def render(report: Report) -> str:
    """Render the comparison report that `eval sweep` writes as an HTML page."""
    return page(build_content(report))


def build_content(report: Report) -> PageContent:
    """Build the page content without the document around it."""
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
    return PageContent(
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
        "Measured": time_element(report["timestamp"]),
        "Sweep": element("code", report["sweep_id"]),
    }
    return element(
        "header",
        element("p", "assay · sweep", class_="eyebrow"),
        element("h1", f"{counted(report['num_configs'], 'configuration')} on one golden set"),
        definitions(facts),
        class_="top",
    )
