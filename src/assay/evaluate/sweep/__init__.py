"""Sweeps: many configurations of a system on one golden set, with the best, the fastest and the indistinguishable ones.

    grid (flags, YAML) ──▶ configurations ──▶ shared stages ──▶ a stored run each ──▶ verdict ──▶ table · JSON · HTML

`grid` defines the configurations and their names, `execution` runs and resumes them, `verdict` computes figures and
recommendations, `run` does it all and `save` writes the files. Every configuration is an ordinary run: `eval show`,
`compare` and `report` work on it, `eval run --system SPEC` repeats it.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from assay.core.cautions import Caution, as_json, from_json
from assay.core.golden import GoldenQuery, GoldenSet
from assay.core.progress import Progress
from assay.evaluate.comparison_json import statistics_json
from assay.evaluate.files import write_text
from assay.evaluate.metrics import mean, rounded
from assay.evaluate.run import Plan
from assay.evaluate.runs import RunStore
from assay.evaluate.scores import clusters_of, describe_queries, golden_json, slice_members
from assay.evaluate.statistics import latency, mean_interval
from assay.evaluate.sweep.execution import Stage, Task, build_stages, run_tasks, stages_json
from assay.evaluate.sweep.grid import NONE, SHARED, Configuration, names
from assay.evaluate.sweep.verdict import (
    LEVELS,
    Difficulty,
    Figure,
    Measured,
    Verdict,
    band,
    correlation,
    difficulties,
    judge,
    read,
)
from assay.html.report.sweep import render
from assay.system.cluster import ClusterSettings
from assay.system.executor import open_executor
from assay.text.chunk import parse as chunker

# slice of the golden set → JSON key of seed 004
_SLICES = {"categories": "category_metrics", "tiers": "difficulty_metrics", "file_types": "file_type_metrics"}
_STATE = ("index_fingerprint", "sha256")  # facts that change with a system's state; commands have none
_FEATURES = ("ease", "gap", "spread", "agreement")


def configuration_report(measured: Measured, golden: GoldenSet, difficulties: Sequence[Difficulty]) -> dict[str, Any]:
    """Return the JSON report of a configuration."""
    clusters = clusters_of(golden.queries)
    groups = {name: slice_members(golden.queries, slice_name) for slice_name, name in _SLICES.items()}
    groups["predicted_difficulty_metrics"] = _by_level(difficulties)
    return {
        "config": config(measured),
        "summary": {"total_queries": len(golden.queries), **_averages(measured, slice(None))},
        "bands": {f"avg_{key}": word for key, value in measured.means.items() if (word := band(key, value))},
        "intervals": {f"avg_{figure.key}": _interval(measured, figure, clusters) for figure in measured.figures},
        "latency": {
            name: rounded(value) for name, value in asdict(latency(measured.judged.fact("latency_ms"))).items()
        },
        "latency_under_load": measured.disturbed,
        **{
            name: {group: {"count": len(rows), **_averages(measured, rows)} for group, rows in members_by_group.items()}
            for name, members_by_group in groups.items()
        },
        "failed_queries": measured.failed,
        "run_id": measured.info.run_id,
        "query_results": _query_rows(measured, golden, difficulties),
    }


def comparison(
    measured: Sequence[Measured],
    golden: GoldenSet,
    difficulties: Sequence[Difficulty],
    verdict: Verdict,
    work: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the JSON report of all configurations."""
    by_name = {entry.name: entry for entry in measured}
    return {
        "timestamp": datetime.now(UTC).isoformat(timespec="seconds"),
        "num_configs": len(measured),
        "golden": golden_json(golden),
        "matching": measured[0].info.matching,
        "k": measured[0].info.k,
        "recommendations": recommendations(by_name, verdict),
        "pareto_front": list(verdict.front),
        "not_told_apart": verdict.indistinguishable,
        "against_best": {
            name: statistics_json(pair, verdict.adjusted[name]) | {"told_apart": not verdict.is_indistinguishable(name)}
            for name, pair in verdict.versus_best.items()
        },
        "best_shares": {name: rounded(share) for name, share in verdict.best_shares.items()},
        "difficulty": difficulty(measured, golden.queries, difficulties),
        "work": dict(work),
        "warnings": as_json(cautions(measured, golden)),
        "reports": [configuration_report(entry, golden, difficulties) for entry in measured],
    }


