"""Markdown reports of runs and comparisons, to be committed or read in a terminal."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.evaluate.files import write_output
from assay.evaluate.metrics import figure, signed
from assay.evaluate.verdicts import SIGNS, WEAK
from assay.text.display import collapsed, printable
from assay.text.markup import span

_TASK_COLUMN_WIDTH = 60  # characters


def save_run(run: dict[str, Any], folder: Path, findings_file: Path | None = None) -> list[Path]:
    """Write results.json, FINDINGS.md and, over several repositories, CROSS_REPO_FINDINGS.md; return the paths.

    `findings_file` is another place for the last of these.
    """
    files = {
        folder / "results.json": json.dumps(run, indent=2, ensure_ascii=False) + "\n",
        folder / "FINDINGS.md": findings(run),
    }
    last = folder / "FINDINGS.md"
    if len(run["repositories"]) > 1:
        last = folder / "CROSS_REPO_FINDINGS.md"
        files[last] = cross_repo_findings(run)
    if findings_file:
        files[findings_file] = files[last]
    for path, text in files.items():
        write_output(path, text, hint="; the run itself is stored")
    return list(files)


def findings(run: Mapping[str, Any]) -> str:
    """Render FINDINGS.md: metrics overall, per group and per query of a run (the JSON of `eval run`)."""
    names = _measures_at_k(run, ("P", "R", "RR", "nDCG"))
    parts = ["# Findings", "", *_run_header(run), "", "## Overall", "", _overall_table(run), ""]
    for title, key in (("Per tier", "tiers"), ("Per category", "categories"), ("Per language", "languages")):
        if run.get(key):
            parts += [f"## {title}", "", _group_table(run[key], names), ""]
    parts += ["## Per query", "", _query_table(run["queries"], names), ""]
    weak = [query for query in run["queries"] if query["verdict"] == WEAK]
    if weak:
        parts += [f"## Weak queries ({len(weak)})", ""]
        for query in weak:
            parts += [
                f"- **{cell(query['id'])}** {cell(query['text'], 200)}",
                f"  - expected: {_code_list(query['expected'])}",
            ]
            parts += [f"  - retrieved: {_code_list(query['retrieved']) or cell(query['error'] or 'nothing')}"]
    return "\n".join(parts).rstrip() + "\n"


def cross_repo_findings(run: Mapping[str, Any]) -> str:
    """Render CROSS_REPO_FINDINGS.md: any-hit recall and the main figures per tier and repository."""
    k = run["k"]
    names = _measures_at_k(run, ("Success", "P", "R", "RR"))
    titles = [f"any-hit R@{k}" if name == f"Success@{k}" else name for name in names]
    parts = ["# Cross-repository findings", "", *_run_header(run), ""]
    parts += ["## Per tier", "", _group_table(run["tiers"], names, titles, overall=run), ""]
    parts += ["## Per repository", "", _group_table(run["repositories"], names, titles), ""]
    missed = [q for q in run["queries"] if q["first_rank"] is None and q["expected"]]
    if missed:
        rows = [
            [
                *(cell(text, _TASK_COLUMN_WIDTH) for text in (q["repository"], q["tier"], q["text"])),
                _code_list(q["expected"][:3]).replace("|", "\\|"),
            ]
            for q in missed
        ]
        parts += [f"## Nothing found ({len(missed)})", "", table(["repository", "tier", "task", "expected"], rows), ""]
    return "\n".join(parts).rstrip() + "\n"


def comparison_report(comparison: Mapping[str, Any]) -> str:
    """Render report.md: metric differences of a comparison, then the changed queries."""
    a, b = comparison["run_a"], comparison["run_b"]
    counts = comparison["counts"]
    parts = [f"# {cell(a)} → {cell(b)}", ""]
    parts += [f"> **{cell(warning['message'])}**" for warning in comparison["warnings"]]
    parts += ["", "Known differences: " + cell("; ".join(comparison["causes"])), ""] if comparison["causes"] else [""]
    rows = [
        [name, figure(s["a"]), figure(s["b"]), signed(s["delta"]), f"{signed(s['low'])} … {signed(s['high'])}", figure(s["p_holm"]),
         figure(s["effect"]), f"{s['wins']}/{s['losses']}/{s['ties']}", figure(s["detectable"]), s["verdict"]]
        for name, s in comparison["statistics"].items()
    ]  # fmt: skip
    parts += [
        "## Metrics",
        "",
        table(
            ["metric", "a", "b", "Δ", "95 % interval", "p (Holm)", "effect d", "+/−/=", "detectable", "verdict"], rows
        ),
        "",
    ]
    parts += [f"Chunks matched: {comparison['deltas']['chunker_version_match']}.", ""]
    parts += ["## Queries", "", ", ".join(f"{count} {kind}" for kind, count in counts.items()), ""]
    for kind, title in (("Regression", "Regressions"), ("Loss", "Losses"), ("Win", "Wins")):
        changed = [row for row in comparison["per_query"] if row["kind"] == kind]
        if changed:
            rows = [
                [
                    cell(r.get("text", ""), _TASK_COLUMN_WIDTH),
                    cell(r["query_id"]),
                    change(r, "a"),
                    change(r, "b"),
                    cell(r["note"] or ""),
                ]
                for r in changed
            ]
            parts += [
                f"### {title} ({len(changed)})",
                "",
                table(["question", "query", "rank a", "rank b", "note"], rows),
                "",
            ]
    return "\n".join(parts).rstrip() + "\n"


def change(row: Mapping[str, Any], side: str) -> str:
    """Return the outcome of a compared query in run `a` or `b`: its rank, or that it was refused or answered."""
    if f"{side}_refused" in row:
        return "refused" if row[f"{side}_refused"] else "answered"
    return _rank(row[f"{side}_hit_rank"])


def _measures_at_k(run: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    """Return these measures at k, or all measures of a run that has none of them."""
    default = [f"{name}@{run['k']}" for name in names]
    return [name for name in default if name in run["metrics"]] or list(run["metrics"])


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows])


def _run_header(run: Mapping[str, Any]) -> list[str]:
    lines = [
        f"Run {span(run['run_id'])} of {span(run['system'])} on {span(run['golden']['path'])} ({run['golden']['queries']} queries, "
        f"golden `{run['golden']['digest'][:12]}`), matching `{run['matching']}`, k = {run['k']}. Written by `assay eval run`; do not edit."
    ]
    sanity = [[check["name"], check["state"], cell(check["message"])] for check in run["sanity"]["checks"]]
    warnings = (f"\n> {cell(warning['message'])}" for warning in run["warnings"])
    return [*lines, *warnings, "", "## Sanity", "", table(["check", "state", "finding"], sanity)]


def metric_rows(run: Mapping[str, Any]) -> list[tuple[str, float | None]]:
    """Return the metrics of a run and their means; without DocR@k where it repeats R@k, as on documents."""
    metrics, spread = run["metrics"], run["spread"]
    recall, documents = (f"{name}@{run['k']}" for name in ("R", "DocR"))
    same = metrics.get(recall) == metrics.get(documents) and spread.get(recall) == spread.get(documents)
    return [(name, value) for name, value in metrics.items() if not (same and name == documents)]


def _overall_table(run: Mapping[str, Any]) -> str:
    spread = run["spread"]
    main = _measures_at_k(run, ("P", "R", "RR", "nDCG"))
    rows = [
        [name, figure(value), *(figure(spread.get(name, {}).get(part)) for part in ("sd", "low", "high"))]
        for name, value in metric_rows(run)
        if value is not None or name in main
    ]
    return table(["metric", "mean", "sd", "95 % low", "high"], rows)


def _group_table(
    groups: Mapping[str, Any],
    names: Sequence[str],
    titles: Sequence[str] | None = None,
    overall: Mapping[str, Any] | None = None,
) -> str:
    rows = [
        [cell(group), *(figure(summary["metrics"].get(name)) for name in names), summary["count"]]
        for group, summary in groups.items()
    ]
    if overall is not None:
        rows.append(
            ["**overall**", *(figure(overall["metrics"].get(name)) for name in names), overall["counts"]["queries"]]
        )
    return table(["", *(titles or names), "N"], rows)


def _query_table(queries: Sequence[Mapping[str, Any]], names: Sequence[str]) -> str:
    rows = [
        [
            SIGNS[q["verdict"]],
            cell(q["text"], _TASK_COLUMN_WIDTH),
            *(figure(q["metrics"].get(name)) for name in names),
            _rank(q["first_rank"]),
            cell(q["tier"]),
        ]
        for q in queries
    ]
    return table(["", "task", *names, "first", "tier"], rows)


def cell(text: str, limit: int = 0) -> str:
    """Return text for a table cell: on one line, escaped, shortened to `limit` characters if given."""
    return printable(collapsed(text, limit)).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")


def _code_list(names: Sequence[str]) -> str:
    return ", ".join(span(name) for name in names)


def _rank(rank: int | None) -> str:
    return "–" if rank is None else str(rank)
