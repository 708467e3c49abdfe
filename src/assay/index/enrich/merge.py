"""Write the edges of a tool into a new generation of the index. They are kept as long as their file is unchanged."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from assay.core.items import CALLABLE_KINDS, TYPE_KINDS
from assay.index.enrich.answers import LOCAL, OUTSIDE, Targets
from assay.index.enrich.places import Tree
from assay.index.facts import CALL, DECORATE, NEW, THROW
from assay.index.file import File, Sym
from assay.index.resolve.edges import FIELD_LIKE
from assay.index.write import ImportedRow, imported_edges, imported_rows
from assay.languages import Language
from assay.store import edges as edge_store
from assay.store.catalogue import NAME as CATALOGUE_NAME
from assay.store.catalogue import Catalogue
from assay.store.generation import Generation
from assay.store.layout import Home

CONFIDENCE = 1.0
_CALLED = CALLABLE_KINDS | TYPE_KINDS


def edge_type(role: int, kind: str, language: Language) -> str:
    """Return the type of the edge from a reference with this role to an item of this kind; empty for no edge."""
    if kind == "file" or kind == "namespace":
        return ""
    if role == DECORATE:
        return "decorates"
    if role == THROW:
        return "throws" if kind in TYPE_KINDS else ""
    if role in (CALL, NEW) and (kind in _CALLED or (kind in FIELD_LIKE and not language.uniform_access)):
        return "calls"
    return "accesses_field" if kind in FIELD_LIKE else "references"


def edges_of_answers(tree: Tree, answers: Mapping[str, Targets], provenance: str) -> list[ImportedRow]:
    """Return the edges that follow from the targets of references."""
    items = ItemLookup(tree)
    out: dict[tuple[str, str, str], ImportedRow] = {}
    for path, targets in answers.items():
        file, references, digest = tree.files[path], tree.references[path], tree.index.files[path].hash
        for number, ids in targets:
            if number >= len(references):
                continue
            reference = references[number]
            source = file.sym(reference.source)
            for target in items.find(ids, reference.role in (CALL, NEW))[:1]:  # overloads: the first stands for all
                kind = edge_type(reference.role, target.kind, file.language)
                first, second = (target.id, source.id) if kind == "decorates" else (source.id, target.id)
                if kind and (first != second or kind == "calls"):
                    row = (first, second, kind, provenance, CONFIDENCE, reference.line, path, digest)
                    out.setdefault((kind, first, second), row)
    return [out[key] for key in sorted(out)]


class ItemLookup:
    """Items by id, among the files of a tree."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._by_path: dict[str, dict[str, Sym]] = {}

    def find(self, ids: Iterable[str], called: bool) -> list[Sym]:
        """Return the items of ids; of a called constructor, its type."""
        out = []
        for id in ids:
            if id in (LOCAL, OUTSIDE):
                continue
            path = id.partition("::")[0]
            file = self._tree.files.get(path)
            sym = self._items(path, file).get(id) if file is not None else None
            if file is not None and sym is not None:
                parent = file.facts.symbols[sym.index].parent if sym.index >= 0 else -1
                if called and sym.kind == "constructor" and parent >= 0:
                    sym = file.sym(parent)
                out.append(sym)
        return list(dict.fromkeys(out))

    def _items(self, path: str, file: File) -> dict[str, Sym]:
        if path not in self._by_path:
            syms = [file.sym(index) for index in range(-1, len(file.facts.symbols))]
            self._by_path[path] = {sym.id: sym for sym in syms}
        return self._by_path[path]


def write_edges(
    root: Path, home: Home, provenance: str, paths: Iterable[str], rows: list[ImportedRow]
) -> tuple[int, int]:
    """Replace the edges of one provenance from these files; return the number of edges, and of new pairs of items."""
    with home.writing():
        index = Generation.open(root, home)
        try:
            rows = [row for row in rows if row[6] in index.files]
            connection = index.catalogue.connection
            numbers = dict(connection.execute("SELECT id, number FROM symbols").fetchall())
            rows = [row for row in rows if row[0] in numbers and row[1] in numbers]
            existing = {(int(e["source"]), int(e["target"])) for e in index.edges.all if e["file"] > 0}
            with home.new_generation() as folder:
                for path in index.folder.iterdir():
                    shutil.copyfile(path, folder / path.name)
                catalogue = Catalogue.edit(folder / CATALOGUE_NAME)
                catalogue.connection.executemany(
                    "DELETE FROM imported WHERE provenance = ? AND path = ?", [(provenance, path) for path in paths]
                )
                catalogue.add_imported(rows)
                imported = imported_edges(imported_rows(catalogue), numbers, index.files)
                edges = np.concatenate([index.edges.all[index.edges.all["file"] > 0], imported])
                catalogue.set_meta({"edges": edge_store.write(folder, edges)})
                catalogue.finish(folder / CATALOGUE_NAME)
            return len(rows), sum((numbers[row[0]], numbers[row[1]]) not in existing for row in rows)
        finally:
            index.close()