def config(measured: Measured) -> dict[str, Any]:
    """Return a configuration under the keys of seed 004; null where it does not apply."""
    chunker_spec, embedder, reranker = (measured.configuration.settings.get(name) for name in SHARED)
    return {
        "name": measured.name,
        "chunk_size": chunker(str(chunker_spec)).size if chunker_spec else None,
        "embedding_model": None if embedder in (None, NONE) else str(embedder),
        "use_reranker": reranker not in (None, NONE),
        "reranker_model": None if reranker in (None, NONE) else str(reranker),
        "system": measured.configuration.spec,
        "settings": dict(measured.configuration.settings),
    }


def recommendations(by_name: Mapping[str, Measured], verdict: Verdict) -> dict[str, Any]:
    """Return the recommended configurations with their figures."""

    def describe(name: str) -> dict[str, Any] | None:
        if not name:
            return None
        measured = by_name[name]
        return {
            "name": name,
            f"ndcg_at_{measured.info.k}": rounded(measured.score),
            "latency_ms": rounded(measured.latency),
            "best_share": rounded(verdict.best_shares[name]),
        }

    return {
        "best_quality": describe(verdict.best),
        "fastest": describe(verdict.fastest),
        "best_under": {"limit_ms": verdict.limit, **(describe(verdict.best_within_limit) or {"name": None})},
        "fastest_not_told_apart": describe(verdict.fastest_indistinguishable),
    }


def difficulty(
    measured: Sequence[Measured], queries: Sequence[GoldenQuery], difficulties: Sequence[Difficulty]
) -> dict[str, Any]:
    """Return predicted difficulties and their correlation with measured quality."""
    # NaN where a query cannot be judged
    quality_by_query = np.asarray(np.mean([entry.quality for entry in measured], axis=0), dtype=np.float64)
    features = {name: np.array([getattr(entry, name) for entry in difficulties]) for name in _FEATURES}
    correlations = {name: correlation(values, quality_by_query) for name, values in features.items()}
    quality = f"avg_ndcg_at_{measured[0].info.k}"
    return {
        "correlation": {
            name: {"spearman": rounded(entry.rho), "p": rounded(entry.p), "n": entry.n}
            for name, entry in correlations.items()
        },
        "classes": {
            level: {"count": len(rows), quality: mean(quality_by_query[rows])}
            for level, rows in _by_level(difficulties).items()
        },
        "queries": {
            query.id: {
                "class": entry.level,
                **{name: rounded(getattr(entry, name)) for name in _FEATURES},
                "quality": rounded(value),
            }
            for query, entry, value in zip(queries, difficulties, quality_by_query.tolist(), strict=True)
        },
    }


def cautions(measured: Sequence[Measured], golden: GoldenSet) -> list[Caution]:
    """Return cautions on failed queries, disturbed latencies and unverifiable reuse."""
    of_runs = (from_json(stored) for entry in measured for stored in entry.info.aggregate_json.get("warnings", ()))
    collected = [caution for caution in of_runs if caution.code != "failed-queries"]
    collected += [
        Caution(
            "failed-queries", f"{entry.name} failed on {entry.failed} of {len(golden.queries)} queries; they score 0"
        )
        for entry in measured
        if entry.failed
    ]
    count = len(measured)
    disturbed = sum(entry.disturbed for entry in measured)
    if disturbed:
        message = f"{disturbed} of {count} configurations were measured while others ran, which raises their latencies"
        collected.append(Caution("disturbed-latency", message))
    unverified = sum(not entry.sent and not any(entry.info.config.get(fact) for fact in _STATE) for entry in measured)
    if unverified:
        message = (
            f"{unverified} of {count} configurations reuse earlier runs of a system whose changes cannot be detected; "
            "--fresh repeats them"
        )
        collected.append(Caution("unverified-reuse", message))
    return list(dict.fromkeys(collected))


def _averages(measured: Measured, rows: Any) -> dict[str, float | None]:
    averages = {f"avg_{key}": mean(values[rows]) for key, values in measured.values.items()}
    return averages | {"avg_latency_ms": rounded(latency(measured.judged.fact("latency_ms")[rows]).mean)}


def _interval(measured: Measured, figure: Figure, clusters: list[str] | None) -> dict[str, float | None]:
    """Return the interval stored with the run, or compute it for other measures."""
    stored = measured.info.aggregate_json.get("spread", {}).get(str(figure.measure))
    if stored:
        return {"low": stored["low"], "high": stored["high"]}
    interval = mean_interval(measured.values[figure.key], clusters=clusters)
    return {"low": rounded(interval.low), "high": rounded(interval.high)}


