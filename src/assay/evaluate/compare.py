"""Two runs side by side: per metric with statistics, per query as Win, Loss, Draw or Regression.

Win         b finds something relevant in its first k and a does not, or b finds it higher
Loss        both find something, b lower
Regression  a finds something, b nothing: the hard kind of loss
Draw        the same rank, or neither finds anything
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.core.golden import Expected, GoldenQuery, GoldenSet
from assay.core.hits import Response
from assay.errors import AssayError
from assay.evaluate.judging import judge
from assay.evaluate.matching import MATCHERS, matcher
from assay.evaluate.metrics.measures import Measure, defaults, parse
from assay.evaluate.runs import RunInfo, RunStore
from assay.evaluate.scores import Scores, of_run
from assay.evaluate.statistics import Paired, holm, paired
from assay.evaluate.summary import clusters_of, found_ranks, main_measures

KINDS = ("Win", "Loss", "Draw", "Regression")
_NOTED = 2_000  # changed queries whose lost and gained expectations are looked up


class NotComparable(AssayError):
    """Two runs that say nothing about each other."""


@dataclass(frozen=True)
class Comparison:
    """What changed from run a to run b."""

    a: Scores
    b: Scores
    queries: tuple[str, ...]  # those in both
    kinds: NDArray[np.int8]  # positions in KINDS
    a_rank: NDArray[np.float64]
    b_rank: NDArray[np.float64]
    statistics: dict[str, Paired]
    adjusted: dict[str, float]  # p by Holm over the metrics shown
    notes: dict[str, str]
    chunker_version_match: str
    warnings: tuple[str, ...]

    @property
    def counts(self) -> dict[str, int]:
        found = np.bincount(self.kinds, minlength=len(KINDS))
        return {kind: int(found[number]) for number, kind in enumerate(KINDS)}


def kinds_of(a_rank: NDArray[np.float64], b_rank: NDArray[np.float64]) -> NDArray[np.int8]:
    """The kind of each query from the ranks of the first relevant result; 0 = none."""
    a = np.where(a_rank > 0, a_rank, np.inf)
    b = np.where(b_rank > 0, b_rank, np.inf)
    kinds = np.full(len(a), KINDS.index("Draw"), dtype=np.int8)
    kinds[b < a] = KINDS.index("Win")
    kinds[b > a] = KINDS.index("Loss")
    kinds[(a < np.inf) & (b == np.inf)] = KINDS.index("Regression")
    return kinds


def compare_scores(
    a: Scores,
    b: Scores,
    measures: Sequence[Measure] | None = None,
    clusters: dict[str, str] | None = None,
    force: bool = False,
) -> Comparison:
    """Compares query by query. Refuses what is not comparable unless forced; then the report says so."""
    warnings = [] if force else _refuse(a, b)
    if force:
        warnings += [f"forced: {reason}" for reason in _differences(a, b)]
    queries = a.queries if a.queries == b.queries else _common(a.queries, b.queries)
    if not queries:
        raise NotComparable(f"runs {a.run_id} and {b.run_id} have no query in common")
    a_rows, b_rows = a.rows(queries), b.rows(queries)
    names = [str(m) for m in measures or shown_by_default(a, b)]
    shared = [name for name in names if name in a.values and name in b.values]
    if measures and len(shared) < len(names):
        absent = [name for name in names if name not in shared]
        raise NotComparable(
            f"{', '.join(absent)}: not in both runs; they have {', '.join(sorted(a.values.keys() & b.values.keys()))}"
        )
    labels = [clusters[query] for query in queries] if clusters else None
    told = {name: paired(a.values[name][a_rows], b.values[name][b_rows], clusters=labels) for name in shared}
    told = {name: pair for name, pair in told.items() if pair.n}
    a_rank, b_rank = a.first_rank[a_rows], b.first_rank[b_rows]
    return Comparison(
        a=a, b=b, queries=queries, kinds=kinds_of(a_rank, b_rank), a_rank=a_rank, b_rank=b_rank, statistics=told,
        adjusted=holm({name: pair.p for name, pair in told.items()}), notes={}, chunker_version_match="exact", warnings=tuple(warnings),
    )  # fmt: skip


def shown_by_default(a: Scores, b: Scores) -> list[Measure]:
    """The four main measures, and whatever else was measured in both and is not about ranks alone: Holm counts what is shown."""
    k = min(a.k, b.k)
    others = [m for m in defaults(k) if m.cut is None or (m.kind.name == "DocR" and m.cut == k)]
    return [*main_measures(k), *(m for m in others if _varies(a, str(m)) or _varies(b, str(m)))]


def _varies(scores: Scores, name: str) -> bool:
    values = scores.values.get(name, np.array([]))
    return bool(np.nanmax(values, initial=0.0) > 0)


def compare_runs(
    store: RunStore,
    a: RunInfo,
    b: RunInfo,
    measures: Sequence[Measure] | None = None,
    strict_chunker_version: bool = False,
    force: bool = False,
) -> Comparison:
    """Compares two stored runs. Chunks of different chunkers are matched by document and span, unless that is forbidden."""
    judged_a, judged_b, match = None, None, "exact"
    if a.chunker_version != b.chunker_version and a.level == b.level == "chunk":
        if strict_chunker_version:
            raise NotComparable(
                f"run {a.run_id} was chunked by '{a.chunker_version}', run {b.run_id} by '{b.chunker_version}', so chunk ids differ. "
                "Without --strict-chunker-version they are matched by document and span."
            )
        match = "fallback_doc_span"
        judged_a, judged_b, unknown = _judged_by_span(store, a, b)
    scores_a, scores_b = of_run(store, a, measures, judged_a), of_run(store, b, measures, judged_b)
    golden = store.golden(a.golden_hash) if len(scores_a.queries) <= _FULL else None
    clusters = None
    if golden and a.golden_hash == b.golden_hash and clusters_of(golden.queries):
        clusters = {query.id: query.repository for query in golden.queries}
    found = compare_scores(scores_a, scores_b, measures, clusters, force)
    warnings = list(found.warnings)
    if match != "exact":
        warnings.append(
            f"chunker versions differ ({a.chunker_version or '?'} → {b.chunker_version or '?'}): chunks matched by document and ≥ 50 % span overlap"
        )
        if unknown:
            warnings.append(f"{unknown} expected chunks have no known span and cannot be matched across chunkers")
    notes = _notes(store, a, b, found, golden) if golden else {}
    return replace(found, notes=notes, chunker_version_match=match, warnings=tuple(warnings))


_FULL = 100_000  # queries above which the golden set is not read back for notes and clusters


def _refuse(a: Scores, b: Scores) -> list[str]:
    reasons = _differences(a, b)
    if reasons:
        raise NotComparable(
            f"runs {a.run_id} and {b.run_id} are not comparable: {'; '.join(reasons)}. --force compares what they share, with a banner."
        )
    return []


def _differences(a: Scores, b: Scores) -> list[str]:
    reasons = []
    if a.golden_hash != b.golden_hash:
        only_a, only_b = len(set(a.queries) - set(b.queries)), len(set(b.queries) - set(a.queries))
        reasons.append(f"different golden sets ({only_a} queries only in a, {only_b} only in b, or other expectations)")
    if a.matching != b.matching:
        reasons.append(f"matching {a.matching} and {b.matching}")
    if a.k != b.k:
        reasons.append(f"k {a.k} and {b.k}")
    reasons += [f"run {run.run_id} is {run.status}" for run in (a, b) if run.status != "complete"]
    return reasons


def _common(a: Sequence[str], b: Sequence[str]) -> tuple[str, ...]:
    known = set(b)
    return tuple(query for query in a if query in known)


# chunks of different chunkers


def _judged_by_span(store: RunStore, a: RunInfo, b: RunInfo) -> tuple[Any, Any, int]:
    """Both runs judged by document and span: an expected chunk's span is the golden set's, else that of a hit with its id."""
    golden = store.golden(a.golden_hash)
    answers = {run.run_id: store.responses(run.run_id, len(golden.queries)) for run in (a, b)}
    spans = {
        hit.id: (hit.document, hit.start, hit.end)
        for responses in answers.values()
        for response in responses
        for hit in response.hits
        if hit.end
    }
    moved = [_with_spans(query, spans) for query in golden.queries]
    unknown = sum(not e.end for query in moved for e in query.at("span"))
    by_a, by_b = (judge(moved, answers[run.run_id], MATCHERS["span"], "span") for run in (a, b))
    return by_a, by_b, unknown


def _with_spans(query: GoldenQuery, spans: dict[str, tuple[str, int, int]]) -> GoldenQuery:
    """The query with its expected chunks as spans of documents."""

    def moved(expected: Expected) -> Expected:
        if expected.level != "chunk":
            return expected
        doc, start, end = (
            (expected.doc, expected.start, expected.end) if expected.end else spans.get(expected.name, ("", 0, 0))
        )
        return replace(expected, level="span", doc=doc, start=start, end=end)

    return replace(query, expected=tuple(map(moved, query.expected)))


# notes


def causes(a: dict[str, Any], b: dict[str, Any]) -> list[str]:
    """What the two systems say differs between them: `chunker_version 1 → 2`. Of two different systems, only that."""
    if a.get("spec") != b.get("spec"):
        return [f"{a.get('spec', '?')} → {b.get('spec', '?')}"]
    return [f"{key} {a.get(key, '–')} → {b.get(key, '–')}" for key in sorted({*a, *b}) if a.get(key) != b.get(key)]


def _notes(store: RunStore, a: RunInfo, b: RunInfo, found: Comparison, golden: GoldenSet) -> dict[str, str]:
    """For every query whose kind is not Draw: which expectations were lost or gained, and what is known to differ."""
    draw = KINDS.index("Draw")
    changed = [query for query, kind in zip(found.queries, found.kinds.tolist(), strict=True) if kind != draw][:_NOTED]
    if not changed:
        return {}
    known = "; ".join(causes(a.config, b.config)) if a.system == b.system else ""
    other = golden if a.golden_hash == b.golden_hash else store.golden(b.golden_hash)
    ranks_a = _found(store, a, golden, set(changed))
    ranks_b = _found(store, b, other, set(changed))
    notes = {}
    for query in changed:
        lost = sorted(ranks_a[query].keys() - ranks_b[query].keys())
        gained = sorted(ranks_b[query].keys() - ranks_a[query].keys())
        parts = [f"lost {', '.join(lost)}"] if lost else []
        parts += [f"gained {', '.join(gained)}"] if gained else []
        parts += [known] if known else []
        notes[query] = "; ".join(parts)
    return notes


def _found(store: RunStore, info: RunInfo, golden: GoldenSet, wanted: set[str]) -> dict[str, dict[str, int]]:
    responses: list[Response] = store.responses(info.run_id, len(golden.queries))
    by = matcher(info.matching)
    return {
        query.id: found_ranks(query, response.hits[: info.k], by, info.level)
        for query, response in zip(golden.queries, responses, strict=True)
        if query.id in wanted
    }


# as data


def as_json(comparison: Comparison, texts: dict[str, str] | None = None) -> dict[str, Any]:
    """The comparison as printed with --format json and as reports read it."""
    a, b = comparison.a, comparison.b
    main = [name for name in (f"RR@{a.k}", f"nDCG@{a.k}", f"P@{a.k}", f"R@{a.k}") if name in comparison.statistics]
    a_rows, b_rows = a.rows(comparison.queries), b.rows(comparison.queries)
    sides = {name: (a.values[name][a_rows], b.values[name][b_rows]) for name in main}
    measured = {name for means in (a.means, b.means) for name, value in means.items() if value is not None}
    per_query = []
    for number, query in enumerate(comparison.queries):
        row: dict[str, Any] = {
            "query_id": query,
            "kind": KINDS[comparison.kinds[number]],
            "a_hit_rank": int(comparison.a_rank[number]) or None,
            "b_hit_rank": int(comparison.b_rank[number]) or None,
            "note": comparison.notes.get(query),
            "a": {name: finite(values[0][number]) for name, values in sides.items()},
            "b": {name: finite(values[1][number]) for name, values in sides.items()},
        }
        if texts is not None:
            row["text"] = texts.get(query, "")
        per_query.append(row)
    return {
        "run_a": a.run_id,
        "run_b": b.run_id,
        "aggregate_a": {name: value for name, value in a.means.items() if name in measured},
        "aggregate_b": {name: value for name, value in b.means.items() if name in measured},
        "deltas": deltas(comparison),
        "statistics": {
            name: statistics_json(pair, comparison.adjusted[name]) for name, pair in comparison.statistics.items()
        },
        "counts": comparison.counts,
        "causes": causes(a.config, b.config),
        "per_query": per_query,
        "warnings": list(comparison.warnings),
    }


def deltas(comparison: Comparison) -> dict[str, Any]:
    """b - a of every metric both runs have, and how chunks were matched."""
    found: dict[str, Any] = {}
    for name, before in comparison.a.means.items():
        after = comparison.b.means.get(name)
        if before is not None and after is not None:
            found[name] = finite(after - before)
    found |= {name: finite(pair.delta) for name, pair in comparison.statistics.items()}
    return found | {"chunker_version_match": comparison.chunker_version_match}


def statistics_json(pair: Paired, adjusted: float) -> dict[str, Any]:
    return {
        "n": pair.n, "a": finite(pair.mean_a), "b": finite(pair.mean_b), "delta": finite(pair.delta),
        "low": finite(pair.interval.low), "high": finite(pair.interval.high),
        "p": finite(pair.p), "p_holm": finite(adjusted), "p_wilcoxon": finite(pair.p_wilcoxon), "p_t": finite(pair.p_t),
        "effect": None if pair.effect is None else finite(pair.effect),
        "wins": pair.wins, "losses": pair.losses, "ties": pair.ties, "detectable": finite(pair.detectable),
        "clusters": pair.clusters, "method": pair.method,
    }  # fmt: skip


def finite(value: float) -> float | None:
    return round(float(value), 4) + 0.0 if math.isfinite(value) else None


def better(name: str, delta: float) -> bool | None:
    """Whether a change of this metric is for the better; None when there is none."""
    if abs(delta) < 1e-12:
        return None
    return (delta > 0) == parse(name).higher_is_better
