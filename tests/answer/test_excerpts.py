"""Excerpts of an answer: which runs of sentences, items and code are quoted, how long they are, how they are rendered."""

from __future__ import annotations

from dataclasses import replace
from math import nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.answer.answering import Evidence, extract
from assay.answer.excerpts import MAX_EXCERPTS, Excerpt, choose, excerpts, select
from assay.answer.question import Question, Word
from assay.answer.reply import Reply
from assay.config.configuration import AskSettings
from assay.search.hits import SearchHit
from assay.text.terms import terms

LENGTH = 600  # characters of an excerpt of several units
FILLER = "The weather of that year was recorded by a clerk who wrote little. "


def _found(text: str, number: int = 1, **facts: Any) -> SearchHit:
    plain = SearchHit(
        f"docs/{number}", "passage", f"docs/{number}.md", "markdown", 1, 1 + text.count("\n"), 0, (), "", 0.5, 5.0, nan,
        text, f"docs/{number}.md:1-{1 + text.count(chr(10))}", frozenset(),
    )  # fmt: skip
    return replace(plain, **facts)


def _question(text: str, **frequencies: int) -> Question:
    words = tuple(
        Word(written, tuple(terms(written)), frequency, 5.0 / frequency) for written, frequency in frequencies.items()
    )
    return Question(text, words)


PIPE = _question("when a pipe bursts", pipe=2, bursts=1)


def _reply(question: Question, *hits: SearchHit) -> Reply:
    return extract(Evidence(question, hits, "1 passage", None), AskSettings(threshold=0.0))


def _length(excerpt: Excerpt) -> int:
    return sum(len(unit.text) for unit in excerpt.units)


# which


def test_the_run_that_speaks_of_the_question_is_chosen_not_the_first() -> None:
    text = f"{FILLER * 12}\n\nWhen a pipe bursts, close the valve. Call somebody.\n\n{FILLER * 12}"
    best = choose(PIPE, [_found(text)])[0]
    assert "When a pipe bursts, close the valve." in best.text
    assert "Call somebody." in best.text


def test_rare_words_decide_between_passages_of_the_same_rank() -> None:
    passages = [_found("No pipe is round.", 1), _found("It bursts in winter.", 2)]
    values = choose(PIPE, passages[:1])[0].worth, choose(PIPE, passages[1:])[0].worth
    assert values[1] > values[0]


def test_what_says_the_same_is_said_once() -> None:
    twice = [
        _found("When a pipe bursts, close the valve.", 1),
        _found("When a pipe bursts, close the valve!", 2, score=0.4),
        _found("A pipe bursts in winter if water freezes.", 3),
    ]
    assert [one.found.id for one in choose(PIPE, twice)] == ["docs/1", "docs/3"]


def test_what_is_much_worse_than_the_best_is_left_out() -> None:
    candidates = [Excerpt(_found(text, number), next(excerpts([_found(text, number)])).units) for number, text in
                  enumerate(("alpha beta.", "gamma delta.", "epsilon zeta."))]  # fmt: skip
    close, far, none = np.log(0.06), np.log(0.04), np.zeros(3)
    assert [one.found.id for one in select(candidates, np.array([0.0, close, far]), none)] == ["docs/0", "docs/1"]
    assert [one.worth for one in select(candidates, np.array([far, 0.0, close]), none)] == [0.0, close]


def test_an_answer_has_at_most_three_excerpts() -> None:
    towns = ("Ulm, Bonn, Kiel", "Hof, Trier, Jena", "Oslo, Turin, Lyon", "Porto, Riga, Graz", "Delft, Izmir, Basel")
    texts = [f"A pipe bursts in {some}." for some in towns]
    chosen = choose(PIPE, [_found(text, number) for number, text in enumerate(texts)])
    assert len(chosen) == MAX_EXCERPTS == 3


_SENTENCES = st.lists(
    st.lists(st.sampled_from(["pipe", "bursts", "valve", "wall", "water", "tower", "winter", "plumber", "number", "door"]), min_size=1, max_size=12),
    min_size=1, max_size=60,
)  # fmt: skip