def _by_level(difficulties: Sequence[Difficulty]) -> dict[str, list[int]]:
    """Return the positions of the queries per difficulty class, easy first; empty classes are left out."""
    groups = {
        level: [position for position, difficulty in enumerate(difficulties) if difficulty.level == level]
        for level in reversed(LEVELS)
    }
    return {level: rows for level, rows in groups.items() if rows}


def _query_rows(measured: Measured, golden: GoldenSet, difficulties: Sequence[Difficulty]) -> list[dict[str, Any]]:
    """Return each query with its figures, under the keys of seed 004."""
    rows = describe_queries(
        measured.info, golden, measured.judged, measured.responses, [figure.measure for figure in measured.figures]
    )
    keys = {str(figure.measure): figure.key for figure in measured.figures}
    return [
        {
            "query_id": row["id"],
            "query": row["text"],
            "category": row["category"],
            "difficulty": row["tier"],
            "predicted_difficulty": difficulty.level,
            **{keys[name]: value for name, value in row["metrics"].items()},
            "latency_ms": row["latency_ms"] if math.isfinite(row["latency_ms"]) else None,
            "first_rank": row["first_rank"],
            "expected": row["expected"],
            "retrieved": row["retrieved"],
            "error": row["error"],
        }
        for row, difficulty in zip(rows, difficulties, strict=True)
    ]


# Sweep


@dataclass(frozen=True)
class Sweep:
    """A finished sweep."""

    golden: GoldenSet
    measured: Sequence[Measured]
    verdict: Verdict
    difficulties: Sequence[Difficulty]
    shared: Sequence[Stage] = ()  # shared chunking and embedding work

    @cached_property
    def named(self) -> dict[str, Measured]:
        """Configurations by name."""
        return {entry.name: entry for entry in self.measured}

    @property
    def id(self) -> str:
        """Stable id of these configurations, system states and golden set."""
        facts = [self.golden.digest, self.measured[0].info.matching, self.measured[0].info.k]
        facts += [(entry.configuration.spec, entry.info.index_fingerprint) for entry in self.measured]
        return hashlib.sha256(repr(facts).encode()).hexdigest()[:10]

    @property
    def work(self) -> dict[str, Any]:
        """Counts of this command's work and of reused work."""
        queries = len(self.golden.queries) * len(self.measured)
        sent = sum(entry.sent for entry in self.measured)
        return {
            "configurations": len(self.measured),
            "finished_before": sum(not entry.sent for entry in self.measured),
            "resumed": sum(entry.resumed for entry in self.measured),
            "queries_asked": sent,
            "queries_answered_before": queries - sent,
            **stages_json(self.shared),
        }


def run(
    configurations: Sequence[Configuration],
    golden: GoldenSet,
    plan: Plan,
    root: Path,
    runs: Path | str,
    progress: Progress,
    *,
    corpus: Path | None = None,
    jobs: int = 1,
    cluster: ClusterSettings | None = None,
    limit: float = 100.0,
    timeout: float = 60.0,
    fresh: bool = False,
) -> Sweep:
    """Build shared stages once, here, run each configuration, on the cluster if any, and judge the results."""
    named = dict(zip(names(configurations), configurations, strict=True))
    shared = build_stages(configurations, golden, root, corpus, progress)
    tasks = [
        Task(name, configuration.spec, golden, plan, root, runs, corpus, timeout, fresh)
        for name, configuration in named.items()
    ]
    progress.start("asking", len(tasks) * len(golden.queries))
    with open_executor(min(jobs, len(tasks)), cluster) as executor:
        results = run_tasks(tasks, executor, progress.advance)
    with RunStore.open(runs) as store:
        measured = read(store, golden, named, results)
    verdict = judge(measured, limit, clusters_of(golden.queries))
    return Sweep(golden, measured, verdict, difficulties(measured), shared)


def save(sweep: Sweep, folder: Path) -> tuple[dict[str, Any], list[Path]]:
    """Write comparison, per-configuration reports and HTML page; return the comparison and the main paths."""
    report = {"sweep_id": sweep.id} | comparison(
        sweep.measured, sweep.golden, sweep.difficulties, sweep.verdict, sweep.work
    )
    files = {folder / "comparison.json": report}
    files |= {folder / f"{single_report['config']['name']}.json": single_report for single_report in report["reports"]}
    for path, content in files.items():
        write_text(path, msgspec.json.format(msgspec.json.encode(content), indent=2).decode() + "\n")
    write_text(folder / "report.html", render(report))
    return report, [folder / "comparison.json", folder / "report.html"]
