"""The hand-written tables of the fixture projects, and the same tables made from an index."""

from __future__ import annotations

from assay.index.resolve import BY_NAME
from assay.store.index import Index
from support.paths import FIXTURES

LANGUAGES = sorted(path.name for path in FIXTURES.iterdir() if (path / "symbols.txt").exists())

Row = tuple[str, ...]


def expected(language: str, table: str, columns: int) -> set[Row]:
    rows = set()
    for line in (FIXTURES / language / table).read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            parts = [part.strip() for part in line.split("\t#")[0].split("  #")[0].split("\t")]
            rows.add(tuple((parts + [""] * columns)[:columns]))
    return rows


def symbols_of(index: Index) -> set[Row]:
    rows, _ = index.export()
    return {(str(r[0]), str(r[1]), f"{r[3]}-{r[4]}", "test" if r[5] else "") for r in rows if r[1] != "file"}


def edges_of(index: Index) -> set[Row]:
    """Edges but for containment (the ids say it) and similarity; candidates of a shared call are marked."""
    _, edges = index.export()
    out: set[Row] = set()
    for edge in edges:
        if edge.type not in ("contains", "similar_to"):
            shared = edge.type == "calls" and edge.provenance == "inferred" and edge.confidence < BY_NAME
            out.add((("?" if shared else "") + edge.type, edge.source, edge.target))
    return out
