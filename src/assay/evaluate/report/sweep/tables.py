"""Page of a sweep: recommendations, configurations, groups, queries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from assay.evaluate.report.overview import definitions, figure, warning_list
from assay.evaluate.report.sweep.plots import Group, Point, groups, heat_map, pareto, scatter
from assay.html.document import Drawn, contents, page
from assay.html.elements import (
    Child,
    Column,
    Markup,
    bounded_rows,
    decimal,
    element,
    exact,
    filters,
    framed_table,
    join,
    known,
    meter,
    milliseconds,
    moment,
    number_column,
    probability,
    shortened,
    signed,
    table,
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
    """`avg_recall_at_5` → Recall@5."""
    stem, _, cut = name.removeprefix("avg_").rpartition("_")
    return _TITLES.get(stem, "") + cut if stem in _TITLES else _TITLES.get(name.removeprefix("avg_"), name)


def quality_of(one: Report, report: Report) -> float | None:
    return one["summary"][f"avg_ndcg_at_{report['k']}"]  # type: ignore[no-any-return]


def best_first(report: Report) -> list[Report]:
    """The reports of the configurations by quality."""
    return sorted(report["reports"], key=lambda one: -(known(quality_of(one, report)) or 0.0))


# What to take, and every configuration with its figures.


def recommendation_section(report: Report) -> Markup:
    told, k = report["recommendations"], report["k"]
    limit = told["best_under"]["limit_ms"]
    tiles = [
        _tile("Best overall quality", told["best_quality"], f"the highest NDCG@{k}", k),
        _tile("Fastest", told["fastest"], "the lowest mean latency", k),
        _tile(f"Best under {limit:g} ms", told["best_under"], "the highest quality in that time", k),
        _tile("Fastest not told apart", told["fastest_not_told_apart"], "from the best, by a paired test", k),
    ]
    alike, others = len(report["not_told_apart"]), report["num_configs"] - 1
    apart = f"{others - alike} of" if alike < others else "None of"
    said = (
        f"{apart} the {counted(others, 'other')} can be told from the best: "
        "a difference counts that chance would hardly give (paired randomisation test, p < 0.05 after Holm). "
    )
    mine = next(one for one in report["reports"] if one["config"]["name"] == told["best_quality"]["name"])
    words = ", ".join(f"{figure_title(name)} {word}" for name, word in mine["bands"].items())
    return element(
        "section",
        element("h2", "Recommendations"),
        element("ul", tiles, class_="tiles"),
        element("p", said if others else None, f"The best is {words}." if words else None, class_="verdict"),
        id="recommendations",
    )


def _tile(title: str, told: Mapping[str, Any] | None, about: str, k: int) -> Markup:
    if not told or not told.get("name"):
        return element("li", element("h3", title), element("p", "none", class_="chosen"))
    quality, latency = told[f"ndcg_at_{k}"], told["latency_ms"]
    return element(
        "li",
        element("h3", title),
        element("p", _breakable(told["name"]), class_="chosen"),
        element("p", about, class_="meaning"),
        element(
            "p",
            element("span", f"NDCG@{k} ", exact(quality, decimal(quality))),
            exact(latency, milliseconds(latency)),
            class_="bounds",
        ),
    )


def _breakable(name: str) -> Markup:
    """A name that may go on in the next line after an underscore."""
    parts = name.split("_")
    return element("bdi", [join([part, "_", element("wbr")]) for part in parts[:-1]], parts[-1])


def configuration_section(report: Report) -> Markup:
    columns = _configuration_columns(report)
    rows = best_first(report)
    body, note = bounded_rows(columns, rows, lambda one: {})
    return element(
        "section",
        element("h2", "Configurations"),
        _pareto(report),
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
    against = report["against_best"]

    def compared(one: Report, field: str) -> float | None:
        return against.get(one["config"]["name"], {}).get(field)  # type: ignore[no-any-return]

    return [
        Column[Report]("Configuration", lambda one: join([_breakable(one["config"]["name"]), *_badges(one, report)]), "wide"),
        *(_figure_column(name, report) for name in names),
        number_column("Latency", lambda one: one["summary"]["avg_latency_ms"], "mean of a query", milliseconds),
        number_column("p95", lambda one: one["latency"]["p95"], "slower than 95 % of the queries", milliseconds, minor=True),
        number_column("Δ best", lambda one: compared(one, "delta"), f"difference in NDCG@{report['k']} from the best", signed),
        number_column("p", lambda one: compared(one, "p_holm"), "paired randomisation test, after Holm", probability),
        number_column(
            "Best on",
            lambda one: report["best_shares"][one["config"]["name"]],
            "share of resampled query sets on which it is the best",
            lambda share: f"{share or 0.0:.0%}",
        ),
        Column[Report]("Run", lambda one: element("code", one["run_id"]), "minor number"),
    ]  # fmt: skip


def _figure_column(name: str, report: Report) -> Column[Report]:
    best = max((known(one["summary"][name]) or 0.0 for one in report["reports"]), default=0.0)

    def cell(one: Report) -> Markup:
        value = one["summary"][name]
        low, high = (one["intervals"][name][end] for end in ("low", "high"))
        about = f"95 %: {decimal(low)} – {decimal(high)}" + (f" · {one['bands'][name]}" if name in one["bands"] else "")
        class_ = "gain" if value == best and report["num_configs"] > 1 else None
        return element("span", meter(value), title=about, class_=class_)

    return Column(figure_title(name), cell, "number", "hover for the interval and the band")


def _badges(one: Report, report: Report) -> Iterator[Child]:
    name = one["config"]["name"]
    roles = {
        "best": name == report["recommendations"]["best_quality"]["name"],
        "front": name in report["pareto_front"],
        "not told apart": name in report["not_told_apart"],
    }
    for role, holds in roles.items():
        if holds and report["num_configs"] > 1:
            yield from (" ", element("span", role, class_=f"badge role-{role.replace(' ', '-')}"))


def _pareto(report: Report) -> Markup | None:
    best, front = report["recommendations"]["best_quality"]["name"], set(report["pareto_front"])
    points = [
        Point(name, latency, quality, "best" if name == best else "front" if name in front else "other")
        for one in report["reports"]
        if (name := one["config"]["name"])
        and (latency := known(one["summary"]["avg_latency_ms"])) is not None
        and (quality := known(quality_of(one, report))) is not None
    ]
    if len(points) < 2:
        return None
    sentence = "Up is better, left is faster. Nothing is both better and faster than what is on the line."
    if any(one["latency_under_load"] for one in report["reports"]):
        sentence += " Latencies were measured while other configurations ran."
    return element(
        "div", figure("Quality and latency", sentence, pareto(points, f"NDCG@{report['k']}")), class_="wide-figure"
    )


# What settings and kinds of queries have to do with quality: heat maps, groups, predicted difficulty.

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


# Every query in every configuration, and the work that was done.

_MOST_COLUMNS = 40  # configurations in the matrix
_MOST_TEXT = 300


def query_section(report: Report) -> Markup | None:
    shown = best_first(report)[:_MOST_COLUMNS]
    figures = {one["config"]["name"]: {row["query_id"]: row for row in one["query_results"]} for one in shown}
    difficulty, quality = report["difficulty"]["queries"], f"ndcg_at_{report['k']}"
    queries = sorted(
        shown[0]["query_results"], key=lambda row: _or_last(difficulty.get(row["query_id"], {}).get("quality"))
    )
    if not queries:
        return None
    columns = [
        Column[Report](
            "Query", lambda row: element("span", shortened(row["query"] or row["query_id"], _MOST_TEXT), dir="auto", class_="text"), "wide"
        ),
        Column[Report]("Predicted", lambda row: _level(row, difficulty.get(row["query_id"], {})), about="hover for its signs"),
        number_column("Ease", lambda row: difficulty.get(row["query_id"], {}).get("ease"), "", lambda v: decimal(v, 2), minor=True),
        number_column("Mean", lambda row: difficulty.get(row["query_id"], {}).get("quality"), "over all configurations"),
        *(_matrix_column(name, figures[name], quality, at) for at, name in enumerate(figures, 1)),
    ]  # fmt: skip
    body, note = bounded_rows(columns, queries, lambda row: {"data_predicted": row["predicted_difficulty"]})
    legend = [element("li", element("b", str(at)), " ", element("bdi", name)) for at, name in enumerate(figures, 1)]
    more = (
        f" The {_MOST_COLUMNS} best of {report['num_configs']} configurations are shown."
        if report["num_configs"] > _MOST_COLUMNS
        else ""
    )
    return element(
        "section",
        element("h2", "Queries"),
        element("p", f"NDCG@{report['k']} of every query in every configuration, the hardest first.{more}", class_="lead"),
        element("ol", legend, class_="numbered"),
        filters({"predicted": sorted({row["predicted_difficulty"] for row in queries})}, {}, len(body)),
        framed_table("Queries", columns, body, note),
        id="queries",
        class_="sortable bounded matrix",
    )  # fmt: skip


def _level(row: Report, told: Report) -> Markup:
    """The predicted difficulty of a query; hovering shows what it was told from."""
    level = row["predicted_difficulty"]
    signs = ", ".join(f"{name} {decimal(told.get(name), 2)}" for name in ("gap", "spread", "agreement"))
    return element("span", level, class_=f"badge level-{level}", title=signs)


def _matrix_column(name: str, rows: Mapping[str, Report], quality: str, number: int) -> Column[Report]:
    def cell(row: Report) -> Markup | None:
        mine = rows.get(row["query_id"])
        value = known(mine[quality]) if mine else None
        if mine is None or value is None:
            return exact(None, "–")
        rank = f"first hit at rank {mine['first_rank']}" if mine["first_rank"] else "nothing found"
        return element(
            "data",
            decimal(value, 2),
            value=repr(value),
            class_="shade",
            style=f"--share:{value:.0%}",
            title=f"{name}: {rank}",
        )

    return Column(str(number), cell, "number tight", name)


def _or_last(value: float | None) -> float:
    number = known(value)
    return 2.0 if number is None else number  # what cannot be judged stands behind what can


def work_section(report: Report) -> Markup:
    work = report["work"]
    facts: dict[str, Child] = {
        name.replace("_", " "): exact(value, whole(value)) for name, value in work.items() if isinstance(value, int)
    }
    columns = [
        Column[Report]("Chunker", lambda one: element("code", one["chunker"])),
        number_column("Passages", lambda one: one["passages"], "", whole),
        number_column("Documents divided", lambda one: one["documents_divided"], "by this command", whole),
        Column[Report]("Embedder", lambda one: element("code", one["embedder"])),
        Column[Report]("Model", lambda one: element("code", one["model"]) if one["model"] else None, "minor"),
        number_column("Texts embedded", lambda one: one["texts_embedded"], "by this command", whole),
    ]
    return element(
        "section",
        element("h2", "Work"),
        definitions(facts),
        table("What configurations share", columns, work["stages"]) if work["stages"] else None,
        id="work",
    )


# The page itself.


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
