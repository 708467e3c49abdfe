"""Per-query scores of a run, from the run store or a committed baseline file, slices of queries, and run summaries.

Comparisons and gates read scores, never the stored responses.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.core.cautions import Caution, as_json, of_golden
from assay.core.golden import GoldenQuery, GoldenSet, Hit, Response
from assay.errors import AssayError
from assay.evaluate.files import write_text
from assay.evaluate.judging import Floats, Judged, judge, mark
from assay.evaluate.matching import Matcher, matcher, matcher_for
from assay.evaluate.metrics import Measure, UnknownMeasure, defaults, first_rank, mean, parse, require_depth, rounded
from assay.evaluate.runs import RunInfo, RunStore
from assay.evaluate.selection import ALL, Selection
from assay.evaluate.statistics import detectable_before, latency, mean_interval, summary
from assay.evaluate.validity import Sanity, assess
from assay.evaluate.verdicts import query_verdict
from assay.system.inputs import read_json

BASELINE_FORMAT = 1
# facts of a run that identify it in its scores and in a baseline file
_IDENTITY = ("run_id", "created", "golden_hash", "system", "matching", "k", "chunker_version", "config")
_MAX_BASELINE_SIZE = 32_000_000  # bytes: a baseline of 100,000 queries


@dataclass(frozen=True)
class Scores:
    """Scores of a run, per query. `first_rank` is 0 where the first k hold no relevant result."""

    run_id: str
    created: str
    golden_hash: str
    system: str
    matching: str
    k: int
    status: str
    chunker_version: str
    config: dict[str, Any]
    queries: tuple[str, ...]
    values: dict[str, Floats]
    first_rank: Floats
    means: dict[str, float | None]
    latency: Floats = field(default_factory=lambda: np.array([]))
    floors: tuple[str, ...] = ()  # requirements kept with a baseline, as `assay eval gate --min` takes them
    refused: Floats = field(default_factory=lambda: np.array([]))  # of queries to refuse: 1 refused, 0 not; else NaN
    invalid: str = ""  # why the run is not a measurement

    @property
    def refusals(self) -> Floats:
        """Refusals by query, all NaN when they are unknown."""
        return self.refused if len(self.refused) else np.full(len(self.queries), np.nan)

    def require_measurement(self) -> None:
        """Raise AssayError if the figures are not a measurement."""
        if self.invalid:
            raise AssayError(f"run {self.run_id} is not a measurement: {self.invalid}")

    def rows(self, query_ids: Sequence[str]) -> NDArray[np.intp]:
        """Return the positions of these queries."""
        if query_ids == self.queries:
            return np.arange(len(self.queries))
        position_by_id = {query: number for number, query in enumerate(self.queries)}
        return np.array([position_by_id[query] for query in query_ids], dtype=np.intp)


def score_run(
    store: RunStore, info: RunInfo, measures: Sequence[Measure] | None = None, judged: Judged | None = None
) -> Scores:
    """Compute the scores of a stored run from its judged arrays; raise AssayError for cut-offs beyond its depth."""
    require_depth(measures or (), info.requested, info.run_id)
    judged = judged or store.judged(info)
    values = {str(measure): measure.values(judged) for measure in measures or defaults(info.k)}
    return Scores(
        **{name: getattr(info, name) for name in (*_IDENTITY, "status")},
        queries=judged.queries,
        values=values,
        first_rank=first_rank(judged, info.k, 1),
        means={name: mean(figures) for name, figures in values.items()},
        latency=judged.fact("latency_ms"),
        refused=judged.fact("refusal_correctness"),
        invalid=stored_sanity(info).reason,
    )


def stored_sanity(info: RunInfo) -> Sanity:
    """Return the sanity stored with a run; without checks if there is none."""
    stored = info.aggregate_json.get("sanity")
    return Sanity.from_json(stored if isinstance(stored, Mapping) else {})


def pool_scores(parts: Mapping[str, Scores]) -> Scores:
    """Return the scores of runs on several golden sets as those of one; the queries of a set begin with its name."""
    runs = list(parts.values())
    shared = [name for name in runs[0].values if all(name in run.values for run in runs)]
    values = {name: np.concatenate([run.values[name] for run in runs]) for name in shared}

    def common(fact: str) -> Any:
        facts = list(dict.fromkeys(str(getattr(run, fact)) for run in runs))
        return getattr(runs[0], fact) if len(facts) == 1 else ", ".join(facts)

    return Scores(
        **{name: common(name) for name in _IDENTITY if name not in ("k", "config")},
        config=runs[0].config,
        k=min(run.k for run in runs),
        status="complete" if all(run.status == "complete" for run in runs) else "incomplete",
        queries=tuple(f"{name}/{query}" for name, run in parts.items() for query in run.queries),
        values=values,
        first_rank=np.concatenate([run.first_rank for run in runs]),
        means={name: mean(figures) for name, figures in values.items()},
        latency=np.concatenate([run.latency for run in runs]),
        invalid="; ".join(f"{name}: {run.invalid}" for name, run in parts.items() if run.invalid),
    )


def write_baseline(scores: Scores, path: Path, floors: Sequence[str] = ()) -> None:
    """Write a baseline to commit: readable, one line per query, independent of the run file.

    Without `floors`, those of the file that is replaced stay.
    """
    if not floors and path.exists():
        floors = read_baseline(path).floors
    measured = {name: values for name, values in scores.values.items() if not np.isnan(values).all()}
    head = {
        "assay_baseline": BASELINE_FORMAT,
        **{name: getattr(scores, name) for name in _IDENTITY},
        **({"floors": list(floors)} if floors else {}),
        "metrics": {name: scores.means[name] for name in measured},
    }

    def unrounded(value: float) -> float | None:  # a run must equal its own baseline
        return float(value) if math.isfinite(value) else None

    lines = [
        json.dumps(query, ensure_ascii=False)
        + ": "
        + json.dumps({"rank": int(rank)} | {name: unrounded(values[number]) for name, values in measured.items()})
        for number, (query, rank) in enumerate(zip(scores.queries, scores.first_rank, strict=True))
    ]
    text = (
        json.dumps(head, indent=2, ensure_ascii=False)[:-2]
        + ',\n  "queries": {\n    '
        + ",\n    ".join(lines)
        + "\n  }\n}\n"
    )
    write_text(path, text)


def read_baseline(path: Path) -> Scores:
    """Read scores from a baseline file; raise AssayError when it is missing or invalid."""
    try:
        raw = read_json(path, _MAX_BASELINE_SIZE)
        if raw["assay_baseline"] != BASELINE_FORMAT:
            raise AssayError(
                f"{path}: a baseline of format {raw['assay_baseline']}; this version of assay reads {BASELINE_FORMAT}"
            )
        rows: dict[str, dict[str, float | None]] = raw["queries"]
        names = list(raw["metrics"])
        values = {
            str(parse(name)): np.array(
                [math.nan if row[name] is None else row[name] for row in rows.values()], dtype=float
            )
            for name in names
        }
        return Scores(
            **{name: raw[name] for name in _IDENTITY},
            status="complete",
            queries=tuple(rows),
            values=values,
            first_rank=np.array([row["rank"] for row in rows.values()], dtype=float),
            means=raw["metrics"],
            floors=tuple(map(str, raw.get("floors", ()))),
            refused=values.get("refusal_correctness", np.array([])),
        )
    except FileNotFoundError:
        raise AssayError(
            f"{path}: no such baseline. Make one with: assay eval baseline set latest --file {path}"
        ) from None
    except OSError as error:
        raise AssayError(f"{path}: cannot read the baseline ({error.strerror or error})") from None
    except (ValueError, KeyError, TypeError, AttributeError, UnknownMeasure) as error:
        raise AssayError(
            f"{path}: not a baseline file ({type(error).__name__}: {error}). Make one with: assay eval baseline set RUN"
        ) from None


# slices: groups of queries that are reported separately

_LANGUAGES = {
    ".py": "Python", ".pyi": "Python", ".go": "Go", ".ts": "TypeScript", ".tsx": "TypeScript", ".js": "JavaScript", ".jsx": "JavaScript",
    ".mjs": "JavaScript", ".rs": "Rust", ".java": "Java", ".cs": "C#", ".rb": "Ruby", ".c": "C", ".h": "C", ".cc": "C++", ".cpp": "C++",
    ".hpp": "C++", ".php": "PHP", ".kt": "Kotlin", ".swift": "Swift", ".scala": "Scala", ".sh": "Bash", ".bash": "Bash", ".lua": "Lua",
    ".md": "Markdown", ".rst": "reStructuredText", ".adoc": "AsciiDoc", ".txt": "Text", ".html": "HTML", ".pdf": "PDF", ".docx": "DOCX",
    ".ipynb": "Notebook", ".proto": "Protocol Buffers", ".sql": "SQL", ".yaml": "YAML", ".yml": "YAML", ".toml": "TOML", ".json": "JSON",
}  # fmt: skip


def _file_types(query: GoldenQuery) -> set[str]:
    """Return the suffixes of expected files, documents and `path::symbol` names that look like paths."""
    suffixes = set()
    for expected in query.expected:
        path = expected.doc or expected.name.partition("::")[0]
        stem, dot, suffix = path.rpartition("/")[2].rpartition(".")
        if dot and stem and f".{suffix.lower()}" in _LANGUAGES:
            suffixes.add(f".{suffix.lower()}")
    return suffixes


# slice name in the report → groups of a query
SLICES: dict[str, Callable[[GoldenQuery], Iterable[str]]] = {
    "tiers": lambda query: [query.tier] if query.tier else [],
    "categories": lambda query: [query.category] if query.category else [],
    "tags": lambda query: query.tags,
    "repositories": lambda query: [query.repository] if query.repository else [],
    "file_types": _file_types,
    "languages": lambda query: {_LANGUAGES[suffix] for suffix in _file_types(query)},
}

_TIER_ORDER = ("easy", "medium", "hard", "exact", "concept", "multi_hop")


def slice_members(queries: Sequence[GoldenQuery], slice_name: str) -> dict[str, list[int]]:
    """Return the query positions in each group of a slice: tiers in difficulty order, other groups by name."""
    groups: dict[str, list[int]] = {}
    for position, query in enumerate(queries):
        for group in set(SLICES[slice_name](query)):
            groups.setdefault(group, []).append(position)
    tier_ranks = {name: rank for rank, name in enumerate(_TIER_ORDER)}
    return dict(sorted(groups.items(), key=lambda pair: (tier_ranks.get(pair[0], len(tier_ranks)), pair[0])))


_MAIN = ("P", "R", "RR", "nDCG")  # shown in tables by default
SHOWN = 10  # results listed per query


def main_measures(k: int) -> list[Measure]:
    """Return the four main measures at k."""
    return [measure for measure in defaults(k) if measure.kind.name in _MAIN and measure.cut == k]


def golden_json(golden: GoldenSet) -> dict[str, Any]:
    """Return the identity of a golden set."""
    facts = {"path": golden.path, "format": golden.format, "digest": golden.digest}
    return {**facts, "queries": len(golden.queries)}


def summarise(
    info: RunInfo,
    golden: GoldenSet,
    responses: Sequence[Response],
    judged: Judged,
    measures: Sequence[Measure] | None = None,
) -> dict[str, Any]:
    """Return the aggregate of a run, as stored with it and printed as JSON, without the queries.

    Raise AssayError for cut-offs beyond the run's depth.
    """
    chosen = list(measures) if measures else defaults(info.k)
    require_depth(chosen, info.requested, info.run_id)
    values = {str(measure): measure.values(judged) for measure in chosen}
    measured = {name: figures for name, figures in values.items() if not np.isnan(figures).all()}
    sanity = assess(info, golden, responses, judged, chosen)
    clusters = clusters_of(golden.queries)
    aggregate: dict[str, Any] = {
        "run_id": info.run_id,
        "created": info.created,
        "status": info.status,
        "label": info.label,
        "golden": golden_json(golden),
        "system": info.system,
        "config": info.config,
        "matching": info.matching,
        "level": info.level,
        "k": info.k,
        "index_fingerprint": info.index_fingerprint,
        "chunker_version": info.chunker_version,
        "sanity": sanity.as_json(),
        "metrics": {name: mean(figures) for name, figures in values.items()},
        "spread": {name: _spread(figures, clusters) for name, figures in measured.items()},
        "counts": _counts(golden.queries, judged),
        "latency": {
            name: rounded(getattr(latency(judged.fact("latency_ms")), name)) for name in ("p50", "p95", "mean")
        },
        **{name: _total(judged.fact(name)) for name in ("tokens", "cost")},
    }
    for name in SLICES:
        groups = slice_members(golden.queries, name)
        aggregate[name] = {
            group: {"count": len(rows), "metrics": {m: mean(figures[rows]) for m, figures in values.items()}}
            for group, rows in groups.items()
        }
    aggregate["warnings"] = as_json([*info.warnings, *sanity.cautions, *_few_queries(aggregate["counts"]["judged"])])
    return aggregate


def _total(values: Floats) -> dict[str, float | int | None]:
    """Return the sum and mean over the queries that report a value, and their number."""
    measured = values[~np.isnan(values)]
    total, mean_value = (
        (rounded(float(figure)) for figure in (measured.sum(), measured.mean())) if len(measured) else (None, None)
    )
    return {"total": total, "mean": mean_value, "queries": len(measured)}


def _spread(values: Floats, clusters: list[str] | None) -> dict[str, float | None]:
    stats = summary(values)
    interval = mean_interval(values, clusters=clusters)
    return {"sd": rounded(stats.sd), "low": rounded(interval.low), "high": rounded(interval.high)}


def _counts(queries: Sequence[GoldenQuery], judged: Judged) -> dict[str, int]:
    return {
        "queries": len(queries),
        "judged": len(set(judged.main.wanted.owner.tolist())),
        "failed": int(np.nansum(judged.fact("failure_rate"))),
        "empty": int(np.nansum(judged.fact("empty_result_rate"))),
        "to_refuse": sum(query.refuse for query in queries),
        "with_duplicates": int((np.nan_to_num(judged.fact("duplicate_rate")) > 0).sum()),
    }


def _few_queries(judged: int) -> list[Caution]:
    detectable_difference = detectable_before(judged) if judged > 1 else math.inf
    if detectable_difference <= 0.1:
        return []
    limit = f"differences below about {detectable_difference:.2f}" if detectable_difference < 1 else "differences"
    return [Caution("few-queries", f"{judged} judged queries: {limit} are not statistically detectable")]


def clusters_of(queries: Sequence[GoldenQuery]) -> list[str] | None:
    """Return the repository of each query if there are several: queries of one repository are not independent."""
    repositories = [query.repository for query in queries]
    return repositories if len(set(repositories)) > 1 else None


def describe_queries(
    info: RunInfo,
    golden: GoldenSet,
    judged: Judged,
    responses: Sequence[Response],
    measures: Sequence[Measure] | None = None,
) -> list[dict[str, Any]]:
    """Return each query with its figures, expectations, their ranks, and the results."""
    chosen = list(measures) if measures else main_measures(info.k)
    figures = {str(measure): measure.values(judged) for measure in chosen}
    first = first_rank(judged, info.k, 1)
    match_by = matcher(info.matching)
    rows = [
        {
            "id": query.id,
            "text": query.text,
            "tier": query.tier,
            "category": query.category,
            "tags": list(query.tags),
            "repository": query.repository,
            "refuse": query.refuse,
            "refused": response.refused,
            "metrics": {name: rounded(values[number]) for name, values in figures.items()},
            "first_rank": int(first[number]) or None,
            "expected": [e.name for e in query.at(info.level)],
            "found": matched_ranks(query, response.hits, match_by, info.level),
            "retrieved": [hit.symbol or hit.id for hit in response.hits[: max(SHOWN, info.k)]],
            "error": response.error,
            "latency_ms": response.latency_ms,
            "tokens": response.tokens,
            "cost": response.cost,
        }
        for number, (query, response) in enumerate(zip(golden.queries, responses, strict=True))
    ]
    return [row | {"verdict": query_verdict(row)} for row in rows]


def matched_ranks(query: GoldenQuery, hits: Sequence[Hit], match_by: Matcher, level: str) -> dict[str, int]:
    """Return the matched expectations with their ranks."""
    expected = query.at(level)
    rank_by_position = mark(hits, expected, match_by).places
    return {expected[position].name: rank for position, rank in sorted(rank_by_position.items())}


# stored runs as JSON


def list_runs(store: RunStore) -> list[dict[str, Any]]:
    """Return every run with its main figures, oldest first."""
    return [_run_row(run, store.golden_path(run)) for run in store.runs()]


def _run_row(run: RunInfo, golden: str) -> dict[str, Any]:
    return {
        "run_id": run.run_id, "created": run.created, "status": run.status, "label": run.label, "system": run.system, "golden": golden,
        "golden_hash": run.golden_hash, "matching": run.matching, "k": run.k, "queries": run.aggregate_json.get("counts", {}).get("queries", 0),
        "metrics": run.aggregate_json.get("metrics", {}), "measurement": stored_sanity(run).is_measurement,
    }  # fmt: skip


def run_json(
    store: RunStore,
    info: RunInfo,
    measures: Sequence[Measure] | None,
    matching: str = "",
    summary: dict[str, Any] | None = None,
    selection: Selection = ALL,
) -> dict[str, Any]:
    """Return the whole run as JSON: the aggregate (or the given `summary`) and every selected query."""
    golden = store.golden(info)
    if matching:
        info = replace(info, matching=matching, level=matcher_for(golden, matching).level_for(golden))
    responses = store.responses(info.run_id, len(golden.queries))
    if selection:
        responses = [responses[number] for number in selection.positions(golden)]
        golden = selection.of(golden)
        info = replace(info, warnings=[*info.warnings, *of_golden(golden)])
        judged = judge(golden.queries, responses, matcher(info.matching), info.level)
    else:
        judged = store.judged(info, matching)
    run = summary or summarise(info, golden, responses, judged, measures)
    run["queries"] = describe_queries(info, golden, judged, responses, measures)
    return run


def recompute(store: RunStore, info: RunInfo) -> RunInfo:
    """Judge a stored run again by its own matcher, and store the judgements and the aggregate; return the run."""
    golden = store.golden(info)
    responses = store.responses(info.run_id, len(golden.queries))
    judged = judge(golden.queries, responses, matcher(info.matching), info.level)
    store.save_judged(info.run_id, info.matching, judged)
    store.update(info.run_id, aggregate_json=summarise(info, golden, responses, judged))
    return store.info(info.run_id)
