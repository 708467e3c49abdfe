"""Every query in every configuration, and the work that was done."""

from __future__ import annotations

from collections.abc import Mapping

from assay.evaluate.report.markup import Child, Markup, element
from assay.evaluate.report.overview import definitions
from assay.evaluate.report.sweep.shape import Report, best_first
from assay.evaluate.report.tables import Column, bounded_rows, filters, framed_table, number_column, table
from assay.evaluate.report.wording import decimal, exact, known, shortened, whole

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
