"""Verdict words of a comparison, and marks of queries."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.evaluate.statistics import paired
from assay.evaluate.verdicts import ALPHA, query_verdict, verdict
from support.property_tests import examples

HALF, FULL, NONE = [0.5] * 20, [1.0] * 20, [0.0] * 20


@pytest.mark.parametrize(
    ("a", "b", "adjusted", "word"),
    [
        (HALF, HALF, 1.0, "same"),
        (NONE, FULL, 0.001, "better"),
        (FULL, NONE, 0.001, "worse"),
        (NONE, FULL, 0.12, "perhaps better"),  # the interval excludes 0, the corrected p is not far
        (NONE, FULL, 0.98, "not shown"),  # the correction for all metrics takes it back
        ([0.0, 1.0] * 10, [1.0, 0.0] * 9 + [1.0, 1.0], 0.98, "not shown"),
        ([0.0, 1.0] * 10, [1.0, 0.0] * 10, 1.0, "not shown"),  # differences that cancel out
    ],
)  # fmt: skip
def test_words_follow_the_corrected_p_and_the_interval(
    a: list[float], b: list[float], adjusted: float, word: str
) -> None:
    assert verdict("RR@10", paired(a, b), adjusted) == word


def test_less_is_better_for_some_measures() -> None:
    assert verdict("failure_rate", paired(NONE, FULL), 0.001) == "worse"
    assert verdict("failure_rate", paired(FULL, NONE), 0.001) == "better"


def test_what_the_user_accepts_is_within_tolerance_even_if_significant() -> None:
    pair = paired(FULL, [0.99] * 20)
    assert verdict("RR@10", pair, 0.001) == "worse"
    assert verdict("RR@10", pair, 0.001, tolerance=0.02) == "within tolerance"


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from([0.0, 0.5, 1.0])), min_size=2, max_size=30))
def test_nothing_is_called_better_or_worse_by_its_sign_alone(pairs: list[tuple[float, float]]) -> None:
    pair = paired([a for a, _ in pairs], [b for _, b in pairs])
    word = verdict("RR@10", pair, pair.p)
    if word in ("better", "worse"):
        assert pair.p < ALPHA
    if pair.p >= 0.2:
        assert word in ("same", "not shown")
    assert (word == "same") == all(a == b for a, b in pairs)


@pytest.mark.parametrize(
    ("changed", "word"),
    [
        ({"first_rank": 1}, "good"),
        ({"first_rank": 2}, "fair"),
        ({"first_rank": 3}, "weak"),
        ({"first_rank": None}, "weak"),
        ({"first_rank": None, "error": "timeout"}, "weak"),
        ({"first_rank": None, "expected": []}, ""),
        ({"first_rank": None, "expected": [], "refuse": True, "refused": True}, "good"),
        ({"first_rank": None, "expected": [], "refuse": True}, "weak"),
    ],
)
def test_a_query_is_good_at_rank_1_fair_at_2_and_weak_below(changed: dict[str, Any], word: str) -> None:
    row = {"error": "", "refuse": False, "refused": False, "expected": ["x"], "first_rank": None}
    assert query_verdict(row | changed) == word
