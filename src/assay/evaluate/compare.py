"""Comparison of two runs: per metric with statistics, per query as Win, Loss, Draw or Regression."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.core.cautions import Caution
from assay.errors import AssayError
from assay.evaluate.chunk_spans import RankLookup, SpanRun, convert_to_spans, rank_lookup
from assay.evaluate.metrics import Measure, defaults, parse
from assay.evaluate.runs import RunInfo, RunStore
from assay.evaluate.scores import Scores, main_measures, pool_scores, score_run
from assay.evaluate.statistics import Paired, holm, paired

_HASH_SHOWN = 12  # characters of a hash in messages


def config_differences(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[str]:
    """Return the configuration differences of two systems, such as `chunker_version 1 → 2`.

    For two different systems, return only their specs.
    """
    if a.get("spec") != b.get("spec"):
        return [f"{a.get('spec', '?')} → {b.get('spec', '?')}"]
    a, b = _flatten_config(a), _flatten_config(b)
    return [
        f"{key} {_shorten_hash(a.get(key, '–'))} → {_shorten_hash(b.get(key, '–'))}"
        for key in sorted({*a, *b})
        if a.get(key) != b.get(key)
    ]


def _flatten_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a system's facts merged with its own settings (`config`)."""
    settings = config.get("config")
    return {key: value for key, value in config.items() if key != "config"} | (
        settings if isinstance(settings, dict) else {"config": settings}
    )


def _shorten_hash(value: object) -> str:
    """Return the value as text, a hash cut to its first characters."""
    text = str(value)
    return text[:_HASH_SHOWN] if re.fullmatch(r"[0-9a-f]{16,}", text) else text


# comparison

KINDS = ("Win", "Loss", "Draw", "Regression")
_MAX_NOTES = 2_000  # changed queries that get a note of lost and gained expectations


class NotComparable(AssayError):
    """Two runs that cannot be compared meaningfully."""


@dataclass(frozen=True)
class Comparison:
    """Changes from run a to run b."""

    a: Scores
    b: Scores
    queries: tuple[str, ...]  # in both runs
    kinds: NDArray[np.int8]  # indices into KINDS
    a_rank: NDArray[np.float64]
    b_rank: NDArray[np.float64]
    statistics: dict[str, Paired]
    adjusted: dict[str, float]  # Holm-adjusted p over the metrics shown
    notes: dict[str, str] = field(default_factory=dict)
    chunker_version_match: str = "exact"
    warnings: tuple[Caution, ...] = ()
    tolerance: float = 0.0  # differences up to this are accepted
    refusals: dict[int, tuple[bool, bool]] = field(default_factory=dict)  # of queries to refuse: refused in a, in b

    @property
    def counts(self) -> dict[str, int]:
        by_kind = np.bincount(self.kinds, minlength=len(KINDS))
        return {kind: int(by_kind[number]) for number, kind in enumerate(KINDS)}


def classify_changes(a_rank: NDArray[np.float64], b_rank: NDArray[np.float64]) -> NDArray[np.int8]:
    """Classify each query by the ranks of its first relevant result; rank 0 = none."""
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
    only: Collection[str] | None = None,
) -> Comparison:
    """Compare two runs query by query.

    Raise NotComparable for different golden sets, matching, k or status; with `force`, warn instead. `only` are the
    ids of the queries to compare, by default all.
    """
    reasons = _differences(a, b)
    if reasons and not force:
        raise NotComparable(
            f"runs {a.run_id} and {b.run_id} are not comparable: {'; '.join(reasons)}. --force compares what they share, with a banner."
        )
    common = frozenset(b.queries) if only is None else frozenset(b.queries).intersection(only)
    queries = a.queries if common.issuperset(a.queries) else tuple(query for query in a.queries if query in common)
    if not queries:
        raise NotComparable(f"runs {a.run_id} and {b.run_id} have no query in common")
    a_rows, b_rows = a.rows(queries), b.rows(queries)
    labels = [clusters[query] for query in queries] if clusters else None
    statistics = {
        name: paired(a.values[name][a_rows], b.values[name][b_rows], clusters=labels)
        for name in _shared_measures(a, b, measures)
    }
    statistics = {name: pair for name, pair in statistics.items() if pair.n}
    k = min(a.k, b.k)
    a_rank, b_rank = (np.where(ranks <= k, ranks, 0) for ranks in (a.first_rank[a_rows], b.first_rank[b_rows]))
    kinds = classify_changes(a_rank, b_rank)
    refusals = _compare_refusals(a.refusals[a_rows], b.refusals[b_rows], kinds)
    return Comparison(
        a=a, b=b, queries=queries, kinds=kinds, a_rank=a_rank, b_rank=b_rank, statistics=statistics,
        adjusted=holm({name: pair.p for name, pair in statistics.items()}), refusals=refusals,
        warnings=(*_forced(reasons), *_cautions(a, b)),
    )  # fmt: skip


