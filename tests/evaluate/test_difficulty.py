"""Query difficulty without labels: properties of the features, the classes and the rank correlation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from assay.evaluate.sweep.verdict import (
    LEVELS,
    Answer,
    agreement,
    classify,
    correlation,
    gap,
    percentile_ranks,
    spread,
)

SCORES = st.lists(st.floats(0.01, 100.0), max_size=12).map(lambda values: sorted(values, reverse=True))
NAMES = st.lists(st.sampled_from("abcdefghijklmnop"), unique=True, max_size=12)


# --- signs


@given(SCORES, st.floats(0.1, 10.0), st.floats(-5.0, 5.0))
def test_a_gap_does_not_depend_on_unit_and_zero_of_the_scores(scores: list[float], unit: float, zero: float) -> None:
    assert gap([score * unit + zero for score in scores]) == pytest.approx(gap(scores), abs=1e-6)


@given(SCORES, st.floats(0.1, 10.0))
def test_a_spread_does_not_depend_on_the_unit_of_the_scores(scores: list[float], unit: float) -> None:
    assert spread([score * unit for score in scores]) == pytest.approx(spread(scores), abs=1e-9)


def test_the_gap_of_one_result_is_1_and_of_none_0() -> None:
    assert gap([3.0]) == 1.0
    assert gap([]) == spread([]) == 0.0
    assert gap([2.0, 2.0, 2.0]) == 0.0
    assert gap([10.0, 5.0, 0.0]) == 0.5
    assert math.isnan(gap([None, None]))
    assert math.isnan(spread([1.0, math.inf]))


@given(st.lists(NAMES, min_size=2, max_size=5))
def test_agreement_is_the_mean_average_overlap_of_all_pairs(rankings: list[list[str]]) -> None:
    lists = [ranking[:10] for ranking in rankings]
    deepest = max(map(len, lists))
    pairs = [
        sum(len(set(a[:d]) & set(b[:d])) / d for d in range(1, deepest + 1)) / deepest if deepest else 0.0
        for at, a in enumerate(lists)
        for b in lists[at + 1 :]
    ]
    assert agreement(rankings) == pytest.approx(float(np.mean(pairs)))


@given(NAMES.filter(bool), st.integers(2, 5))
def test_rankings_that_are_alike_agree_wholly_and_disjoint_ones_not_at_all(names: list[str], count: int) -> None:
    assert agreement([names] * count) == pytest.approx(1.0)
    assert agreement([names, [name.upper() for name in names]]) == 0.0


def test_a_document_counts_once_in_a_ranking() -> None:
    assert agreement([["a", "a", "b", "a"], ["a", "b"]]) == 1.0


def test_one_ranking_agrees_with_nobody() -> None:
    assert math.isnan(agreement([["a", "b"]]))


# --- classes

QUERY = st.tuples(SCORES, NAMES).map(lambda pair: Answer(*pair))


@given(st.integers(1, 3).flatmap(lambda count: st.lists(st.lists(QUERY, min_size=count, max_size=count), max_size=9)))
def test_the_classes_are_thirds_by_ease_and_equal_queries_are_in_the_same(by_query: list[list[Answer]]) -> None:
    configurations = len(by_query[0]) if by_query else 1
    told = classify([[row[at] for row in by_query] for at in range(configurations)])
    assert len(told) == len(by_query)
    for one in told:
        for other in told:
            if LEVELS.index(one.level) > LEVELS.index(other.level):
                assert one.ease > other.ease
            if round(one.ease, 9) == round(other.ease, 9):
                assert one.level == other.level
    assert sum(one.level == "hard" for one in told) <= math.ceil(2 * len(told) / 3)


def test_a_clear_query_on_which_all_agree_is_easy_and_a_muddled_one_hard() -> None:
    clear = Answer([10.0, 1.0, 0.9], ["a", "b", "c"])
    so_so = [Answer([10.0, 6.0, 1.0], names) for names in (["a", "b", "c"], ["b", "a", "c"])]
    muddled = [Answer([1.0, 0.99, 0.98], names) for names in (["a", "b", "c"], ["d", "e", "f"])]
    told = classify([[clear, so_so[0], muddled[0]], [clear, so_so[1], muddled[1]]])
    assert [one.level for one in told] == ["easy", "medium", "hard"]
    assert told[0].agreement == pytest.approx(1.0)
    assert told[2].agreement == 0.0


def test_without_scores_agreement_decides_and_without_any_sign_all_are_medium() -> None:
    unscored = [Answer([None], [name]) for name in "abc"]
    told = classify([unscored, [Answer([None], [name]) for name in "axy"]])
    assert told[0].level == "easy"
    assert {one.level for one in classify([unscored])} == {"medium"}
    assert classify([]) == []


def test_a_sign_counts_by_its_place_among_the_queries_whatever_its_size() -> None:
    first = [Answer([None], list(names)) for names in ("abcd", "abcd", "abcd")]
    second = [Answer([None], list(names)) for names in ("abcd", "abxy", "wxyz")]
    assert [one.ease for one in classify([first, second])] == pytest.approx([5 / 6, 3 / 6, 1 / 6])


# --- rank correlation


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=4, max_size=30))
def test_the_correlation_is_scipys(pairs: list[tuple[int, int]]) -> None:
    a, b = (np.array(column, dtype=float) for column in zip(*pairs, strict=True))
    found = correlation(a, b)
    if len(set(a)) == 1 or len(set(b)) == 1:
        assert math.isnan(found.rho)
        return
    known = stats.spearmanr(a, b)
    assert found.rho == pytest.approx(known.statistic, abs=1e-9)
    assert found.p == pytest.approx(known.pvalue, abs=1e-6)


def test_queries_that_were_not_judged_are_left_out_of_the_correlation() -> None:
    found = correlation(np.array([1.0, 2.0, 3.0, math.nan, 9.0]), np.array([1.0, 2.0, 3.0, 4.0, math.nan]))
    assert found.rho == pytest.approx(1.0)
    assert found.n == 3


@given(st.lists(st.one_of(st.integers(0, 9), st.just(math.nan)), max_size=20))
def test_a_place_is_the_share_of_lower_values_and_half_of_the_equal_ones(values: list[float]) -> None:
    given_values = np.array(values, dtype=float)
    known = [value for value in values if not math.isnan(value)]
    for value, place in zip(values, percentile_ranks(given_values).tolist(), strict=True):
        if math.isnan(value):
            assert math.isnan(place)
        else:
            below, equal = sum(other < value for other in known), known.count(value)
            assert place == pytest.approx((below + equal / 2) / len(known))
