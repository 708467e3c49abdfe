"""Units of a passage: sentences, list items, table rows and code, with their lines and the term they define."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.answer.units import CODE, ITEM, ROW, SENTENCE, units
from assay.text.prose import sentences


def _told(text: str) -> list[tuple[str, str, int, int]]:
    return [(unit.kind, unit.text, unit.first, unit.last) for unit in units(text)]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("One thing. Another one! A third?", ["One thing.", "Another one!", "A third?"]),
        ("Use e.g. Flask, i.e. Python. Then go.", ["Use e.g. Flask, i.e. Python.", "Then go."]),
        ("Version 3.11 is new. It is fast.", ["Version 3.11 is new.", "It is fast."]),
        ('He said "stop." Then he left.', ['He said "stop."', "Then he left."]),
        ("Call `run()`. `stop` ends it.", ["Call `run()`.", "`stop` ends it."]),
        ("no end", ["no end"]),
        ("", []),
    ],
)
def test_sentences_end_where_a_reader_stops(text: str, parts: list[str]) -> None:
    assert [text[start:end] for start, end in sentences(text)] == parts


@given(st.text(alphabet='aB. ?!\n"(e.g', max_size=60))
def test_sentences_leave_out_nothing_but_blanks(text: str) -> None:
    spans = list(sentences(text))
    assert "".join(text[start:end] for start, end in spans).replace(" ", "").replace("\n", "") == "".join(text.split())
    assert all(before[1] <= after[0] for before, after in pairwise(spans))


def test_sentences_of_a_paragraph_have_the_lines_they_run_over() -> None:
    text = "# Title\n\nPumps start first. Valves\nopen later. Nobody\nwaits."
    assert _told(text) == [
        (SENTENCE, "Pumps start first.", 2, 2),
        (SENTENCE, "Valves open later.", 2, 3),
        (SENTENCE, "Nobody waits.", 3, 4),
    ]


def test_items_and_rows_stay_whole() -> None:
    text = "- one\n  goes on\n- two\n\n| a | b |\n|---|---|\n| `x` | stops. Really. |\n"
    assert _told(text) == [
        (ITEM, "- one goes on", 0, 1),
        (ITEM, "- two", 2, 2),
        (ROW, "`x` | stops. Really.", 6, 6),
    ]


def test_code_is_kept_as_it_stands() -> None:
    text = "Do this:\n\n```python\nif x:\n    y()\n```\n\nor this::\n\n    z()\n\nDone."
    assert _told(text) == [
        (SENTENCE, "Do this:", 0, 0),
        (CODE, "if x:\n    y()", 3, 4),
        (SENTENCE, "or this:", 7, 7),
        (CODE, "z()", 9, 9),
        (SENTENCE, "Done.", 11, 11),
    ]


def test_long_code_is_divided_where_it_has_blank_lines() -> None:
    block = "\n\n".join("\n".join(f"line_{part}_{row}" for row in range(12)) for part in range(3))
    found = units(f"```\n{block}\n```")
    assert [unit.text.splitlines()[0] for unit in found] == ["line_0_0", "line_1_0", "line_2_0"]


@pytest.mark.parametrize(
    "text",
    [
        ".. py:data:: MAX_SIZE\n\n    The largest upload.\n",
        "MAX_SIZE\n    The largest upload.\n",
        ".. envvar:: MAX_SIZE\n\n   The largest upload.\n",
    ],
)
def test_what_explains_a_term_carries_it(text: str) -> None:
    (unit,) = units(text)
    assert (unit.text, unit.label.text, unit.label.line) == ("The largest upload.", "MAX_SIZE", 0)


def test_a_term_ends_with_its_indented_text() -> None:
    labels = [
        (unit.text, unit.label.text) for unit in units(".. data:: A\n\n    One.\n\n.. data:: B\n\n    Two.\n\nNo term.")
    ]
    assert labels == [("One.", "A"), ("Two.", "B"), ("No term.", "")]


def test_headings_rules_and_markup_say_nothing() -> None:
    text = "Title\n=====\n\n.. _anchor:\n\n.. toctree::\n\n   a\n   b\n\n![x](y.png)\n\n***\n\n## Sub\n"
    assert units(text) == []


def test_an_unclosed_fence_hides_nothing() -> None:
    assert [unit.text for unit in units("```\n\nStill prose here.")] == ["Still prose here."]


@given(
    st.lists(
        st.sampled_from(
            [
                "word. ",
                "Word",
                "\n",
                "\n\n",
                "    ",
                "- ",
                "```",
                "::",
                ".. note:: ",
                ".. x:: y",
                "| a |",
                "===",
                "#",
                "\t",
            ]
        ),
        max_size=30,
    )
)
def test_any_text_has_units_within_its_lines_and_in_order(parts: list[str]) -> None:
    text = "".join(parts)
    found = units(text)
    lines = text.split("\n")
    assert all(0 <= unit.first <= unit.last < len(lines) and unit.text.strip() for unit in found)
    assert [unit.first for unit in found] == sorted(unit.first for unit in found)
    for unit in found:
        within = "".join(lines[unit.first : unit.last + 1])
        if unit.kind == "row":  # cells are divided alike, whatever divides them in the text
            assert unit.text.replace("|", "").split() == within.replace("|", " ").split()
        else:
            assert "".join(unit.text.split()) in "".join(within.split())


def test_a_heading_of_the_passage_is_no_sentence_of_it() -> None:
    found = units("3.3.1 Recycling rules\nIf one is shorter, it is recycled.", ("Vectors", "Recycling rules"))
    assert [(unit.text, unit.first) for unit in found] == [("If one is shorter, it is recycled.", 1)]


def test_what_never_ends_is_divided_by_its_lines() -> None:
    table = "\n".join(f"row{number} with some words and no end of a sentence" for number in range(12))
    assert [(unit.first, unit.last) for unit in units(table)] == [(number, number) for number in range(12)]
