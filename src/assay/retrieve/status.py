"""The figures of an index."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from assay.core.edges import EDGE_NAMES
from assay.store.index import Index


@dataclass(frozen=True, slots=True)
class LanguageStatus:
    files: int
    symbols: int
    calls: int  # call sites, all of them
    calls_resolved: float | None  # share of those that name something of the repository; None when none does


@dataclass(frozen=True, slots=True)
class Status:
    files: int
    lines: int
    symbols: int
    edges: int
    calls_resolved: float | None
    languages: dict[str, LanguageStatus]
    edge_types: dict[str, int]
    skipped: dict[str, int]
    problems: int
    syntax_errors: int  # files with parts the parser could not read
    bytes: int
    seconds: float
    mode: str


def status(index: Index) -> Status:
    connection = index.catalogue.connection
    symbols = dict(
        connection.execute(
            "SELECT f.language, count(*) FROM symbols s JOIN files f ON f.number = s.file WHERE s.ordinal >= 0 GROUP BY 1"
        ).fetchall()
    )
    rows = connection.execute(
        "SELECT language, count(*), sum(lines), sum(resolved + candidates), sum(unresolved), sum(external), sum(errors > 0) "
        "FROM files GROUP BY 1 ORDER BY 2 DESC, 1"
    ).fetchall()
    languages = {
        name: LanguageStatus(files, symbols.get(name, 0), found + lost + outside, _share(found, lost))
        for name, files, _, found, lost, outside, _ in rows
    }
    counts = index.edges.counts()
    skipped = dict(
        connection.execute(
            "SELECT CASE WHEN instr(reason, ' (') THEN substr(reason, 1, instr(reason, ' (') - 1) ELSE reason END, count(*) "
            "FROM skipped WHERE problem = 0 GROUP BY 1 ORDER BY 1"
        ).fetchall()
    )
    return Status(
        files=sum(row[1] for row in rows),
        lines=sum(row[2] or 0 for row in rows),
        symbols=sum(symbols.values()),
        edges=len(index.edges.all),
        calls_resolved=_share(sum(row[3] for row in rows), sum(row[4] for row in rows)),
        languages=languages,
        edge_types={EDGE_NAMES[code]: int(count) for code, count in enumerate(counts) if count},
        skipped=skipped,
        problems=connection.execute("SELECT count(*) FROM skipped WHERE problem = 1").fetchone()[0],
        syntax_errors=sum(row[6] or 0 for row in rows),
        bytes=_size(index.folder),
        seconds=float(index.meta.get("seconds", "0")),
        mode=index.meta.get("mode", ""),
    )


def _size(folder: Path) -> int:
    """Bytes on disk; 0 when a writer has just replaced this generation."""
    try:
        return sum(path.stat().st_size for path in folder.iterdir())
    except FileNotFoundError:
        return 0


def _share(found: int, lost: int) -> float | None:
    return round(found / (found + lost), 4) if found + lost else None
