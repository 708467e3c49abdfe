"""Sentence selection, answer confidence, and the refusal threshold."""

from __future__ import annotations

from dataclasses import replace
from math import nan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.answer.answering import extract
from assay.answer.extractive import ConfidenceFeatures, Question, Word, choose, confidence, confidence_features
from assay.evaluate.threshold import JudgedQuestion, advise, evaluate_threshold, threshold_curve
from assay.search.hits import SearchHit
from assay.text.terms import terms


def _found(text: str, lexical: float = 5.0, **facts: Any) -> SearchHit:
    plain = SearchHit(
        f"docs/{abs(hash(text))}", "passage", "docs/a.md", "markdown", 1, 1 + text.count("\n"), 0, (), "", 1.0, lexical, nan,
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


PIPE = _question("when a pipe bursts", pipe=2, bursts=1)


def test_the_sentences_that_speak_of_the_question_are_chosen_not_the_first_ones() -> None:
    text = "# A\n\nThe sky is blue today. Grass is green. Snow falls. Rain too.\n\nWhen a pipe bursts, close the valve. Call somebody."
    (excerpt,) = choose(PIPE, [_found(text)])
    assert excerpt.units[0].text == "When a pipe bursts, close the valve."
    assert excerpt.lines == (4, 4)


def test_rare_words_decide_between_passages() -> None:
    chosen = choose(PIPE, [_found("A pipe is round."), _found("It bursts in winter.")])
    assert chosen[0].units[0].text == "It bursts in winter."


def test_what_says_the_same_is_said_once() -> None:
    twice = [
        _found("When a pipe bursts, close the valve."),
        _found("When a pipe bursts, close the valve!", path="docs/b.md"),
    ]
    assert len(choose(PIPE, twice)) == 1


def test_an_answer_is_short_whatever_was_found() -> None:
    long = "\n\n".join(f"A pipe bursts in house {number} and nobody minds it much." for number in range(50))
    passages = [_found(long.replace("house", f"town{number}"), path=f"{number}.md") for number in range(8)]
    sentences = [unit for one in choose(PIPE, passages) for unit in one.units]
    assert 1 <= len(sentences) <= 8


def test_the_best_excerpt_comes_first_and_the_others_as_their_document_has_them() -> None:
    best = _found("The lead pipe bursts.", start=20)
    others = [_found("Whatever is of lead bursts.", start=9), _found("This pipe is made of lead.", start=3)]
    chosen = choose(_question("?", lead=1, pipe=1, bursts=1), [*others, best])
    assert [one.found.start for one in chosen] == [20, 3, 9]


def test_what_is_much_worse_than_the_best_is_left_out() -> None:
    best, faint = _found("The lead pipe bursts."), _found("Some tube of lead.", path="docs/b.md")
    assert [one.found for one in choose(_question("?", lead=4, pipe=1, bursts=1), [faint, best])] == [best]


def test_an_excerpt_does_not_end_with_what_announces_something_unsaid() -> None:
    (excerpt,) = choose(PIPE, [_found("The pipe bursts. One waits. Two run. Do this:\n\n- shout\n- wave")])
    assert [unit.text for unit in excerpt.units] == ["The pipe bursts.", "One waits.", "Two run."]


def test_an_excerpt_has_few_sentences_and_little_code() -> None:
    prose = " ".join(f"The pipe bursts {word}." for word in ("twice", "often", "daily", "again", "slowly", "late"))
    (excerpt,) = choose(PIPE, [_found(prose)])
    assert len(excerpt.units) == 4
    code = "\n\n".join("\n".join(f"step_{part}_{row}()" for row in range(8)) for part in range(4))
    (excerpt,) = choose(PIPE, [_found(f"When the pipe bursts:\n\n```\n{code}\n```")])
    assert [unit.last - unit.first + 1 for unit in excerpt.units] == [1, 8]


def test_a_term_is_named_once() -> None:
    text = ".. data:: VALVE\n\n    The pipe bursts.\n\n    Default: none."
    reply = extract(PIPE, [_found(text)], "", 0.0)
    assert reply.text == "VALVE: The pipe bursts. [#1]\n\nDefault: none. [#1]"


def test_a_term_is_said_with_what_explains_it_and_cited_from_its_line() -> None:
    text = ".. data:: VALVE_LIMIT\n\n    How far a pipe may burst."
    reply = extract(_question("?", pipe=1, burst=1), [_found(text, start=11, end=13)], "1 passage", 0.0)
    assert reply.text == "VALVE_LIMIT: How far a pipe may burst. [#1]"
    assert reply.sources[0].place == "docs/a.md:11-13"


def test_code_is_quoted_as_code_after_what_introduces_it() -> None:
    reply = extract(_question("?", pipe=1), [_found("Close it:\n\n```\npipe.close()\n```")], "1 passage", 0.0)
    assert reply.text == "Close it: [#1]\n\n```\npipe.close()\n```"


def test_a_page_is_cited_by_its_number_and_html_by_its_passage() -> None:
    page = _found("One.\nThe pipe bursts.", page=3, place="m.pdf, page 3", language="pdf", path="m.pdf")
    assert extract(PIPE, [page], "", 0.0).sources[0].place == "m.pdf, page 3"
    html = _found("One.\nThe pipe bursts.", start=40, end=80, place="m.html:40-80", language="html")
    assert extract(PIPE, [html], "", 0.0).sources[0].place == "m.html:40-80"


# confidence


def test_words_that_nobody_here_uses_lower_confidence() -> None:
    found = [_found("When a pipe bursts.")]
    known = confidence(_question("?", pipe=1, bursts=1), found)
    partly = confidence(_question("?", pipe=1, kubernetes=0), found)
    unknown = confidence(_question("?", helm=0, kubernetes=0), found)
    assert known > 0.5 > partly > unknown


@given(st.floats(0, 50), st.floats(0, 50))
def test_a_better_match_never_lowers_confidence(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert confidence(PIPE, [_found("x", low)]) <= confidence(PIPE, [_found("x", high)])


def test_the_signs_are_shares_of_the_words_by_rarity() -> None:
    asked = _question("?", pipe=1, kubernetes=0)  # of rarity 5 and 6
    assert confidence_features(asked, [_found("x", 2.2), _found("y", 5.5)]) == ConfidenceFeatures(6 / 11, 5.5 / 11)


def test_nothing_found_and_nothing_asked_give_no_confidence() -> None:
    assert confidence(PIPE, []) == 0.0
    assert confidence(Question("how?", ()), [_found("x")]) < 0.05


def test_below_the_threshold_is_a_refusal_and_at_it_an_answer() -> None:
    found = [_found("When a pipe bursts, close it.")]
    sure = confidence(PIPE, found)
    assert extract(PIPE, found, "1 passage", sure).grounded
    refused = extract(PIPE, found, "1 passage", sure + 0.001)
    assert not refused.grounded
    assert refused.text.startswith("No answer found. Searched: 1 passage.")


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