def _compare_refusals(
    a: NDArray[np.float64], b: NDArray[np.float64], kinds: NDArray[np.int8]
) -> dict[int, tuple[bool, bool]]:
    """Set the kinds of queries to refuse, which have no ranks; return whether each was refused in a and in b."""
    measured = ~(np.isnan(a) | np.isnan(b))
    kinds[measured & (b > a)] = KINDS.index("Win")
    kinds[measured & (b < a)] = KINDS.index("Regression")
    return {number: (bool(a[number]), bool(b[number])) for number in np.flatnonzero(measured).tolist()}


def _shared_measures(a: Scores, b: Scores, measures: Sequence[Measure] | None) -> list[str]:
    """Return the measures to compare; raise NotComparable if a requested one is not in both runs."""
    present = a.values.keys() & b.values.keys()
    names = [str(measure) for measure in measures or default_measures(a, b)]
    shared = [name for name in names if name in present]
    if measures and len(shared) < len(names):
        missing = [name for name in names if name not in shared]
        raise NotComparable(f"{', '.join(missing)}: not in both runs; they have {', '.join(sorted(present))}")
    return shared


def default_measures(a: Scores, b: Scores) -> list[Measure]:
    """Return the four main measures, then DocR@k and the measures without cut-off that are positive in either run.

    Holm corrects over all measures shown, so further cut-offs are left out, and so is a measure with the same figures as
    an earlier one in both runs, as DocR has where documents are expected.
    """
    k = min(a.k, b.k)
    others = [m for m in defaults(k) if m.cut is None or (m.kind.name == "DocR" and m.cut == k)]
    shown = main_measures(k)
    for measure in others:
        name = str(measure)
        if (_has_positive_value(a, name) or _has_positive_value(b, name)) and not any(
            _same_values(a, name, str(earlier)) and _same_values(b, name, str(earlier)) for earlier in shown
        ):
            shown.append(measure)
    return shown


def _same_values(scores: Scores, name: str, other: str) -> bool:
    both = name in scores.values and other in scores.values
    return both and np.array_equal(scores.values[name], scores.values[other], equal_nan=True)


def _has_positive_value(scores: Scores, name: str) -> bool:
    values = scores.values.get(name, np.array([]))
    return bool(np.nanmax(values, initial=0.0) > 0)


def compare_runs(
    store: RunStore,
    a: RunInfo,
    b: RunInfo,
    measures: Sequence[Measure] | None = None,
    strict_chunker_version: bool = False,
    force: bool = False,
    only: Collection[str] | None = None,
) -> Comparison:
    """Compare two stored runs.

    Chunks of different chunkers are matched by document and span, unless `strict_chunker_version` forbids it.
    """
    sides = None
    if a.chunker_version != b.chunker_version and a.level == b.level == "chunk":
        if strict_chunker_version:
            raise NotComparable(
                f"run {a.run_id} was chunked by '{a.chunker_version}', run {b.run_id} by '{b.chunker_version}', so chunk ids differ. "
                "Without --strict-chunker-version they are matched by document and span."
            )
        sides = convert_to_spans(store, a, b)
    side_a, side_b = sides or (None, None)
    scores_a = score_run(store, a, measures, side_a.judged() if side_a else None)
    scores_b = score_run(store, b, measures, side_b.judged() if side_b else None)
    comparison = compare_scores(scores_a, scores_b, measures, _clusters_by_query(store, a, scores_a), force, only)
    return replace(
        comparison,
        notes=_notes(comparison, rank_lookup(store, a, side_a), rank_lookup(store, b, side_b)),
        chunker_version_match="fallback_doc_span" if sides else "exact",
        warnings=(*comparison.warnings, *(_chunker_cautions(a, b, sides) if sides else ())),
    )


def compare_sets(
    store: RunStore,
    pairs: Sequence[tuple[RunInfo, RunInfo]],
    measures: Sequence[Measure] | None = None,
    force: bool = False,
) -> Comparison:
    """Compare runs on several golden sets as one comparison, from the first to the second of each pair.

    Queries are pooled. Those of one repository, else of one set, are a cluster: they are not independent.
    """
    if len(pairs) == 1:
        return compare_runs(store, *pairs[0], measures, force=force)
    names = _set_names([store.golden_path(a) for a, _ in pairs])
    clusters: dict[str, str] = {}
    sides: tuple[dict[str, Scores], dict[str, Scores]] = ({}, {})
    for name, pair in zip(names, pairs, strict=True):
        for side, run in zip(sides, pair, strict=True):
            side[name] = score_run(store, run, measures)
            repositories = store.repositories(run)
            clusters |= {
                f"{name}/{query}": repository or name
                for query, repository in zip(side[name].queries, repositories, strict=True)
            }
    return compare_scores(pool_scores(sides[0]), pool_scores(sides[1]), measures, clusters, force)


def _set_names(paths: Sequence[str]) -> list[str]:
    """Return short, distinct names of golden sets."""
    names: list[str] = []
    for path in paths:
        stem = PurePath(path).name.partition(".")[0] or "set"
        names.append(stem if stem not in names else f"{stem}-{len(names) + 1}")
    return names


