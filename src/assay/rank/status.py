"""Index statistics."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from assay.core.items import EDGE_NAMES
from assay.store import enrichment
from assay.store.index import Index
from assay.store.links.traces import observations
from assay.store.sections import Sections


@dataclass(frozen=True, slots=True)
class LanguageStatus:
    files: int
    symbols: int
    calls: int  # all call sites
    calls_resolved: float | None  # resolved share of the call sites that refer to the repository; None without any
    calls_resolved_floor: float | None  # lower bound: counts common method names on unknown receivers as unresolved


@dataclass(frozen=True, slots=True)
class EnrichmentStatus:
    """Calls that language tools answered, compared with our own resolution (`assay enrich`)."""

    tools: list[str]
    files: int
    calls: int  # answered by a tool
    agreed: int
    gained: int  # not resolved by us, or calls of values about which we say nothing
    disagreements: int
    kinds: dict[str, int]  # of disagreements: another target, outside for the tool, outside for us (missed)
    calls_resolved: float | None  # by us or by a tool
    calls_resolved_floor: float | None


@dataclass(frozen=True, slots=True)
class Status:
    files: int
    lines: int
    symbols: int
    edges: int
    calls_resolved: float | None
    calls_resolved_floor: float | None
    languages: dict[str, LanguageStatus]
    edge_types: dict[str, int]
    skipped: dict[str, int]
    problems: int
    syntax_errors: int  # files with syntax errors
    documents: int
    sections: int  # of documents that are English prose
    unread_documents: int
    bytes: int
    seconds: float
    mode: str
    enrichment: EnrichmentStatus | None  # None if no tool was asked
    observed_calls: int  # in traces, of symbols as they are now
    observed_symbols: int
    observed_since: int | None  # seconds since 1970


class _Counts(NamedTuple):
    language: str
    files: int
    lines: int
    errors: int
    resolved: int
    unresolved: int
    external: int
    everyday: int


def status(index: Index) -> Status:
    """Collect the statistics of an index."""
    connection = index.catalogue.connection
    symbols = dict(
        connection.execute(
            "SELECT f.language, count(*) FROM symbols s JOIN files f ON f.number = s.file WHERE s.ordinal >= 0 GROUP BY 1"
        ).fetchall()
    )
    rows = [
        _Counts(*row)
        for row in connection.execute(
            "SELECT language, count(*), sum(lines), sum(errors > 0), sum(resolved + candidates), sum(unresolved), sum(external), "
            "sum(everyday) FROM files GROUP BY 1 ORDER BY 2 DESC, 1"
        )
    ]
    languages = {
        row.language: LanguageStatus(
            row.files,
            symbols.get(row.language, 0),
            row.resolved + row.unresolved + row.external,
            _ratio(row.resolved, row.unresolved),
            _ratio(row.resolved, row.unresolved + row.everyday),
        )
        for row in rows
    }
    resolved, unresolved, everyday = (
        sum(column)
        for column in ([row.resolved for row in rows], [row.unresolved for row in rows], [row.everyday for row in rows])
    )
    counts = index.edges.counts()
    documents, observed = Sections.open(index), observations(index)
    skipped = dict(
        connection.execute(
            "SELECT CASE WHEN instr(reason, ' (') THEN substr(reason, 1, instr(reason, ' (') - 1) ELSE reason END, count(*) "
            "FROM skipped WHERE problem = 0 GROUP BY 1 ORDER BY 1"
        ).fetchall()
    )
    return Status(
        files=sum(row.files for row in rows),
        lines=sum(row.lines for row in rows),
        symbols=sum(symbols.values()),
        edges=len(index.edges.all),
        calls_resolved=_ratio(resolved, unresolved),
        calls_resolved_floor=_ratio(resolved, unresolved + everyday),
        languages=languages,
        edge_types={EDGE_NAMES[code]: int(count) for code, count in enumerate(counts) if count},
        skipped=skipped,
        problems=connection.execute("SELECT count(*) FROM skipped WHERE problem = 1").fetchone()[0],
        syntax_errors=sum(row.errors for row in rows),
        documents=documents.documents,
        sections=len(documents),
        unread_documents=documents.unread,
        bytes=_disk_size(index.folder),
        seconds=float(index.meta.get("seconds", "0")),
        mode=index.meta.get("mode", ""),
        observed_calls=sum(calls.total.count for all_calls in observed.calls.values() for calls in all_calls),
        observed_symbols=len(observed.calls),
        observed_since=observed.since or None,
        enrichment=_enrichment(index, resolved, unresolved, everyday),
    )


def _enrichment(index: Index, resolved: int, unresolved: int, everyday: int) -> EnrichmentStatus | None:
    """Sum the comparisons with language tools; the numbers are our own counts of calls."""
    stored = enrichment.read(index.parts[0].generation.home, index.files).values()
    rows = [row for row in stored if row.answered]
    if not rows:
        return None
    gained, values = sum(row.gained for row in rows), sum(row.values for row in rows)
    external = sum(row.external for row in rows)
    everyday = max(0, everyday - sum(row.everyday for row in rows))
    kinds = Counter(disagreement.kind for row in rows for disagreement in row.disagreements)
    resolved += gained + values + kinds["missed"]
    unresolved = max(0, unresolved - gained - external)
    return EnrichmentStatus(
        tools=sorted({row.tool for row in rows}),
        files=len(rows),
        calls=sum(row.answered for row in rows),
        agreed=sum(row.agreed for row in rows),
        gained=gained + values,
        disagreements=kinds.total(),
        kinds=dict(sorted(kinds.items())),
        calls_resolved=_ratio(resolved, unresolved),
        calls_resolved_floor=_ratio(resolved, unresolved + everyday),
    )


def _disk_size(folder: Path) -> int:
    """Return the size on disk in bytes; 0 if a writer has just replaced this generation."""
    try:
        return sum(path.stat().st_size for path in folder.iterdir())
    except FileNotFoundError:
        return 0


def _ratio(resolved: int, unresolved: int) -> float | None:
    return round(resolved / (resolved + unresolved), 4) if resolved + unresolved else None
