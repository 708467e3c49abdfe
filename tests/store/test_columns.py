"""Column arrays of the items equal the catalogue after any update."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from assay.core.items import KINDS
from assay.store.catalogue import SymbolRow
from assay.store.columns import KIND_NAMES, Columns, describe_symbols
from support.repository import Repository

symbols = st.builds(
    lambda file, kind, test: SymbolRow(0, file, 0, "", "", kind, "", 1, "", "", 1, 1, test),
    st.integers(1, 9),
    st.sampled_from(sorted(KINDS)),
    st.integers(0, 1),
)
numbered = st.dictionaries(st.integers(1, 30), symbols, max_size=8)


def _said(columns: Columns) -> dict[int, tuple[int, str, bool]]:
    """What columns say of every number that is an item."""
    rows = zip(columns.file.tolist(), columns.kind.tolist(), columns.test.tolist(), strict=True)
    return {number: (file, KIND_NAMES[kind], test) for number, (file, kind, test) in enumerate(rows) if file}


def _rows(items: dict[int, SymbolRow]) -> list[SymbolRow]:
    return [row._replace(number=number) for number, row in items.items()]


@settings(deadline=None)
@given(numbered, st.sets(st.integers(1, 30)), numbered)
def test_replacing_items_is_the_same_as_describing_all(
    before: dict[int, SymbolRow], gone: set[int], after: dict[int, SymbolRow]
) -> None:
    gone &= before.keys()
    columns = Columns.of([describe_symbols(_rows(before))]).replaced(gone, [describe_symbols(_rows(after))])
    expected = {number: row for number, row in before.items() if number not in gone} | after
    assert _said(columns) == {n: (row.file, row.kind, bool(row.test)) for n, row in expected.items()}


def _agree(repository: Repository) -> dict[int, tuple[int, str, bool]]:
    opened = repository.open()
    rows = opened.catalogue.connection.execute("SELECT number, file, kind, test FROM symbols")
    expected = {number: (file, kind, bool(test)) for number, file, kind, test in rows}
    assert _said(opened.columns) == expected
    assert len(opened.columns) == len(opened.postings.lengths)
    opened.close()
    return expected


def test_columns_and_catalogue_agree_after_every_kind_of_change(repository: Repository) -> None:
    repository.write("shop.py", "LIMIT = 3\n\nclass Cart:\n    total: int\n    def add(self): ...\n")
    repository.write("test_shop.py", "def test_add():\n    pass\n")
    repository.index()
    assert [kind for _, kind, test in _agree(repository).values() if test and kind != "file"] == ["function"]
    repository.write("shop.py", "class Cart:\n    def add(self): ...\n    def clear(self): ...\n\ndef pay(): ...\n")
    repository.write("more.go", "package more\n\ntype Money struct{}\n")
    assert repository.index().mode == "update"
    assert {kind for _, kind, _ in _agree(repository).values()} == {"file", "class", "method", "function", "struct"}
    (repository.root / "shop.py").unlink()
    assert repository.index().mode == "update"
    assert {kind for _, kind, _ in _agree(repository).values()} == {"file", "function", "struct"}


def test_an_empty_repository_has_columns_without_items(repository: Repository) -> None:
    repository.index()
    assert _agree(repository) == {}
