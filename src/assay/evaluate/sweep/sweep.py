"""A sweep from configurations to runs: shared stages once, finished runs reused."""

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

from assay.core.golden import GoldenQuery, GoldenSet
from assay.core.progress import Progress
from assay.evaluate.compare import finite, statistics_json
from assay.evaluate.diagnose import LEVELS, Difficulty, correlation
from assay.evaluate.files import write_text
from assay.evaluate.metrics.measures import mean
from assay.evaluate.report.sweep import render
from assay.evaluate.run import Plan
from assay.evaluate.runs import RunStore
from assay.evaluate.scores import members
from assay.evaluate.statistics import latency, mean_interval
from assay.evaluate.summary import clusters_of, describe_queries
from assay.evaluate.sweep import asking as stages
from assay.evaluate.sweep.asking import Stage, Task, ask_all
from assay.evaluate.sweep.grid import NONE, SHARED, Configuration, names
from assay.evaluate.sweep.verdict import Figure, Measured, Verdict, band, difficulties, judge, read
from assay.text.chunk import parse as chunker

# slices of the golden set → the seed's name for their figures
_SLICES = {"categories": "category_metrics", "tiers": "difficulty_metrics", "file_types": "file_type_metrics"}
_STATE = ("index_fingerprint", "sha256")  # facts that change with what a system is made of; a command has none
_SIGNS = ("ease", "gap", "spread", "agreement")


def single(one: Measured, golden: GoldenSet, difficulties: Sequence[Difficulty]) -> dict[str, Any]:
    """The report of one configuration."""
    clusters = clusters_of(golden.queries)
    groups = {name: members(golden.queries, slice_name) for slice_name, name in _SLICES.items()}
    groups["predicted_difficulty_metrics"] = _by_level(difficulties)
    return {
        "config": config(one),
        "summary": {"total_queries": len(golden.queries), **_averages(one, slice(None))},
        "bands": {f"avg_{key}": word for key, value in one.means.items() if (word := band(key, value))},
        "intervals": {f"avg_{figure.key}": _interval(one, figure, clusters) for figure in one.figures},
        "latency": {name: finite(value) for name, value in asdict(latency(one.judged.fact("latency_ms"))).items()},
        "latency_under_load": one.disturbed,
        **{
            name: {group: {"count": len(rows), **_averages(one, rows)} for group, rows in found.items()}
            for name, found in groups.items()
        },
        "failed_queries": one.failed,
        "run_id": one.info.run_id,
        "query_results": _queries(one, golden, difficulties),
    }


def comparison(
    measured: Sequence[Measured],
    golden: GoldenSet,
    difficulties: Sequence[Difficulty],
    verdict: Verdict,
    work: Mapping[str, Any],
) -> dict[str, Any]:
    """The report of all configurations."""
    by_name = {one.name: one for one in measured}
    return {
        "timestamp": datetime.now(UTC).isoformat(timespec="seconds"),
        "num_configs": len(measured),
        "golden": {
            "path": golden.path,
            "format": golden.format,
            "digest": golden.digest,
            "queries": len(golden.queries),
        },
        "matching": measured[0].info.matching,
        "k": measured[0].info.k,
        "recommendations": recommendations(by_name, verdict),
        "pareto_front": list(verdict.front),
        "not_told_apart": verdict.not_told_apart,
        "against_best": {
            name: statistics_json(pair, verdict.adjusted[name]) | {"told_apart": not verdict.alike(name)}
            for name, pair in verdict.against.items()
        },
        "best_shares": {name: finite(share) for name, share in verdict.chosen.items()},
        "difficulty": difficulty(measured, golden.queries, difficulties),
        "work": dict(work),
        "warnings": warnings(measured, golden),
        "reports": [single(one, golden, difficulties) for one in measured],
    }