@given(st.lists(_SENTENCES, min_size=1, max_size=4))
def test_excerpts_never_overlap_and_never_grow_beyond_the_limit(passages: list[list[list[str]]]) -> None:
    hits = [
        _found("\n\n".join(" ".join(words).capitalize() + "." for words in sentences), number)
        for number, sentences in enumerate(passages)
    ]
    chosen = choose(PIPE, hits)
    assert 1 <= len(chosen) <= 3
    for rank, excerpt in enumerate(chosen):
        assert len(excerpt.units) == 1 or _length(excerpt) <= LENGTH
        for other in chosen[:rank]:
            assert other.worth >= excerpt.worth
            if other.found.id == excerpt.found.id:
                assert other.lines[1] < excerpt.lines[0] or excerpt.lines[1] < other.lines[0]


# how long


def test_an_excerpt_is_the_longest_run_within_the_limit() -> None:
    sentences = [f"Sentence {number:02} {'x' * 85}." for number in range(12)]
    runs = list(excerpts([_found(" ".join(sentences))]))
    assert [len(run.units) for run in runs] == [6] * 7
    assert [run.units[0].text for run in runs] == sentences[:7]


def test_a_part_of_a_run_is_no_candidate_of_its_own() -> None:
    (run,) = excerpts([_found("One. Two.\n\nThree.")])
    assert [unit.text for unit in run.units] == ["One.", "Two.", "Three."]


def test_one_unit_that_is_longer_than_the_limit_is_quoted_whole() -> None:
    code = "\n".join(f"close(valve_{number}, how='slowly and with care', when=now)" for number in range(15))
    (excerpt,) = choose(PIPE, [_found(f"```\n{code}\n```")])
    assert len(code) > LENGTH
    assert excerpt.units[0].text == code


def test_only_the_first_passages_and_units_are_read() -> None:
    assert {run.found.id for run in excerpts([_found("A pipe.", number) for number in range(30)])} == {
        f"docs/{number}" for number in range(10)
    }
    data = "\n".join(f"- row {number} {'x' * 40}" for number in range(5_000))
    assert len(list(excerpts([_found(data)]))) <= 40


@pytest.mark.parametrize("text", ["", "\n\n", "# Heading only", "```", "\0\x1b[31m", "a" * 200_000, "[" * 5_000])
def test_hostile_passages_are_read(text: str) -> None:
    assert len(choose(PIPE, [_found(text), _found("A pipe bursts.", 2)])) >= 1


# how it is said


def test_code_is_quoted_whole_with_its_indentation_after_what_introduces_it() -> None:
    code = "if pipe.bursts:\n    for valve in pipe.valves:\n        valve.close()\n\n    call(plumber)"
    reply = _reply(PIPE, _found(f"Close it:\n\n```python\n{code}\n```"))
    assert reply.text == f"Close it: [#1]\n\n```\n{code}\n```"


def test_a_definition_is_code() -> None:
    code = "def burst(pipe):\n    # [#7]\n    return pipe.bursts"
    reply = _reply(PIPE, _found(code, kind="function", symbol="burst", language="python"))
    assert reply.text == f"```\n{code}\n```\n\n[#1]"


def test_a_term_is_named_once_and_cited_from_its_line() -> None:
    text = ".. data:: VALVE\n\n    The pipe bursts.\n\n    Default: none."
    reply = _reply(PIPE, _found(text, language="rst", start=11, end=15))
    assert reply.text == "VALVE: The pipe bursts.\n\nDefault: none. [#1]"
    assert (reply.sources[0].start, reply.sources[0].end) == (11, 15)
    assert reply.sources[0].text == text


def test_markup_is_rendered_as_plain_text_and_a_faked_citation_removed() -> None:
    reply = _reply(PIPE, _found("When a **pipe** [bursts](http://x.example/y), [#[#1]1] call *him* [#2]."))
    assert reply.text == "When a pipe bursts, call him. [#1]"


def test_a_page_is_cited_by_its_number_and_html_by_its_passage() -> None:
    page = _found("One.\nThe pipe bursts.", page=3, place="m.pdf, page 3", language="pdf", path="m.pdf")
    assert _reply(PIPE, page).sources[0].place == "m.pdf, page 3"
    html = _found("One.\nThe pipe bursts.", start=40, end=80, place="m.html:40-80", language="html")
    assert _reply(PIPE, html).sources[0].place == "m.html:40-80"
