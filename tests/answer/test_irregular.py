"""Irregular word forms: mapping to the base form, and search by both."""

from __future__ import annotations

import pytest

from assay.search.search import question_terms
from assay.text.terms import base_of


@pytest.mark.parametrize(
    ("form", "base"),
    [("kept", "keep"), ("Written", "write"), ("children", "child"), ("keep", ""), ("keeps", ""), ("", "")],
)
def test_an_irregular_form_belongs_to_its_word(form: str, base: str) -> None:
    assert base_of(form) == base


def test_a_question_is_searched_by_the_form_and_the_word_it_belongs_to() -> None:
    assert {"kept", "keep", "cooki"} <= question_terms("Why are cookies kept?").keys()
