"""Confidence of an answer, and the refusal threshold."""

from __future__ import annotations

from dataclasses import replace
from math import nan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.answer.confidence import confidence, confidence_features
from assay.answer.excerpts import choose, excerpts
from assay.answer.question import Question, Word
from assay.evaluate.threshold import JudgedQuestion, advise, evaluate_threshold, threshold_curve
from assay.search.hits import SearchHit
from assay.text.terms import terms


def _found(text: str, lexical: float = 5.0, **facts: Any) -> SearchHit:
    plain = SearchHit(
        f"docs/{text[:40]}", "passage", "docs/a.md", "markdown", 1, 1 + text.count("\n"), 0, (), "", 0.5, lexical, nan,
        text, f"docs/a.md:1-{1 + text.count(chr(10))}", frozenset(),
    )  # fmt: skip
    return replace(plain, **facts)


def _question(text: str, **frequencies: int) -> Question:
    """A question whose words are named with how many texts have them."""
    words = tuple(
        Word(written, tuple(terms(written)), frequency, 6.0 if not frequency else 5.0 / frequency)
        for written, frequency in frequencies.items()
    )
    return Question(text, words)


def _confidence(question: Question, hits: list[SearchHit]) -> float:
    return confidence(question, hits, choose(question, hits))


PIPE = _question("when a pipe bursts", pipe=2, bursts=1)


def test_words_that_nobody_here_uses_lower_confidence() -> None:
    found = [_found("When a pipe bursts.", 12.0)]
    known = _confidence(_question("?", pipe=1, bursts=1), found)
    partly = _confidence(_question("?", pipe=1, kubernetes=0), found)
    unknown = _confidence(_question("?", helm=0, kubernetes=0), found)
    assert known > 0.5 > partly > unknown


@given(st.floats(0, 50), st.floats(0, 50))
def test_a_better_match_never_lowers_confidence(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert _confidence(PIPE, [_found("x", low)]) <= _confidence(PIPE, [_found("x", high)])


def test_an_excerpt_with_more_of_the_question_raises_confidence() -> None:
    whole, part = _found("When a pipe bursts, shut the valve."), _found("Every pipe has a valve.")
    assert _confidence(PIPE, [whole]) > _confidence(PIPE, [part])


def test_words_of_the_headings_count_as_covered() -> None:
    under = _found("Shut the valve first.", headings=("When a pipe bursts",))
    assert _confidence(PIPE, [under]) > _confidence(PIPE, [_found("Shut the valve first.")])


def test_shares_of_words_count_by_their_rarity() -> None:
    asked = _question("?", pipe=1, kubernetes=0)  # of rarity 5 and 6
    hits = [_found("A pipe.", 2.2), _found("Some tube.", 5.5)]
    features = confidence_features(asked, hits, [next(excerpts(hits))], None)
    assert features["unseen"] == pytest.approx(6 / 11)
    assert features["covered"] == pytest.approx(5 / 11)
    assert features["rarest"] == 1.0, "at most, as nothing is rarer than absent"


def test_nothing_found_and_nothing_asked_give_no_confidence() -> None:
    assert _confidence(PIPE, []) == 0.0
    assert _confidence(Question("how?", ()), [_found("x")]) < 0.05


# the threshold


SET = (
    [JudgedQuestion(0.9, False)] * 9
    + [JudgedQuestion(0.3, False)]
    + [JudgedQuestion(0.2, True)] * 9
    + [JudgedQuestion(0.7, True)]
)


def test_a_threshold_answers_what_is_as_sure_and_refuses_the_rest() -> None:
    point = evaluate_threshold(0.5, SET)
    assert (point.answered, point.refused) == (0.9, 0.9)
    assert point.balanced_accuracy == pytest.approx(0.9)
    assert point.low < 0.9 < point.high
    assert evaluate_threshold(0.3, SET).answered == 1.0
    assert (evaluate_threshold(0.0, SET).answered, evaluate_threshold(0.0, SET).refused) == (1.0, 0.0)


def test_the_curve_goes_from_answering_all_to_refusing_all() -> None:
    points = threshold_curve(SET)
    assert (points[0].refused, points[-1].answered) == (0.0, 0.0)
    assert [p.answered for p in points] == sorted((p.answered for p in points), reverse=True)
    assert [p.refused for p in points] == sorted(p.refused for p in points)


def test_a_threshold_that_is_surely_better_is_recommended() -> None:
    clear = [JudgedQuestion(0.9, False)] * 40 + [JudgedQuestion(0.6, True)] * 40
    advice = advise(clear, 0.5)
    assert advice.change
    assert 0.6 < advice.point.threshold <= 0.9
    assert advice.point.balanced_accuracy == 1.0


def test_no_change_is_advised_without_a_gain_or_for_a_gain_that_may_be_chance() -> None:
    kept = advise(SET, 0.25)
    assert (kept.change, kept.point.threshold) == (False, 0.25)
    assert kept.why == "no threshold does better on this set"
    perhaps = advise(SET, 0.5)
    assert not perhaps.change
    assert perhaps.point.balanced_accuracy > perhaps.used.balanced_accuracy
    assert "not significantly" in perhaps.why


def test_a_small_set_tells_nothing() -> None:
    assert advise([JudgedQuestion(0.9, False)] * 30 + [JudgedQuestion(0.6, True)] * 8, 0.5).change
    advice = advise([JudgedQuestion(0.9, False)] * 30 + [JudgedQuestion(0.95, True)] * 7, 0.5)
    assert not advice.change
    assert advice.why == "the set has only 7 questions to refuse; at least 8 are needed"


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=60), st.floats(0, 1))
def test_advice_is_never_worse_than_what_is_in_use(rows: list[tuple[float, bool]], used: float) -> None:
    judged = [JudgedQuestion(*row) for row in rows] + [JudgedQuestion(0.5, True)] * 8 + [JudgedQuestion(0.5, False)] * 8
    advice = advise(judged, used)
    assert advice.point.balanced_accuracy >= advice.used.balanced_accuracy
    assert 0 <= advice.point.low <= advice.point.balanced_accuracy <= advice.point.high <= 1
