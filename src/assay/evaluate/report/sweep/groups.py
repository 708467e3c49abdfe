"""What settings and kinds of queries have to do with quality: heat maps, groups, predicted difficulty."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from assay.evaluate.report.markup import Markup, element
from assay.evaluate.report.overview import figure
from assay.evaluate.report.sweep.plots import Group, groups, heat_map, scatter
from assay.evaluate.report.sweep.shape import Report, quality_of
from assay.evaluate.report.tables import Column, number_column, table
from assay.evaluate.report.wording import known, probability, signed, whole
from assay.text.counting import counted

_GROUPS = {
    "category_metrics": "Category",
    "difficulty_metrics": "Difficulty",
    "predicted_difficulty_metrics": "Predicted difficulty",
    "file_type_metrics": "File type",
}
_MOST_GROUPS = 14  # of one kind in a plot
_MOST_MAPS = 6


def setting_section(report: Report) -> Markup | None:
    """Heat maps of the two settings with most values, one for each combination of the others."""
    rows = report["reports"]
    axes = {name: _values(rows, name) for name in dict.fromkeys(n for one in rows for n in one["config"]["settings"])}
    varied = {name: values for name, values in axes.items() if len(values) > 1}
    if not varied:
        return None
    down, *rest = varied
    across = rest[0] if rest else ""
    others = {name: varied[name] for name in rest[1:]}
    known_values = [value for one in rows if (value := known(quality_of(one, report))) is not None]
    bounds = (min(known_values, default=0.0), max(known_values, default=1.0))
    maps = []
    for values in list(product(*others.values()))[:_MOST_MAPS]:
        fixed = dict(zip(others, values, strict=True))
        cells = {
            (one["config"]["settings"][down], one["config"]["settings"].get(across, "")): value
            for one in rows
            if all(one["config"]["settings"].get(name) == value for name, value in fixed.items())
            and (value := known(quality_of(one, report))) is not None
        }
        if cells:
            title = ", ".join(f"{name} {value}" for name, value in fixed.items()) or f"NDCG@{report['k']}"
            plot = heat_map(varied[down], varied.get(across, [""]), cells, f"NDCG@{report['k']} by {down}", bounds)
            maps.append(figure(title, f"NDCG@{report['k']}: {down} down, {across} across." if across else "", plot))
    note = "The same shades in all of them: the lightest is the lowest of the sweep, the darkest the highest."
    return element(
        "section",
        element("h2", "Settings"),
        element("p", note, class_="lead"),
        element("div", maps, class_="figures"),
        id="settings",
    )


def _values(rows: Sequence[Report], name: str) -> list[str]:
    return list(dict.fromkeys(one["config"]["settings"][name] for one in rows if name in one["config"]["settings"]))


def group_section(report: Report) -> Markup | None:
    """What the best configuration reaches in each group of queries, and the others beside it."""
    best = report["recommendations"]["best_quality"]["name"]
    mine = next(one for one in report["reports"] if one["config"]["name"] == best)
    quality = f"avg_ndcg_at_{report['k']}"
    plots = []
    for key, title in _GROUPS.items():
        found = []
        for name, told in list(mine[key].items())[:_MOST_GROUPS]:
            reached = known(told[quality])
            if reached is not None:
                others = [
                    (one["config"]["name"], value)
                    for one in report["reports"]
                    if one is not mine and (value := known(one[key].get(name, {}).get(quality))) is not None
                ]
                found.append(Group(name, told["count"], reached, others))
        if len(found) > 1:
            sentence = "The bar is the best configuration, dots are the others; in brackets the queries."
            plots.append(
                figure(f"By {title.lower()}", sentence, groups(found, f"By {title.lower()}", f"NDCG@{report['k']}"))
            )
    return (
        element(
            "section", element("h2", "Groups of queries"), element("div", plots, class_="figures uneven"), id="groups"
        )
        if plots
        else None
    )


def difficulty_section(report: Report) -> Markup | None:
    """How hard queries looked, and whether that was right."""
    told = report["difficulty"]
    if not told["queries"]:
        return None
    return element(
        "section",
        element("h2", "Predicted difficulty"),
        element(
            "p",
            "From the answers alone, without labels: how clearly the first result stands out (gap and spread of the scores), ",
            "and how far configurations agree. ",
            _predicted(told["correlation"]["ease"]),
            class_="verdict",
        ),
        element(
            "div", _outcomes(report), element("div", _classes(report)), element("div", _signs(told)), class_="figures uneven"
        ),
        id="difficulty",
    )  # fmt: skip


def _predicted(ease: Report) -> str:
    if known(ease["spearman"]) is None:
        return "It cannot be said how well that predicts what was measured."
    return (
        f"The rank correlation of ease with what was measured is {signed(ease['spearman'], 2)} "
        f"(p {probability(ease['p'])}, {counted(ease['n'], 'query', 'queries')})."
    )


def _outcomes(report: Report) -> Markup | None:
    points = [
        (query, one["class"], one["ease"], one["quality"])
        for query, one in report["difficulty"]["queries"].items()
        if known(one["ease"]) is not None and known(one["quality"]) is not None
    ]
    if not points:
        return None
    plot = scatter(points, "Ease against what was measured", "ease, predicted", f"NDCG@{report['k']}, measured")
    return figure("Ease and outcome", "Each dot is a query; measured is the mean over all configurations.", plot)


def _classes(report: Report) -> Markup:
    classes, quality = report["difficulty"]["classes"], f"avg_ndcg_at_{report['k']}"
    columns = [
        Column[str]("Predicted", lambda name: element("span", name, class_=f"badge level-{name}")),
        number_column("Queries", lambda name: classes[name]["count"], "", whole),
        number_column(f"NDCG@{report['k']}", lambda name: classes[name][quality], "mean over all configurations"),
    ]
    return table("Classes", columns, classes)


def _signs(told: Report) -> Markup:
    found = told["correlation"]
    columns = [
        Column[str]("Sign", lambda name: name),
        number_column("Spearman", lambda name: found[name]["spearman"], "", lambda value: signed(value, 2)),
        number_column("p", lambda name: found[name]["p"], "", probability),
    ]
    return table("Signs and outcome", columns, found)
