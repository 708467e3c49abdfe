"""Wording of a query: which features tell a question to the documents from a look for code."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.search.intent import intent


@pytest.mark.parametrize(
    ("query", "features"),
    [
        ("How do I install it?", {"ends with ?", "asks like a question", "speaks of the user", "names a kind of document"}),
        ("how do retries work", {"asks like a question"}),
        ("where is the retry limit checked", {"asks for a place"}),
        ("how is a cookie signed", {"asks for a place"}),
        ("how requests are parsed", {"asks for a place"}),
        ("helper functions of the lexer", {"names a part of code"}),
        ("release notes", {"names a kind of document"}),
        ("session_cookie_name", {"has an identifier"}),
        ("parseHeader", {"has an identifier"}),
        ("HttpClient", {"has an identifier"}),
        ("os.path", {"has an identifier"}),
        ("std::vector", {"has an identifier"}),
        ("connect()", {"has an identifier"}),
        ("retries are not counted", {"reports a problem"}),
        ("Unable to start behind a proxy", {"reports a problem"}),
        ("the pump doesn't start", {"reports a problem"}),
        ("turn off colours", {"begins with a request"}),
        ("settings of the pump, and notes", {"names a kind of document"}),
        ("plain words", set()),
        ("Whatever happens, somewhere HTTP", set()),
        ("a question in the middle? yes", set()),
        ("  Can it float ?  ", {"ends with ?", "asks like a question"}),
    ],
)  # fmt: skip
def test_the_wording_of_a_query_has_features(query: str, features: set[str]) -> None:
    assert {name for name, value in intent(query).items() if value and name != "length"} == features


def test_long_queries_are_all_alike() -> None:
    assert intent("one's two, three?")["length"] == 0.3
    assert intent("word " * 20)["length"] == intent("word " * 400)["length"] == 2.0
    assert intent("word " * 19)["length"] == 1.9


@given(st.text(max_size=300))
def test_any_query_has_the_same_features_from_0_to_2(query: str) -> None:
    found = intent(query)
    assert list(found) == list(intent("x"))
    assert all(0 <= value <= 2 for value in found.values())


@pytest.mark.parametrize("query", ["a" * 2_000, "a_" * 1_000, "A" * 1_999 + "b", "." * 2_000, "how " * 500])
def test_hostile_queries_are_read(query: str) -> None:
    assert intent(query)["length"] >= 0


def test_one_long_word_takes_linear_time() -> None:
    started = time.process_time()
    assert not intent("x" * 200_000)["has an identifier"]
    assert time.process_time() - started < 10, "quadratic time takes 40 s"
