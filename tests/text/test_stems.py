"""Stems equal those of the Snowball project's own implementation."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from snowballstemmer.english_stemmer import EnglishStemmer

from assay.text.terms import stem, words
from support.property_tests import examples


def listed(text: str) -> list[str]:
    return text.split()


EXCEPTIONS = listed(
    "andes atlas bias cosmos early gently howe idly news only singly skies skis sky ugly "
    "evening canning inning earring herring outing dying lying tying vying succeed proceed exceed"
)
BEGINNINGS = listed("arsen commun emerg gener inter later organ past univers")
ENDINGS = listed(
    "ed eed edly eedly ing ingly ying s ss us sses ies ied y ly e l ll able ible al alism aliti alize alli ance anci ant ate ation "
    "ational ative ator biliti bli ement ence enci ent entli er ful fulli fulness ic ical icate iciti ion sion ism iti ive iveness iviti ization "
    "ize izer less lessli li logi logist ment ness ogi ous ousli ousness tional at bl iz dd past"
)
LETTERS = "aeiouybcdghklmnprstwx"  # the vowels often, and every letter that a rule asks for
english = st.builds(
    lambda beginning, middle, endings: beginning + middle + "".join(endings),
    st.sampled_from(["", "", *BEGINNINGS]),
    st.text(LETTERS, max_size=6),
    st.lists(st.sampled_from(ENDINGS), min_size=1, max_size=2),
)


def snowball(word: str) -> str:
    return str(EnglishStemmer().stemWord(word))


@settings(deadline=None, max_examples=examples(2000))
@given(english)
@example("hopping")
@example("hoping")
@example("adding")
@example("sayyid")
def test_words_like_english_ones_have_the_stems_of_snowball(word: str) -> None:
    assert stem(word) == snowball(word)


@settings(deadline=None)
@given(st.text())
def test_words_of_any_letters_have_the_stems_of_snowball(text: str) -> None:
    for word in words(text):
        assert stem(word) == snowball(word)


@pytest.mark.parametrize("word", EXCEPTIONS)
def test_exceptions_are_those_of_snowball(word: str) -> None:
    for one in (word, f"{word}s", f"un{word}", f"{word}ed"):
        assert stem(one) == snowball(one)
