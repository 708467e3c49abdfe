"""Comparison of two runs: per metric with statistics, per query as Win, Loss, Draw or Regression."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.errors import AssayError
from assay.evaluate.matching import MATCHERS, matcher
from assay.evaluate.metrics.measures import Measure, defaults, parse
from assay.evaluate.runs import BySpan, RunInfo, RunStore, answered, by_span
from assay.evaluate.scores import Scores, of_run
from assay.evaluate.statistics import Paired, holm, paired
from assay.evaluate.summary import found_ranks, main_measures

_HASH = 12  # characters of a hash that are shown


def causes(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[str]:
    """What the two systems say differs between them: `chunker_version 1 → 2`. Of two different systems, only that."""
    if a.get("spec") != b.get("spec"):
        return [f"{a.get('spec', '?')} → {b.get('spec', '?')}"]
    a, b = _flat(a), _flat(b)
    return [
        f"{key} {_short(a.get(key, '–'))} → {_short(b.get(key, '–'))}"
        for key in sorted({*a, *b})
        if a.get(key) != b.get(key)
    ]


def _flat(config: Mapping[str, Any]) -> dict[str, Any]:
    """The facts of a system, its own settings (`config`) among them."""
    own = config.get("config")
    return {key: value for key, value in config.items() if key != "config"} | (
        own if isinstance(own, dict) else {"config": own}
    )


def _short(value: object) -> str:
    """A value as it is read by people: of a hash its beginning."""
    text = str(value)
    return text[:_HASH] if re.fullmatch(r"[0-9a-f]{16,}", text) else text


# positions of queries and k → which expectations were found within the first k, and at which rank
Found = Callable[[Sequence[int], int], list[dict[str, int]]]


def lookup(store: RunStore, run: RunInfo, side: BySpan | None) -> Found:
    """How to look up what a run found."""

    def found(positions: Sequence[int], k: int) -> list[dict[str, int]]:
        if side:
            pairs, by, level = answered(side, positions), MATCHERS["span"], "span"
        else:
            pairs = list(zip(store.queries(run, positions), store.responses_at(run.run_id, positions), strict=True))
            by, level = matcher(run.matching), run.level
        return [found_ranks(query, response.hits[:k], by, level) for query, response in pairs]

    return found


# Two runs side by side: per metric with statistics, per query as Win, Loss, Draw or Regression.

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
    k = min(a.k, b.k)
    a_rank, b_rank = (np.where(ranks <= k, ranks, 0) for ranks in (a.first_rank[a_rows], b.first_rank[b_rows]))
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
    sides = None
    if a.chunker_version != b.chunker_version and a.level == b.level == "chunk":
        if strict_chunker_version:
            raise NotComparable(
                f"run {a.run_id} was chunked by '{a.chunker_version}', run {b.run_id} by '{b.chunker_version}', so chunk ids differ. "
                "Without --strict-chunker-version they are matched by document and span."
            )
        sides = by_span(store, a, b)
    side_a, side_b = sides or (None, None)
    scores_a = of_run(store, a, measures, side_a.judged() if side_a else None)
    scores_b = of_run(store, b, measures, side_b.judged() if side_b else None)
    found = compare_scores(scores_a, scores_b, measures, _clusters(store, a, scores_a), force)
    return replace(
        found,
        notes=_notes(found, *(lookup(store, run, side) for run, side in ((a, side_a), (b, side_b)))),
        chunker_version_match="fallback_doc_span" if sides else "exact",
        warnings=(*found.warnings, *(_across_chunkers(a, b, sides) if sides else ())),
    )


def compare_with_baseline(
    store: RunStore,
    baseline: Scores,
    run: RunInfo,
    measures: Sequence[Measure] | None = None,
    force: bool = False,
) -> Comparison:
    """Compares a baseline file with a stored run. The file has no answers, so chunks of another chunker cannot be matched again."""
    reasons = []
    if run.level == "chunk" and baseline.chunker_version != run.chunker_version:
        reasons.append(
            f"chunked by '{baseline.chunker_version}' in the baseline, by '{run.chunker_version}' in run {run.run_id}"
        )
    if reasons and not force:
        raise NotComparable(
            f"not comparable: {reasons[0]}, so chunk ids differ. Compare two stored runs instead, or set a new baseline."
        )
    scores = of_run(store, run, measures)
    found = compare_scores(baseline, scores, measures, _clusters(store, run, scores), force)
    return replace(found, warnings=(*found.warnings, *(f"forced: {reason}" for reason in reasons)))


def _clusters(store: RunStore, run: RunInfo, scores: Scores) -> dict[str, str] | None:
    """The repository of each query, where there are several: queries of one repository are not independent."""
    repositories = store.repositories(run)
    return dict(zip(scores.queries, repositories, strict=True)) if len(set(repositories)) > 1 else None


def _across_chunkers(a: RunInfo, b: RunInfo, sides: tuple[BySpan, BySpan]) -> list[str]:
    versions = f"{a.chunker_version or '?'} → {b.chunker_version or '?'}"
    said = [f"chunker versions differ ({versions}): chunks matched by document and ≥ 50 % span overlap"]
    unknown = max(side.unknown for side in sides)
    return said + [f"{unknown} expected chunks have no known span and cannot be matched across chunkers"] * bool(
        unknown
    )


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


# notes


def _notes(found: Comparison, found_by_a: Found, found_by_b: Found) -> dict[str, str]:
    """For every query whose kind is not Draw: which expectations were lost or gained, and what is known to differ."""
    changed = np.flatnonzero(found.kinds != KINDS.index("Draw"))[:_NOTED]
    if not len(changed):
        return {}
    k = min(found.a.k, found.b.k)
    known = causes(found.a.config, found.b.config) if found.a.system == found.b.system else []
    before = found_by_a(found.a.rows(found.queries)[changed].tolist(), k)
    after = found_by_b(found.b.rows(found.queries)[changed].tolist(), k)
    queries = [found.queries[number] for number in changed.tolist()]
    notes = {}
    for query, had, has in zip(queries, before, after, strict=True):
        moved = {"lost": sorted(had.keys() - has.keys()), "gained": sorted(has.keys() - had.keys())}
        notes[query] = "; ".join([*(f"{what} {', '.join(names)}" for what, names in moved.items() if names), *known])
    return notes


# as data


def comparison_json(comparison: Comparison, texts: dict[str, str] | None = None) -> dict[str, Any]:
    """The comparison as printed with --format json and as reports read it."""
    a, b = comparison.a, comparison.b
    k = min(a.k, b.k)
    main = [name for name in (f"RR@{k}", f"nDCG@{k}", f"P@{k}", f"R@{k}") if name in comparison.statistics]
    measured = {name for means in (a.means, b.means) for name, value in means.items() if value is not None}
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
        "per_query": _rows(comparison, main or list(comparison.statistics), texts),
        "warnings": list(comparison.warnings),
    }


def _rows(comparison: Comparison, names: Sequence[str], texts: dict[str, str] | None) -> list[dict[str, Any]]:
    """Each query with its kind, ranks, note and figures."""
    figures_a, figures_b = (_figures(run, comparison.queries, names) for run in (comparison.a, comparison.b))
    ranks_a, ranks_b = comparison.a_rank.astype(int).tolist(), comparison.b_rank.astype(int).tolist()
    return [
        {
            "query_id": query,
            "kind": KINDS[kind],
            "a_hit_rank": rank_a or None,
            "b_hit_rank": rank_b or None,
            "note": comparison.notes.get(query),
            "a": of_a,
            "b": of_b,
        }
        | ({} if texts is None else {"text": texts.get(query, "")})
        for query, kind, rank_a, rank_b, of_a, of_b in zip(
            comparison.queries, comparison.kinds.tolist(), ranks_a, ranks_b, figures_a, figures_b, strict=True
        )
    ]


def deltas(comparison: Comparison) -> dict[str, Any]:
    """b - a of every metric both runs have, and how chunks were matched."""
    a, b = comparison.a, comparison.b
    a_rows, b_rows = a.rows(comparison.queries), b.rows(comparison.queries)
    found: dict[str, Any] = {}
    for name in a.values.keys() & b.values.keys():
        differences = b.values[name][b_rows] - a.values[name][a_rows]
        measured = differences[~np.isnan(differences)]
        if len(measured):
            found[name] = finite(float(measured.mean()))
    return {name: found[name] for name in a.values if name in found} | {
        "chunker_version_match": comparison.chunker_version_match
    }


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


def _figures(scores: Scores, queries: Sequence[str], names: Sequence[str]) -> list[dict[str, float | None]]:
    """Each query's figures for JSON. Few of them are different, so each value is rounded once."""
    rows = scores.rows(queries)
    figures: list[dict[str, float | None]] = [{} for _ in rows]
    for name in names:
        values, places = np.unique(scores.values[name][rows], return_inverse=True)
        rounded = [finite(value) for value in values.tolist()]
        for row, place in zip(figures, places.tolist(), strict=True):
            row[name] = rounded[place]
    return figures
