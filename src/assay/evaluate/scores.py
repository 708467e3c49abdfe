"""Per-query scores of a run, from the run store or a committed baseline file, and slices of queries.

Comparisons and gates read scores, never the stored responses.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.core.golden import GoldenQuery
from assay.errors import AssayError
from assay.evaluate.files import write_text
from assay.evaluate.judging import Floats, Judged
from assay.evaluate.metrics import Measure, UnknownMeasure, defaults, first_rank, mean, parse
from assay.evaluate.runs import RunInfo, RunStore
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

    def rows(self, query_ids: Sequence[str]) -> NDArray[np.intp]:
        """Return the positions of these queries."""
        if query_ids == self.queries:
            return np.arange(len(self.queries))
        position_by_id = {query: number for number, query in enumerate(self.queries)}
        return np.array([position_by_id[query] for query in query_ids], dtype=np.intp)


def score_run(
    store: RunStore, info: RunInfo, measures: Sequence[Measure] | None = None, judged: Judged | None = None
) -> Scores:
    """Compute the scores of a stored run from its judged arrays."""
    judged = judged or store.judged(info)
    values = {str(measure): measure.values(judged) for measure in measures or defaults(info.k)}
    return Scores(
        **{name: getattr(info, name) for name in (*_IDENTITY, "status")},
        queries=judged.queries,
        values=values,
        first_rank=first_rank(judged, info.k, 1),
        means={name: mean(figures) for name, figures in values.items()},
        latency=judged.fact("latency_ms"),
    )


def write_baseline(scores: Scores, path: Path) -> None:
    """Write a baseline to commit: readable, one line per query, independent of the run file."""
    measured = {name: values for name, values in scores.values.items() if not np.isnan(values).all()}
    head = {
        "assay_baseline": BASELINE_FORMAT,
        **{name: getattr(scores, name) for name in _IDENTITY},
        "metrics": {name: scores.means[name] for name in measured},
    }
    lines = [
        json.dumps(query, ensure_ascii=False)
        + ": "
        + json.dumps({"rank": int(rank)} | {name: _finite_or_none(values[number]) for name, values in measured.items()})
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


def _finite_or_none(value: float) -> float | None:
    """Return the value unrounded (a run must equal its own baseline); None for NaN."""
    return float(value) if math.isfinite(value) else None


# slices: groups of queries that are reported separately

_LANGUAGES = {
    ".py": "Python", ".pyi": "Python", ".go": "Go", ".ts": "TypeScript", ".tsx": "TypeScript", ".js": "JavaScript", ".jsx": "JavaScript",
    ".mjs": "JavaScript", ".rs": "Rust", ".java": "Java", ".cs": "C#", ".rb": "Ruby", ".c": "C", ".h": "C", ".cc": "C++", ".cpp": "C++",
    ".hpp": "C++", ".php": "PHP", ".kt": "Kotlin", ".swift": "Swift", ".scala": "Scala", ".sh": "Bash", ".bash": "Bash", ".lua": "Lua",
    ".md": "Markdown", ".rst": "reStructuredText", ".adoc": "AsciiDoc", ".txt": "Text", ".html": "HTML", ".pdf": "PDF", ".docx": "DOCX",
    ".ipynb": "Notebook", ".sql": "SQL", ".yaml": "YAML", ".yml": "YAML", ".toml": "TOML", ".json": "JSON",
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
