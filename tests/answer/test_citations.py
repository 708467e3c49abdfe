"""Citation parsing: citations apart from prose and code, independent of how a stream is split."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from assay.answer.citations import Citations, strip_unknown_citations

KNOWN = frozenset({1, 2, 3, 12})


def _read(text: str) -> tuple[str, list[int], list[int]]:
    shown, citations = strip_unknown_citations(text, KNOWN)
    return shown, citations.used, citations.dropped


def test_citations_of_given_numbers_stay_and_are_counted_once_in_order() -> None:
    text = "Close the valve [#2], then call [#1][#2]. Wait.[#12]"
    assert _read(text) == (text, [2, 1, 12], [])


def test_citations_of_numbers_nobody_gave_are_dropped_with_the_blank_before_them_and_reported() -> None:
    assert _read("Close it [#9]. Call [#1] [#44].") == ("Close it. Call [#1].", [1], [9, 44])


@pytest.mark.parametrize(
    "prose",
    [
        "see [1]",
        "see #1",
        "see [# 1]",
        "see [#1 ]",
        "see [#01]",
        "see [#0]",
        "see [#one]",
        "see (#1)",
        "[#-1]",
        "[#1234567]",
        r"\[#1]",
    ],
)
def test_what_only_looks_like_a_citation_is_prose(prose: str) -> None:
    assert _read(prose) == (prose, [], [])


@pytest.mark.parametrize(
    "code",
    [
        "```\nx = a[#1]\n[#9]\n```\n",
        "~~~python\nx[#1]\n~~~\n",
        "````\n```\n[#1]\n```\n[#9]\n````\n",
        "Text `a[#1]` goes on",
        "Text ``a ` [#9]`` goes on",
        "Text `a\n[#1]` goes on",
        "Text.\n\n    code [#1]\n    more [#9]\n",
        "\tcode [#1]",
        "```\nnever closed [#1]\n",
    ],
)
def test_citations_in_code_are_code(code: str) -> None:
    assert _read(code) == (code, [], [])


@pytest.mark.parametrize(
    ("text", "used"),
    [
        ("```\ncode\n```\nprose [#1]", [1]),
        ("a ` that is never closed [#1]\n\nnext `", [1]),
        ("- item\n\n    of a list [#1]\n", [1]),
        ("prose\n    continued [#1]\n", [1]),
        ("``` not a fence ` [#1]", [1]),
        (r"an escaped \` tick [#1] `", [1]),
        ("`code` and [#1]", [1]),
    ],
)
def test_citations_beside_code_count(text: str, used: list[int]) -> None:
    assert _read(text)[1] == used


_TEXTS = st.lists(
    st.sampled_from(
        ["[#1]", "[#9]", "[#", "[", "#1]", "`", "``", "```", "~~~", "\n", "\n\n", "    ", " ", "\t", "word", "- ", "1. ", "12", "\\", "[#12]", "é"]
    ),
    max_size=25,
).map("".join)  # fmt: skip


@given(_TEXTS, st.lists(st.integers(0, 80), max_size=12))
@example("word\n     \n    [#1]", [8])
def test_in_what_bits_a_text_comes_makes_no_difference(text: str, cuts: list[int]) -> None:
    citations = Citations(KNOWN)
    places = sorted({min(cut, len(text)) for cut in cuts} | {0, len(text)})
    shown = "".join(citations.feed(text[start:end]) for start, end in pairwise(places))
    shown += citations.finish()
    assert (shown, citations.used, citations.dropped) == _read(text)


@given(_TEXTS)
def test_nothing_is_lost_but_dropped_citations(text: str) -> None:
    shown, _, dropped = _read(text)
    if not dropped:
        assert shown == text
    assert len(shown) <= len(text)
