"""Vectors of source files: files are found by their purpose, and only changed ones are embedded again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import assay as package
from assay.search import file_vectors
from assay.search.embed.embedders import GENERAL, Role, Vectors, embedder
from support.repository import Repository


class _Recording:
    """The general embedder, with the texts it was given."""

    def __init__(self) -> None:
        self._table = embedder(GENERAL)
        self.name, self.dimensions = self._table.name, self._table.dimensions
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str], role: Role = "passage") -> Vectors:
        self.texts += texts
        return self._table.embed(texts, role)


@pytest.fixture
def shop(repository: Repository) -> Repository:
    repository.write(
        "shop/basket.py", '"""Prices of what a customer buys."""\n\ndef total(items):\n    return sum(items)\n'
    )
    repository.write("shop/mailer.py", 'def send(letter):\n    """Sends an email. Never twice."""\n    post(letter)\n')
    repository.write("shop/clock.py", "def tick():\n    return now()\n")
    repository.index()
    return repository


def _prepared(repository: Repository) -> tuple[list[str], Vectors]:
    """The texts that were embedded, and the vectors by path."""
    recording = _Recording()
    index = repository.open()
    try:
        made = file_vectors.prepare(index, {"": repository.home}, recording)
        rows = [made._vectors[row.number] for _, row in sorted(index.files.items())]
    finally:
        index.close()
    return recording.texts, np.array(rows)


def test_a_file_is_described_by_its_path_names_and_comments(shop: Repository) -> None:
    texts, _ = _prepared(shop)
    basket, clock, mailer = sorted(texts)
    assert basket.startswith("shop basket py shop basket py")
    assert "Prices of what a customer buys." in basket
    assert "total" in basket
    assert "Sends an email" in mailer
    assert "Never twice" not in mailer, "of a definition's comment only the opening counts"
    assert "tick" in clock


def test_only_changed_and_new_files_are_embedded_again(shop: Repository) -> None:
    texts, before = _prepared(shop)
    assert len(texts) == 3
    texts, again = _prepared(shop)
    assert texts == []
    assert np.array_equal(before, again), "a stored row and a new one are the same"
    shop.write("shop/clock.py", "def chime():\n    return now()\n")
    shop.write("shop/stock.py", "def count():\n    return 0\n")
    shop.index()
    texts, after = _prepared(shop)
    assert len(texts) == 2
    assert any("chime" in text for text in texts)
    assert any("stock" in text for text in texts)
    assert np.array_equal(after[0], before[0])
    assert not np.array_equal(after[1], before[1])


def test_a_renamed_file_is_embedded_again_and_a_removed_one_forgotten(shop: Repository) -> None:
    _prepared(shop)
    (shop.root / "shop/clock.py").rename(shop.root / "shop/timer.py")
    (shop.root / "shop/mailer.py").unlink()
    shop.index()
    texts, rows = _prepared(shop)
    assert len(texts) == 1
    assert "timer" in texts[0]
    assert len(rows) == 2
    assert _prepared(shop)[0] == []


@pytest.mark.parametrize("damage", ["empty", "short", "garbage", "missing", "nothing"])
def test_damaged_vectors_are_made_again(shop: Repository, damage: str) -> None:
    _, before = _prepared(shop)
    path = shop.home.folder / file_vectors.NAME
    stored = path.read_bytes()
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes(
            {"empty": b"", "short": stored[: len(stored) // 2], "garbage": b"PK nothing"}.get(damage, stored)
        )
    texts, rows = _prepared(shop)
    assert len(texts) == (0 if damage == "nothing" else 3)
    assert np.array_equal(rows, before)


def test_vectors_of_another_embedder_are_not_used(shop: Repository) -> None:
    _prepared(shop)
    other = _Recording()
    other.name = "another"
    index = shop.open()
    try:
        file_vectors.prepare(index, {"": shop.home}, other)
    finally:
        index.close()
    assert len(other.texts) == 3


def test_hostile_files_cost_no_more_than_themselves(repository: Repository) -> None:
    repository.write("a\x01b.py", "def f():\n    return 1\n")
    repository.write("long.py", "".join(f"def {'x' * 200}_{n}():\n    '''{'y ' * 500}'''\n" for n in range(200)))
    repository.write("nul.py", b"def g():\n    '''\x00\xff\xfe'''\n")
    repository.write("good.py", "def bake_bread():\n    return 1\n")
    repository.index()
    texts, rows = _prepared(repository)
    assert max(map(len, texts)) <= 3_000
    assert np.isfinite(rows).all()
    with package.open(repository.root) as repo:
        assert repo.search("bake bread", 1)[0].path == "good.py"


def test_a_repository_without_code_has_no_vectors(repository: Repository) -> None:
    repository.write("a.md", "# Pump\n\nText.\n")
    repository.index()
    texts, rows = _prepared(repository)
    assert (texts, len(rows)) == ([], 0)
