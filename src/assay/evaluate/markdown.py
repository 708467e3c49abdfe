"""Markdown reports of runs and comparisons, and the experiment log, to be committed or read in a terminal.

An experiment is a hypothesis, before, after and a conclusion. Its figures always come from two stored runs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from assay.errors import AssayError
from assay.evaluate.files import write_output, write_text
from assay.evaluate.verdicts import BETTER, NOT_SHOWN, SIGNS, WEAK, WORSE
from assay.system.inputs import read_text

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
            parts += [f"  - retrieved: {_code_list(query['retrieved']) or query['error'] or 'nothing'}"]
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
            [q["repository"], q["tier"], cell(q["text"], _TASK_COLUMN_WIDTH), _code_list(q["expected"][:3])]
            for q in missed
        ]
        parts += [f"## Nothing found ({len(missed)})", "", table(["repository", "tier", "task", "expected"], rows), ""]
    return "\n".join(parts).rstrip() + "\n"


def comparison_report(comparison: Mapping[str, Any]) -> str:
    """Render report.md: metric differences of a comparison, then the changed queries."""
    a, b = comparison["run_a"], comparison["run_b"]
    counts = comparison["counts"]
    parts = [f"# {a} → {b}", ""]
    parts += [f"> **{warning['message']}**" for warning in comparison["warnings"]]
    parts += ["", "Known differences: " + "; ".join(comparison["causes"]), ""] if comparison["causes"] else [""]
    rows = [
        [name, _figure(s["a"]), _figure(s["b"]), signed(s["delta"]), f"{signed(s['low'])} … {signed(s['high'])}", _figure(s["p_holm"]),
         _figure(s["effect"]), f"{s['wins']}/{s['losses']}/{s['ties']}", _figure(s["detectable"]), s["verdict"]]
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
        f"Run `{run['run_id']}` of `{run['system']}` on `{run['golden']['path']}` ({run['golden']['queries']} queries, "
        f"golden `{run['golden']['digest'][:12]}`), matching `{run['matching']}`, k = {run['k']}. Written by `assay eval run`; do not edit."
    ]
    return [*lines, *(f"\n> {warning['message']}" for warning in run["warnings"])]


def _overall_table(run: Mapping[str, Any]) -> str:
    spread = run["spread"]
    rows = [
        [name, _figure(value), *(_figure(spread.get(name, {}).get(part)) for part in ("sd", "low", "high"))]
        for name, value in run["metrics"].items()
    ]
    return table(["metric", "mean", "sd", "95 % low", "high"], rows)


def _group_table(
    groups: Mapping[str, Any],
    names: Sequence[str],
    titles: Sequence[str] | None = None,
    overall: Mapping[str, Any] | None = None,
) -> str:
    rows = [
        [group, *(_figure(summary["metrics"].get(name)) for name in names), summary["count"]]
        for group, summary in groups.items()
    ]
    if overall is not None:
        rows.append(
            ["**overall**", *(_figure(overall["metrics"].get(name)) for name in names), overall["counts"]["queries"]]
        )
    return table(["", *(titles or names), "N"], rows)


def _query_table(queries: Sequence[Mapping[str, Any]], names: Sequence[str]) -> str:
    rows = [
        [
            SIGNS[q["verdict"]],
            cell(q["text"], _TASK_COLUMN_WIDTH),
            *(_figure(q["metrics"].get(name)) for name in names),
            _rank(q["first_rank"]),
            q["tier"],
        ]
        for q in queries
    ]
    return table(["", "task", *names, "first", "tier"], rows)


def cell(text: str, limit: int = 0) -> str:
    """Return text for a table cell: on one line, escaped, shortened to `limit` characters if given."""
    flat = " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
    return flat[: limit - 1].rstrip() + "…" if limit and len(flat) > limit else flat


def _code_list(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def signed(value: float | None) -> str:
    """Format a difference with its sign, or a dash for None."""
    return "–" if value is None else f"{value:+.4f}"


def _rank(rank: int | None) -> str:
    return "–" if rank is None else str(rank)


_MAX_LOG_SIZE = 16_000_000  # bytes

_HEADING = re.compile(r"^## Experiment (\d+): (.*)$", re.MULTILINE)
_OPEN = "(open: `assay eval experiment conclude` fills this in)"
_PREFACE = "# Experiments\n\nWhat was tried, what was expected, what came out. Entries are written by `assay eval experiment`.\n"


@dataclass(frozen=True, slots=True)
class Entry:
    """An open experiment: its number, title and the run it starts from."""

    number: int
    title: str
    before: str


def begin(log: Path, title: str, hypothesis: str, what: str, before: str, today: date) -> int:
    """Append an open experiment and return its number."""
    text = _read(log) or _PREFACE
    number = max((int(heading[1]) for heading in _HEADING.finditer(text)), default=0) + 1
    entry = (
        f"## Experiment {number}: {_one_line(title)}\n\n**Date:** {today.isoformat()}\n**Hypothesis:** {_one_line(hypothesis)}\n"
        f"**What:** {_one_line(what)}\n**Before:** run {before}\n**Result:** {_OPEN}\n\n**Conclusion:** {_OPEN}\n"
    )
    write_text(log, text.rstrip("\n") + "\n\n" + entry)
    return number


def open_entry(log: Path, number: int | None = None) -> Entry:
    """Return the open experiment of that number, or the only open one; raise AssayError otherwise."""
    text = _read(log)
    entries = []
    for heading in _HEADING.finditer(text):
        body = _entry_text(text, heading)
        before = re.search(r"^\*\*Before:\*\* run (\S+)$", body, re.MULTILINE)
        if before and f"**Result:** {_OPEN}" in body and (number is None or int(heading[1]) == number):
            entries.append(Entry(int(heading[1]), heading[2], before[1]))
    if not entries:
        problem = "no experiment is open" if number is None else f"no experiment {number} is open"
        raise AssayError(f"{log}: {problem}. Start one with: assay eval experiment new TITLE --hypothesis … --what …")
    if len(entries) > 1:
        raise AssayError(
            f"{log}: several experiments are open ({', '.join(str(e.number) for e in entries)}); give --number N"
        )
    return entries[0]


def conclude(
    log: Path,
    entry: Entry,
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    comparison: Mapping[str, Any],
    conclusion: str,
) -> str:
    """Fill in the result of two runs and the conclusion; return the finished entry."""
    text = _read(log)
    heading = next(match for match in _HEADING.finditer(text) if int(match[1]) == entry.number)
    body = _entry_text(text, heading)
    result = "\n".join(["", *result_lines(before, after, comparison)])
    finished = body.replace(f"**Result:** {_OPEN}", f"**After:** run {after['run_id']}\n**Result:**{result}")
    finished = finished.replace(f"**Conclusion:** {_OPEN}", f"**Conclusion:** {_one_line(conclusion)}")
    write_text(log, text[: heading.start()] + finished + text[heading.start() + len(body) :])
    return finished.strip()


def result_lines(before: Mapping[str, Any], after: Mapping[str, Any], comparison: Mapping[str, Any]) -> list[str]:
    """Return the result: every tier and metric before → after in points, then the statistics."""
    k = after["k"]
    lines = [
        f"- {tier.capitalize()}: " + _format_changes(before["tiers"][tier]["metrics"], group["metrics"], k)
        for tier, group in after["tiers"].items()
        if tier in before["tiers"]
    ]
    lines.append("- Overall: " + _format_changes(before["metrics"], after["metrics"], k))
    for name in (f"RR@{k}", f"nDCG@{k}"):
        paired = comparison["statistics"].get(name)
        if paired:
            lines.append(
                f"- {name}: Δ {paired['delta']:+.4f}, 95 % interval {signed(paired['low'])} … {signed(paired['high'])}, "
                f"p = {paired['p_holm']:.4f} (Holm), detectable {paired['detectable'] if paired['detectable'] is not None else '–'}"
            )
    counts = comparison["counts"]
    lines.append(
        f"- Queries: {counts['Win']} won, {counts['Loss']} lost, {counts['Regression']} regressed, {counts['Draw']} drawn"
    )
    regressed = [r for r in comparison["per_query"] if r["kind"] == "Regression"]
    if regressed:
        lines.append(
            f"- Regressed: {'; '.join(cell(r.get('text') or r['query_id'], _TASK_COLUMN_WIDTH) for r in regressed[:10])}"
            + (" …" if len(regressed) > 10 else "")
        )
    return lines


_NEUTRAL = 0.01  # change of a tier's reciprocal rank, up to which it is neither a gain nor a loss


def draft_conclusion(before: Mapping[str, Any], after: Mapping[str, Any], comparison: Mapping[str, Any]) -> str:
    """Return a conclusion from the figures alone: the verdict, the effect per tier, a trade-off, and what follows."""
    name = f"RR@{after['k']}"
    verdict = comparison["statistics"].get(name, {}).get("verdict", NOT_SHOWN)
    effects = {
        tier: group["metrics"][name] - before["tiers"][tier]["metrics"][name]
        for tier, group in after["tiers"].items()
        if None not in (group["metrics"].get(name), before["tiers"].get(tier, {}).get("metrics", {}).get(name))
    }
    tiers = ", ".join(f"{tier} {_effect(delta)} ({delta * 100:+.1f}pp)" for tier, delta in effects.items())
    words = {_effect(delta) for delta in effects.values()}
    trade_off = {"positive", "negative"} <= words
    if trade_off:
        advice = "A trade-off between tiers: keep it only if the gain is worth the loss."
    elif verdict == BETTER:
        advice = "Keep."
    elif verdict == WORSE:
        advice = "Revert."
    else:
        detectable = comparison["statistics"].get(name, {}).get("detectable")
        advice = "Nothing to keep it for" + (f"; this set detects {detectable:g}." if detectable else ".")
    return f"{name} {verdict}." + (f" Per tier: {tiers}." if tiers else "") + f" {advice} (drafted from the figures)"


def _effect(delta: float) -> str:
    return "neutral" if abs(delta) <= _NEUTRAL else "positive" if delta > 0 else "negative"


def _format_changes(before: Mapping[str, Any], after: Mapping[str, Any], k: int) -> str:
    parts = []
    for name in (f"P@{k}", f"R@{k}", f"RR@{k}"):
        a, b = before.get(name), after.get(name)
        if a is not None and b is not None:
            parts.append(f"{name} {a * 100:.1f}% -> {b * 100:.1f}% ({(b - a) * 100:+.1f}pp)")
    return ", ".join(parts) or "nothing measured in both"


def _entry_text(text: str, heading: re.Match[str]) -> str:
    following = _HEADING.search(text, heading.end())
    return text[heading.start() : following.start() if following else len(text)]


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _read(log: Path) -> str:
    try:
        return read_text(log, _MAX_LOG_SIZE)
    except FileNotFoundError:
        return ""
