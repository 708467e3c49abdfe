"""Stored words of items: the same as described on demand, and never of another version of a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from assay.store.index import Index
from assay.store.item_words import NAME, ItemWords, Words, is_stored
from assay.store.word_vectors import shipped_vectors
from support.repository import Repository

SOURCE = '''
class Severity:
    """How much a report matters."""

    def compare(self, other): ...


def qqzzxv(): ...
'''


@pytest.fixture
def indexed(repository: Repository) -> Repository:
    repository.write("app.py", SOURCE)
    repository.write("fetch.py", 'def fetch(address):\n    """Download a page."""\n')
    repository.index()
    return repository


def _words(index: Index) -> tuple[dict[str, int], Words]:
    items = sorted(index.items("1"), key=lambda item: item.id)
    return {item.symbol: place for place, item in enumerate(items)}, ItemWords(index).of(
        [item.number for item in items]
    )


def _lists(words: Words) -> tuple[list[list[int]], list[list[int]], list[float]]:
    return [rows.tolist() for rows in words.names], [rows.tolist() for rows in words.texts], words.lengths.tolist()


def test_stored_words_are_those_described_on_demand(indexed: Repository) -> None:
    _, stored = _words(indexed.open())
    (indexed.home.folder / NAME).unlink()
    _, described = _words(indexed.open())
    assert _lists(stored) == _lists(described)


def test_the_length_is_that_of_the_sum_of_the_vectors(indexed: Repository) -> None:
    places, words = _words(indexed.open())
    place = places["fetch"]
    total = shipped_vectors().table.vectors(words.texts[place].astype(np.int64)).sum(axis=0)
    assert words.lengths[place] == pytest.approx(float(np.linalg.norm(total)), rel=1e-5)


def test_nothing_is_described_while_words_are_stored(indexed: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        Index, "descriptions_of", lambda index, numbers, characters: pytest.fail(str(numbers)) if numbers else {}
    )
    _words(indexed.open())


def test_a_changed_file_has_its_new_words(indexed: Repository) -> None:
    indexed.write("fetch.py", 'def fetch(address):\n    """Draw a picture."""\n')
    before = (indexed.home.folder / NAME).read_bytes()
    indexed.index()
    (indexed.home.folder / NAME).write_bytes(before)  # as after a quick update, which leaves the words as they are
    _, stale = _words(indexed.open())
    (indexed.home.folder / NAME).unlink()
    assert _lists(_words(indexed.open())[1]) == _lists(stale)


def test_items_of_two_repositories_keep_their_words(indexed: Repository) -> None:
    index = Index.joined({"a": indexed.open(), "b": indexed.open()})
    _, words = _words(index)
    names = [rows.tolist() for rows in words.names]
    assert names[: len(names) // 2] == names[len(names) // 2 :]


@pytest.mark.parametrize(
    "damage",
    [
        Path.unlink,
        lambda path: path.write_bytes(b"damaged"),
        lambda path: path.write_bytes(path.read_bytes()[:300]),
        lambda path: path.write_bytes(path.read_bytes().replace(b"words:", b"other:")),
    ],
)
def test_unusable_words_are_made_again(indexed: Repository, damage: Callable[[Path], object]) -> None:
    expected = _lists(_words(indexed.open())[1])
    damage(indexed.home.folder / NAME)
    assert _lists(_words(indexed.open())[1]) == expected
    indexed.index(rebuild=True)
    assert is_stored(indexed.home)
    assert _lists(_words(indexed.open())[1]) == expected


@pytest.mark.parametrize("ordinal", [-5, 1000, 2**31 - 1])
def test_an_ordinal_beyond_the_stored_words_is_described_on_demand(indexed: Repository, ordinal: int) -> None:
    expected = _lists(_words(indexed.open())[1])
    index = indexed.open()
    columns = index.parts[0].generation.columns
    columns.__dict__["ordinal"] = np.full(len(columns), ordinal, np.int32)  # as in an index from elsewhere
    assert _lists(_words(index)[1]) == expected
