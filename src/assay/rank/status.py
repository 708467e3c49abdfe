"""The figures of an index."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from assay.core.items import EDGE_NAMES
from assay.store.index import Index
from assay.store.sections import Sections


@dataclass(frozen=True, slots=True)
class LanguageStatus:
    files: int
    symbols: int
    calls: int  # call sites, all of them
    calls_resolved: float | None  # share of those that name something of the repository; None when none does
    calls_resolved_floor: float | None  # the same, if every everyday method of an unknown object were one of ours


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
    syntax_errors: int  # files with parts the parser could not read
    documents: int
    sections: int  # of those documents that are prose in English
    unread_documents: int
    bytes: int
    seconds: float
    mode: str


class _Counts(NamedTuple):
    language: str
    files: int
    lines: int
    errors: int
    found: int
    lost: int
    outside: int
    everyday: int


def status(index: Index) -> Status:
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
            row.found + row.lost + row.outside,
            _share(row.found, row.lost),
            _share(row.found, row.lost + row.everyday),
        )
        for row in rows
    }
    found, lost, everyday = (
        sum(column) for column in ([r.found for r in rows], [r.lost for r in rows], [r.everyday for r in rows])
    )
    counts = index.edges.counts()
    documents = Sections.open(index)
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
        calls_resolved=_share(found, lost),
        calls_resolved_floor=_share(found, lost + everyday),
        languages=languages,
        edge_types={EDGE_NAMES[code]: int(count) for code, count in enumerate(counts) if count},
        skipped=skipped,
        problems=connection.execute("SELECT count(*) FROM skipped WHERE problem = 1").fetchone()[0],
        syntax_errors=sum(row.errors for row in rows),
        documents=documents.documents,
        sections=len(documents),
        unread_documents=documents.unread,
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
