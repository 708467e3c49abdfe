"""Soft matching of query words by general word vectors."""

from __future__ import annotations

import numpy as np
import pytest

from assay.search.similar_words import SimilarWords
from assay.store.word_vectors import TextVectors, load_table


@pytest.fixture(scope="module")
def table() -> TextVectors:
    return TextVectors(load_table())


def test_a_similar_word_counts_more_than_an_unrelated_one_and_the_word_itself_most(table: TextVectors) -> None:
    similar = SimilarWords.of(table, {("error",): 2.0})
    same, near, far, nothing = similar.coverage(similar.rows(["an error", "a failure", "a banana", ""]))
    assert same == pytest.approx(1.0, abs=1e-3)
    assert same > near > far >= nothing == 0


def test_words_weigh_by_their_rarity(table: TextVectors) -> None:
    similar = SimilarWords.of(table, {("error",): 3.0, ("banana",): 1.0})
    error, banana = similar.coverage(similar.rows(["error", "banana"]))
    assert error > banana


def test_a_window_has_what_stands_together_only(table: TextVectors) -> None:
    similar = SimilarWords.of(table, {("error",): 1.0, ("banana",): 1.0})
    filler = "table " * 60
    texts = similar.rows([f"error {filler} banana", f"{filler} error banana {filler}", "error banana"])
    apart, together, short = similar.coverages(texts)[1]
    assert apart < together == pytest.approx(short, abs=1e-6)
    assert np.ptp(similar.coverage(texts)[:2]) == pytest.approx(0.0, abs=1e-6)


def test_unknown_words_and_empty_texts_match_nothing(table: TextVectors) -> None:
    assert SimilarWords.of(table, {("zzxqv",): 5.0}).coverage([np.array(table.rows("error"))]).tolist() == [0.0]
    assert SimilarWords.of(table, {}).coverages([np.array(table.rows("error"))])[1].tolist() == [0.0]
    assert SimilarWords.of(table, {("error",): 1.0}).coverage([]).tolist() == []
