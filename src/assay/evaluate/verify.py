"""Golden-set verification and Markdown reports of runs and comparisons.

An expectation that is missing from the corpus can never be found and would look like a ranking loss.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.core.golden import Expected, GoldenQuery, Hit
from assay.evaluate.matching import MATCHERS, Matcher, components
from assay.text.terms import nearest

_MAX_SUGGESTIONS = 3
_TASK_WIDTH = 40  # characters of a task in a message


@dataclass(frozen=True, slots=True)
class Missing:
    """An expectation that nothing in the corpus matches."""

    query: GoldenQuery
    expected: Expected
    near: tuple[str, ...]

    def __str__(self) -> str:
        task = (
            self.query.text
            if len(self.query.text) <= _TASK_WIDTH
            else self.query.text[: _TASK_WIDTH - 2].rstrip() + "..."
        )
        hint = f"  (nearest: {', '.join(self.near)})" if self.near else ""
        return f"MISSING [{self.query.tier or '-'}] {task}: {self.expected.name}{hint}"


class Inventory:
    """All items of a corpus, by name. Expectations at levels it does not cover are not checked."""

    def __init__(self, hits: Iterable[Hit], levels: Iterable[str]) -> None:
        self.hits = list(hits)
        self.levels = frozenset(levels)
        self._by_name: dict[str, list[Hit]] = {}
        self._exact: set[str] = set()
        self._paths: set[str] = set()
        for hit in self.hits:
            self._exact |= {hit.id, hit.symbol, hit.doc}
            if hit.path:
                parts = hit.path.split("/")
                self._paths |= {"/".join(parts[start:]) for start in range(len(parts))}
            for part in components(hit.symbol or hit.id)[-1:]:
                self._by_name.setdefault(part, []).append(hit)

    def has(self, expected: Expected, matcher: Matcher) -> bool:
        """Return True when the corpus has a match: looked up by last name part, then by a full scan."""
        if expected.level in ("file", "span"):
            return (expected.doc or expected.name).removeprefix("./") in self._paths
        if expected.name in self._exact:
            return True
        if expected.level != "symbol":
            return False
        candidates = self._by_name.get((components(expected.name) or ("",))[-1], [])
        if any(MATCHERS["strict"].matches(hit, expected) for hit in candidates):
            return True
        # `dotted` accepts a class for its methods, which does not prove that the method exists
        return matcher.name == "symbol" and any(matcher.matches(hit, expected) for hit in self.hits)

    def nearest(self, expected: Expected) -> tuple[str, ...]:
        if expected.level in ("file", "span"):
            return tuple(nearest(expected.name, {hit.path for hit in self.hits if hit.path}, _MAX_SUGGESTIONS))
        names = {hit.symbol or hit.id for hit in self.hits}
        return tuple(nearest(expected.name.rpartition("::")[2], names, _MAX_SUGGESTIONS))


def verify(
    queries: Sequence[GoldenQuery], inventories: Mapping[str, Inventory], matcher: Matcher
) -> tuple[list[Missing], int, int]:
    """Return the missing expectations, the number checked, and the number skipped (level or repository not covered).

    Inventories are by repository; the one called "" serves queries without a repository.
    """
    missing: list[Missing] = []
    checked = skipped = 0
    for query in queries:
        inventory = inventories.get(query.repository) or inventories.get("")
        for expected in query.expected:
            if inventory is None or expected.level not in inventory.levels:
                skipped += 1
                continue
            checked += 1
            if not inventory.has(expected, matcher):
                missing.append(Missing(query, expected, inventory.nearest(expected)))
    return missing, checked, skipped


# Markdown reports

_TASK_COLUMN_WIDTH = 60  # characters


def findings(run: Mapping[str, Any]) -> str:
    """Render FINDINGS.md: metrics overall, per group and per query of a run (the JSON of `eval run`)."""
    names = _measures_at_k(run, ("P", "R", "RR", "nDCG"))
    parts = ["# Findings", "", *_run_header(run), "", "## Overall", "", _overall_table(run), ""]
    for title, key in (("Per tier", "tiers"), ("Per category", "categories"), ("Per language", "languages")):
        if run.get(key):
            parts += [f"## {title}", "", _group_table(run[key], names), ""]
    parts += ["## Per query", "", _query_table(run["queries"], names), ""]
    failed = [q for q in run["queries"] if q["first_rank"] is None and q["expected"]]
    if failed:
        parts += [f"## Nothing found ({len(failed)})", ""]
        for query in failed:
            parts += [
                f"- **{_cell(query['id'])}** {_cell(query['text'], 200)}",
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
            [q["repository"], q["tier"], _cell(q["text"], _TASK_COLUMN_WIDTH), _code_list(q["expected"][:3])]
            for q in missed
        ]
        parts += [f"## Nothing found ({len(missed)})", "", table(["repository", "tier", "task", "expected"], rows), ""]
    return "\n".join(parts).rstrip() + "\n"


def report(comparison: Mapping[str, Any]) -> str:
    """Render report.md: metric differences of a comparison, then the changed queries."""
    a, b = comparison["run_a"], comparison["run_b"]
    counts = comparison["counts"]
    parts = [f"# {a} → {b}", ""]
    parts += [f"> **{warning}**" for warning in comparison["warnings"]]
    parts += ["", "Known differences: " + "; ".join(comparison["causes"]), ""] if comparison["causes"] else [""]
    rows = [
        [name, _figure(s["a"]), _figure(s["b"]), _signed(s["delta"]), f"{_signed(s['low'])} … {_signed(s['high'])}", _figure(s["p_holm"]),
         _figure(s["effect"]), f"{s['wins']}/{s['losses']}/{s['ties']}", _figure(s["detectable"])]
        for name, s in comparison["statistics"].items()
    ]  # fmt: skip
    parts += [
        "## Metrics",
        "",
        table(["metric", "a", "b", "Δ", "95 % interval", "p (Holm)", "effect d", "+/−/=", "detectable"], rows),
        "",
    ]
    parts += [f"Chunks matched: {comparison['deltas']['chunker_version_match']}.", ""]
    parts += ["## Queries", "", ", ".join(f"{count} {kind}" for kind, count in counts.items()), ""]
    for kind, title in (("Regression", "Regressions"), ("Loss", "Losses"), ("Win", "Wins")):
        changed = [row for row in comparison["per_query"] if row["kind"] == kind]
        if changed:
            rows = [
                [_cell(r["query_id"]), _rank(r["a_hit_rank"]), _rank(r["b_hit_rank"]), _cell(r["note"] or "")]
                for r in changed
            ]
            parts += [f"### {title} ({len(changed)})", "", table(["query", "rank a", "rank b", "note"], rows), ""]
    return "\n".join(parts).rstrip() + "\n"


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
    return [*lines, *(f"\n> {warning}" for warning in run["warnings"])]


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
            _cell(q["text"], _TASK_COLUMN_WIDTH),
            *(_figure(q["metrics"].get(name)) for name in names),
            _rank(q["first_rank"]),
            q["tier"],
        ]
        for q in queries
    ]
    return table(["task", *names, "first", "tier"], rows)


def _cell(text: str, limit: int = 0) -> str:
    flat = " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
    return flat[: limit - 1].rstrip() + "…" if limit and len(flat) > limit else flat


def _code_list(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def _signed(value: float | None) -> str:
    return "–" if value is None else f"{value:+.4f}"


def _rank(rank: int | None) -> str:
    return "–" if rank is None else str(rank)
