"""Verification of an index from elsewhere: every column of the catalogue, every array, every file beside it."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from assay.store import arrays, columns, edges, history, postings, sections
from assay.store.catalogue import _COLUMN, _DECLARED, NAME, Catalogue
from assay.store.generation import Generation, UnusableIndex
from assay.system.database import statements
from support.published import change_catalogue, restate_digests
from support.repository import Repository

ODD = {  # by SQL type: values that assay never writes
    "INTEGER": (-(1 << 62), 1.5, "x", b"x", None),
    "REAL": (-0.5, 1.5, 9e999, "x", b"x", None),
    "TEXT": (b"\xff", b"text", None),
    "BLOB": (b"", b"short", "x" * 16, 5, None),
}
ODD_OF = {  # of some columns, further ones
    "meta.value": ("-1", "nan", "1e9", "9" * 30),
    "symbols.file": (0, 77),
    "symbols.kind": ("file ", "nothing"),
    "texts.number": (0, 77),
    "files.number": (0, -1, 1 << 31),
    "symbols.number": (0, -1, 1 << 31),
    "externals.number": (0, -1, 1 << 31),
    "imported.type": ("nothing",),
    "imported.provenance": ("nothing",),
}
COUNTS = (
    "lines",
    "errors",
    "nth",
    "start",
    "end",
    "line",
    "resolved",
    "candidates",
    "external",
    "unresolved",
    "everyday",
)
FREE = {
    "files.mtime": -(1 << 62),
    "skipped.mtime": -(1 << 62),
    "configs.mtime": -(1 << 62),
}  # any integer may be a time


@pytest.fixture(scope="module")
def generation(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an index with rows in every table."""
    made = Repository(tmp_path_factory.mktemp("verified"))
    made.git("init", "-q")
    made.write(
        "shop.py",
        "import os\n\n\nclass Cart:\n    def total(self):\n        return price() + os.getpid()\n\n\ndef price():\n    return 1\n",
    )
    made.write("package.json", '{"name": "shop"}')
    made.write("shop.min.js", "var a = 1;\n")
    made.write("README.md", "# Shop\n\nA `Cart` has a `price`.\n")
    made.commit("Add the cart")
    made.index()
    folder = made.home.current()
    assert folder is not None
    edited = Catalogue.edit(folder / NAME)
    edited.add_imported([("shop.py::price", "shop.py::Cart", "calls", "scip", 1.0, 1, "shop.py", b"x" * 16)])
    edited.finish(folder / NAME)
    (folder / "seal.json").unlink()
    return folder


@pytest.fixture
def copy(generation: Path, tmp_path: Path) -> Path:
    """The same index, in which the generation may be changed."""
    shutil.copytree(generation.parents[2], tmp_path / "copy")
    return tmp_path / "copy" / generation.relative_to(generation.parents[2])


def _verify(folder: Path) -> None:
    root = folder.parents[2]
    Generation.verified(root, Repository(root).home, folder).close()


def _declared() -> Iterator[tuple[str, str, str]]:
    for statement in statements(_DECLARED):
        table = statement.split()[2]
        yield from ((table, column[1], column[2]) for column in _COLUMN.finditer(statement))


@pytest.mark.parametrize(("table", "column", "kind"), list(_declared()), ids=lambda name: name)
def test_no_column_holds_what_is_never_written(
    generation: Path, tmp_path: Path, table: str, column: str, kind: str
) -> None:
    content, path = (generation / NAME).read_bytes(), tmp_path / NAME
    types = {row[1]: row[2] for row in sqlite3.connect(generation / NAME).execute(f"PRAGMA table_info({table})")}
    odd = [*ODD[types[column]], *ODD_OF.get(f"{table}.{column}", ()), *((-1, 1 << 31) if column in COUNTS else ())]
    first = next(iter(types))
    where = "key = 'indexed_at'" if table == "meta" else f'"{first}" = (SELECT max("{first}") FROM {table})'
    refused = 0
    for value in (value for value in odd if value != FREE.get(f"{table}.{column}", ...)):
        try:
            changed = change_catalogue(content, path, (f'UPDATE {table} SET "{column}" = ? WHERE {where}', (value,)))
        except sqlite3.Error:  # SQLite stores no such value there
            continue
        assert changed != content
        opened = Catalogue.read(path)
        with pytest.raises(sqlite3.DatabaseError, match=rf"{table}\.|NULL value in {table}|[a-z]+\.(file|number)"):
            opened.verify()
        opened.close()
        refused += 1
    assert refused or kind == "NUMBER"  # those are kept by SQLite itself, unless another table refers to them


