"""The seal of an index and the codes of cached rows, which only the same user on the same machine can make."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from assay.store import seal


def _sealed(folder: Path) -> bool:
    stats = {entry.name: entry.stat(follow_symlinks=False) for entry in os.scandir(folder)}
    return seal.is_sealed(folder, stats)


def test_values_of_a_row_cannot_move_between_its_columns() -> None:
    rows: list[tuple[object, ...]] = [
        (b"ab", b"c"), (b"a", b"bc"), (b"abc",), (b"abc", b""), (b"1",), (1,), ("1",), ("ab", "c"), ("a", "bc"), (b"'1'",),
        (b"a", b"c"), (b"abytes c",),
    ]  # fmt: skip
    codes = [seal.code(*row) for row in rows]
    assert len(set(codes)) == len(rows)
    assert codes == [seal.code(*row) for row in rows]


@pytest.mark.parametrize("key", [b"", b"short", b"k" * 33])
def test_a_key_of_another_length_seals_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: bytes) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    folder, place = tmp_path / "generation", tmp_path / "state" / "assay" / "seal.key"
    folder.mkdir()
    (folder / "data").write_bytes(b"data")
    seal.seal(folder)
    assert _sealed(folder)
    place.write_bytes(key)
    assert not _sealed(folder)
    seal.seal(folder)
    assert not _sealed(folder)