def config(one: Measured) -> dict[str, Any]:
    """What was configured, under the seed's names; null where the system has no such thing."""
    divided, embedded, reranked = (one.configuration.settings.get(name) for name in SHARED)
    return {
        "name": one.name,
        "chunk_size": chunker(str(divided)).size if divided else None,
        "embedding_model": None if embedded in (None, NONE) else str(embedded),
        "use_reranker": reranked not in (None, NONE),
        "reranker_model": None if reranked in (None, NONE) else str(reranked),
        "system": one.configuration.spec,
        "settings": dict(one.configuration.settings),
    }


def recommendations(by_name: Mapping[str, Measured], verdict: Verdict) -> dict[str, Any]:
    """Which to take, each with its figures."""

    def told(name: str) -> dict[str, Any] | None:
        if not name:
            return None
        one = by_name[name]
        return {
            "name": name,
            f"ndcg_at_{one.info.k}": finite(one.score),
            "latency_ms": finite(one.latency),
            "best_share": finite(verdict.chosen[name]),
        }

    return {
        "best_quality": told(verdict.best),
        "fastest": told(verdict.fastest),
        "best_under": {"limit_ms": verdict.limit, **(told(verdict.in_time) or {"name": None})},
        "fastest_not_told_apart": told(verdict.thrifty),
    }


def difficulty(
    measured: Sequence[Measured], queries: Sequence[GoldenQuery], difficulties: Sequence[Difficulty]
) -> dict[str, Any]:
    """How hard the queries looked, and how well that predicted what was measured."""
    outcome = mean_quality(measured)
    signs = {name: np.array([getattr(one, name) for one in difficulties]) for name in _SIGNS}
    found = {name: correlation(values, outcome) for name, values in signs.items()}
    quality = f"avg_ndcg_at_{measured[0].info.k}"
    return {
        "correlation": {
            name: {"spearman": finite(one.rho), "p": finite(one.p), "n": one.n} for name, one in found.items()
        },
        "classes": {
            level: {"count": len(rows), quality: mean(outcome[rows])} for level, rows in _by_level(difficulties).items()
        },
        "queries": {
            query.id: {
                "class": one.level,
                **{name: finite(getattr(one, name)) for name in _SIGNS},
                "quality": finite(value),
            }
            for query, one, value in zip(queries, difficulties, outcome.tolist(), strict=True)
        },
    }


def mean_quality(measured: Sequence[Measured]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """What the configurations reached on each query, on average; NaN where it cannot be judged."""
    return np.asarray(np.mean([one.quality for one in measured], axis=0), dtype=np.float64)


def warnings(measured: Sequence[Measured], golden: GoldenSet) -> list[str]:
    """What a reader of the figures should know."""
    said = dict.fromkeys(
        warning
        for one in measured
        for warning in one.info.aggregate_json.get("warnings", ())
        if "failed on" not in warning
    )
    said |= dict.fromkeys(
        f"{one.name} failed on {one.failed} of {len(golden.queries)} queries; they score 0"
        for one in measured
        if one.failed
    )
    disturbed = sum(one.disturbed for one in measured)
    if disturbed:
        said[
            f"{disturbed} of {len(measured)} configurations were measured while others ran: their latencies are higher than alone"
        ] = None
    unseen = sum(not one.asked and not any(one.info.config.get(fact) for fact in _STATE) for one in measured)
    if unseen:
        said[
            f"{unseen} of {len(measured)} configurations were asked earlier; whether their system changed since cannot be seen; --fresh asks again"
        ] = None
    return list(said)


def _averages(one: Measured, rows: Any) -> dict[str, float | None]:
    averages = {f"avg_{key}": mean(values[rows]) for key, values in one.values.items()}
    return averages | {"avg_latency_ms": finite(latency(one.judged.fact("latency_ms")[rows]).mean)}


def _interval(one: Measured, figure: Figure, clusters: list[str] | None) -> dict[str, float | None]:
    """As it was stored with the run, where its measure is one of those that every run reports."""
    stored = one.info.aggregate_json.get("spread", {}).get(str(figure.measure))
    if stored:
        return {"low": stored["low"], "high": stored["high"]}
    found = mean_interval(one.values[figure.key], clusters=clusters)
    return {"low": finite(found.low), "high": finite(found.high)}


def _by_level(difficulties: Sequence[Difficulty]) -> dict[str, list[int]]:
    """The numbers of the queries in each class that has any, the easy ones first."""
    groups = {level: [n for n, one in enumerate(difficulties) if one.level == level] for level in reversed(LEVELS)}
    return {level: rows for level, rows in groups.items() if rows}


def _queries(one: Measured, golden: GoldenSet, difficulties: Sequence[Difficulty]) -> list[dict[str, Any]]:
    """Each query with its figures, under the seed's names."""
    told = describe_queries(one.info, golden, one.judged, one.responses, [figure.measure for figure in one.figures])
    keys = {str(figure.measure): figure.key for figure in one.figures}
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
        for row, difficulty in zip(told, difficulties, strict=True)
    ]


