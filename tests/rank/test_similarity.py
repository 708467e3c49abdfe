"""Similarity by word vectors: synonyms count, unknown words do not, and vectors do not depend on who asked before."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.rank.similarity import Similarity, relative_to_best
from assay.store.index import Index
from assay.store.item_words import ItemWords
from support.repository import Repository

SOURCE = '''
class Severity:
    """How much a report matters."""


def fetch(address):
    """Download a page."""


def paint(colour):
    pass


def qqzzxv():
    pass
'''


@pytest.fixture
def opened(repository: Repository) -> Index:
    repository.write("app.py", SOURCE)
    repository.index()
    return repository.open()


def _similarity(index: Index, task: str) -> tuple[list[str], Similarity]:
    items = [item for item in index.in_file("app.py") if item.kind != "file"]
    return [item.symbol for item in items], Similarity(ItemWords(index), task, [item.number for item in items])


@pytest.mark.parametrize(
    ("task", "expected"),
    [("seriousness of a finding", "Severity"), ("get a file from the web", "fetch"), ("draw in red", "paint")],
)
def test_a_synonym_of_the_name_is_found_without_a_common_word(opened: Index, task: str, expected: str) -> None:
    names, similarity = _similarity(opened, task)
    assert names[int(similarity.cosine.argmax())] == expected
    assert names[int(similarity.name_words.argmax())] == expected
    assert names[int(similarity.task_words.argmax())] == expected


def test_a_name_of_unknown_words_is_similar_to_nothing(opened: Index) -> None:
    names, similarity = _similarity(opened, "seriousness of a finding")
    unknown = names.index("qqzzxv")
    assert similarity.name_words[unknown] == similarity.task_words[unknown] == 0


@pytest.mark.parametrize("task", ["", "   ", "the of and", "日本語", "\0\ud800", "x " * 50_000])
def test_a_task_without_content_words_is_similar_to_nothing(opened: Index, task: str) -> None:
    _, similarity = _similarity(opened, task)
    assert not similarity.name_words.any()
    assert np.isfinite(similarity.cosine).all()


def test_no_candidates_are_no_error(opened: Index) -> None:
    similarity = Similarity(ItemWords(opened), "download", [])
    assert len(similarity.cosine) == len(similarity.name_words) == len(similarity.best_of(np.zeros(0, np.int64))) == 0


def test_vectors_are_the_same_whoever_asked_before(opened: Index) -> None:
    numbers = [item.number for item in opened.in_file("app.py") if item.kind != "file"]
    shared = ItemWords(opened)
    for subset in ([numbers[2]], numbers[::-1], numbers):
        Similarity(shared, "download a page", subset)
    alone = Similarity(ItemWords(opened), "download a page", numbers)
    assert np.array_equal(Similarity(shared, "download a page", numbers).cosine, alone.cosine)


def test_a_group_has_the_cosine_of_its_best_member(opened: Index) -> None:
    names, similarity = _similarity(opened, "get a file from the web")
    best = similarity.best_of(np.array([1, 0, 1, 0])[: len(names)])
    assert best[1] == best[3] == max(similarity.cosine[1], similarity.cosine[3])


@given(st.lists(st.integers(-1000, 1000), min_size=1, max_size=20))
def test_relative_values_keep_their_order_and_end_at_zero(values: list[int]) -> None:
    relative = relative_to_best(np.array(values) / 1000)
    assert relative.max() == 0
    assert np.array_equal(np.argsort(relative, kind="stable"), np.argsort(values, kind="stable"))