def compare_with_baseline(
    store: RunStore,
    baseline: Scores,
    run: RunInfo,
    measures: Sequence[Measure] | None = None,
    force: bool = False,
    only: Collection[str] | None = None,
) -> Comparison:
    """Compare a baseline file with a stored run.

    The file holds no hits, so chunks of another chunker cannot be matched by span.
    """
    reasons = []
    if run.level == "chunk" and baseline.chunker_version != run.chunker_version:
        reasons.append(
            f"chunked by '{baseline.chunker_version}' in the baseline, by '{run.chunker_version}' in run {run.run_id}"
        )
    if reasons and not force:
        raise NotComparable(
            f"not comparable: {reasons[0]}, so chunk ids differ. Compare two stored runs instead, or set a new baseline."
        )
    if measures:  # without cut-off, such as MRR: at that of the baseline, which has no other figures
        at_k = {name.rpartition("@")[0]: name for name in baseline.values if name.endswith(f"@{baseline.k}")}
        names = [name if (name := str(measure)) in baseline.values else at_k.get(name, name) for measure in measures]
        measures = [parse(name) for name in names]
    scores = score_run(store, run, measures)
    comparison = compare_scores(baseline, scores, measures, _clusters_by_query(store, run, scores), force, only)
    return replace(comparison, warnings=(*comparison.warnings, *_forced(reasons)))


def _clusters_by_query(store: RunStore, run: RunInfo, scores: Scores) -> dict[str, str] | None:
    """Return the repository of each query if there are several: queries of one repository are not independent."""
    repositories = store.repositories(run)
    return dict(zip(scores.queries, repositories, strict=True)) if len(set(repositories)) > 1 else None


def _forced(reasons: Iterable[str]) -> tuple[Caution, ...]:
    return tuple(Caution("forced", f"forced: {reason}") for reason in reasons)


def _chunker_cautions(a: RunInfo, b: RunInfo, sides: tuple[SpanRun, SpanRun]) -> list[Caution]:
    versions = f"{a.chunker_version or '?'} → {b.chunker_version or '?'}"
    message = f"chunker versions differ ({versions}): chunks matched by document and ≥ 50 % span overlap"
    cautions = [Caution("chunker-versions", message)]
    without_span = max(side.unknown for side in sides)
    if without_span:
        message = f"{without_span} expected chunks have no known span and cannot be matched across chunkers"
        cautions.append(Caution("unknown-spans", message))
    return cautions


def _differences(a: Scores, b: Scores) -> list[str]:
    reasons = []
    if a.golden_hash != b.golden_hash:
        only_a, only_b = len(set(a.queries) - set(b.queries)), len(set(b.queries) - set(a.queries))
        reasons.append(f"different golden sets ({only_a} queries only in a, {only_b} only in b, or other expectations)")
    if a.matching != b.matching:
        reasons.append(f"matching {a.matching} and {b.matching}")
    if a.k != b.k:
        reasons.append(f"k {a.k} and {b.k}")
    for run in (a, b):
        if run.status in ("running", "incomplete"):
            reasons.append(f"run {run.run_id} is {run.status}")
        elif run.invalid:
            reasons.append(f"run {run.run_id} is not a measurement ({run.invalid})")
    return reasons


def _cautions(a: Scores, b: Scores) -> list[Caution]:
    cautions = []
    if a.run_id == b.run_id:
        cautions.append(Caution("same-run", f"run {a.run_id} is compared with itself: nothing can differ"))
    for run in (a, b):
        if run.status == "failures":
            message = f"the system failed on some queries in run {run.run_id}; they score 0"
            cautions.append(Caution("failed-queries", message))
    return cautions


def _notes(comparison: Comparison, ranks_in_a: RankLookup, ranks_in_b: RankLookup) -> dict[str, str]:
    """Return a note per changed query: lost and gained expectations, and configuration differences."""
    changed = np.flatnonzero(comparison.kinds != KINDS.index("Draw"))[:_MAX_NOTES]
    if not len(changed):
        return {}
    k = min(comparison.a.k, comparison.b.k)
    differences = (
        config_differences(comparison.a.config, comparison.b.config)
        if comparison.a.system == comparison.b.system
        else []
    )
    ranks_before = ranks_in_a(comparison.a.rows(comparison.queries)[changed].tolist(), k)
    ranks_after = ranks_in_b(comparison.b.rows(comparison.queries)[changed].tolist(), k)
    queries = [comparison.queries[number] for number in changed.tolist()]
    notes = {}
    for query, before, after in zip(queries, ranks_before, ranks_after, strict=True):
        moved = {"lost": sorted(before.keys() - after.keys()), "gained": sorted(after.keys() - before.keys())}
        notes[query] = "; ".join(
            [*(f"{change} {', '.join(names)}" for change, names in moved.items() if names), *differences]
        )
    return notes
