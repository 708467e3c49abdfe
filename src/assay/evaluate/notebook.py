"""Runs, comparisons, verdicts and golden sets as HTML tables for notebooks.

Everything is escaped by `html.elements`. A notebook has its own style sheet, so the tables have no classes or scripts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from assay.core.cautions import from_json
from assay.core.golden import GoldenSet
from assay.html.elements import Child, Markup, decimal, element, join, milliseconds, probability, signed
from assay.text.display import clipped

SHOWN = 20  # rows of a table: a notebook saves what it shows
_TEXT = 80  # characters of a query


def golden_table(golden: GoldenSet) -> str:
    """Render the first queries of a golden set with what they expect."""
    rows = [
        [
            query.id,
            clipped(query.text, _TEXT),
            "a refusal" if query.refuse else ", ".join(e.name for e in query.expected),
            query.tier,
        ]
        for query in golden.queries[:SHOWN]
    ]
    caption = f"{golden.path}: {len(golden.queries)} queries ({golden.format})"
    return join(
        [_table(caption, ["id", "query", "expected", "tier"], rows, len(golden.queries)), _warnings(golden.warnings)]
    )


def run_table(run: Mapping[str, Any], names: Sequence[str]) -> str:
    """Render the means of a run, then its queries, weakest first."""
    means = [[name, decimal(run["metrics"].get(name)), *_interval(run["spread"].get(name))] for name in names]
    queries = sorted(run["queries"], key=lambda query: (not query["error"], query["metrics"].get(names[0]) or 0.0))
    rows = [
        [query["id"], clipped(query["text"], _TEXT), *(decimal(query["metrics"].get(name)) for name in names),
         str(query["first_rank"] or "–"), milliseconds(query["latency_ms"]), clipped(query["error"], _TEXT)]
        for query in queries[:SHOWN]
    ]  # fmt: skip
    latency = run["latency"]
    caption = (
        f"{run['system']} on {run['golden']['path']}: {run['golden']['queries']} queries, matching {run['matching']}, "
        f"k = {run['k']}, {run['status']}, p50 {milliseconds(latency['p50'])}, p95 {milliseconds(latency['p95'])}"
    )
    states = ", ".join(f"{check['name']} {check['state']}" for check in run["sanity"]["checks"])
    head = ["id", "query", *names, "first", "latency", "error"]
    return join(
        [
            _table(caption, ["metric", "mean", "95 % interval"], means, len(means)),
            _table("queries, weakest first", head, rows, len(queries)),
            _warnings(run["warnings"]),
            element("p", f"sanity: {states}"),
        ]
    )


def comparison_table(comparison: Mapping[str, Any]) -> str:
    """Render the difference of each metric, then the queries that changed."""
    means = [
        [name, decimal(row["a"]), decimal(row["b"]), signed(row["delta"]), *_interval(row), probability(row["p_holm"])]
        for name, row in comparison["statistics"].items()
    ]
    changed = [query for query in comparison["per_query"] if query["kind"] != "Draw"]
    rows = [
        [query["kind"], query["query_id"], clipped(query.get("text", ""), _TEXT), str(query["a_hit_rank"] or "–"),
         str(query["b_hit_rank"] or "–"), query["note"] or ""]
        for query in sorted(changed, key=lambda query: query["kind"] == "Win")[:SHOWN]
    ]  # fmt: skip
    counts = ", ".join(f"{count} {kind}" for kind, count in comparison["counts"].items())
    return join(
        [
            _table(
                f"{comparison['run_a']} → {comparison['run_b']}",
                ["metric", "before", "after", "change", "95 % interval", "p (Holm)"],
                means,
                len(means),
            ),
            _table(counts, ["kind", "id", "query", "before", "after", "note"], rows, len(changed)),
            _warnings(comparison["warnings"]),
        ]
    )


def verdict_table(verdict: Mapping[str, Any]) -> str:
    """Render the checks of a gate."""
    rows = [["✓" if check["passed"] else "✗", check["name"], check["message"]] for check in verdict["checks"]]
    outcome = f"gate {'passed' if verdict['passed'] else 'failed'}: run {verdict['run_id']}"
    return join([_table(outcome, ["", "check", ""], rows, len(rows)), _warnings(verdict["warnings"])])


def _interval(spread: Mapping[str, Any] | None) -> list[str]:
    if spread is None or spread["low"] is None:
        return ["–"]
    return [f"{decimal(spread['low'])} to {decimal(spread['high'])}"]


def _table(caption: str, head: Iterable[str], rows: Sequence[Sequence[str]], total: int) -> Markup:
    body: list[Child] = [element("tr", [element("td", cell) for cell in row]) for row in rows]
    more = element("p", f"… and {total - len(rows)} more") if total > len(rows) else None
    table = element(
        "table",
        element("caption", caption),
        element("thead", element("tr", [element("th", name) for name in head])),
        element("tbody", join(body)),
    )
    return join([table, more])


def _warnings(warnings: Iterable[object]) -> Markup | None:
    """Render warnings: texts, or cautions as printed in JSON."""
    items = [element("li", from_json(warning).message) for warning in warnings]
    return element("ul", items) if items else None