# A sweep from configurations to files: `run` is the whole story.


@dataclass(frozen=True)
class Sweep:
    """A sweep after it ended."""

    golden: GoldenSet
    measured: Sequence[Measured]
    verdict: Verdict
    difficulties: Sequence[Difficulty]
    shared: Sequence[Stage] = ()  # what was divided and embedded for all of them

    @cached_property
    def named(self) -> dict[str, Measured]:
        return {one.name: one for one in self.measured}

    @property
    def id(self) -> str:
        """The same for the same configurations of the same system on the same golden set."""
        facts = [self.golden.digest, self.measured[0].info.matching, self.measured[0].info.k]
        facts += [(one.configuration.spec, one.info.index_fingerprint) for one in self.measured]
        return hashlib.sha256(repr(facts).encode()).hexdigest()[:10]

    @property
    def work(self) -> dict[str, Any]:
        """What this command did, and what had been done before."""
        queries = len(self.golden.queries) * len(self.measured)
        asked = sum(one.asked for one in self.measured)
        return {
            "configurations": len(self.measured),
            "finished_before": sum(not one.asked for one in self.measured),
            "resumed": sum(one.resumed for one in self.measured),
            "queries_asked": asked,
            "queries_answered_before": queries - asked,
            **stages.told(self.shared),
        }


def run(
    configurations: Sequence[Configuration],
    golden: GoldenSet,
    plan: Plan,
    root: Path,
    runs: Path,
    progress: Progress,
    *,
    corpus: Path | None = None,
    jobs: int = 1,
    limit: float = 100.0,
    timeout: float = 60.0,
    fresh: bool = False,
) -> Sweep:
    """Shared stages once, then a run for each configuration, then what they amount to."""
    named = dict(zip(names(configurations), configurations, strict=True))
    shared = stages.make(configurations, golden, root, corpus, progress)
    tasks = [Task(name, one.spec, golden, plan, root, runs, corpus, timeout, fresh) for name, one in named.items()]
    progress.start("asking", len(tasks) * len(golden.queries))
    asked = ask_all(tasks, jobs, progress.advance)
    with RunStore.open(runs) as store:
        measured = read(store, golden, named, asked)
    verdict = judge(measured, limit, clusters_of(golden.queries))
    return Sweep(golden, measured, verdict, difficulties(measured), shared)


def save(sweep: Sweep, folder: Path) -> tuple[dict[str, Any], list[Path]]:
    """The comparison as JSON, and the files that hold it: it, a report for each configuration, and the page."""
    report = {"sweep_id": sweep.id} | comparison(
        sweep.measured, sweep.golden, sweep.difficulties, sweep.verdict, sweep.work
    )
    files = {folder / "comparison.json": report}
    files |= {folder / f"{one['config']['name']}.json": one for one in report["reports"]}
    for path, content in files.items():
        write_text(path, msgspec.json.format(msgspec.json.encode(content), indent=2).decode() + "\n")
    write_text(folder / "report.html", render(report))
    return report, [folder / "comparison.json", folder / "report.html"]
