"""A comparison as JSON: what `--format json` prints and reports are rendered from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from assay.core.cautions import as_json
from assay.evaluate.compare import KINDS, Comparison, config_differences
from assay.evaluate.metrics import mean, rounded
from assay.evaluate.scores import Scores
from assay.evaluate.statistics import Paired
from assay.evaluate.verdicts import verdict


def comparison_json(comparison: Comparison, texts: dict[str, str] | None = None) -> dict[str, Any]:
    """Return the comparison as printed by --format json and read by reports."""
    a, b = comparison.a, comparison.b
    k = min(a.k, b.k)
    main = [name for name in (f"RR@{k}", f"nDCG@{k}", f"P@{k}", f"R@{k}") if name in comparison.statistics]
    measured = {name for means in (a.means, b.means) for name, value in means.items() if value is not None}
    return {
        "run_a": a.run_id,
        "run_b": b.run_id,
        "aggregate_a": {name: value for name, value in _means(comparison, a).items() if name in measured},
        "aggregate_b": {name: value for name, value in _means(comparison, b).items() if name in measured},
        "deltas": deltas(comparison),
        "statistics": {
            name: statistics_json(pair, comparison.adjusted[name])
            | {"verdict": verdict(name, pair, comparison.adjusted[name], comparison.tolerance)}
            for name, pair in comparison.statistics.items()
        },
        "counts": comparison.counts,
        "causes": config_differences(a.config, b.config),
        "per_query": _query_rows(comparison, main or list(comparison.statistics), texts),
        "warnings": as_json(comparison.warnings),
    }


def _means(comparison: Comparison, scores: Scores) -> dict[str, float | None]:
    """Return the means of a run over the compared queries."""
    if len(comparison.queries) == len(scores.queries):
        return scores.means
    rows = scores.rows(comparison.queries)
    return {name: mean(values[rows]) for name, values in scores.values.items()}


def _query_rows(comparison: Comparison, names: Sequence[str], texts: dict[str, str] | None) -> list[dict[str, Any]]:
    """Return each query's kind, ranks, note and figures."""
    figures_a, figures_b = (_query_figures(run, comparison.queries, names) for run in (comparison.a, comparison.b))
    ranks_a, ranks_b = comparison.a_rank.astype(int).tolist(), comparison.b_rank.astype(int).tolist()
    refusals = comparison.refusals
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
        | (dict(zip(("a_refused", "b_refused"), refusals[number], strict=True)) if number in refusals else {})
        for number, (query, kind, rank_a, rank_b, of_a, of_b) in enumerate(
            zip(comparison.queries, comparison.kinds.tolist(), ranks_a, ranks_b, figures_a, figures_b, strict=True)
        )
    ]


def deltas(comparison: Comparison) -> dict[str, Any]:
    """Return b - a per metric both runs have, and the way chunks were matched."""
    a, b = comparison.a, comparison.b
    a_rows, b_rows = a.rows(comparison.queries), b.rows(comparison.queries)
    means: dict[str, Any] = {}
    for name in a.values.keys() & b.values.keys():
        differences = b.values[name][b_rows] - a.values[name][a_rows]
        measured = differences[~np.isnan(differences)]
        if len(measured):
            means[name] = rounded(float(measured.mean()))
    return {name: means[name] for name in a.values if name in means} | {
        "chunker_version_match": comparison.chunker_version_match
    }


def statistics_json(pair: Paired, adjusted: float) -> dict[str, Any]:
    return {
        "n": pair.n, "a": rounded(pair.mean_a), "b": rounded(pair.mean_b), "delta": rounded(pair.delta),
        "low": rounded(pair.interval.low), "high": rounded(pair.interval.high),
        "p": rounded(pair.p), "p_holm": rounded(adjusted), "p_wilcoxon": rounded(pair.p_wilcoxon), "p_t": rounded(pair.p_t),
        "effect": None if pair.effect is None else rounded(pair.effect),
        "wins": pair.wins, "losses": pair.losses, "ties": pair.ties, "detectable": rounded(pair.detectable),
        "clusters": pair.clusters, "method": pair.method,
    }  # fmt: skip


def _query_figures(scores: Scores, queries: Sequence[str], names: Sequence[str]) -> list[dict[str, float | None]]:
    """Return each query's figures for JSON. Few values are distinct, so each is rounded once."""
    rows = scores.rows(queries)
    figures: list[dict[str, float | None]] = [{} for _ in rows]
    for name in names:
        values, positions = np.unique(scores.values[name][rows], return_inverse=True)
        distinct = [rounded(value) for value in values.tolist()]
        for row, position in zip(figures, positions.tolist(), strict=True):
            row[name] = distinct[position]
    return figures
