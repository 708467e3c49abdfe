"""What to take, and every configuration with its figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from assay.evaluate.report.markup import Child, Markup, element, join
from assay.evaluate.report.overview import figure
from assay.evaluate.report.sweep.plots import Point, pareto
from assay.evaluate.report.sweep.shape import Report, best_first, figure_title, quality_of
from assay.evaluate.report.tables import Column, bounded_rows, filters, framed_table, meter, number_column
from assay.evaluate.report.wording import decimal, exact, known, milliseconds, probability, signed
from assay.text.counting import counted


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
