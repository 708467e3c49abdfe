"""The parse cache: an entry that fails its checksum is parsed again, never used."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from assay.index.facts import Extracted
from assay.index.parse import ParseCache, cache_path
from support.repository import Repository

_KEY = b"k" * 16
_STORED = Extracted(b"facts of a file", b"texts of a file", 3)


@pytest.mark.parametrize("column", ["facts", "texts", "sum"])
def test_a_stored_parse_with_one_flipped_bit_is_not_returned(column: str, tmp_path: Path) -> None:
    path = tmp_path / "parses.db"
    cache = ParseCache(path)
    cache.put_all([(_KEY, "python", _STORED)])
    assert cache.get(_KEY, "python") == _STORED
    cache.close()
    _flip_bits(path, column)
    damaged = ParseCache(path)
    assert damaged.get(_KEY, "python") is None
    damaged.put_all([(_KEY, "python", _STORED)])
    assert damaged.get(_KEY, "python") == _STORED


def test_an_index_built_over_damaged_parses_equals_one_built_without_a_cache(repository: Repository) -> None:
    for name in ("first", "second"):
        repository.write(f"{name}.py", f"def {name}():\n    return helper()\n\n\ndef helper():\n    return '{name}'\n")
    repository.index()
    before = repository.open().export()
    path = cache_path(repository.root, repository.home.folder)
    for column in ("facts", "texts"):
        _flip_bits(path, column)
        assert repository.index(rebuild=True).problems == {}
        assert repository.open().export() == before


def _flip_bits(path: Path, column: str) -> None:
    """Flip a bit in the middle of a column of every row, behind the checksum's back."""
    with sqlite3.connect(path) as connection:
        rows = connection.execute(f"SELECT rowid, {column} FROM parsed").fetchall()
        assert rows
        for row, value in rows:
            if isinstance(value, int):
                damaged: object = value ^ 1
            else:
                data = bytearray(value)
                data[len(data) // 2] ^= 1
                damaged = bytes(data)
            connection.execute(f"UPDATE parsed SET {column} = ? WHERE rowid = ?", (damaged, row))
    connection.close()