def test_an_index_as_it_was_written_is_accepted(copy: Path) -> None:
    _verify(copy)


def _edge(field: str, value: float) -> Callable[[arrays.Array], None]:
    def change(rows: arrays.Array) -> None:
        rows[field][-1] = value

    return change


def _number(value: int) -> Callable[[arrays.Array], None]:
    def change(rows: arrays.Array) -> None:
        rows[-1] = value

    return change


ARRAYS = {
    "an edge from nowhere": (edges.NAME, _edge("source", 4_000)),
    "an edge from an unused number": (edges.NAME, _edge("source", 0)),
    "an edge to nowhere": (edges.NAME, _edge("target", 4_000)),
    "an edge to an unused number": (edges.NAME, _edge("target", 0)),
    "an edge to an unknown external name": (edges.NAME, _edge("target", -4_000)),
    "an edge of an unknown type": (edges.NAME, _edge("type", 200)),
    "an edge of unknown provenance": (edges.NAME, _edge("provenance", 200)),
    "an edge of impossible confidence": (edges.NAME, _edge("confidence", np.nan)),
    "an edge before the first line": (edges.NAME, _edge("line", -1)),
    "an edge of an unknown file": (edges.NAME, _edge("file", 4_000)),
    "an order beyond the edges": (edges.ORDER_NAME, _number(4_000)),
    "an order that is none": (edges.ORDER_NAME, lambda rows: rows.sort()),
    "a file of no item": (columns.NAME, lambda rows: rows["file"].fill(1)),
    "an unknown kind": (columns.NAME, lambda rows: rows["kind"].__setitem__(-1, 200)),
    "a kind of an unused number": (columns.NAME, lambda rows: rows["kind"].__setitem__(0, 1)),
    "an item without a kind": (columns.NAME, lambda rows: rows["kind"].__setitem__(-1, 0)),
    "a term of an unused number": (postings.ITEMS, _number(0)),
    "a term of no item": (postings.ITEMS, _number(4_000)),
    "lengths of an unused number": (postings.LENGTHS, lambda rows: rows.__setitem__(0, 1)),
    "terms that are not text": (postings.TERMS, lambda rows: rows.__setitem__(0, 255)),
    "terms that are cut elsewhere": (postings.STARTS, lambda rows: rows["text"].__setitem__(1, 1)),
    "rows beyond the last": (postings.STARTS, lambda rows: rows["row"].__setitem__(-1, 1 << 40)),
}  # fmt: skip


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_hold_only_numbers_that_exist(copy: Path, name: str) -> None:
    file, change = ARRAYS[name]
    rows = np.load(copy / file)
    before = rows.tobytes()
    change(rows)
    assert rows.tobytes() != before
    np.save(copy / file, rows)
    restate_digests(copy)
    with pytest.raises(UnusableIndex, match="the index is damaged"):
        _verify(copy)


def test_digests_alone_are_restated_rightly(copy: Path) -> None:
    restate_digests(copy)
    _verify(copy)


BESIDE = [
    (module, path, name, changed)
    for module, path in ((history, history.NAME), (sections, sections.NAME))
    for name in module._empty_arrays()
    if name not in ("key", "indexed_at")
    for changed in ("longer", "shorter", "beyond", "negative")
]


@pytest.mark.parametrize(
    ("module", "path", "name", "changed"), BESIDE, ids=lambda value: getattr(value, "__name__", value)
)
def test_files_beside_an_index_hold_only_numbers_in_range(
    generation: Path, tmp_path: Path, module: object, path: str, name: str, changed: str
) -> None:
    stored = {key: array.copy() for key, array in arrays.members(generation.parents[1] / path).items()}
    array, relations = stored[name], module._RELATIONS  # type: ignore[attr-defined]
    is_offset = name.endswith("_text_starts") or name in relations.groups
    if changed in ("longer", "shorter"):
        more = array[-1:] + 1 if is_offset else array[:1]
        stored[name] = np.concatenate([array, more]) if changed == "longer" else array[:-1]
    elif is_offset or name in relations.numbers:
        array.reshape(-1)[:1] = 1 << 30 if changed == "beyond" else -5
    if stored[name].tobytes() == arrays.members(generation.parents[1] / path)[name].tobytes():
        return  # no number, or none there
    arrays.write(tmp_path / path, stored)
    with pytest.raises(UnusableIndex, match="cannot be used"):
        module._load(tmp_path / path)  # type: ignore[attr-defined]
