"""Convert facts to catalogue rows and seal a finished generation."""

from __future__ import annotations

import time
from pathlib import Path

from assay.core.progress import Report
from assay.index.extract.texts import place_words
from assay.index.facts import Extracted, decode_texts
from assay.index.file import File
from assay.index.parse import Parsed
from assay.index.resolve import CallCounts
from assay.index.scan import Scan, ScannedFile, read_config
from assay.index.version import index_version
from assay.store import edges as edge_store
from assay.store import postings
from assay.store.catalogue import NAME as CATALOGUE_NAME
from assay.store.catalogue import SCHEMA_VERSION, Catalogue, FileRow, SymbolRow, TextRow

_MAX_CONFIG_BYTES = 500_000  # per manifest; hand-written ones have a few thousand
_TOTAL_CONFIG_BYTES = 50_000_000  # of all manifests, which are held in memory


def accept(parsed: Parsed, report: Report) -> bool:
    """Record a parse result in the report; return True if there is something to index."""
    if parsed.problem:
        report.problems[parsed.path] = parsed.problem
    elif parsed.skip:
        report.skipped[parsed.path] = parsed.skip
    elif parsed.note:
        report.notes[parsed.path] = parsed.note
    return parsed.extracted is not None


def note_problem(path: str, problem: str, report: Report) -> None:
    """Record why a file could not be resolved; a resolved file is removed from the problems."""
    if problem:
        report.problems[path] = problem
    else:
        report.problems.pop(path, None)


def read_configs(root: Path, found: Scan) -> dict[str, str]:
    """Return the texts of manifests; empty for those over the size limits."""
    out, budget = dict[str, str](), _TOTAL_CONFIG_BYTES
    for path, file in found.configs.items():
        out[path] = read_config(root, path) if file.size <= min(_MAX_CONFIG_BYTES, budget) else ""
        budget -= len(out[path])
    return out


def file_row(number: int, parsed: Parsed, file: File, found: Scan) -> FileRow:
    stat = found.files[parsed.path]
    lines = parsed.extracted.lines if parsed.extracted else 0
    return FileRow(
        number, parsed.path, file.facts.language, stat.size, stat.mtime, parsed.digest, int(file.test),
        lines, file.facts.errors, parsed.note, 0, 0, 0, 0, 0,
    )  # fmt: skip


def symbol_rows(file: File, file_number: int, numbers: dict[str, int], next_number: int) -> list[SymbolRow]:
    """Return the rows of a file's item and its symbols; ids that have a number keep it."""
    out = []
    last = max((s.end for s in file.facts.symbols), default=1)
    for ordinal in range(-1, len(file.facts.symbols)):
        sym = file.sym(ordinal)
        fact = file.facts.symbols[ordinal] if ordinal >= 0 else None
        if sym.id not in numbers:
            numbers[sym.id] = next_number
            next_number += 1
        name = sym.name.rpartition("/")[2] if ordinal < 0 else sym.name
        start, end = (fact.start, fact.end) if fact else (1, last)
        out.append(
            SymbolRow(
                numbers[sym.id],
                file_number,
                ordinal,
                sym.id,
                name,
                sym.kind,
                sym.symbol,
                sym.nth,
                sym.owner,
                sym.kin,
                start,
                end,
                int(sym.test),
            )
        )
    return out


def add_items(catalogue: Catalogue, symbols: list[SymbolRow], path: str, extracted: Extracted) -> list[postings.Words]:
    """Write a file's symbols and their texts; return their term counts."""
    decoded = decode_texts(extracted.texts)
    texts = [decoded.texts[-1], *decoded.texts[:-1]]  # the file itself is last in the facts, first among the rows
    catalogue.add_symbols(symbols)
    catalogue.add_texts(
        TextRow(row.number, t.signature, t.doc, t.identifiers, t.literals)
        for row, t in zip(symbols, texts, strict=True)
    )
    return place_words(decoded.words, path, [row.number for row in symbols[1:]] + [symbols[0].number])


def with_counts(row: FileRow, calls: CallCounts) -> FileRow:
    return row._replace(**calls._asdict())


def finish(
    folder: Path, catalogue: Catalogue, edges: edge_store.Array, digests: dict[str, str], found: Scan, configs: dict[str, str],
    report: Report, indexed_at: int, started: float,
) -> None:  # fmt: skip
    """Write the remaining data and seal the generation with the metadata that readers verify.

    `digests` are checksums of the files written before.
    """
    stats = found.files
    skipped = [(p, r, 0, *_stat(stats, p)) for p, r in report.skipped.items()] + [
        (p, r, 1, *_stat(stats, p)) for p, r in report.problems.items()
    ]
    catalogue.replace_scan(
        skipped, [(p, found.configs[p].size, found.configs[p].mtime, text) for p, text in configs.items()]
    )
    catalogue.set_meta(
        {
            "schema": str(SCHEMA_VERSION), "version": index_version(), "indexed_at": str(indexed_at),
            "edges": edge_store.write(folder, edges), "seconds": f"{time.monotonic() - started:.3f}", "mode": report.mode,
            "others": str(found.others), "catalogue_bytes": "0" * 12, **digests,
        }
    )  # fmt: skip
    catalogue.finish()
    seal(folder / CATALOGUE_NAME)


def seal(path: Path) -> None:
    """Record the file's size, so that truncation is detected."""
    size = path.stat().st_size
    sealed = Catalogue.edit(path)
    sealed.connection.execute("UPDATE meta SET value = ? WHERE key = 'catalogue_bytes'", (f"{size:012d}",))
    sealed.finish()


def _stat(files: dict[str, ScannedFile], path: str) -> tuple[int, int]:
    file = files.get(path)
    return (file.size, file.mtime) if file is not None else (-1, -1)
